"""Writes a case of a size and a kind, drawn from a seed; pycobre and Cobre 0.18 read the same files.

python bench/generate.py DIRECTORY --hydros 24 --stages 36 --lags 6
python bench/generate.py DIRECTORY --hydros 160 --stages 6 --lags 6 --least-lags 1

Rivers of eight plants, one below the other, with reservoirs of a third to three months of their mean flow;
thermals of rising cost that can carry a part of the load; five buses in a ring; three blocks. Inflows are
autoregressive, without correlation between plants, and stationary whatever the seed.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = {"operational_start_date": "1990-01-01"}
BUSES, RIVER = 5, 8
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
LOAD_OF_BLOCK = (1.2, 1.0, 0.8)
HM3_PER_MONTH = 2.63  # of 1 m3/s
PRICES = {
    "spillage_cost": 0.01, "turbined_cost": 0.0, "diversion_cost": 0.1,
    "storage_violation_below_cost": 20000.0,
    "filling_target_violation_cost": 50000.0, "turbined_violation_below_cost": 500.0,
    "outflow_violation_below_cost": 500.0, "outflow_violation_above_cost": 500.0,
    "generation_violation_below_cost": 1000.0, "evaporation_violation_cost": 500.0,
    "water_withdrawal_violation_cost": 500.0, "inflow_nonnegativity_cost": 2000.0,
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """What is generated.

    Attributes
    ----------
    lags, least_lags
        Orders of the plants' inflow models: from the least to the most, drawn.
    detailed
        With evaporation, limits by stage, and noise in the load as well.
    heads
        Planes are computed from heads; implies geometry.
    history
        An inflow history to estimate models from, instead of models.
    """

    hydros: int = 160
    stages: int = 60
    thermals: int = 100
    blocks: int = 3
    openings: int = 20
    lags: int = 1
    least_lags: int | None = None
    forward_passes: int = 8
    iterations: int = 20
    seed: int = 1
    detailed: bool = False
    heads: bool = False
    history: bool = False


@dataclass(frozen=True, eq=False)
class Plants:
    """What is drawn: mean inflows, of each plant and of all above and with it, sizes, and noise models."""

    inflow: Any
    flow: Any
    storage: Any
    productivity: Any
    turbined: Any
    coefficients: list[Any]

    @property
    def load(self) -> float:
        """Mean load of a bus in MW: what mean flows generate, and a bit more."""
        return float(1.25 * (self.productivity * np.minimum(self.flow, self.turbined)).sum() / BUSES)


def month(k: int, first: int = 2025) -> str:
    return f"{first + k // 12}-{k % 12 + 1:02}-01"


def autoregression(partial: Any) -> Any:
    """Coefficients of these partial autocorrelations: stationary as long as each is below one."""
    found = np.empty(0)
    for last in partial:
        found = np.append(found - last * found[::-1], last)
    return found


def draw(kind: Kind) -> Plants:
    rng = np.random.default_rng(kind.seed)
    inflow = rng.uniform(30.0, 120.0, kind.hydros)
    place = np.arange(kind.hydros) % RIVER
    flow = np.array([inflow[id - place[id] : id + 1].sum() for id in range(kind.hydros)])
    storage = flow * HM3_PER_MONTH * rng.uniform(0.3, 3.0, kind.hydros)
    orders = rng.integers(kind.least_lags or kind.lags, kind.lags + 1, kind.hydros)
    coefficients = [
        autoregression(np.append(rng.uniform(0.4, 0.7), rng.uniform(-0.1, 0.2, order - 1)))
        for order in orders
    ]
    return Plants(
        inflow,
        flow,
        storage,
        productivity=rng.uniform(0.4, 1.1, kind.hydros),
        turbined=flow * rng.uniform(1.2, 1.8, kind.hydros),
        coefficients=coefficients,
    )


def plant(id: int, drawn: Plants, kind: Kind) -> dict[str, Any]:
    """A plant above the next one of its river."""
    limits = {
        "min_turbined_m3s": 0.0, "max_turbined_m3s": drawn.turbined[id], "min_generation_mw": 0.0,
        "max_generation_mw": drawn.turbined[id] * drawn.productivity[id],
    }  # fmt: skip
    made = {
        "id": id, "name": f"H{id}", **START,
        "downstream_id": id + 1 if (id + 1) % RIVER and id + 1 < kind.hydros else None,
        "reservoir": {"min_storage_hm3": 0.1 * drawn.storage[id], "max_storage_hm3": drawn.storage[id]},
        "outflow": {"min_outflow_m3s": 0.2 * drawn.flow[id], "max_outflow_m3s": None},
        "generation": {"model": "fpha" if kind.heads else "constant_productivity", **limits},
        "unit_groups": [{"id": 0, "name": "G", "bus_id": id % BUSES, **limits}],
    }  # fmt: skip
    if kind.detailed or kind.heads:
        made["evaporation"] = {"coefficients_mm": [80.0 + m for m in range(12)]}
    if kind.heads:
        made["tailrace"] = {"type": "polynomial", "coefficients": [300.0 + id, 5e-3, -1e-6]}
        made["efficiency"] = {"type": "constant", "value": 0.92}
    return made


def production(id: int, drawn: Plants, kind: Kind) -> dict[str, Any]:
    choice: dict[str, Any] = {"start_stage_id": 0, "model": "constant_productivity"}
    choice["productivity_mw_per_m3s"] = drawn.productivity[id]
    if kind.heads:
        choice = {"start_stage_id": 0, "model": "fpha", "fpha_config": {"source": "computed"}}
    return {"hydro_id": id, "selection_mode": "stage_ranges", "stage_ranges": [choice]}


def documents(kind: Kind, drawn: Plants) -> dict[str, Any]:
    hours = [24.0 * (DAYS[k % 12] + (k % 12 == 1 and (2025 + k // 12) % 4 == 0)) for k in range(kind.stages)]
    before = range(1, max(kind.lags, 1) + 1)
    capacity, blocks = 1.8 * drawn.load * BUSES / kind.thermals / 3, range(kind.blocks)
    return {
        "config.json": {
            "training": {
                "selection": {"method": "sampled", "forward_passes": kind.forward_passes},
                "stopping_rules": [{"type": "iteration_limit", "limit": kind.iterations}],
                "tree_seed": kind.seed,
            },
            "simulation": {"enabled": True, "selection": {"method": "sampled", "num_scenarios": 100}},
            "modeling": {"inflow_non_negativity": {"method": "penalty"}},
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
                        {"id": b, "name": f"B{b}", "hours": hours[k] / kind.blocks} for b in blocks
                    ],
                    "num_openings": kind.openings,
                    "state_variables": {"storage": True, "inflow_lags": True},
                }
                for k in range(kind.stages)
            ],
        },
        "penalties.json": {
            "bus": {"deficit_segments": [{"depth_mw": None, "cost": 5000.0}], "excess_cost": 0.1},
            "line": {"exchange_cost": 0.1},
            "hydro": PRICES,
            "non_controllable_source": {"curtailment_cost": 0.005},
        },
        "initial_conditions.json": {
            "storage": [
                {"hydro_id": id, "value_hm3": 0.4 * drawn.storage[id]} for id in range(kind.hydros)
            ],
            "filling_storage": [],
            "recent_observations": [
                {"hydro_id": id, "start_date": month(12 - k, 2024), "end_date": month(13 - k, 2024),
                 "value_m3s": drawn.inflow[id] * season(-k)}
                for id in range(kind.hydros) for k in before
            ],
        },
        "system/buses.json": {"buses": [{"id": b, "name": f"B{b}", **START} for b in range(BUSES)]},
        "system/lines.json": {
            "lines": [
                {"id": b, "name": f"L{b}", **START, "source_bus_id": b, "target_bus_id": (b + 1) % BUSES,
                 "capacity": {"direct_mw": 0.15 * drawn.load, "reverse_mw": 0.15 * drawn.load}}
                for b in range(BUSES)
            ]
        },
        "system/thermals.json": {
            "thermals": [
                {"id": j, "name": f"T{j}", **START, "bus_id": j % BUSES,
                 "cost_per_mwh": 20.0 + 500.0 * j / kind.thermals,
                 "generation": {"min_mw": 0.0, "max_mw": capacity * (0.6 + 0.8 * (7 * j % 10) / 10)}}
                for j in range(kind.thermals)
            ]
        },
        "system/hydros.json": {"hydros": [plant(id, drawn, kind) for id in range(kind.hydros)]},
        "system/hydro_production_models.json": {
            "production_models": [production(id, drawn, kind) for id in range(kind.hydros)]
        },
        "scenarios/load_factors.json": {
            "load_factors": [
                {"bus_id": b, "stage_id": k, "block_factors": [
                    {"block_id": i, "factor": LOAD_OF_BLOCK[i % 3]} for i in blocks]}
                for b in range(BUSES) for k in range(kind.stages)
            ]
        },
    }  # fmt: skip


def season(month_number: Any) -> Any:
    """Inflow of a month, January being 0, in means of the year."""
    return 1.0 + 0.4 * np.cos((month_number - 1) * np.pi / 6.0)


def tables(kind: Kind, drawn: Plants) -> dict[str, dict[str, Any]]:
    hydros, stages = np.arange(kind.hydros), np.arange(kind.stages)
    pairs = {"hydro_id": np.repeat(hydros, kind.stages), "stage_id": np.tile(stages, kind.hydros)}
    rng = np.random.default_rng([kind.seed, 1])
    load = drawn.load * (1.0 + 0.1 * np.cos(stages * np.pi / 6.0))
    made: dict[str, dict[str, Any]] = {
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": np.repeat(np.arange(BUSES), kind.stages), "stage_id": np.tile(stages, BUSES),
            "mean_mw": np.tile(load, BUSES), "std_mw": np.tile(0.015 * load * kind.detailed, BUSES),
        },
    }  # fmt: skip
    if kind.detailed or kind.heads:
        made["constraints/hydro_bounds.parquet"] = pairs | {
            "max_turbined_m3s": drawn.turbined[pairs["hydro_id"]]
            * (0.9 + 0.1 * rng.random(len(pairs["stage_id"])))
        }
        steps = np.linspace(0.0, 1.0, 9)
        made["system/hydro_geometry.parquet"] = {
            "hydro_id": np.repeat(hydros, 9), "volume_hm3": np.outer(drawn.storage, steps).ravel(),
            "height_m": (360.0 + hydros[:, None] + 40.0 * steps**0.6).ravel(),
            "area_km2": np.tile(20.0 + 60.0 * steps, kind.hydros),
        }  # fmt: skip
    if kind.history:
        made["scenarios/inflow_history.parquet"] = history(kind, drawn, rng)
        return made
    before = np.arange(-max(kind.lags, 1), kind.stages)
    mean = np.outer(drawn.inflow, season(before % 12))
    made["scenarios/inflow_seasonal_stats.parquet"] = {
        "hydro_id": np.repeat(hydros, len(before)), "stage_id": np.tile(before, kind.hydros),
        "mean_m3s": mean.ravel(), "std_m3s": 0.35 * mean.ravel(),
    }  # fmt: skip
    each = [(id, k, lag + 1, value) for id in hydros for k in stages
            for lag, value in enumerate(drawn.coefficients[id])]  # fmt: skip
    names = ("hydro_id", "stage_id", "lag", "coefficient")
    made["scenarios/inflow_ar_coefficients.parquet"] = dict(zip(names, zip(*each, strict=True), strict=True))
    return made


def history(kind: Kind, drawn: Plants, rng: np.random.Generator) -> dict[str, Any]:
    """Ninety years of inflows before the study."""
    years = 90
    months = [date.fromisoformat(month(k, 2025 - years)) for k in range(12 * years + 1)]
    shocks, level = rng.standard_normal((12 * years, kind.hydros)), np.zeros((12 * years, kind.hydros))
    for k in range(1, 12 * years):
        level[k] = 0.6 * level[k - 1] + 0.8 * shocks[k]
    values = drawn.inflow * season(np.arange(12 * years))[:, None] * np.exp(0.3 * level)
    return {
        "hydro_id": np.repeat(np.arange(kind.hydros), 12 * years), "start_date": months[:-1] * kind.hydros,
        "end_date": months[1:] * kind.hydros, "value_m3s": values.T.ravel(),
    }  # fmt: skip


def write(root: Path, kind: Kind) -> Path:
    """A generated case in *root*."""
    drawn = draw(kind)
    for folder in ("system", "scenarios", "constraints"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for file, content in documents(kind, drawn).items():
        (root / file).write_text(json.dumps(content))
    days = {"start_date", "end_date"}
    for file, columns in tables(kind, drawn).items():
        types = {
            name: pa.date32()
            if name in days
            else pa.int32()
            if name == "lag" or name.endswith("_id")
            else pa.float64()
            for name in columns
        }
        arrays = {name: pa.array(values, types[name]) for name, values in columns.items()}
        pq.write_table(pa.table(arrays), root / file, compression="zstd")  # which the peer reads, too
    return root


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    for name in (
        "hydros",
        "stages",
        "thermals",
        "blocks",
        "openings",
        "lags",
        "forward_passes",
        "iterations",
    ):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(Kind, name))
    parser.add_argument("--least-lags", type=int, help="of the plants' models; that of --lags by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--detailed", action="store_true", help="evaporation, limits by stage, noise in loads"
    )
    parser.add_argument("--heads", action="store_true", help="planes are computed")
    parser.add_argument("--history", action="store_true", help="inflow models are estimated")
    given = vars(parser.parse_args())
    write(given.pop("directory"), Kind(**given))


if __name__ == "__main__":
    main()
