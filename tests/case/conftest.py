"""A small right case that every test breaks in one place: two buses, a line, a cascade of two, a thermal."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

START = "1990-01-01"
MONTHS = ("2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01")
HOURS = (744.0, 696.0, 744.0)
SEASONS = [{"id": month, "month_start": month + 1, "label": str(month + 1)} for month in range(12)]
TYPES = {
    "opening_index": pa.uint32(),
    "entity_index": pa.uint32(),
    "start_date": pa.date32(),
    "end_date": pa.date32(),
}


def _plant(id: int, name: str, bus_id: int, downstream_id: int | None) -> dict[str, Any]:
    limits = {
        "min_turbined_m3s": 0.0,
        "max_turbined_m3s": 50.0,
        "min_generation_mw": 0.0,
        "max_generation_mw": 45.0,
    }
    return {
        "id": id,
        "name": name,
        "operational_start_date": START,
        "downstream_id": downstream_id,
        "reservoir": {"min_storage_hm3": 10.0, "max_storage_hm3": 200.0},
        "outflow": {"min_outflow_m3s": 1.0, "max_outflow_m3s": None},
        "generation": {"model": "constant_productivity", **limits},
        "unit_groups": [{"id": 0, "name": "G", "bus_id": bus_id, **limits}],
    }


def _production(hydro_id: int) -> dict[str, Any]:
    choice = {
        "start_stage_id": 0,
        "end_stage_id": None,
        "model": "constant_productivity",
        "productivity_mw_per_m3s": 0.9,
    }
    return {"hydro_id": hydro_id, "selection_mode": "stage_ranges", "stage_ranges": [choice]}


def _documents() -> dict[str, Any]:
    stages = [
        {
            "id": t,
            "start_date": MONTHS[t],
            "end_date": MONTHS[t + 1],
            "season_id": t,
            "blocks": [
                {"id": 0, "name": "HEAVY", "hours": HOURS[t] / 4},
                {"id": 1, "name": "LIGHT", "hours": 3 * HOURS[t] / 4},
            ],
            "num_openings": 2,
            "state_variables": {"storage": True, "inflow_lags": True},
        }
        for t in range(3)
    ]
    hydro_costs = dict.fromkeys(
        (
            "spillage_cost",
            "turbined_cost",
            "storage_violation_below_cost",
            "turbined_violation_below_cost",
            "outflow_violation_below_cost",
            "outflow_violation_above_cost",
            "generation_violation_below_cost",
            "diversion_cost",
            "evaporation_violation_cost",
            "filling_target_violation_cost",
            "water_withdrawal_violation_cost",
        ),
        1.0,
    )
    december = {"start_date": "2023-12-01", "end_date": MONTHS[0]}
    return {
        "config.json": {
            "training": {
                "selection": {"method": "sampled", "forward_passes": 4},
                "stopping_rules": [{"type": "iteration_limit", "limit": 10}],
            },
            "simulation": {"enabled": True, "selection": {"method": "sampled", "num_scenarios": 7}},
        },
        "stages.json": {
            "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.1},
            "season_definitions": {"cycle_type": "monthly", "seasons": copy.deepcopy(SEASONS)},
            "stages": stages,
        },
        "penalties.json": {
            "bus": {
                "deficit_segments": [{"depth_mw": 5.0, "cost": 500.0}, {"depth_mw": None, "cost": 5000.0}],
                "excess_cost": 0.1,
            },
            "line": {"exchange_cost": 0.2},
            "hydro": hydro_costs,
            "non_controllable_source": {"curtailment_cost": 0.0},
        },
        "initial_conditions.json": {
            "storage": [{"hydro_id": 3, "value_hm3": 100.0}, {"hydro_id": 5, "value_hm3": 50.0}],
            "filling_storage": [],
            "recent_observations": [
                {"hydro_id": 3, "value_m3s": 31.0, **december},
                {"hydro_id": 5, "value_m3s": -2.0, **december},
            ],
        },
        "system/buses.json": {
            "buses": [
                {"id": 1, "name": "North", "operational_start_date": START},
                {
                    "id": 2,
                    "name": "South",
                    "operational_start_date": START,
                    "deficit_segments": [{"depth_mw": None, "cost": 900.0}],
                },
            ]
        },
        "system/lines.json": {
            "lines": [
                {
                    "id": 1,
                    "name": "North-South",
                    "operational_start_date": START,
                    "source_bus_id": 1,
                    "target_bus_id": 2,
                    "capacity": {"direct_mw": 30.0, "reverse_mw": 20.0},
                    "losses_percent": 5.0,
                }
            ]
        },
        "system/thermals.json": {
            "thermals": [
                {
                    "id": 4,
                    "name": "Gas",
                    "operational_start_date": START,
                    "bus_id": 2,
                    "cost_per_mwh": 80.0,
                    "generation": {"min_mw": 5.0, "max_mw": 60.0},
                }
            ]
        },
        "system/hydros.json": {"hydros": [_plant(3, "Alta", 1, 5), _plant(5, "Baixa", 2, None)]},
        "system/hydro_production_models.json": {"production_models": [_production(3), _production(5)]},
        "scenarios/load_factors.json": {
            "load_factors": [
                {
                    "bus_id": 2,
                    "stage_id": 0,
                    "block_factors": [{"block_id": 0, "factor": 1.3}, {"block_id": 1, "factor": 0.9}],
                }
            ]
        },
        "scenarios/correlation.json": {
            "method": "spectral",
            "profiles": {
                "default": {
                    "correlation_groups": [
                        {
                            "name": "river",
                            "entities": [{"type": "inflow", "id": 5}, {"type": "inflow", "id": 3}],
                            "matrix": [[1.0, 0.5], [0.5, 1.0]],
                        }
                    ]
                }
            },
        },
    }


def _tables() -> dict[str, dict[str, list[Any]]]:
    pairs = [(id, t) for id in (3, 5) for t in (-1, 0, 1, 2)]
    study = [(id, t) for id, t in pairs if t >= 0]
    return {
        "scenarios/inflow_seasonal_stats.parquet": {
            "hydro_id": [id for id, _ in pairs],
            "stage_id": [t for _, t in pairs],
            "mean_m3s": [10.0 * id + t for id, t in pairs],
            "std_m3s": [1.0 * id + t / 8 for id, t in pairs],
        },
        "scenarios/inflow_ar_coefficients.parquet": {
            "hydro_id": [id for id, _ in study],
            "stage_id": [t for _, t in study],
            "lag": [1 for _ in study],
            "coefficient": [0.1 * id for id, _ in study],
        },
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": [2, 2, 2],
            "stage_id": [0, 1, 2],
            "mean_mw": [80.0, 81.0, 82.0],
            "std_mw": [0.0, 2.0, 0.0],
        },
        "constraints/thermal_bounds.parquet": {
            "thermal_id": [4],
            "stage_id": [1],
            "min_generation_mw": [None],
            "max_generation_mw": [40.0],
            "cost_per_mwh": [None],
        },
    }


def as_table(columns: dict[str, list[Any]]) -> pa.Table:
    """Columns with the types of the format; a name that ends in _id or is lag holds int32."""
    return pa.table(
        {
            name: pa.array(
                values,
                TYPES.get(name) or (pa.int32() if name.endswith("_id") or name == "lag" else pa.float64()),
            )
            for name, values in columns.items()
        }
    )


@dataclass
class CaseDirectory:
    """Files of a case, still in memory: change them, then write them."""

    documents: dict[str, Any] = field(default_factory=_documents)
    tables: dict[str, dict[str, list[Any]]] = field(default_factory=_tables)

    def put(self, file: str, path: str, value: object) -> None:
        """Set the value at a dotted path of a JSON file, or of a row in a table (column.row)."""
        place: Any = self.documents.get(file) if file.endswith(".json") else self.tables[file]
        *steps, last = path.split(".")
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[int(last) if isinstance(place, list) else last] = copy.deepcopy(value)

    def drop(self, file: str, path: str = "") -> None:
        """Remove a file, or what is at a dotted path of it."""
        place: Any = self.documents if file.endswith(".json") else self.tables
        *steps, last = [file, *(step for step in path.split(".") if step)]
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]
        del place[int(last) if isinstance(place, list) else last]

    def keep_rows(self, file: str, keep: Callable[[dict[str, Any]], bool]) -> None:
        """Keep the rows of a table that *keep* picks."""
        columns = self.tables[file]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        rows = [row for row in rows if keep(row)]
        self.tables[file] = {name: [row[name] for row in rows] for name in columns}

    def write(self, root: Path) -> Path:
        """Write all files below *root*."""
        for folder in ("system", "scenarios", "constraints"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for file in (*self.documents, *self.tables):
            self.write_file(root, file)
        return root

    def write_file(self, root: Path, file: str) -> None:
        """Write one file below *root*."""
        if file in self.tables:
            pq.write_table(as_table(self.tables[file]), root / file)
            return
        content = self.documents[file]
        (root / file).write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.fixture
def directory() -> CaseDirectory:
    return CaseDirectory()


@pytest.fixture
def reload(directory: CaseDirectory, tmp_path: Path) -> Callable[..., Any]:
    """Write the directory as it is now and check it."""
    from pycobre.case import check_case

    def run(overrides: dict[str, object] | None = None) -> Any:
        return check_case(directory.write(tmp_path / "case"), overrides)

    return run
