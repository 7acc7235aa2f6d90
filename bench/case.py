"""How long a large case takes to be read, checked and built: a generated one, or one that is given.

python bench/case.py                    160 hydros, 60 stages of 3 blocks, every statistic given
python bench/case.py --heads --history  planes computed from heads, inflow models estimated
python bench/case.py --case DIRECTORY
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = {"operational_start_date": "1990-01-01"}
BLOCKS, BUSES, THERMALS, RIVER = 3, 5, 100, 8
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
PRICES = (
    "spillage_cost", "turbined_cost", "storage_violation_below_cost", "turbined_violation_below_cost",
    "outflow_violation_below_cost", "outflow_violation_above_cost", "generation_violation_below_cost",
    "diversion_cost", "evaporation_violation_cost", "filling_target_violation_cost",
    "water_withdrawal_violation_cost",
)  # fmt: skip


def month(k: int, first: int = 2025) -> str:
    return f"{first + k // 12}-{k % 12 + 1:02}-01"


def plant(id: int, hydros: int, heads: bool) -> dict[str, Any]:
    """A plant of a river of RIVER plants, each below the one before."""
    limits = {
        "min_turbined_m3s": 0.0, "max_turbined_m3s": 300.0, "min_generation_mw": 0.0,
        "max_generation_mw": 250.0,
    }  # fmt: skip
    made = {
        "id": id, "name": f"H{id}", **START,
        "downstream_id": id + 1 if (id + 1) % RIVER and id + 1 < hydros else None,
        "reservoir": {"min_storage_hm3": 100.0, "max_storage_hm3": 1000.0},
        "outflow": {"min_outflow_m3s": 20.0, "max_outflow_m3s": None},
        "generation": {"model": "fpha" if heads else "constant_productivity", **limits},
        "unit_groups": [{"id": 0, "name": "G", "bus_id": id % BUSES, **limits}],
        "evaporation": {"coefficients_mm": [80.0 + m for m in range(12)]},
    }  # fmt: skip
    if heads:
        made["tailrace"] = {"type": "polynomial", "coefficients": [300.0 + id, 5e-3, -1e-6]}
        made["efficiency"] = {"type": "constant", "value": 0.92}
    return made


def documents(hydros: int, stages: int, heads: bool) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "start_stage_id": 0,
        "model": "constant_productivity",
        "productivity_mw_per_m3s": 0.8,
    }
    if heads:
        choice = {"start_stage_id": 0, "model": "fpha", "fpha_config": {"source": "computed"}}
    hours = [24.0 * DAYS[k % 12] for k in range(stages)]
    leap = [24.0 * (k % 12 == 1 and (2025 + k // 12) % 4 == 0) for k in range(stages)]
    return {
        "config.json": {
            "training": {
                "selection": {"method": "sampled", "forward_passes": 4},
                "stopping_rules": [{"type": "iteration_limit", "limit": 5}],
            }
        },
        "stages.json": {
            "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.1},
            "season_definitions": {
                "cycle_type": "monthly",
                "seasons": [{"id": m, "month_start": m + 1, "label": f"{m + 1}"} for m in range(12)],
            },
            "stages": [
                {
                    "id": k, "start_date": month(k), "end_date": month(k + 1), "season_id": k % 12,
                    "blocks": [
                        {"id": b, "name": f"B{b}",
                         "hours": (hours[k] + leap[k]) / BLOCKS} for b in range(BLOCKS)
                    ],
                    "num_openings": 20, "state_variables": {"storage": True, "inflow_lags": True},
                }
                for k in range(stages)
            ],
        },
        "penalties.json": {
            "bus": {"deficit_segments": [{"depth_mw": None, "cost": 8000.0}], "excess_cost": 0.01},
            "line": {"exchange_cost": 0.1},
            "hydro": dict.fromkeys(PRICES, 9.0),
            "non_controllable_source": {"curtailment_cost": 0.01},
        },
        "initial_conditions.json": {
            "storage": [{"hydro_id": id, "value_hm3": 700.0} for id in range(hydros)],
            "filling_storage": [],
            "recent_observations": [
                {"hydro_id": id, "start_date": "2024-12-01", "end_date": "2025-01-01", "value_m3s": 90.0}
                for id in range(hydros)
            ],
        },
        "system/buses.json": {"buses": [{"id": b, "name": f"B{b}", **START} for b in range(BUSES)]},
        "system/lines.json": {
            "lines": [
                {"id": b, "name": f"L{b}", **START, "source_bus_id": b, "target_bus_id": (b + 1) % BUSES,
                 "capacity": {"direct_mw": 900.0, "reverse_mw": 900.0}}
                for b in range(BUSES)
            ]
        },
        "system/thermals.json": {
            "thermals": [
                {"id": j, "name": f"T{j}", **START, "bus_id": j % BUSES, "cost_per_mwh": 40.0 + 9.0 * j,
                 "generation": {"min_mw": 0.0, "max_mw": 120.0}}
                for j in range(THERMALS)
            ]
        },
        "system/hydros.json": {"hydros": [plant(id, hydros, heads) for id in range(hydros)]},
        "system/hydro_production_models.json": {
            "production_models": [
                {"hydro_id": id, "selection_mode": "stage_ranges", "stage_ranges": [choice]}
                for id in range(hydros)
            ]
        },
        "scenarios/load_factors.json": {
            "load_factors": [
                {"bus_id": b, "stage_id": k, "block_factors": [
                    {"block_id": i, "factor": 0.9 + 0.1 * i} for i in range(BLOCKS)]}
                for b in range(BUSES) for k in range(stages)
            ]
        },
    }  # fmt: skip


def tables(hydros: int, stages: int, history: bool) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(1)
    ids, periods = np.repeat(np.arange(hydros), stages + 1), np.tile(np.arange(-1, stages), hydros)
    mean = 90.0 + 30.0 * np.cos(periods * np.pi / 6.0) + ids % 9
    study = periods >= 0
    made: dict[str, dict[str, Any]] = {
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": np.repeat(np.arange(BUSES), stages), "stage_id": np.tile(np.arange(stages), BUSES),
            "mean_mw": np.full(BUSES * stages, 6000.0), "std_mw": np.full(BUSES * stages, 90.0),
        },
        "constraints/hydro_bounds.parquet": {
            "hydro_id": ids[study], "stage_id": periods[study],
            "max_turbined_m3s": 250.0 + 40.0 * rng.random(study.sum()),
        },
        "system/hydro_geometry.parquet": {
            "hydro_id": np.repeat(np.arange(hydros), 9), "volume_hm3": np.tile(np.linspace(0.0, 1000.0, 9),
                                                                               hydros),
            "height_m": np.tile(360.0 + 40.0 * np.linspace(0.0, 1.0, 9) ** 0.6,
                                hydros) + np.repeat(np.arange(hydros), 9),
            "area_km2": np.tile(20.0 + 60.0 * np.linspace(0.0, 1.0, 9), hydros),
        },
    }  # fmt: skip
    if history:
        years = 90
        months = [date.fromisoformat(month(k, 2024 - years)) for k in range(12 * years + 1)]
        shocks, level = rng.standard_normal((12 * years, hydros)), np.zeros((12 * years, hydros))
        for k in range(1, 12 * years):
            level[k] = 0.6 * level[k - 1] + 0.8 * shocks[k]
        season = 1.0 + 0.4 * np.cos(np.arange(12 * years) * np.pi / 6.0)
        values = 90.0 * season[:, None] * np.exp(0.3 * level)
        made["scenarios/inflow_history.parquet"] = {
            "hydro_id": np.repeat(np.arange(hydros), 12 * years), "start_date": months[:-1] * hydros,
            "end_date": months[1:] * hydros, "value_m3s": values.T.ravel(),
        }  # fmt: skip
        return made
    made["scenarios/inflow_seasonal_stats.parquet"] = {
        "hydro_id": ids, "stage_id": periods, "mean_m3s": mean, "std_m3s": 0.3 * mean,
    }  # fmt: skip
    made["scenarios/inflow_ar_coefficients.parquet"] = {
        "hydro_id": ids[study], "stage_id": periods[study], "lag": np.ones(study.sum(), dtype=int),
        "coefficient": np.full(study.sum(), 0.6),
    }  # fmt: skip
    return made


def write(root: Path, hydros: int, stages: int, heads: bool, history: bool) -> Path:
    """A generated case in *root*."""
    for folder in ("system", "scenarios", "constraints"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for file, content in documents(hydros, stages, heads).items():
        (root / file).write_text(json.dumps(content))
    days, whole = {"start_date", "end_date"}, {"lag"}
    for file, columns in tables(hydros, stages, history).items():
        kinds = {
            name: pa.date32()
            if name in days
            else pa.int32()
            if name in whole or name.endswith("_id")
            else pa.float64()
            for name in columns
        }
        pq.write_table(
            pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()}), root / file
        )
    return root


def measure(case: Path, repeat: int) -> None:
    """Print the seconds of loading and of building, the first time and the best of the others."""
    began = time.perf_counter()
    from pycobre.case import check_case
    from pycobre.lp import build_stages
    from pycobre.stochastic import inflow_recursion

    print(f"import          {time.perf_counter() - began:6.2f} s")
    took: dict[str, list[float]] = {"load and check": [], "build all LPs": []}
    for _ in range(repeat):
        began = time.perf_counter()
        found, problems = check_case(case)
        took["load and check"].append(time.perf_counter() - began)
        if found is None:
            raise SystemExit("\n".join(f"{problem.file}: {problem}" for problem in problems))
        began = time.perf_counter()
        models = build_stages(found.system, inflow_recursion(found.system.inflow, found.system.stages))
        took["build all LPs"].append(time.perf_counter() - began)
    for name, seconds in took.items():
        print(f"{name:15} {seconds[0]:6.2f} s, again {min(seconds[1:], default=seconds[0]):.2f} s")
    template = models[0].template
    print(f"{len(models)} LPs, the first of {len(template.cost)} columns and {len(template.row_lower)} rows")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", type=Path, help="a case directory instead of a generated one")
    parser.add_argument("--hydros", type=int, default=160)
    parser.add_argument("--stages", type=int, default=60)
    parser.add_argument("--heads", action="store_true", help="planes are computed")
    parser.add_argument("--history", action="store_true", help="inflow models are estimated")
    parser.add_argument("--repeat", type=int, default=2)
    given = parser.parse_args()
    if given.case:
        measure(given.case, given.repeat)
        return
    with tempfile.TemporaryDirectory() as scratch:
        measure(write(Path(scratch), given.hydros, given.stages, given.heads, given.history), given.repeat)


if __name__ == "__main__":
    main()
