"""Models estimated from series whose models are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import solve_toeplitz

from pycobre.stochastic import (
    EstimationSettings,
    InflowHistory,
    estimate,
    moments_of,
    residual_correlation,
    residuals,
)

PLAIN = EstimationSettings(max_order=6, min_observations=30, annual=False, max_coefficient=None)
ANNUAL = EstimationSettings(max_order=6, min_observations=30, annual=True, max_coefficient=None)


def history(*series, seasons=12):
    inflow = np.array(series, dtype=float)
    return InflowHistory(inflow, np.arange(inflow.shape[1]) % seasons, seasons)


def fit(past, settings=PLAIN):
    moments = moments_of(past)
    models, ratio, remarks = estimate(moments, settings, np.array([plant.std for plant in moments]))
    return models, ratio, remarks, moments


def simulate(phi, years, seasons, seed=1):
    """Periodic AR of unit variance in every season; phi[m] are the coefficients of season m."""
    noise = np.random.default_rng(seed).standard_normal(years * seasons)
    z = np.zeros(years * seasons)
    for t in range(len(z)):
        of_season = phi[t % seasons]
        z[t] = sum(c * z[t - lag] for lag, c in enumerate(of_season, start=1) if t >= lag)
        z[t] += math.sqrt(1.0 - of_season[0] ** 2) * noise[t] if len(of_season) == 1 else noise[t]
    return z


def test_coefficients_and_ratio_of_a_known_process_come_back():
    phi = [[0.3], [0.8], [0.5], [0.6]]
    z = simulate(phi, 4000, 4)
    mean, std = np.array([10.0, 20.0, 5.0, 8.0]), np.array([1.0, 4.0, 2.0, 3.0])
    past = history(np.tile(mean, 4000) + np.tile(std, 4000) * z, seasons=4)
    models, ratio, remarks, moments = fit(past, EstimationSettings(1, 30, False, None))
    assert remarks == []
    for m in range(4):
        assert models[0][m].coefficients == pytest.approx(phi[m], abs=4 / math.sqrt(4000))
        assert ratio[0, m] == pytest.approx(math.sqrt(1 - phi[m][0] ** 2), abs=0.05)
    assert moments[0].mean == pytest.approx(mean, abs=0.2)
    assert moments[0].std == pytest.approx(std, rel=0.05)


def test_first_order_coefficient_is_the_correlation_with_the_season_before():
    inflow = np.random.default_rng(3).gamma(4.0, 5.0, 12 * 150)
    inflow[1:] += inflow[:-1]
    models, *_ = fit(history(inflow), EstimationSettings(1, 30, False, None))
    table = inflow.reshape(150, 12)
    for m in range(1, 12):
        expected = np.corrcoef(table[:, m], table[:, m - 1])[0, 1]
        assert models[0][m].coefficients == pytest.approx([expected], abs=1e-12)


def test_order_two_process_is_recognised():
    z = simulate([[0.5, 0.3]], 20000, 1)
    models, *_ = fit(history(z, seasons=1))
    assert models[0][0].coefficients[:2] == pytest.approx([0.5, 0.3], abs=0.03)
    assert all(abs(value) < 0.03 for value in models[0][0].coefficients[2:])


def test_noise_has_mostly_no_order():
    noise = np.random.default_rng(5).standard_normal((10, 12 * 60))
    models, *_ = fit(history(*noise), EstimationSettings(1, 30, False, None))
    orders = [len(model.coefficients) for plant in models for model in plant]
    assert np.mean(orders) < 0.1


def test_max_order_limits_and_zero_leaves_white_noise():
    z = simulate([[0.5, 0.3]], 2000, 1)
    for most in (0, 1):
        models, ratio, *_ = fit(history(z, seasons=1), EstimationSettings(most, 30, False, None))
        assert len(models[0][0].coefficients) == most
        assert (ratio[0, 0] == 1.0) == (most == 0)


def test_too_few_observations_leave_a_season_without_autoregression():
    z = simulate([[0.9]], 12 * 20, 1)
    models, _, remarks, _ = fit(history(z))
    assert all(not model.coefficients for model in models[0])
    assert {(r.hydro, r.season) for r in remarks} == {(0, m) for m in range(12)}
    assert all(model.coefficients for model in fit(history(z), EstimationSettings(1, 20, False, None))[0][0])


def test_a_coefficient_beyond_the_limit_leaves_a_season_without_autoregression():
    z = simulate([[0.9]], 12 * 60, 1)
    models, _, remarks, _ = fit(history(z), EstimationSettings(1, 30, False, 0.85))
    dropped = {remark.season for remark in remarks}
    assert dropped == {m for m, model in enumerate(models[0]) if not model.coefficients} != set()
    assert all(abs(c) <= 0.85 for model in models[0] for c in model.coefficients)


def test_no_past_inflow_works_the_other_way():
    """The response to an inflow, followed through all seasons, is never negative within a season's order."""
    rng = np.random.default_rng(8)
    reduced = 0
    for _ in range(10):
        z = np.cumsum(rng.standard_normal(12 * 40)) * 0.2 + rng.standard_normal(12 * 40)
        models, *_, moments = fit(history(z))
        std = moments[0].std
        for m, model in enumerate(models[0]):
            order = len(model.coefficients)
            reduced += order < 6
            for back in range(1, order + 1):  # a unit of inflow so many periods before season m
                value = {0: 1.0}
                for step in range(1, back + 1):
                    at = (m - back + step) % 12
                    value[step] = sum(
                        c * std[at] / std[(at - lag) % 12] * value[step - lag]
                        for lag, c in enumerate(models[0][at].coefficients, start=1)
                        if lag <= step
                    )
                assert value[back] >= -1e-12
    assert reduced


def test_a_season_with_one_value_in_most_years_is_certain():
    inflow = np.random.default_rng(2).gamma(3.0, 10.0, 12 * 40)
    inflow[4::12][:30] = 7.2
    models, ratio, remarks, moments = fit(history(inflow))
    assert (moments[0].mean[4], moments[0].std[4]) == (7.0, 0.0)
    assert models[0][4].coefficients == []
    assert [(r.season, "is taken as certain" in r.what) for r in remarks] == [(4, True)]
    assert ratio[0, 4] == 1.0
    given = np.array([[2.0] * 12])  # the case says how much it varies, and that holds
    models, _, remarks = estimate(moments, PLAIN, given)
    assert models[0][4].coefficients == []
    assert [r.what.partition(": ")[2] for r in remarks] == [
        "no autoregression, but the deviation that is given"
    ]


def test_gaps_leave_out_the_pairs_that_they_touch():
    inflow = np.random.default_rng(4).gamma(4.0, 5.0, 12 * 40)
    inflow[1:] += inflow[:-1]
    inflow[37] = np.nan  # season 1 of year 3
    models, *_, moments = fit(history(inflow), EstimationSettings(1, 30, False, None))
    table = inflow.reshape(40, 12)
    kept = np.arange(40) != 3
    assert moments[0].count[1] == 39
    assert moments[0].mean[1] == pytest.approx(table[kept, 1].mean())
    z = (table - np.nanmean(table, axis=0)) / np.nanstd(table, axis=0)
    assert models[0][1].coefficients == pytest.approx([(z[kept, 1] * z[kept, 0]).mean()])


def test_annual_component_is_found_where_whole_years_are_wet_or_dry():
    rng = np.random.default_rng(6)
    level = np.repeat(np.convolve(rng.standard_normal(400), [0.6, 0.8, 0.6, 0.4], "same"), 12)
    inflow = 100.0 + 10.0 * level + 10.0 * rng.standard_normal(len(level))
    models, ratio, remarks, _ = fit(history(inflow), ANNUAL)
    assert np.mean([model.annual for model in models[0]]) > 0.1
    assert remarks == []
    assert (ratio > 0.0).all()
    assert (ratio <= 1.0).all()
    assert all(model.annual == 0.0 for model in fit(history(inflow))[0][0])


def test_residuals_of_the_model_are_the_noise_that_made_the_series():
    phi = [[0.4], [0.7]]
    z = simulate(phi, 3000, 2, seed=9)
    noise = np.random.default_rng(9).standard_normal(6000)
    past = history(z, seasons=2)
    models, ratio, _, moments = fit(past, EstimationSettings(1, 30, False, None))
    left = residuals(past, models, moments)
    scaled = left[0] / ratio[0, past.season]
    assert np.isnan(scaled[0])
    assert np.corrcoef(scaled[1:], noise[1:])[0, 1] > 0.999


def test_residual_correlation_is_that_of_the_noise():
    rng = np.random.default_rng(1)
    common = rng.standard_normal((3, 12 * 200))
    common[1] = 0.8 * common[0] + 0.6 * common[1]
    past = history(*common, np.full(12 * 200, 3.0))
    models, _, _, moments = fit(past, EstimationSettings(0, 30, False, None))
    pooled, by_season = residual_correlation(residuals(past, models, moments), past)
    assert pooled[:3, :3] == pytest.approx(np.array([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]]), abs=0.06)
    assert (pooled[3] == [0.0, 0.0, 0.0, 1.0]).all()  # a plant that never varies goes with nothing
    table = common.reshape(3, 200, 12)
    for m in range(12):
        assert by_season[m][0, 1] == pytest.approx(np.corrcoef(table[0, :, m], table[1, :, m])[0, 1])


def test_a_season_with_few_pairs_has_no_correlation_of_its_own():
    past = history(*np.random.default_rng(1).standard_normal((2, 12 * 29)))
    models, _, _, moments = fit(past)
    assert residual_correlation(residuals(past, models, moments), past)[1] == [None] * 12


def companion(weights):
    """The step of (z[t-1], z[t-2], …) to (z[t], z[t-1], …)."""
    step = np.eye(len(weights), k=-1)
    step[0] = weights
    return step


def covariances(phi):
    """Exact covariance of (z[t-1], …, z[t-p]) before each season t of a periodic AR with unit noise."""
    steps = [companion(of_season) for of_season in phi]
    unit = np.zeros_like(steps[0])
    unit[0, 0] = 1.0
    found = [unit] * len(steps)
    for t in range(400 * len(steps)):  # by then nothing is left of where it began
        step = steps[t % len(steps)]
        found[(t + 1) % len(steps)] = step @ found[t % len(steps)] @ step.T + unit
    return found


@pytest.mark.parametrize("years", [300, 3000, 30000])
def test_a_periodic_process_comes_back_as_near_as_its_years_allow(years):
    phi = [[0.5, 0.4], [0.3, 0.5], [0.6, 0.35]]
    before = covariances(phi)
    z = simulate(phi, years, 3, seed=years)
    models, *_, moments = fit(history(z, seasons=3), EstimationSettings(2, 30, False, None))
    for m, model in enumerate(models[0]):
        assert len(model.coefficients) == 2
        found = np.array(model.coefficients) * moments[0].std[m] / moments[0].std[[m - 1, m - 2]]
        error = np.sqrt(np.diag(np.linalg.inv(before[m])) / years)
        assert (np.abs(found - phi[m]) < 4 * error).all()


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_a_single_season_has_the_coefficients_of_levinsons_recursion(order):
    """With the mean product of all pairs that a lag has, and the deviation of all values."""
    z = simulate([[0.5, 0.2, 0.1]], 900, 1, seed=order)
    offset = z - z.mean()
    rho = np.array([(offset[lag:] * offset[: len(z) - lag]).mean() for lag in range(order + 1)]) / z.var()
    expected = solve_toeplitz(rho[:-1], rho[1:])
    models, *_ = fit(history(z, seasons=1), EstimationSettings(order, 30, False, None))
    # The recursion's last coefficient is the partial autocorrelation that the order is chosen by.
    significant = abs(expected[-1]) > 1.96 / math.sqrt(len(z))
    chosen = len(models[0][0].coefficients)
    assert (chosen == order) == significant
    assert models[0][0].coefficients == pytest.approx(solve_toeplitz(rho[:chosen], rho[1 : chosen + 1]))


def test_a_single_season_has_the_coefficients_that_statsmodels_finds():
    """``yule_walker(z, order=3, method="adjusted")`` of statsmodels 0.15.0.

    (It is too heavy to be installed for three numbers.)
    """
    z = simulate([[0.5, 0.2, 0.1]], 900, 1, seed=4)
    models, *_ = fit(history(z, seasons=1), EstimationSettings(3, 30, False, None))
    theirs = [0.4591388075632866, 0.2630558913037387, 0.09314249987302745]
    assert models[0][0].coefficients == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("years", [300, 3000])
def test_an_annual_component_comes_back_as_near_as_its_years_allow(years):
    of_lag, of_year = 0.4, 0.3
    weights = np.full(12, of_year / 12)
    weights[0] += of_lag
    (before,) = covariances([list(weights)])
    mean_of_year = np.full(12, 1 / 12)
    std_z, std_a = math.sqrt(before[0, 0]), math.sqrt(mean_of_year @ before @ mean_of_year)
    z = simulate([list(weights)], 12 * years, 1, seed=years)
    models, *_ = fit(history(100.0 + z), EstimationSettings(1, 30, True, None))
    across = before[0] @ mean_of_year / std_z / std_a
    error = np.sqrt(np.diag(np.linalg.inv([[1.0, across], [across, 1.0]])) / years) / std_z
    expected = np.array([of_lag, of_year * std_a / std_z])
    found = np.array([[*model.coefficients, model.annual] for model in models[0]])
    assert (np.abs(found - expected) < 4 * error).all()
    assert (np.abs(found.mean(axis=0) - expected) < 4 * error / math.sqrt(12)).all()
