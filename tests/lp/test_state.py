"""What a stage hands to the next when several stages are one season."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from pycobre.lp import StateLayout
from pycobre.stochastic import inflow_recursion, replay_inflows
from pycobre.system import Block, InflowStatistics, Stage, season_occurrences


def weeks_of_two_months():
    """Two weeks of one month, then the whole next, then one week of a third: seasons 0, 0, 1, 2."""
    days = [dt.date(2024, 1, 15), dt.date(2024, 1, 22), dt.date(2024, 2, 1), dt.date(2024, 3, 1)]
    ends = [*days[1:], dt.date(2024, 3, 8)]
    return tuple(
        Stage(t, start, end, season, (Block(0, "", 24.0),), 1, 0.0)
        for t, (start, end, season) in enumerate(zip(days, ends, (0, 0, 1, 2), strict=True))
    )


def statistics():
    shape = (2, 4)
    coefficients = np.zeros((*shape, 2))
    coefficients[0, :, :] = [0.5, 0.2]  # the second plant has no lags
    return InflowStatistics(
        mean_m3s=np.full(shape, 10.0),
        std_m3s=np.full(shape, 2.0),
        coefficients=coefficients,
        lag_mean_m3s=np.full((*shape, 2), 10.0),
        lag_std_m3s=np.full((*shape, 2), 2.0),
        past_m3s=np.array([[12.0, 9.0], [0.0, 0.0]]),
        nonnegativity="none",
    )


def test_occurrences_are_runs_of_one_season():
    assert season_occurrences([0, 0, 1, 0, None, None]) == [
        range(0, 2),
        range(2, 3),
        range(3, 4),
        range(4, 5),
        range(5, 6),
    ]


def test_the_mean_of_a_season_becomes_the_lag_with_its_last_stage():
    stages, given = weeks_of_two_months(), statistics()
    recursion = inflow_recursion(given, stages)
    layout = StateLayout.of(recursion)
    assert recursion.season_share.tolist() == pytest.approx([7 / 17, 10 / 17, 1.0, 1.0])
    assert recursion.season_ends == (False, True, True, True)
    assert (layout.lags, layout.gathered, layout.size) == (((0, 1), (0, 2)), (0,), 5)

    noise = np.random.default_rng(1).standard_normal((4, 2))
    state = np.array([100.0, 200.0, 12.0, 9.0, 0.0])  # storages, lags 1 and 2, gathered
    inflows, handed = [], []
    for t in range(4):
        certain = recursion.constant_m3s[:, t] + recursion.noise_scale_m3s[:, t] * noise[t]
        inflow = certain[0] + recursion.lag[0, t] @ state[2:4]
        constant, by_state, by_noise = layout.carried(recursion, t)
        carried = np.array(constant)
        for place, source, value in by_state:
            carried[place] += value * state[source]
        for place, source, value in by_noise:
            carried[place] += value * noise[t, source]
        inflows.append(inflow)
        handed.append(carried)
        state = np.concatenate([state[:2], carried])
    january = (7 * inflows[0] + 10 * inflows[1]) / 17
    assert handed[0] == pytest.approx([12.0, 9.0, 7 / 17 * inflows[0]])
    assert handed[1] == pytest.approx([january, 12.0, 0.0])
    assert handed[2] == pytest.approx([inflows[2], january, 0.0])

    # Replaying these inflows asks for the same noise.
    wanted = tuple(np.array([[inflow, 10.0 + 2.0 * noise[t, 1]]]) for t, inflow in enumerate(inflows))
    names = ["hydro 0", "hydro 1"], [f"stage {t}" for t in range(4)]
    replay = replay_inflows(recursion, given, wanted, *names)
    assert np.array([replay.at(t, 0) for t in range(4)]) == pytest.approx(noise)
