"""Evaporation follows from the area that a reservoir has at a volume, and from the days of each month."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

GEOMETRY = "system/hydro_geometry.parquet"
HYDROS = "system/hydros.json"
JANUARY = 1000.0 / (31 * 86400.0)
"""m³/s of a mm on a km² in a month of 31 days."""


@pytest.fixture
def lake(directory: Any) -> Any:
    directory.tables[GEOMETRY] = {
        "hydro_id": [3, 3, 3], "volume_hm3": [200.0, 0.0, 105.0], "height_m": [9.0, 1.0, 5.0],
        "area_km2": [5.8, 1.0, 2.0],
    }  # fmt: skip
    directory.put(HYDROS, "hydros.0.evaporation", {"coefficients_mm": [100.0, -50.0, 0.0] + [9.0] * 9})
    return directory


def line(reload: Callable[..., Any], t: int) -> tuple[float, float]:
    case, problems = reload()
    assert case is not None, problems
    evaporation = case.system.evaporation[0][t]
    return evaporation.constant_m3s, evaporation.m3s_per_hm3


def test_the_line_is_that_of_the_middle_volume_and_upwards_at_a_corner(
    lake: Any, reload: Callable[..., Any]
) -> None:
    # The middle of 10 and 200 is 105: from there on 0.04 km² a hm³, which is -2.2 km² at no volume.
    assert line(reload, 0) == pytest.approx((100 * JANUARY * -2.2, 100 * JANUARY * 0.04))
    february = 1000.0 / (29 * 86400.0)
    assert line(reload, 1) == pytest.approx((-50 * february * -2.2, -50 * february * 0.04))


def test_a_reference_volume_chooses_another_line(lake: Any, reload: Callable[..., Any]) -> None:
    lake.put(HYDROS, "hydros.0.evaporation.reference_volumes_hm3", [50.0] * 12)
    assert line(reload, 0) == pytest.approx((100 * JANUARY * 1.0, 100 * JANUARY / 105.0))


def test_a_stage_across_two_months_takes_the_days_of_each(lake: Any, reload: Callable[..., Any]) -> None:
    lake.put(HYDROS, "hydros.0.evaporation.reference_volumes_hm3", [50.0] * 12)
    lake.put("stages.json", "stages.0.end_date", "2024-02-11")
    lake.put("stages.json", "stages.1.start_date", "2024-02-11")
    for t, hours in ((0, 41 * 24.0), (1, 19 * 24.0)):
        lake.put("stages.json", f"stages.{t}.blocks.0.hours", hours / 4)
        lake.put("stages.json", f"stages.{t}.blocks.1.hours", 3 * hours / 4)
    lake.drop("scenarios/inflow_ar_coefficients.parquet")
    lake.put("initial_conditions.json", "recent_observations", [])
    expected = (31 * 100.0 * JANUARY + 10 * -50.0 * 1000.0 / (29 * 86400.0)) / 41
    assert line(reload, 0)[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.put(HYDROS, "hydros.0.evaporation.coefficients_mm", [1.0] * 11),
         ("dimension", HYDROS, "evaporation.coefficients_mm")),
        (lambda d: d.put(GEOMETRY, "volume_hm3.1", 105.0), ("dimension", GEOMETRY, "volume_hm3")),
        (lambda d: d.put(GEOMETRY, "hydro_id.0", 8), ("reference", GEOMETRY, "hydro_id")),
    ],
)  # fmt: skip
def test_a_wrong_geometry_is_refused(
    lake: Any, reload: Callable[..., Any], change: Any, expected: Any
) -> None:
    change(lake)
    case, problems = reload()
    errors = [problem for problem in problems if problem.kind != "warning"]
    assert [(p.kind, p.file, p.field) for p in errors] == [expected], errors
    assert case is None
