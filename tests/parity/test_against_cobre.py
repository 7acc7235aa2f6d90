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
    "d09-multi-deficit": (80738000.0, 1e-6),
    "d14-block-factors": (176900.0, 1e-4),
    "d21-min-outflow-regression": (285716111.1111, 1e-2),  # recorded
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


def test_4ree_on_cobres_openings_converges_to_cobres_bound(shared_cases: Path, tmp_path: Path) -> None:
    """cobre-python 0.18.0 reports 60866295708.637 after 256 iterations of 4 passes on these openings.

    The openings are those it exports (``exports.stochastic``) for tree seed 42.
    """
    case = tmp_path / "4ree"
    shutil.copytree(shared_cases / "cobre-0.18" / "4ree", case)
    openings = Path(__file__).parent / "data" / "4ree_openings_of_cobre_0.18.0.parquet"
    shutil.copy(openings, case / "scenarios" / "noise_openings.parquet")
    overrides = {"training.scenario_source.openings": {"source": "file"}}
    result = pycobre.train(case, num_workers=2, overrides=overrides)
    assert result.iterations == 256
    assert result.lower_bound == pytest.approx(60866295708.637, rel=1e-5)
