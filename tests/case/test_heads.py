"""Plants whose head is a line: what the line follows from, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pycobre
from case import exercise as e
from pycobre.system import LinearizedHead

RANGE = "production_models.0.stage_ranges.0"


@pytest.fixture
def steep(directory: Any) -> Any:
    """A plant at 20 m with nothing in its reservoir and at 60 m with 200 hm³."""
    e.steep(directory)
    directory.drop(e.ENERGY)
    directory.put(e.HYDROS, "hydros.0.generation.model", "linearized_head")
    directory.put(e.PRODUCTION, f"{RANGE}.model", "linearized_head")
    directory.put(e.PRODUCTION, f"{RANGE}.reference_volume", {"volume_hm3": 100.0})
    return directory


def line(reload: Callable[..., Any]) -> LinearizedHead:
    case, problems = reload()
    assert case is not None, problems
    found = case.system.hydros[0].production[0]
    assert isinstance(found, LinearizedHead)
    return found


def test_productivity_goes_with_the_net_head_at_the_reference_volume(steep: Any, reload: Any) -> None:
    # 0.2 m for a hm³, of 40 m.
    assert line(reload) == LinearizedHead(0.9, pytest.approx(0.9 * 0.2 / 40.0), 100.0)


def test_tailrace_and_losses_leave_less_of_the_head(steep: Any, reload: Any) -> None:
    hydros = steep.documents[e.HYDROS]["hydros"]
    hydros[0]["tailrace"] = {"type": "polynomial", "coefficients": [5.0, 0.1]}  # 10 m at 50 m³/s
    hydros[0]["hydraulic_losses"] = {"type": "constant", "value_m": 6.0}
    assert line(reload).mw_per_m3s_per_hm3 == pytest.approx(0.9 * 0.2 / 24.0)


@pytest.mark.parametrize(
    ("reference", "volume", "rise"),
    [({"percentile": 0.5}, 105.0, 0.1), (None, 133.5, 0.1), ({"volume_hm3": 20.0}, 20.0, 0.4)],
)
def test_the_line_is_that_of_the_level_there(
    steep: Any, reload: Any, reference: Any, volume: float, rise: float
) -> None:
    table = steep.tables[e.GEOMETRY]
    table |= {"hydro_id": [3] * 3, "volume_hm3": [0.0, 50.0, 200.0], "height_m": [20.0, 40.0, 55.0],
              "area_km2": [1.0] * 3}  # fmt: skip
    steep.put(e.PRODUCTION, f"{RANGE}.reference_volume", reference)
    level = 28.0 if volume == 20.0 else 40.0 + 0.1 * (volume - 50.0)
    assert line(reload) == LinearizedHead(0.9, pytest.approx(0.9 * rise / level), pytest.approx(volume))


@pytest.mark.parametrize(
    ("change", "kind", "field"),
    [
        (lambda d: d.drop(e.GEOMETRY), "dimension", "hydro_id"),
        (lambda d: d.keep_rows(e.GEOMETRY, lambda row: row["volume_hm3"] > 0.0), "dimension", "hydro_id"),
        (lambda d: d.put(e.HYDROS, "hydros.0.tailrace", {"type": "polynomial", "coefficients": [45.0]}),
         "physics", "height_m"),
        (lambda d: d.put(e.GEOMETRY, "volume_hm3.1", 0.0), "dimension", "volume_hm3"),
    ],
    ids=["no geometry", "one point", "under water", "one volume"],
)  # fmt: skip
def test_a_line_needs_levels_and_a_head(steep: Any, reload: Any, change: Any, kind: str, field: str) -> None:
    change(steep)
    case, problems = reload()
    assert case is None
    assert (kind, e.GEOMETRY, field) in [(p.kind, p.file, p.field) for p in problems]


def test_a_factor_of_the_head_is_warned_of(steep: Any, reload: Any) -> None:
    steep.put(e.HYDROS, "hydros.0.hydraulic_losses", {"type": "factor", "value": 0.1})
    case, problems = reload()
    assert case is not None
    assert [(p.file, p.field) for p in problems] == [(e.HYDROS, "hydraulic_losses")]


def test_the_bound_is_not_held_against_a_simulation_at_other_heads(steep: Any, tmp_path: Any) -> None:
    result = pycobre.train(steep.write(tmp_path / "case"), simulation=True, output=tmp_path / "out")
    steep.put(e.PRODUCTION, f"{RANGE}.model", "constant_productivity")
    steep.put(e.PRODUCTION, f"{RANGE}.reference_volume", None)
    steep.put(e.HYDROS, "hydros.0.generation.model", "constant_productivity")
    constant = pycobre.train(steep.write(tmp_path / "case"), simulation=True, output=tmp_path / "other")
    assert result.summary.bound_holds is None
    assert constant.summary.bound_holds is not None
    assert result.lower_bound == pytest.approx(constant.lower_bound, rel=1e-12)
    assert result.summary.simulated_mean != constant.summary.simulated_mean
