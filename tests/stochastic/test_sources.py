"""Noise of forward passes that does not come from the openings."""

from __future__ import annotations

import numpy as np
import pytest

from pycobre.stochastic import ForwardNoise, Purpose, Replay, generator, inflow_recursion, replay_inflows
from pycobre.system import InflowStatistics

TERMS = {"inflow": np.arange(2), "load": np.array([2])}
NAMES = (("hydro 3", "hydro 5"), ("stage 0", "stage 1", "stage 2"))
FACTOR = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])


def stream(scenario=0, stage=0):
    return generator(1, Purpose.SIMULATION, 0, scenario, stage)


def source(fresh=(), replays=None, within_reach=lambda stage, noise: noise):
    return ForwardNoise(TERMS, fresh, replays or {}, (FACTOR,), (0, 0), within_reach)


def test_a_class_that_is_drawn_anew_leaves_the_others_to_the_opening():
    opening = np.array([5.0, 6.0, 7.0])
    noise = source(fresh=("inflow",)).noise(0, 0, stream(), opening)
    assert noise[2] == 7.0
    assert (noise[:2] != opening[:2]).all()
    assert opening.tolist() == [5.0, 6.0, 7.0]


def test_fresh_noise_is_normal_and_correlated_as_the_stage_is():
    drawn = np.array(
        [source(fresh=("inflow", "load")).noise(0, 0, stream(k), np.zeros(3)) for k in range(4000)]
    )
    assert drawn.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.06)
    assert np.cov(drawn.T) == pytest.approx(FACTOR @ FACTOR.T, abs=0.07)


def test_replayed_scenarios_take_their_turn():
    replay = Replay((np.array([[1.0], [2.0], [3.0]]), np.array([[9.0]])))
    ours = source(replays={"load": replay})
    assert [ours.noise(0, k, stream(), np.zeros(3))[2] for k in range(5)] == [1.0, 2.0, 3.0, 1.0, 2.0]
    assert [ours.noise(1, k, stream(), np.zeros(3))[2] for k in range(3)] == [9.0, 9.0, 9.0]


def test_noise_that_no_source_can_follow_is_cut_off_wherever_it_comes_from():
    replay = Replay((np.array([[4.0]]),))
    ours = source(("inflow",), {"load": replay}, within_reach=lambda stage, noise: np.minimum(noise, 0.5))
    noise = ours.noise(0, 0, stream(), np.array([5.0, 6.0, 7.0]))
    assert noise[2] == 0.5
    assert (noise <= 0.5).all()


def statistics(std):
    ones = np.ones((2, 3))
    coefficients = np.zeros((2, 3, 2))
    coefficients[0, :, :] = [0.5, 0.2]
    coefficients[1, :, 0] = 0.4
    return InflowStatistics(
        mean_m3s=ones * [[10.0], [20.0]],
        std_m3s=np.array([[3.0] * 3, [std] * 3]),
        coefficients=coefficients if std else coefficients * [[[1.0]], [[0.0]]],
        lag_mean_m3s=ones[:, :, None] * np.array([10.0, 20.0])[:, None, None] * np.ones(2),
        lag_std_m3s=ones[:, :, None] * np.array([3.0, std or 1.0])[:, None, None] * np.ones(2),
        past_m3s=np.array([[12.0, 8.0], [22.0, 19.0]]),
        nonnegativity="none",
        residual_ratio=0.8 * ones,
    )


def test_replayed_noise_gives_exactly_the_inflows_of_the_scenario():
    given = statistics(2.0)
    recursion = inflow_recursion(given, ())
    wanted = tuple(np.random.default_rng(t).gamma(3.0, 5.0, (count, 2)) for t, count in enumerate((3, 3, 1)))
    replay = replay_inflows(recursion, given, wanted, *NAMES)
    for k in range(3):
        lags = given.past_m3s.copy()
        for t in range(3):
            inflow = recursion.constant_m3s[:, t] + (recursion.lag[:, t] * lags).sum(axis=1)
            inflow = inflow + recursion.noise_scale_m3s[:, t] * replay.at(t, k)
            assert inflow == pytest.approx(wanted[t][k % len(wanted[t])])
            lags = np.column_stack([inflow, lags[:, :-1]])


def test_an_inflow_without_deviation_can_only_be_replayed_as_it_is():
    given = statistics(0.0)
    recursion = inflow_recursion(given, ())
    replay = replay_inflows(recursion, given, tuple(np.array([[7.0, 20.0]]) for _ in range(3)), *NAMES)
    assert replay.at(0, 0)[1] == 0.0
    with pytest.raises(ValueError, match="hydro 5 is certain in stage 2, at 20 m³/s"):
        replay_inflows(recursion, given, (*[np.array([[7.0, 20.0]])] * 2, np.array([[7.0, 21.0]])), *NAMES)
