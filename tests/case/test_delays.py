"""Dispatch ahead, travel time and the order of blocks are read with what happened before the study."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

HYDROS, INITIAL, THERMALS = "system/hydros.json", "initial_conditions.json", "system/thermals.json"
LATER, STAGES = "post_study_stages.json", "stages.json"
ALTA, GAS = "hydro 3 (Alta)", "thermal 4 (Gas)"
COMMITMENTS, RELEASES = "past_anticipated_commitments", "past_defluences"


def window(start: str, end: str, value: float, thermal: int = 4) -> dict[str, Any]:
    return {"thermal_id": thermal, "start_date": start, "end_date": end, "value_mw": value}


def release(start: str, end: str, value: float = 20.0, hydro: int = 3) -> dict[str, Any]:
    return {"hydro_id": hydro, "start_date": start, "end_date": end, "value_m3s": value}


def cell(index: int = 0, low: float = 5.0, high: float = 9.0, thermal: int = 4) -> dict[str, Any]:
    limits = {"cost_per_mwh": 70.0, "min_mw": low, "max_mw": high}
    return {"thermal_id": thermal, "post_study_stage_index": index, **limits}


@pytest.fixture
def ahead(directory: Any) -> Any:
    """The gas plant is dispatched a month ahead, and what it does in January was decided in two windows."""
    directory.put(THERMALS, "thermals.0.anticipated_config", {"lead_stages": 1})
    windows = [window("2024-01-01", "2024-01-11", 10.0), window("2024-01-11", "2024-02-01", 41.0)]
    directory.put(INITIAL, COMMITMENTS, windows)
    return directory


@pytest.fixture
def river(directory: Any) -> Any:
    """Water of the upper plant takes 30 h."""
    directory.put(HYDROS, "hydros.0.travel_time_hours", 30.0)
    directory.put(INITIAL, RELEASES, [release("2023-12-30", "2024-01-01")])
    return directory


def found(problems: Any) -> list[tuple[str, str, str | None, str | None]]:
    return [(p.kind, p.file, p.entity, p.field) for p in problems if "standard month" not in p.message]


def test_commitments_are_means_of_their_stage(ahead: Any, reload: Callable[..., Any]) -> None:
    case, problems = reload()
    assert case is not None, problems
    plant = case.system.thermals[0].ahead
    assert (plant.lead_stages, plant.lead_hours) == (1, None)
    assert plant.past_mw == {0: pytest.approx((10 * 10.0 + 21 * 41.0) / 31)}
    assert case.system.deliveries[0].target == (1, 2, None)
    assert case.warnings == ()


def test_deliveries_after_the_study_are_read_by_their_days(ahead: Any, reload: Callable[..., Any]) -> None:
    stages = [
        {"start_date": "2024-05-01", "duration_hours": 744.0},
        {"start_date": "2024-04-01", "duration_hours": 720.0},
    ]
    ahead.documents[LATER] = {"stages": stages, "thermal_bounds": [cell(1)]}
    case, problems = reload()
    assert case is not None, problems
    assert [stage.start_date for stage in case.system.later] == [dt.date(2024, 4, 1), dt.date(2024, 5, 1)]
    assert case.system.deliveries[0].target == (1, 2, 3)
    delivery = case.system.delivery(0, 3)
    assert (delivery.generation_min_mw, delivery.generation_max_mw, delivery.cost_per_mwh) == (5.0, 9.0, 70.0)
    assert found(case.warnings) == [("warning", LATER, GAS, "thermal_bounds")]  # it saves nothing


def test_water_that_was_released_is_under_way(river: Any, reload: Callable[..., Any]) -> None:
    case, problems = reload()
    assert case is not None, problems
    (transit,) = case.system.transits
    assert (transit.hydro, transit.hours, transit.slots) == (0, 30.0, 1)
    assert transit.initial_hm3.tolist() == pytest.approx([30.0 * 0.0036 * 20.0])
    assert case.warnings == ()


def test_blocks_in_order_are_read(directory: Any, reload: Callable[..., Any]) -> None:
    directory.put(STAGES, "stages.1.block_mode", "chronological")
    case, problems = reload()
    assert case is not None, problems
    assert [stage.chronological for stage in case.system.stages] == [False, True, False]


MONTH = ("2024-01-01", "2024-02-01")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("thermals.0.anticipated_config", {}, ("schema", THERMALS, GAS, "anticipated_config")),
        ("thermals.0.anticipated_config", {"lead_stages": 1, "lead_time_hours": 9.0},
         ("schema", THERMALS, GAS, "anticipated_config")),
        ("thermals.0.anticipated_config", None, ("reference", INITIAL, GAS, COMMITMENTS)),
        ("thermals.0.anticipated_config.lead_stages", 0,
         ("schema", THERMALS, GAS, "anticipated_config.lead_stages")),
        (COMMITMENTS, [], ("dimension", INITIAL, GAS, COMMITMENTS)),
        (COMMITMENTS, [window("2024-01-01", "2024-01-31", 10.0)], ("dimension", INITIAL, GAS, COMMITMENTS)),
        (COMMITMENTS, [window("2024-01-01", "2024-02-02", 10.0)], ("physics", INITIAL, GAS, COMMITMENTS)),
        (COMMITMENTS, [window("2023-12-01", "2024-02-01", 10.0)], ("physics", INITIAL, GAS, COMMITMENTS)),
        (COMMITMENTS, [window(*MONTH, 61.0)], ("physics", INITIAL, GAS, COMMITMENTS)),
        (COMMITMENTS, [window(*MONTH, 9.0), window("2024-01-05", "2024-01-06", 9.0)],
         ("physics", INITIAL, GAS, COMMITMENTS)),
        (COMMITMENTS, [window(*MONTH, 9.0), window(*MONTH, 9.0, 8)],
         ("reference", INITIAL, "thermal 8", COMMITMENTS)),
    ],
)  # fmt: skip
def test_a_contradiction_of_dispatch_ahead_is_refused(
    ahead: Any, reload: Callable[..., Any], path: str, value: object, expected: Any
) -> None:
    ahead.put(INITIAL if path == COMMITMENTS else THERMALS, path, value)
    case, problems = reload()
    assert case is None
    assert found(p for p in problems if p.kind != "warning") == [expected], problems


@pytest.mark.parametrize(
    ("start", "cells", "expected"),
    [
        ("2024-04-02", [cell()], ("physics", LATER, None, "stages")),
        ("2024-04-01", [], ("dimension", LATER, GAS, "thermal_bounds")),
        ("2024-04-01", [cell(), cell()], ("dimension", LATER, "thermal 4", "thermal_bounds[1]")),
        ("2024-04-01", [cell(low=9.5)], ("physics", LATER, "thermal 4", "thermal_bounds[0]")),
        ("2024-04-01", [cell(), cell(3)], ("reference", LATER, "thermal 4", "thermal_bounds[1]")),
        ("2024-04-01", [cell(), cell(thermal=8)], ("reference", LATER, "thermal 8", "thermal_bounds")),
    ],
)  # fmt: skip
def test_a_contradiction_after_the_study_is_refused(
    ahead: Any, reload: Callable[..., Any], start: str, cells: list[Any], expected: Any
) -> None:
    stages = [{"start_date": start, "duration_hours": 720.0}]
    ahead.documents[LATER] = {"stages": stages, "thermal_bounds": cells}
    case, problems = reload()
    assert case is None
    assert found(p for p in problems if p.kind != "warning") == [expected], problems


def test_one_stage_that_decides_two_deliveries_is_refused(ahead: Any, reload: Callable[..., Any]) -> None:
    ahead.put(THERMALS, "thermals.0.anticipated_config", {"lead_time_hours": 750.0})
    ahead.documents[LATER] = {
        "stages": [
            {"start_date": "2024-04-01", "duration_hours": 24.0},
            {"start_date": "2024-04-02", "duration_hours": 24.0},
        ],
        "thermal_bounds": [cell(0), cell(1)],
    }
    case, problems = reload()
    assert case is None
    assert ("unsupported", THERMALS, GAS, "anticipated_config.lead_time_hours") in found(problems)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("hydros.0.travel_time_hours", -1.0, ("schema", HYDROS, ALTA, "travel_time_hours")),
        ("hydros.0.travel_time_hours", 3000.0, ("physics", HYDROS, ALTA, "travel_time_hours")),
        ("hydros.0.travel_time_hours", 49.0, ("dimension", INITIAL, ALTA, RELEASES)),
        (RELEASES, [], ("dimension", INITIAL, ALTA, RELEASES)),
        (RELEASES, [release("2023-12-20", "2023-12-31")], ("dimension", INITIAL, ALTA, RELEASES)),
        (RELEASES, [release("2023-12-20", "2024-01-02")], ("physics", INITIAL, ALTA, RELEASES)),
        (RELEASES, [release("2023-12-20", "2024-01-01"), release("2023-12-31", "2024-01-01")],
         ("physics", INITIAL, ALTA, RELEASES)),
        (RELEASES, [release("2023-12-30", "2024-01-01"), release("2023-12-30", "2024-01-01", hydro=8)],
         ("reference", INITIAL, "hydro 8", RELEASES)),
    ],
)  # fmt: skip
def test_a_contradiction_of_travel_time_is_refused(
    river: Any, reload: Callable[..., Any], path: str, value: object, expected: Any
) -> None:
    river.put(INITIAL if path == RELEASES else HYDROS, path, value)
    case, problems = reload()
    assert case is None
    assert found(p for p in problems if p.kind != "warning") == [expected], problems


def test_what_has_no_effect_is_warned_of(directory: Any, reload: Callable[..., Any]) -> None:
    directory.put(HYDROS, "hydros.1.travel_time_hours", 9.0)  # the last one of the river
    directory.put(INITIAL, RELEASES, [release("2023-12-30", "2024-01-01", hydro=3)])
    case, problems = reload()
    assert case is not None, problems
    assert case.system.transits == ()
    assert found(problems) == [
        ("warning", INITIAL, ALTA, RELEASES),
        ("warning", HYDROS, "hydro 5 (Baixa)", "travel_time_hours"),
    ]


def test_a_decision_of_a_plant_that_is_not_dispatched_ahead_is_no_variable(
    directory: Any, reload: Callable[..., Any]
) -> None:
    directory.documents["constraints/generic_constraints.json"] = {
        "constraints": [
            {"id": 1, "name": "c", "expression": "anticipated_decision(4)", "slack": {"enabled": False}}
        ]
    }
    _, problems = reload()
    assert any("thermal 4 is not dispatched ahead" in problem.message for problem in problems)
