"""Filling is read with its targets, or refused where it contradicts itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

HYDROS, INITIAL = "system/hydros.json", "initial_conditions.json"
BOUNDS = "constraints/hydro_bounds.parquet"


@pytest.fixture
def dam(directory: Any) -> Any:
    directory.put(HYDROS, "hydros.0.reservoir.min_storage_hm3", 50.0)
    directory.put(HYDROS, "hydros.0.entry_stage_id", 2)
    directory.put(HYDROS, "hydros.0.filling", {"start_stage_id": 0, "filling_min_rate_m3s": 10.0})
    directory.put(INITIAL, "storage", [{"hydro_id": 5, "value_hm3": 50.0}])
    directory.put(INITIAL, "filling_storage", [{"hydro_id": 3, "value_hm3": 5.0}])
    directory.put("penalties.json", "hydro.filling_target_violation_cost", 77.0)
    return directory


def test_targets_rise_at_the_least_rate_up_to_the_minimum(dam: Any, reload: Callable[..., Any]) -> None:
    case, problems = reload()
    assert case is not None, problems
    hydro = case.system.hydros[0]
    assert hydro.storage_initial_hm3 == 5.0
    assert case.system.filling_targets_hm3[0] == {0: pytest.approx(5.0 + 744 * 0.036), 1: 50.0}
    filling, working = (case.system.hydros_in(case.system.stages[t])[0] for t in (1, 2))
    assert (filling.turbined_max_m3s, filling.storage_min_hm3) == (0.0, 50.0)
    assert filling.penalties.storage_below_cost_per_hm3 == 77.0
    assert (working.turbined_max_m3s, working.penalties.storage_below_cost_per_hm3) == (50.0, 1.0)
    assert all(hydro.service.covers(stage) for stage in case.system.stages)


def test_rates_may_differ_by_stage(dam: Any, reload: Callable[..., Any]) -> None:
    dam.tables[BOUNDS] = {"hydro_id": [3], "stage_id": [0], "filling_min_rate_m3s": [4.0]}
    case, problems = reload()
    assert case is not None, problems
    first = 5.0 + 744 * 0.0036 * 4.0
    targets = {0: pytest.approx(first), 1: pytest.approx(first + 696 * 0.036)}
    assert case.system.filling_targets_hm3[0] == targets
    assert ["brings" in problem.message for problem in problems] == [True]  # 40.8 of 50 hm³


def test_a_rate_that_brings_what_is_missing_is_enough_whatever_its_rounding(
    dam: Any, reload: Callable[..., Any]
) -> None:
    for start in range(20):
        dam.put(INITIAL, "filling_storage.0.value_hm3", float(start))
        rate = (50.0 - start) / (0.0036 * (744 + 696))
        dam.put(HYDROS, "hydros.0.filling.filling_min_rate_m3s", rate)
        assert reload()[1] == ()


@pytest.mark.parametrize(("hydro", "stage"), [(3, 2), (5, 0)])
def test_a_rate_of_a_reservoir_that_is_not_being_filled_is_refused(
    dam: Any, reload: Callable[..., Any], hydro: int, stage: int
) -> None:
    dam.tables[BOUNDS] = {"hydro_id": [hydro], "stage_id": [stage], "filling_min_rate_m3s": [4.0]}
    case, problems = reload()
    assert case is None
    assert ("reference", BOUNDS, "filling_min_rate_m3s") in [(p.kind, p.file, p.field) for p in problems]


@pytest.mark.parametrize(
    ("change", "file", "field"),
    [
        (lambda d: d.put(HYDROS, "hydros.0.entry_stage_id", None), HYDROS, "entry_stage_id"),
        (lambda d: d.put(HYDROS, "hydros.0.filling.start_stage_id", 2), HYDROS, "entry_stage_id"),
        (lambda d: d.put(INITIAL, "filling_storage.0.value_hm3", 60.0), INITIAL, "filling_storage"),
        (lambda d: d.put(HYDROS, "hydros.0.filling.start_stage_id", 1), INITIAL, "filling_storage"),
        (lambda d: d.put(HYDROS, "hydros.0.filling", None), INITIAL, "filling_storage"),
    ],
    ids=["never in service", "in service at once", "full enough", "full too early", "no filling"],
)
def test_a_contradiction_is_refused(
    dam: Any, reload: Callable[..., Any], change: Any, file: str, field: str
) -> None:
    change(dam)
    case, problems = reload()
    errors = [problem for problem in problems if problem.kind != "warning"]
    assert ("physics", file, field) in [(p.kind, p.file, p.field) for p in errors], errors
    assert case is None
