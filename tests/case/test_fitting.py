"""Planes that are fitted to heads: against Cobre's own, and against functions that are planes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

GEOMETRY = "system/hydro_geometry.parquet"
HYDROS = "system/hydros.json"
PRODUCTION = "system/hydro_production_models.json"
K = 9.81e-3 * 0.92 * 0.97


@pytest.fixture
def falls(directory: Any) -> Any:
    """A plant of 50 m³/s under 50 to 100 m of head, its planes to be computed."""
    directory.tables[GEOMETRY] = {
        "hydro_id": [3] * 5, "volume_hm3": [0.0, 50.0, 100.0, 150.0, 200.0],
        "height_m": [350.0, 370.0, 385.0, 395.0, 400.0], "area_km2": [1.0] * 5,
    }  # fmt: skip
    directory.put(HYDROS, "hydros.0.reservoir.min_storage_hm3", 0.0)
    directory.put(HYDROS, "hydros.0.generation.model", "fpha")
    directory.put(HYDROS, "hydros.0.efficiency", {"type": "constant", "value": 0.92})
    directory.put(HYDROS, "hydros.0.hydraulic_losses", {"type": "factor", "value": 0.03})
    directory.put(HYDROS, "hydros.0.tailrace", {"type": "polynomial", "coefficients": [300.0]})
    directory.documents[PRODUCTION]["production_models"][0]["stage_ranges"][0] = {
        "start_stage_id": 0, "end_stage_id": None, "model": "fpha", "fpha_config": {"source": "computed"},
    }  # fmt: skip
    return directory


CONFIG = "production_models.0.stage_ranges.0.fpha_config"


def planes(reload: Callable[..., Any]) -> Any:
    case, problems = reload()
    assert case is not None, problems
    production = case.system.hydros[0].production
    assert production[0] is production[2]
    return np.array(
        [(p.constant_mw, p.mw_per_hm3, p.mw_per_m3s, p.mw_per_spilled_m3s) for p in production[0].planes]
    )


def test_planes_are_those_of_cobre(falls: Any, reload: Callable[..., Any]) -> None:
    # Cobre 0.18.0 on its own case d07, whose plant this is.
    expected = [
        (0.0, 0.0, 0.8496574808198027, 0.0),
        (0.0, 0.04248287404099002, 0.6797259846558424, 0.0),
        (0.0, 0.0849657480819803, 0.5522773625328715, 0.0),
        (0.0, 0.1274486221229704, 0.4673116144508915, 0.0),
        (0.0, 0.16993149616396055, 0.4248287404099013, 0.0),
    ]
    np.testing.assert_allclose(planes(reload), expected, atol=1e-10)


def test_a_rising_tailrace_costs_head_also_by_spilling(falls: Any, reload: Callable[..., Any]) -> None:
    falls.put(HYDROS, "hydros.0.tailrace.coefficients", [300.0, 0.05])
    found = planes(reload)
    assert len(found) == 11
    np.testing.assert_allclose(found[-1], (0.7981566278775, 0.1702734139472, 0.3884362255671, -0.02188611),
                               atol=1e-10)  # fmt: skip
    # A m³/s more in the river lifts it by 0.05 m over all of the turbined flow.
    assert sorted(set(np.round(found[:, 3], 9))) == pytest.approx(
        [-K * 0.05 * q for q in (50, 37.5, 25, 12.5)]
    )


def test_coarser_grids_make_other_planes(falls: Any, reload: Callable[..., Any]) -> None:
    falls.put(PRODUCTION, f"{CONFIG}.volume_discretization_points", 3)
    falls.put(PRODUCTION, f"{CONFIG}.turbine_discretization_points", 3)
    np.testing.assert_allclose(
        planes(reload)[:, 1:3],
        [(0.0, 0.8624940390532548), (0.06468705292899407, 0.6037458273372783),
         (0.1509364568343196, 0.4312470195266273)],
        atol=1e-10,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "plane"),
    [
        ({f"{CONFIG}.fitting_window": {"volume_min_hm3": 100.0, "volume_max_hm3": 100.0}}, K * 85.0),
        ({f"{CONFIG}.fitting_window": {"volume_min_percentile": 0.5, "volume_max_percentile": 0.5}},
         K * 85.0),
        ({"hydros.0.hydraulic_losses": {"type": "constant", "value_m": 5.0},
          f"{CONFIG}.fitting_window": {"volume_min_hm3": 50.0, "volume_max_hm3": 50.0}},
         9.81e-3 * 0.92 * 65.0),
        ({"hydros.0.specific_productivity_mw_per_m3s_per_m": 0.01,
          f"{CONFIG}.fitting_window": {"volume_min_hm3": 50.0, "volume_max_hm3": 50.0}},
         0.01 * 0.97 * 70.0),
        ({"hydros.0.tailrace": {"type": "piecewise", "points": [{"outflow_m3s": 0.0, "height_m": 310.0},
                                                                {"outflow_m3s": 900.0, "height_m": 310.0}]},
          f"{CONFIG}.fitting_window": {"volume_min_hm3": 50.0, "volume_max_hm3": 50.0}}, K * 60.0),
    ],
)  # fmt: skip
def test_one_volume_has_one_productivity(
    falls: Any, reload: Callable[..., Any], changes: dict[str, Any], plane: float
) -> None:
    for path, value in changes.items():
        falls.put(HYDROS if path.startswith("hydros") else PRODUCTION, path, value)
    np.testing.assert_allclose(planes(reload), [(0.0, 0.0, plane, 0.0)], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.drop(GEOMETRY), ("dimension", GEOMETRY, "hydro_id")),
        (lambda d: d.put(HYDROS, "hydros.0.tailrace.coefficients", [500.0]),
         ("physics", GEOMETRY, "height_m")),
        (lambda d: d.put(PRODUCTION, f"{CONFIG}.fitting_window", {"volume_min_hm3": 300.0}),
         ("physics", PRODUCTION, "stage_ranges[0].fpha_config.fitting_window")),
        (lambda d: d.put(PRODUCTION, f"{CONFIG}.turbine_discretization_points", 1),
         ("schema", PRODUCTION, "stage_ranges[0].fpha_config.turbine_discretization_points")),
        (lambda d: d.put(PRODUCTION, f"{CONFIG}.max_planes_per_hydro", 2),
         ("unsupported", PRODUCTION, "stage_ranges[0].fpha_config.max_planes_per_hydro")),
    ],
)  # fmt: skip
def test_a_function_that_can_not_be_computed_is_refused(
    falls: Any, reload: Callable[..., Any], change: Any, expected: Any
) -> None:
    change(falls)
    case, problems = reload()
    errors = [problem for problem in problems if problem.kind != "warning"]
    assert [(p.kind, p.file, p.field) for p in errors] == [expected], errors
    assert case is None


def test_planes_far_from_the_function_are_warned_of(falls: Any, reload: Callable[..., Any]) -> None:
    falls.put(GEOMETRY, "height_m", [301.0, 302.0, 303.0, 304.0, 400.0])
    case, _ = reload()
    (warning,) = case.warnings
    assert "MW from the exact function" in warning.message
