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


# The planes of Cobre's case d07: of g = K·(0, 50, 70, 85, 95 m) at their ends, from the origin's on.
SLOPES = [(0.0, 0.8496574808198027), (0.04248287404099002, 0.6797259846558424),
          (0.0849657480819803, 0.5522773625328715), (0.1274486221229704, 0.4673116144508915),
          (0.16993149616396055, 0.4248287404099013)]  # fmt: skip


def scale(found: Any) -> float:
    """The factor that planes through no volume and no flow were scaled by."""
    grid = [(v, q) for v in (0.0, 50.0, 100.0, 150.0, 200.0) for q in (0.0, 12.5, 25.0, 37.5, 50.0)]
    level = {0.0: 50.0, 50.0: 70.0, 100.0: 85.0, 150.0: 95.0, 200.0: 100.0}
    exact = np.array([K * q * level[v] for v, q in grid])
    fitted = np.array([min(g0 + gv * v + gq * q for g0, gv, gq, _ in found) for v, q in grid])
    return float(np.sum(exact * fitted) / np.sum(fitted * fitted))


@pytest.mark.parametrize(
    ("reduction", "merged"),
    [
        ({"method": "angle", "tolerance_deg": 0.0}, []),
        ({"method": "angle", "tolerance_deg": 3.2}, [(3, 4)]),
        ({"method": "angle", "tolerance_deg": 90.0}, [(1, 2, 3, 4)]),
        ({"method": "distance", "tolerance_pct": 0.0, "n_samples": 50}, []),
        ({"method": "distance", "tolerance_pct": 100.0, "n_samples": 50}, [(1, 2, 3, 4)]),
    ],
)
def test_near_planes_become_their_mean_but_for_the_one_through_the_origin(
    falls: Any, reload: Callable[..., Any], reduction: Any, merged: list[tuple[int, ...]]
) -> None:
    falls.put(PRODUCTION, "fpha_plane_reduction", reduction)
    found = planes(reload)
    gone = {k for group in merged for k in group}
    rest = [slopes for k, slopes in enumerate(SLOPES) if k not in gone]
    expected = rest + [tuple(np.mean([SLOPES[k] for k in group], axis=0)) for group in merged]
    assert scale(found) == pytest.approx(1.0)  # of least squared deviation as they are
    factor = found[0, 2] / SLOPES[0][1]
    np.testing.assert_allclose(found[:, 1:3], factor * np.array(expected), rtol=1e-9)
    np.testing.assert_allclose(found[:, [0, 3]], 0.0, atol=1e-9)


def test_nothing_that_generates_nothing_is_thinned(falls: Any, reload: Callable[..., Any]) -> None:
    falls.put(HYDROS, "hydros.0.tailrace.coefficients", [500.0])
    falls.put(
        PRODUCTION, "fpha_plane_reduction", {"method": "distance", "tolerance_pct": 1.0, "n_samples": 9}
    )
    case, problems = reload()
    assert case is None
    assert ("physics", "height_m") in [(problem.kind, problem.field) for problem in problems]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 9])
def test_a_plant_has_no_more_planes_than_it_may(falls: Any, reload: Callable[..., Any], most: int) -> None:
    falls.put(PRODUCTION, f"{CONFIG}.max_planes_per_hydro", most)
    found = planes(reload)
    assert len(found) == min(most, 5)
    assert scale(found) == pytest.approx(1.0)


def test_the_nearest_planes_go_first_and_the_samples_decide_which(
    falls: Any, reload: Callable[..., Any]
) -> None:
    falls.put(PRODUCTION, f"{CONFIG}.max_planes_per_hydro", 4)
    by_distance = planes(reload)
    falls.put(PRODUCTION, "fpha_plane_reduction", {"method": "angle", "tolerance_deg": 0.0})
    by_angle = planes(reload)
    assert len(by_distance) == len(by_angle) == 4
    falls.put(
        PRODUCTION, "fpha_plane_reduction", {"method": "distance", "tolerance_pct": 0.0, "n_samples": 1}
    )
    assert len(planes(reload)) == 4


def test_thinned_planes_far_from_the_function_are_warned_of(falls: Any, reload: Callable[..., Any]) -> None:
    falls.put(PRODUCTION, f"{CONFIG}.max_planes_per_hydro", 1)
    case, _ = reload()
    (warning,) = case.warnings
    assert "MW from the exact function" in warning.message
    assert "more planes" in warning.hint


def test_a_reduction_of_given_planes_is_warned_of(directory: Any, reload: Callable[..., Any]) -> None:
    directory.put(PRODUCTION, "fpha_plane_reduction", {"method": "angle", "tolerance_deg": 3.0})
    case, problems = reload()
    assert case is not None, problems
    assert [problem.field for problem in problems] == ["fpha_plane_reduction"]


TAILRACES = "system/tailrace_curves.parquet"


def curves(directory: Any, *rows: tuple[int, float, int, float, float, float, float]) -> None:
    """Rows of family, level below, segment, from and to outflow, coefficients 0 and 1."""
    names = ("family_id", "downstream_reference_level_m", "segment_id", "outflow_min_m3s", "outflow_max_m3s",
             "coefficient_0", "coefficient_1")  # fmt: skip
    directory.tables[TAILRACES] = {
        "hydro_id": [3] * len(rows),
        **{name: [row[i] for row in rows] for i, name in enumerate(names)},
        **{f"coefficient_{power}": [0.0] * len(rows) for power in (2, 3, 4)},
    }
    window = {"volume_min_hm3": 50.0, "volume_max_hm3": 50.0}
    directory.put(PRODUCTION, f"{CONFIG}.fitting_window", window)


FAMILIES = ((1, 310.0, 1, 0.0, 100.0, 310.0, 0.0), (2, 320.0, 1, 0.0, 100.0, 330.0, 0.0))


@pytest.mark.parametrize(
    ("reference", "heights", "level"),
    [
        # Cobre 0.18.0 has the same levels: 65 % of the limits, else the reference, on a line between curves.
        (None, (310.0, 320.0), 323.0),
        ({"volume_hm3": 50.0}, (310.0, 320.0), 315.0),
        ({"percentile": 0.25}, (310.0, 320.0), 315.0),
        (None, (410.0, 420.0), 330.0),
        (None, (210.0, 220.0), 310.0),
    ],
)
def test_the_tailrace_follows_the_level_of_the_reservoir_below(
    falls: Any, reload: Callable[..., Any], reference: Any, heights: tuple[float, float], level: float
) -> None:
    curves(falls, *FAMILIES)
    falls.put(HYDROS, "hydros.1.reservoir.min_storage_hm3", 0.0)
    for name, values in {
        "hydro_id": [5, 5], "volume_hm3": [0.0, 200.0], "height_m": list(heights), "area_km2": [1.0, 1.0],
    }.items():  # fmt: skip
        falls.tables[GEOMETRY][name] += values
    if reference is not None:
        falls.put(PRODUCTION, "production_models.1.stage_ranges.0.reference_volume", reference)
    case, problems = reload()
    assert case is not None, problems
    (plane,) = case.system.hydros[0].production[0].planes
    assert plane.mw_per_m3s == pytest.approx(K * (370.0 - level))


def test_segments_of_a_tailrace_follow_one_another(falls: Any, reload: Callable[..., Any]) -> None:
    from pycobre.case.columns import TAILRACES as SPEC
    from pycobre.case.tailrace import Family, Segment

    assert SPEC.key == ("hydro_id", "family_id", "segment_id")
    family = Family(
        290.0,
        (Segment(0.0, 30.0, np.array([310.0])), Segment(30.0, 60.0, np.array([307.0, 0.1]))),
    )
    outflow = np.array([0.0, 25.0, 37.5, 50.0, 60.0, 99.0])
    np.testing.assert_allclose(family.height_m(outflow), [310.0, 310.0, 310.75, 312.0, 313.0, 313.0])
    curves(falls, (1, 290.0, 1, 0.0, 30.0, 310.0, 0.0), (1, 290.0, 2, 40.0, 60.0, 307.0, 0.1))
    _, problems = reload()
    assert [(p.kind, p.file, p.entity) for p in problems] == [("dimension", TAILRACES, "hydro 3, family 1")]
