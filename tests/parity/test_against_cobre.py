"""Cobre's own published cases, read by path: its values, reached from its own files."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import pycobre

DATA = Path(__file__).parent / "data"
PEER = json.loads((DATA / "cobre_0.18.0.json").read_text())["cases"]
ANALYTIC = {
    "d01-thermal-dispatch": (182500.0, 1e-6),
    "d02-single-hydro": (23635000.0 / 9.0, 1e-4),
    "d03-two-hydro-cascade": (4171000.0 / 3.0, 1e-4),
    "d04-transmission": (5263443883.0 / 657.0, 1e-4),
    "d05-fpha-constant-head": (23635000.0 / 9.0, 1e-4),
    "d07-fpha-computed": (3657537.6966, 1e-3),  # recorded
    "d08-evaporation": (2628380.5311, 1e-3),  # recorded
    "d09-multi-deficit": (80738000.0, 1e-6),
    "d10-inflow-nonnegativity": (28562500.0 / 9.0, 1e-4),
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
    assert result.lower_bound == pytest.approx(PEER[name]["lower_bound"], rel=1e-6)
    assert result.summary.simulated_mean == pytest.approx(result.lower_bound, rel=1e-9)
    assert result.summary.simulated_mean == pytest.approx(PEER[name]["mean_cost"], rel=1e-6)
    assert result.summary.bound_holds


# The second month's inflow is certain and negative, -5 m³/s. Made zero, it spares 5 MW of the thermal at 50
# for 730 h. Cobre 0.18 truncates noise alone, and leaves it negative under every rule.
NEGATIVE = 28562500.0 / 9.0
SPARED = 5.0 * 730.0 * 50.0


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("none", NEGATIVE),
        ("penalty", NEGATIVE),
        ("truncation", NEGATIVE - SPARED),
        ("truncation_with_penalty", NEGATIVE - SPARED),
    ],
)
def test_rule_for_negative_inflows_holds_in_bound_and_simulation(
    shared_cases: Path, method: str, value: float
) -> None:
    overrides = {
        "modeling.inflow_non_negativity.method": method,
        "simulation.enabled": True,
        "simulation.num_scenarios": 2,
    }
    case = shared_cases / "cobre-0.18" / "d10-inflow-nonnegativity"
    result = pycobre.train(case, simulation=True, overrides=overrides)
    assert result.lower_bound == pytest.approx(value, abs=1e-4)
    assert result.summary.simulated_mean == pytest.approx(value, abs=1e-4)


def test_weeks_and_a_month_with_external_scenarios(shared_cases: Path, tmp_path: Path) -> None:
    """The bound of Cobre 0.5.1 on the same openings; the simulation replays the five given scenarios."""
    name = "d28-decomp-weekly-monthly"
    case = tmp_path / name
    shutil.copytree(shared_cases / "cobre-0.18" / name, case, copy_function=shutil.copyfile)
    (case / "scenarios").chmod(0o755)
    openings = DATA / f"{name}_openings_of_cobre_0.18.0.parquet"
    shutil.copyfile(openings, case / "scenarios" / "noise_openings.parquet")
    overrides = {"training.scenario_source.openings": {"source": "file"}}
    result = pycobre.train(case, output=tmp_path / "results", simulation=True, overrides=overrides)
    assert result.lower_bound == pytest.approx(780.6803367, abs=1e-6)
    assert result.summary.bound_holds is None  # the scenarios are not those of the openings
    inflow = result.results.reservoirs.to_pandas().sort_values(["scenario_id", "stage_id"])
    replayed = inflow["inflow_m3s"].to_numpy().reshape(5, 6)
    assert replayed[:, :5] == pytest.approx(np.repeat([[45.0, 55.0, 60.0, 50.0, 65.0]], 5, axis=0))
    assert replayed[:, 5] == pytest.approx([40.0, 50.0, 60.0, 70.0, 80.0])


def test_weeks_of_one_month_keep_its_lag(shared_cases: Path, tmp_path: Path) -> None:
    """Four weeks of January look back to December's 200 m³/s; water beyond demand and reservoir is spilled.

    Cobre walks forward like that, but its cuts let each week look back to the week before.
    """
    name = "d29-weekly-par-noise-sharing"
    case = tmp_path / name
    shutil.copytree(shared_cases / "cobre-0.18" / name, case, copy_function=shutil.copyfile)
    (case / "scenarios").chmod(0o755)
    openings = DATA / f"{name}_openings_of_cobre_0.18.0.parquet"
    shutil.copyfile(openings, case / "scenarios" / "noise_openings.parquet")
    result = pycobre.train(case, overrides={"training.scenario_source.openings": {"source": "file"}})
    noise = pq.read_table(openings).to_pydict()["value"]
    inflow = 100.0 + 0.5 * (200.0 - 100.0) + 20.0 * math.sqrt(1.0 - 0.5**2) * np.array(noise)
    beyond = 4.0 * (inflow.mean() - 50.0) - (200.0 - 100.0) / 0.6048  # m³/s weeks; 0.6048 hm³ each
    assert result.lower_bound == pytest.approx(0.01 * 168.0 * beyond, rel=1e-9)
