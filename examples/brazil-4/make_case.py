"""Write the case `brazil-4` from the published figures in the folder `source`.

Run ``python make_case.py`` to write the case into this script's own folder, or
``python make_case.py FOLDER`` to write it elsewhere. README.md explains the choices made here;
source/NOTICE says where the figures come from.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent

SUBSYSTEMS = ("SOUTHEAST", "SOUTH", "NORTHEAST", "NORTH")
BUSES = (*SUBSYSTEMS, "TRANSSHIPMENT")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

FIRST_YEAR = 2025
"""Nominal: it gives the months their lengths, and neither of the two years is a leap year."""
NUM_STAGES = 24
NUM_OPENINGS = 20
FORWARD_PASSES = 8
ITERATIONS = 30
SIMULATED_SCENARIOS = 200
SEED = 42

MONTHLY_DISCOUNT = 0.9906
HM3_PER_MWMONTH = 2.628
"""What 1 m3/s carries in the standard month of 730 hours; with 1 MW per m3/s it makes 1 MWmonth."""
SPILLAGE_COST = 0.001
INFLOW_NONNEGATIVITY_COST = 6000.0
"""Dearer than any deficit, so that water is bought only where nothing else makes the inflow possible."""
VIOLATION_COST = 1000.0
"""For soft limits that this case does not use but the format asks for."""
IN_SERVICE = "1990-01-01"

Table = list[dict[str, str]]
Document = dict[str, Any]


def read_table(name: str) -> Table:
    """Return the rows of a table of published figures."""
    with (HERE / "source" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_inflows() -> dict[str, dict[int, list[float]]]:
    """Return the monthly inflows (MWmed) by subsystem and year, of the years that all subsystems have."""
    record: dict[str, dict[int, list[float]]] = {name: {} for name in SUBSYSTEMS}
    for row in read_table("inflow"):
        months = [row[f"{month}_mwmed"] for month in MONTHS]
        if all(months):
            record[row["subsystem"]][int(row["year"])] = [float(value) for value in months]
    complete = set.intersection(*(set(years) for years in record.values()))
    return {name: {year: years[year] for year in sorted(complete)} for name, years in record.items()}


def month_start(stage: int) -> date:
    """Return the first day of a stage; stage -1 is the month before the study."""
    return date(FIRST_YEAR + stage // 12, stage % 12 + 1, 1)


class InflowModel:
    """Periodic autoregressive model of order one, estimated by moments.

    Standardised with the mean and population standard deviation of its month, the inflow of a month
    is ``phi`` times that of the month before plus ``sqrt(1 - phi**2)`` times a noise of variance one.

    Attributes
    ----------
    mean_m3s, std_m3s : dict of subsystem to 12 floats
        Mean and population standard deviation of each calendar month, to 0.01 as the record.
    coefficient : dict of subsystem to 12 floats
        Pearson correlation of each month with the month before, to six decimals.
    correlation : list of 4 lists of 4 floats
        Correlation of the noises of the subsystems over all months, to six decimals.
    """

    def __init__(self, record: dict[str, dict[int, list[float]]]) -> None:
        self.mean_m3s: dict[str, list[float]] = {}
        self.std_m3s: dict[str, list[float]] = {}
        self.coefficient: dict[str, list[float]] = {}
        noises = []
        for name, years in record.items():
            mean = [statistics.fmean(values[m] for values in years.values()) for m in range(12)]
            std = [statistics.pstdev([values[m] for values in years.values()]) for m in range(12)]
            pairs = [month_pairs(years, m) for m in range(12)]
            phi = [
                statistics.correlation([before for before, _ in pairs[m]], [now for _, now in pairs[m]])
                for m in range(12)
            ]
            noises.append(
                [
                    ((now - mean[m]) / std[m] - phi[m] * (before - mean[m - 1]) / std[m - 1])
                    / math.sqrt(1 - phi[m] ** 2)
                    for m in range(12)
                    for before, now in pairs[m]
                ]
            )
            self.mean_m3s[name] = [round(value, 2) for value in mean]
            self.std_m3s[name] = [round(value, 2) for value in std]
            self.coefficient[name] = [round(value, 6) for value in phi]
        self.correlation = [
            [1.0 if a is b else round(statistics.correlation(a, b), 6) for b in noises] for a in noises
        ]


def month_pairs(years: dict[int, list[float]], month: int) -> list[tuple[float, float]]:
    """Return the inflow of the month before and of the month, for each year that has both."""
    if month > 0:
        return [(values[month - 1], values[month]) for values in years.values()]
    return [(years[year - 1][11], values[0]) for year, values in years.items() if year - 1 in years]


def config() -> Document:
    """Return config.json: how long to train, how much to simulate."""
    return {
        "training": {
            "tree_seed": SEED,
            "selection": {"method": "sampled", "forward_passes": FORWARD_PASSES},
            "stopping_rules": [{"type": "iteration_limit", "limit": ITERATIONS}],
        },
        "simulation": {
            "enabled": True,
            "selection": {"method": "sampled", "num_scenarios": SIMULATED_SCENARIOS},
        },
        "modeling": {"inflow_non_negativity": {"method": "penalty"}},
    }


def stages() -> Document:
    """Return stages.json: monthly stages of one block with the hours of the calendar."""
    return {
        "policy_graph": {
            "type": "finite_horizon",
            "annual_discount_rate": round(MONTHLY_DISCOUNT**-12 - 1, 10),
        },
        "season_definitions": {
            "cycle_type": "monthly",
            "seasons": [{"id": m, "month_start": m + 1, "label": MONTHS[m]} for m in range(12)],
        },
        "stages": [
            {
                "id": stage,
                "start_date": month_start(stage).isoformat(),
                "end_date": month_start(stage + 1).isoformat(),
                "season_id": stage % 12,
                "blocks": [
                    {
                        "id": 0,
                        "name": "MONTH",
                        "hours": 24 * (month_start(stage + 1) - month_start(stage)).days,
                    }
                ],
                "num_openings": NUM_OPENINGS,
                "state_variables": {"storage": True, "inflow_lags": True},
            }
            for stage in range(NUM_STAGES)
        ],
    }


def penalties() -> Document:
    """Return penalties.json: the spillage cost is published, the rest has no part in this case."""
    dearest = max(float(row["cost_per_mwh"]) for row in read_table("deficit"))
    return {
        "bus": {"deficit_segments": [{"depth_mw": None, "cost": dearest}], "excess_cost": 0.1},
        "line": {"exchange_cost": 0.001},
        "hydro": {
            "spillage_cost": SPILLAGE_COST,
            "turbined_cost": 0.0,
            "diversion_cost": 0.1,
            "storage_violation_below_cost": VIOLATION_COST,
            "filling_target_violation_cost": VIOLATION_COST,
            "turbined_violation_below_cost": VIOLATION_COST,
            "outflow_violation_below_cost": VIOLATION_COST,
            "outflow_violation_above_cost": VIOLATION_COST,
            "generation_violation_below_cost": VIOLATION_COST,
            "evaporation_violation_cost": VIOLATION_COST,
            "water_withdrawal_violation_cost": VIOLATION_COST,
            "inflow_nonnegativity_cost": INFLOW_NONNEGATIVITY_COST,
        },
        "non_controllable_source": {"curtailment_cost": 0.005},
    }


def mean_demand_mw(subsystem: str) -> float:
    """Return the mean of the twelve monthly demands of a subsystem."""
    return statistics.fmean(float(row[f"{subsystem.lower()}_mw"]) for row in read_table("demand"))


def deficit_segments(subsystem: str) -> list[Document]:
    """Return the deficit segments of a subsystem: shares of its mean demand, the last one unbounded."""
    rows = read_table("deficit")
    mean_mw = mean_demand_mw(subsystem)
    segments: list[Document] = [
        {"depth_mw": round(float(row["depth_fraction"]) * mean_mw, 4), "cost": float(row["cost_per_mwh"])}
        for row in rows
    ]
    segments[-1]["depth_mw"] = None
    return segments


def buses() -> Document:
    """Return system/buses.json; the transshipment node takes the default deficit segment."""
    entries: list[Document] = [
        {"id": bus, "name": name, "operational_start_date": IN_SERVICE} for bus, name in enumerate(BUSES)
    ]
    for entry, name in zip(entries, SUBSYSTEMS, strict=False):
        entry["deficit_segments"] = deficit_segments(name)
    return {"buses": entries}


def lines() -> Document:
    """Return system/lines.json: one line for both directions between two buses."""
    exchange = {(BUSES.index(row["from"]), BUSES.index(row["to"])): row for row in read_table("exchange")}
    pairs = sorted({(min(pair), max(pair)) for pair in exchange})
    entries = []
    for line, (source, target) in enumerate(pairs):
        direct, reverse = exchange.get((source, target)), exchange.get((target, source))
        costs = {float(row["cost_per_mwh"]) for row in (direct, reverse) if row}
        if len(costs) != 1:
            raise ValueError(f"{BUSES[source]}-{BUSES[target]}: a line has one cost for both directions")
        entries.append(
            {
                "id": line,
                "name": f"{BUSES[source]}-{BUSES[target]}",
                "operational_start_date": IN_SERVICE,
                "source_bus_id": source,
                "target_bus_id": target,
                "capacity": {
                    "direct_mw": float(direct["limit_mw"]) if direct else 0.0,
                    "reverse_mw": float(reverse["limit_mw"]) if reverse else 0.0,
                },
                "exchange_cost": costs.pop(),
            }
        )
    return {"lines": entries}


def thermals() -> Document:
    """Return system/thermals.json: the plants have no published names, only their order."""
    return {
        "thermals": [
            {
                "id": thermal,
                "name": f"{row['subsystem']}-T{int(row['number']):02d}",
                "operational_start_date": IN_SERVICE,
                "bus_id": BUSES.index(row["subsystem"]),
                "cost_per_mwh": float(row["cost_per_mwh"]),
                "generation": {
                    "min_mw": float(row["generation_min_mw"]),
                    "max_mw": float(row["generation_max_mw"]),
                },
            }
            for thermal, row in enumerate(read_table("thermals"))
        ]
    }


def hydros() -> Document:
    """Return system/hydros.json: one energy-equivalent reservoir per subsystem."""
    entries = []
    for hydro, row in enumerate(read_table("subsystems")):
        limits = {
            "min_turbined_m3s": 0.0,
            "max_turbined_m3s": float(row["hydro_generation_max_mw"]),
            "min_generation_mw": 0.0,
            "max_generation_mw": float(row["hydro_generation_max_mw"]),
        }
        entries.append(
            {
                "id": hydro,
                "name": row["subsystem"],
                "operational_start_date": IN_SERVICE,
                "downstream_id": None,
                "reservoir": {
                    "min_storage_hm3": 0.0,
                    "max_storage_hm3": storage_hm3(row["stored_energy_max_mwmonth"]),
                },
                "outflow": {"min_outflow_m3s": 0.0, "max_outflow_m3s": None},
                "generation": {"model": "constant_productivity", **limits},
                "unit_groups": [{"id": 0, "name": "ALL", "bus_id": hydro, **limits}],
            }
        )
    return {"hydros": entries}


def storage_hm3(energy_mwmonth: str) -> float:
    """Return the volume that stands for a stored energy."""
    return round(float(energy_mwmonth) * HM3_PER_MWMONTH, 4)


def production_models() -> Document:
    """Return system/hydro_production_models.json: 1 MW per m3/s everywhere."""
    whole_study = {
        "start_stage_id": 0,
        "end_stage_id": None,
        "model": "constant_productivity",
        "productivity_mw_per_m3s": 1.0,
    }
    return {
        "production_models": [
            {"hydro_id": hydro, "selection_mode": "stage_ranges", "stage_ranges": [whole_study]}
            for hydro in range(len(SUBSYSTEMS))
        ]
    }


def initial_conditions() -> Document:
    """Return initial_conditions.json: published storages, and published inflows as the month before."""
    rows = read_table("subsystems")
    return {
        "storage": [
            {"hydro_id": hydro, "value_hm3": storage_hm3(row["stored_energy_initial_mwmonth"])}
            for hydro, row in enumerate(rows)
        ],
        "filling_storage": [],
        "recent_observations": [
            {
                "hydro_id": hydro,
                "start_date": month_start(-1).isoformat(),
                "end_date": month_start(0).isoformat(),
                "value_m3s": float(row["inflow_initial_mwmed"]),
            }
            for hydro, row in enumerate(rows)
        ],
    }


def correlation(model: InflowModel) -> Document:
    """Return scenarios/correlation.json: one profile for all stages."""
    group = {
        "name": "subsystems",
        "entities": [{"type": "inflow", "id": hydro} for hydro in range(len(SUBSYSTEMS))],
        "matrix": model.correlation,
    }
    return {"method": "spectral", "profiles": {"default": {"correlation_groups": [group]}}}


def inflow_tables(model: InflowModel) -> tuple[pa.Table, pa.Table]:
    """Return the seasonal statistics and the lag-one coefficients of every hydro and stage."""
    order = [(hydro, stage) for hydro in range(len(SUBSYSTEMS)) for stage in range(NUM_STAGES)]
    ids = {"hydro_id": [hydro for hydro, _ in order], "stage_id": [stage for _, stage in order]}

    def monthly(values: dict[str, list[float]]) -> list[float]:
        return [values[SUBSYSTEMS[hydro]][stage % 12] for hydro, stage in order]

    return (
        make_table({**ids, "mean_m3s": monthly(model.mean_m3s), "std_m3s": monthly(model.std_m3s)}),
        make_table({**ids, "lag": [1] * len(order), "coefficient": monthly(model.coefficient)}),
    )


def load_table() -> pa.Table:
    """Return the demand of every bus and stage; it is known, and none at the transshipment node."""
    demand = read_table("demand")
    order = [(bus, stage) for bus in range(len(BUSES)) for stage in range(NUM_STAGES)]
    return make_table(
        {
            "bus_id": [bus for bus, _ in order],
            "stage_id": [stage for _, stage in order],
            "mean_mw": [
                float(demand[stage % 12].get(f"{BUSES[bus].lower()}_mw", 0.0)) for bus, stage in order
            ],
            "std_mw": [0.0] * len(order),
        }
    )


def make_table(columns: dict[str, list[Any]]) -> pa.Table:
    """Return a table without nulls: whole numbers as int32, the others as float64."""
    fields = [
        pa.field(name, pa.int32() if isinstance(values[0], int) else pa.float64(), nullable=False)
        for name, values in columns.items()
    ]
    return pa.table(columns, schema=pa.schema(fields))


def write_json(path: Path, document: Document) -> None:
    """Write a document that people can read."""
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8", newline="\n")


def main() -> None:
    """Write the whole case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=HERE)
    folder: Path = parser.parse_args().folder
    for room in ("system", "scenarios"):
        (folder / room).mkdir(parents=True, exist_ok=True)

    model = InflowModel(read_inflows())
    for name, document in {
        "config.json": config(),
        "stages.json": stages(),
        "penalties.json": penalties(),
        "initial_conditions.json": initial_conditions(),
        "system/buses.json": buses(),
        "system/lines.json": lines(),
        "system/thermals.json": thermals(),
        "system/hydros.json": hydros(),
        "system/hydro_production_models.json": production_models(),
        "scenarios/correlation.json": correlation(model),
    }.items():
        write_json(folder / name, document)

    statistics_table, coefficient_table = inflow_tables(model)
    for name, table in {
        "inflow_seasonal_stats": statistics_table,
        "inflow_ar_coefficients": coefficient_table,
        "load_seasonal_stats": load_table(),
    }.items():
        pq.write_table(table, folder / "scenarios" / f"{name}.parquet", compression="NONE")


if __name__ == "__main__":
    main()
