"""Cobre's own published cases, read by path: its values, reached from its own files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pycobre

ANALYTIC = {
    "d01-thermal-dispatch": (182500.0, 1e-6),
    "d02-single-hydro": (23635000.0 / 9.0, 1e-4),
    "d03-two-hydro-cascade": (4171000.0 / 3.0, 1e-4),
    "d04-transmission": (5263443883.0 / 657.0, 1e-4),
    "d05-fpha-constant-head": (23635000.0 / 9.0, 1e-4),
    "d07-fpha-computed": (3657537.6966, 1e-3),  # recorded
    "d08-evaporation": (2628380.5311, 1e-3),  # recorded
    "d09-multi-deficit": (80738000.0, 1e-6),
    "d13-generic-constraint": (15330000.0, 1e-2),
    "d14-block-factors": (176900.0, 1e-4),
    "d15-non-controllable-source": (437927.0, 1e-2),
    "d21-min-outflow-regression": (285716111.1111, 1e-2),  # recorded
    "d23-bidirectional-withdrawal": (8795111.1111, 1e-3),  # recorded
    "d24-productivity-override": (23945000.0 / 9.0, 1e-4),
    "d27-per-stage-thermal-cost": (10950000.0, 1e-2),
}


@pytest.mark.parametrize("name", ANALYTIC)
def test_deterministic_case_has_its_value_and_no_gap(shared_cases: Path, name: str) -> None:
    value, tolerance = ANALYTIC[name]
    overrides = {"simulation.enabled": True, "simulation.num_scenarios": 3}
    result = pycobre.train(shared_cases / "cobre-0.18" / name, simulation=True, overrides=overrides)
    assert result.lower_bound == pytest.approx(value, abs=tolerance)
    assert result.summary.simulated_mean == pytest.approx(result.lower_bound, rel=1e-9)
    assert result.summary.bound_holds


@pytest.mark.parametrize(
    ("name", "iterations", "bound", "relative"),
    [
        ("4ree", 256, 60866295708.637, 1e-5),  # after as many iterations of 4 passes; not yet converged
        ("1dtoy", 1000, 2605944.586098557, 1e-12),  # after 3000 iterations: converged
    ],
)
def test_stochastic_case_on_cobres_openings_reaches_cobres_bound(
    shared_cases: Path, tmp_path: Path, name: str, iterations: int, bound: float, relative: float
) -> None:
    """Bounds of cobre-python 0.18.0 on the openings that it exports for tree seed 42."""
    case = tmp_path / name
    shutil.copytree(shared_cases / "cobre-0.18" / name, case)
    openings = Path(__file__).parent / "data" / f"{name}_openings_of_cobre_0.18.0.parquet"
    shutil.copy(openings, case / "scenarios" / "noise_openings.parquet")
    overrides = {
        "training.scenario_source.openings": {"source": "file"},
        "training.iterations": iterations,
    }
    result = pycobre.train(case, num_workers=2, overrides=overrides)
    assert result.iterations == iterations
    assert result.lower_bound == pytest.approx(bound, rel=relative)
