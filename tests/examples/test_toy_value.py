"""The toy's files, read independently of pycobre, have the published value as their extensive form."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.optimize import linprog

TOY = Path(__file__).parents[2] / "examples" / "toy"
TABLES = (
    "scenarios/inflow_seasonal_stats.parquet",
    "scenarios/load_seasonal_stats.parquet",
    "scenarios/noise_openings.parquet",
    "constraints/thermal_bounds.parquet",
)
HM3_PER_M3S_HOUR = 0.0036


def document(name):
    return json.loads((TOY / name).read_text(encoding="utf-8"))


def rows(name):
    return pq.read_table(TOY / name).to_pylist()


def thermal_cost(stage):
    overrides = {row["stage_id"]: row["cost_per_mwh"] for row in rows("constraints/thermal_bounds.parquet")}
    return overrides.get(stage, document("system/thermals.json")["thermals"][0]["cost_per_mwh"])


def inflows_m3s(stage):
    (stats,) = (r for r in rows("scenarios/inflow_seasonal_stats.parquet") if r["stage_id"] == stage)
    noises = [r["value"] for r in rows("scenarios/noise_openings.parquet") if r["stage_id"] == stage]
    return [stats["mean_m3s"] + stats["std_m3s"] * noise for noise in noises]


def extensive_form_value():
    """Solve one LP over all histories; per node: final storage, turbined, spilled, thermal, deficit."""
    hydro = document("system/hydros.json")["hydros"][0]
    thermal = document("system/thermals.json")["thermals"][0]
    penalties = document("penalties.json")
    stages = document("stages.json")["stages"]
    model = document("system/hydro_production_models.json")["production_models"][0]["stage_ranges"][0]
    load = {row["stage_id"]: row["mean_mw"] for row in rows("scenarios/load_seasonal_stats.parquet")}
    (storage,) = document("initial_conditions.json")["storage"]

    supports = [inflows_m3s(stage["id"]) for stage in stages]
    nodes = [
        history
        for depth in range(1, len(stages) + 1)
        for history in itertools.product(*(range(len(support)) for support in supports[:depth]))
    ]
    column = {history: 5 * i for i, history in enumerate(nodes)}
    cost, bounds = [], []
    water = np.zeros((len(nodes), 5 * len(nodes)))
    power = np.zeros_like(water)
    water_rhs, power_rhs = np.zeros(len(nodes)), np.zeros(len(nodes))
    for i, history in enumerate(nodes):
        t, at = len(history) - 1, column[history]
        hours = sum(block["hours"] for block in stages[t]["blocks"])
        zeta = HM3_PER_M3S_HOUR * hours
        weight = hours / np.prod([len(support) for support in supports[: t + 1]])
        cost += [
            0.0,
            weight * penalties["hydro"]["turbined_cost"],
            weight * penalties["hydro"]["spillage_cost"],
            weight * thermal_cost(stages[t]["id"]),
            weight * penalties["bus"]["deficit_segments"][0]["cost"],
        ]
        bounds += [
            (hydro["reservoir"]["min_storage_hm3"], hydro["reservoir"]["max_storage_hm3"]),
            (hydro["generation"]["min_turbined_m3s"], hydro["generation"]["max_turbined_m3s"]),
            (0.0, None),
            (thermal["generation"]["min_mw"], thermal["generation"]["max_mw"]),
            (0.0, None),
        ]
        water[i, at : at + 3] = 1.0, zeta, zeta
        water_rhs[i] = zeta * supports[t][history[-1]]
        if t == 0:
            water_rhs[i] += storage["value_hm3"]
        else:
            water[i, column[history[:-1]]] = -1.0
        power[i, at + 1 : at + 5] = model["productivity_mw_per_m3s"], 0.0, 1.0, 1.0
        power_rhs[i] = load[stages[t]["id"]]
    result = linprog(
        cost,
        A_eq=np.vstack([water, power]),
        b_eq=np.concatenate([water_rhs, power_rhs]),
        bounds=bounds,
    )
    assert result.success, result.message
    return result.fun


def test_inflows_are_exactly_the_published_ones():
    assert [inflows_m3s(stage) for stage in range(3)] == [[0.0, 50.0, 100.0]] * 3


def test_value_is_the_published_one():
    assert extensive_form_value() == pytest.approx(25000 / 3, abs=1e-6)


def test_stages_are_as_long_as_their_hours():
    dates = [(stage["start_date"], stage["end_date"]) for stage in document("stages.json")["stages"]]
    for (start, end), stage in zip(dates, document("stages.json")["stages"], strict=True):
        days = (np.datetime64(end) - np.datetime64(start)).astype(int)
        assert sum(block["hours"] for block in stage["blocks"]) == 24 * days
    assert [end for _, end in dates[:-1]] == [start for start, _ in dates[1:]]


def test_script_gives_the_committed_tables(tmp_path):
    subprocess.run([sys.executable, TOY / "make_tables.py", tmp_path], check=True)
    for name in TABLES:
        assert pq.read_table(tmp_path / name).equals(pq.read_table(TOY / name), check_metadata=True), name


def test_readme_names_every_file():
    text = (TOY / "README.md").read_text(encoding="utf-8")
    files = [path for path in TOY.rglob("*") if path.suffix in {".json", ".parquet", ".py"}]
    assert [path.name for path in files if path.name not in text] == []
