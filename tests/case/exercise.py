"""Small cases in which every field of the format matters, and what running one of them comes to.

Each base is made from the small case of the tests; a base that exercises one more thing gets it here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from pycobre.case import check_case
from pycobre.comm import LocalCommunicator
from pycobre.errors import CaseError, Problem
from pycobre.sddp import Policy
from pycobre.study import RunSettings, Study
from pycobre.study.run import Run

CONFIG, STAGES, PENALTIES, INITIAL = "config.json", "stages.json", "penalties.json", "initial_conditions.json"
BUSES, LINES, THERMALS, HYDROS = (f"system/{kind}.json" for kind in ("buses", "lines", "thermals", "hydros"))
PRODUCTION = "system/hydro_production_models.json"
SOURCES, CONTRACTS, PUMPING = (
    f"system/{kind}.json" for kind in ("non_controllable_sources", "energy_contracts", "pumping_stations")
)
PLANES, ENERGY = "system/fpha_hyperplanes.parquet", "system/hydro_energy_productivity.parquet"
GEOMETRY, TAILRACES = "system/hydro_geometry.parquet", "system/tailrace_curves.parquet"
INFLOW_STATS, LAGS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
HISTORY, ANNUAL = "scenarios/inflow_history.parquet", "scenarios/inflow_annual_component.parquet"
LOADS, LOAD_FACTORS = "scenarios/load_seasonal_stats.parquet", "scenarios/load_factors.json"
SOURCE_STATS = "scenarios/non_controllable_stats.parquet"
SOURCE_FACTORS = "scenarios/non_controllable_factors.json"
CORRELATION, OPENINGS = "scenarios/correlation.json", "scenarios/noise_openings.parquet"
EXTERNAL = "scenarios/external_{}_scenarios.parquet"
CONSTRAINTS = "constraints/generic_constraints.json"
PARAMETERS = "constraints/generic_parameters.json"
CONSTRAINT_BOUNDS = "constraints/generic_constraint_bounds.parquet"
BOUNDS = "constraints/{}_bounds.parquet"
OVERRIDES = "constraints/penalty_overrides_{}.parquet"
START = {"operational_start_date": "1990-01-01"}

Result = tuple[tuple[Any, ...], ...]


def result_of(root: Path) -> tuple[Result | None, tuple[Problem, ...]]:
    """Bounds, costs and counts of a run of the case in *root*, or ``None`` and what is wrong with it."""
    case, problems = check_case(root)
    if case is None:
        return None, problems
    try:
        study = Study(case)
    except CaseError as error:
        return None, error.problems
    comm = LocalCommunicator()
    run = Run(case, study.recursion, {}, comm, RunSettings(output=root / "output", threads=1), None)
    timings = ("_s", "output", "case", "warnings")
    told: list[tuple[Any, ...]] = []
    keep_bases = Policy.keep_bases

    def watched(*arguments: Any) -> Any:
        """Which cuts are rows of a stage's problem shows in nothing else."""
        rows = keep_bases(*arguments)
        told.append(("rows", *rows.tolist()))
        return rows

    with patch.object(Policy, "keep_bases", watched):
        for event in run.events():
            facts = {name: value for name, value in vars(event).items() if not name.endswith(timings)}
            told.append((type(event).__name__, *sorted(facts.items())))
    return tuple(told), problems


def train(directory: Any, iterations: int = 2) -> None:
    """Make runs short."""
    directory.put(CONFIG, "training.selection.forward_passes", 2)
    directory.put(CONFIG, "training.stopping_rules.0.limit", iterations)
    directory.put(CONFIG, "simulation.selection.num_scenarios", 3)


def _bus(id: int, name: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, **START, **more}


def network(directory: Any) -> None:
    """A grid: a bus short of power, one with too much, lines at their limits, trade, pumping and sources."""
    train(directory)
    own = [{"depth_mw": 4.0, "cost": 300.0}, {"depth_mw": None, "cost": 900.0}]
    directory.documents[BUSES]["buses"] += [
        _bus(3, "Surplus"),
        _bus(4, "Short"),
        _bus(6, "Own", deficit_segments=own),
    ]
    directory.documents[LINES]["lines"].append(
        {
            "id": 2, "name": "Short-South", **START, "source_bus_id": 4, "target_bus_id": 2,
            "capacity": {"direct_mw": 9.0, "reverse_mw": 3.0}, "exchange_cost": 0.3,
        }
    )  # fmt: skip
    directory.documents[THERMALS]["thermals"].append(
        {
            "id": 6, "name": "Must", **START, "bus_id": 3, "cost_per_mwh": 20.0,
            "generation": {"min_mw": 9.0, "max_mw": 12.0},
        }
    )  # fmt: skip
    rows = [(2, t, 90.0 + t, 2.0 * (t == 1)) for t in range(3)]
    rows += [(bus, t, mw, 0.0) for bus, mw in ((1, 2.0), (3, 3.0), (4, 20.0), (6, 10.0)) for t in range(3)]
    names = ("bus_id", "stage_id", "mean_mw", "std_mw")
    directory.tables[LOADS] = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    directory.documents[CONTRACTS] = {
        "contracts": [
            {"id": 1, "name": "Buy", **START, "bus_id": 4, "type": "import", "price_per_mwh": 60.0,
             "limits": {"min_mw": 0.0, "max_mw": 5.0}},
            {"id": 2, "name": "Sell", **START, "bus_id": 2, "type": "export", "price_per_mwh": -9.0,
             "limits": {"min_mw": 1.0, "max_mw": 2.0}},
        ]
    }  # fmt: skip
    directory.documents[PUMPING] = {
        "pumping_stations": [
            {"id": 1, "name": "Up", **START, "bus_id": 2, "source_hydro_id": 5, "destination_hydro_id": 3,
             "consumption_mw_per_m3s": 0.4, "flow": {"min_m3s": 1.0, "max_m3s": 2.0}},
            {"id": 2, "name": "Down", **START, "bus_id": 1, "source_hydro_id": 3, "destination_hydro_id": 5,
             "consumption_mw_per_m3s": 0.0, "flow": {"min_m3s": 0.0, "max_m3s": 3.0}},
        ]
    }  # fmt: skip
    directory.documents[SOURCES] = {
        "non_controllable_sources": [
            {"id": 1, "name": "Wind", **START, "bus_id": 2, "max_generation_mw": 12.0},
            {"id": 2, "name": "Sun", **START, "bus_id": 3, "max_generation_mw": 2.0,
             "allow_curtailment": False, "curtailment_cost": 0.0},
            {"id": 3, "name": "Small", **START, "bus_id": 6, "max_generation_mw": 1.0,
             "curtailment_cost": 0.7},
        ]
    }  # fmt: skip
    directory.put(PENALTIES, "non_controllable_source.curtailment_cost", 0.5)
    directory.tables[SOURCE_STATS] = {
        "ncs_id": [1, 1, 1], "stage_id": [0, 1, 2], "mean": [0.5, 0.25, 0.75], "std": [0.1, 0.0, 0.2],
    }  # fmt: skip
    factors = [{"block_id": 0, "factor": 1.2}, {"block_id": 1, "factor": 0.8}]
    directory.documents[SOURCE_FACTORS] = {
        "non_controllable_factors": [{"ncs_id": 1, "stage_id": 1, "block_factors": factors}]
    }


def changed(directory: Any) -> None:
    """The grid with limits and prices of single stages and blocks, all of them at work."""
    network(directory)

    def once(entity: str, id: int, **values: object) -> dict[str, list[Any]]:
        """A row of stage 1."""
        return {
            name: [value] for name, value in {entity: id, "stage_id": 1, "block_id": None, **values}.items()
        }

    directory.tables[BOUNDS.format("thermal")] = {
        "thermal_id": [6, 4], "stage_id": [1, 1], "block_id": [None, None], "min_generation_mw": [8.0, None],
        "max_generation_mw": [8.5, 40.0], "cost_per_mwh": [30.0, None],
    }  # fmt: skip
    directory.tables[BOUNDS.format("line")] = once("line_id", 2, direct_mw=8.0, reverse_mw=2.0)
    directory.put(LINES, "lines.1.losses_percent", 0.0)
    directory.tables[BOUNDS.format("contract")] = {
        "contract_id": [1, 2], "stage_id": [1, 1], "block_id": [None, None], "min_mw": [1.0, 1.5],
        "max_mw": [4.0, 1.6], "price_per_mwh": [55.0, -8.0],
    }  # fmt: skip
    directory.tables[BOUNDS.format("pumping")] = once("station_id", 1, min_m3s=1.5, max_m3s=1.6)
    directory.tables[BOUNDS.format("ncs")] = once("ncs_id", 3, available_generation_mw=0.6)
    directory.tables[OVERRIDES.format("bus")] = {"bus_id": [3], "stage_id": [1], "excess_cost": [0.4]}
    directory.tables[OVERRIDES.format("line")] = {"line_id": [2], "stage_id": [1], "exchange_cost": [0.4]}
    directory.tables[OVERRIDES.format("ncs")] = {"ncs_id": [3], "stage_id": [1], "curtailment_cost": [0.9]}


# (id, name, mean inflow, changes of the plant, changes of its penalties, initial storage)
_WATER: tuple[tuple[int, str, float, dict[str, Any], dict[str, Any], float], ...] = (
    (10, "Spills", 90.0, {"reservoir": (10.0, 12.0)}, {}, 11.0),
    (11, "Sinks", 0.0, {}, {"water_withdrawal_violation_cost": 100.0}, 10.0),
    (12, "Dry", 1.0, {"outflow": (5.0, None), "turbined": (4.0, 50.0), "generation": (3.0, 45.0)},
     {"storage_violation_below_cost": 1e4}, 10.0),
    (13, "Floods", 60.0, {"reservoir": (10.0, 12.0), "outflow": (0.0, 5.0)}, {}, 12.0),
    (14, "Bare", 0.0, {"reservoir": (0.0, 90.0), "evaporates": True}, {}, 0.0),
    (15, "Steams", 9.0, {"reservoir": (10.0, 12.0), "outflow": (0.0, 5.0), "evaporates": True},
     {"outflow_violation_above_cost": 1e3}, 12.0),
    (16, "Thirsty", 1.0, {"reservoir": (0.0, 90.0)}, {}, 0.0),
    (17, "Brims", 9.0, {"reservoir": (10.0, 12.0), "outflow": (0.0, 5.0)},
     {"outflow_violation_above_cost": 1e3}, 12.0),
    (18, "Fills", 1.0, {"entry_stage_id": 2, "filling": {"start_stage_id": 0, "filling_min_rate_m3s": 3.0},
                        "reservoir": (50.0, 90.0)}, {}, 1.0),
    (19, "Diverts", 30.0, {"reservoir": (10.0, 12.0), "outflow": (0.0, 10.0), "turbined": (0.0, 10.0),
                           "diversion": {"downstream_id": 3, "max_flow_m3s": 6.0}},
     {"outflow_violation_above_cost": 1e3}, 12.0),
    (20, "Owes", -5.0, {"reservoir": (0.0, 90.0)}, {}, 0.0),
)  # fmt: skip


def water(directory: Any, own: bool = False) -> None:
    """Plants that miss each limit, and pay for it; with penalties of their *own* or the defaults."""
    train(directory)
    directory.drop(CORRELATION)
    directory.put(PENALTIES, "hydro.inflow_nonnegativity_cost", 50.0)
    prices = directory.documents[PENALTIES]["hydro"]
    for name in ("water_withdrawal_violation", "evaporation_violation"):
        if own:
            prices |= {f"{name}_neg_cost": None, f"{name}_pos_cost": None}
        else:
            prices |= {f"{name}_neg_cost": 1.0, f"{name}_pos_cost": 1.5}
    plants = directory.documents[HYDROS]["hydros"]
    model = copy.deepcopy(plants[1])
    stats = directory.tables[INFLOW_STATS]
    for id, name, inflow, changed, penalties, storage in _WATER:
        plant = copy.deepcopy(model)
        low, high = changed.get("reservoir", (10.0, 200.0))
        plant |= {"id": id, "name": name, "reservoir": {"min_storage_hm3": low, "max_storage_hm3": high}}
        low, high = changed.get("outflow", (0.0, None))
        plant["outflow"] = {"min_outflow_m3s": low, "max_outflow_m3s": high}
        for quantity, unit in (("turbined", "m3s"), ("generation", "mw")):
            if quantity in changed:
                for owner in (plant["generation"], plant["unit_groups"][0]):
                    owner[f"min_{quantity}_{unit}"], owner[f"max_{quantity}_{unit}"] = changed[quantity]
        if "evaporates" in changed:
            plant["evaporation"] = {"coefficients_mm": [400.0] * 12, "reference_volumes_hm3": [11.0] * 12}
        for part in ("entry_stage_id", "filling", "diversion"):
            if part in changed:
                plant[part] = copy.deepcopy(changed[part])
        if own:
            plant["penalties"] = {name: 1.0 for name in prices if "_neg_" not in name and "_pos_" not in name}
            plant["penalties"] |= {"inflow_nonnegativity_cost": 50.0, **penalties}
        elif penalties:
            plant["penalties"] = penalties
        plants.append(plant)
        kept = "filling_storage" if "filling" in changed else "storage"
        directory.documents[INITIAL][kept].append({"hydro_id": id, "value_hm3": storage})
        models = directory.documents[PRODUCTION]["production_models"]
        models.append({**copy.deepcopy(models[1]), "hydro_id": id})
        for t in range(3):
            for column, value in (("hydro_id", id), ("stage_id", t), ("mean_m3s", inflow), ("std_m3s", 0.0)):
                stats[column].append(value)
    directory.tables[GEOMETRY] = {
        "hydro_id": [14, 14, 14, 15, 15, 15], "volume_hm3": [0.0, 11.0, 90.0] * 2,
        "height_m": [1.0, 2.0, 9.0] * 2, "area_km2": [5.0, 6.0, 20.0] * 2,
    }  # fmt: skip
    number = [None] * 5
    directory.tables[BOUNDS.format("hydro")] = {
        "hydro_id": [11, 16, 17, 19, 18], "stage_id": [1] * 5, "block_id": [None] * 5,
        **{name: list(number) for name in HYDRO_LIMITS}, "water_withdrawal_m3s": [2.0, 20.0, 1.0, None, None],
        "filling_min_rate_m3s": [None, None, None, None, 3.5],
    }  # fmt: skip


HYDRO_LIMITS = tuple(
    f"{side}_{name}"
    for name in ("storage_hm3", "outflow_m3s", "turbined_m3s", "generation_mw", "diversion_m3s")
    for side in ("min", "max")
)


def own_prices(directory: Any) -> None:
    """The plants of :func:`water` with penalties of their own."""
    water(directory, own=True)


def stage_prices(directory: Any) -> None:
    """The plants of :func:`water` with penalties of a single stage."""
    water(directory)
    names = list(directory.documents[PENALTIES]["hydro"])
    ids = [id for id, *_ in _WATER]
    directory.tables[OVERRIDES.format("hydro")] = {
        "hydro_id": ids, "stage_id": [1] * len(ids), **{name: [None] * len(ids) for name in names}
    }  # fmt: skip


def planes(directory: Any) -> None:
    """A plant with given planes above one whose planes are computed, with a tailrace under water."""
    train(directory)
    hydros, models = (
        directory.documents[HYDROS]["hydros"],
        directory.documents[PRODUCTION]["production_models"],
    )
    given = {"start_stage_id": 0, "model": "fpha", "fpha_config": {"source": "precomputed"}}
    computed = {"start_stage_id": 0, "model": "fpha", "fpha_config": {"source": "computed"}}
    hydros[0]["generation"]["model"] = hydros[1]["generation"]["model"] = "fpha"
    models[0]["stage_ranges"], models[1]["stage_ranges"] = [given], [computed]
    directory.tables[PLANES] = {
        "hydro_id": [3, 3], "stage_id": [None, None], "plane_id": [0, 1], "gamma_0": [2.0, 1.0],
        "gamma_v": [0.01, 0.02], "gamma_q": [0.7, 0.72], "gamma_s": [-0.01, 0.0], "kappa": [0.9, 1.0],
    }  # fmt: skip
    directory.tables[GEOMETRY] = {
        "hydro_id": [5] * 4, "volume_hm3": [0.0, 60.0, 120.0, 200.0],
        "height_m": [350.0, 380.0, 395.0, 405.0], "area_km2": [1.0, 2.0, 2.5, 2.6],
    }  # fmt: skip
    hydros[1] |= {
        "efficiency": {"type": "constant", "value": 0.92},
        "hydraulic_losses": {"type": "factor", "value": 0.03},
        "tailrace": {"type": "polynomial", "coefficients": [300.0, 0.05]},
    }
    directory.put(HYDROS, "hydros.1.reservoir.min_storage_hm3", 10.0)


def curves(directory: Any) -> None:
    """The computed plant of :func:`planes` above another reservoir, whose level its tailrace depends on."""
    planes(directory)
    hydros, models = (
        directory.documents[HYDROS]["hydros"],
        directory.documents[PRODUCTION]["production_models"],
    )
    hydros[1]["downstream_id"], hydros[0]["downstream_id"] = 3, None
    hydros[0]["generation"]["model"] = "constant_productivity"
    constant = {"start_stage_id": 0, "model": "constant_productivity", "productivity_mw_per_m3s": 0.9}
    models[0]["stage_ranges"] = [{**constant, "reference_volume": {"volume_hm3": 100.0}}]
    directory.drop(PLANES)
    table = directory.tables[GEOMETRY]
    for column, values in (
        ("hydro_id", [3, 3]), ("volume_hm3", [0.0, 200.0]), ("height_m", [280.0, 320.0]), ("area_km2", [1.0,
                                                                                                        3.0])
    ):  # fmt: skip
        table[column] += values
    rows = 2
    directory.tables[TAILRACES] = {
        "hydro_id": [5] * rows, "family_id": [1, 2], "downstream_reference_level_m": [280.0, 320.0],
        "segment_id": [1, 1], "outflow_min_m3s": [0.0, 0.0], "outflow_max_m3s": [5000.0, 5000.0],
        "coefficient_0": [300.0, 310.0], "coefficient_1": [0.05, 0.04], "coefficient_2": [1e-4, 0.0],
        "coefficient_3": [1e-6, 0.0], "coefficient_4": [1e-9, 0.0],
    }  # fmt: skip
    directory.tables[ENERGY] = {
        "hydro_id": [5], "stage_id": [None], "equivalent_productivity_mw_per_m3s": [None],
        "reference_outflow_m3s": [None], "specific_productivity_mw_per_m3s_per_m": [0.008],
    }  # fmt: skip


def bare(directory: Any) -> None:
    """The small case whose upper plant has its productivity in the table of energies."""
    train(directory)
    directory.put(PRODUCTION, "production_models.0.stage_ranges.0.productivity_mw_per_m3s", None)
    directory.tables[ENERGY] = {
        "hydro_id": [3], "stage_id": [None], "equivalent_productivity_mw_per_m3s": [0.9],
        "reference_outflow_m3s": [None], "specific_productivity_mw_per_m3s_per_m": [None],
    }  # fmt: skip


def steep(directory: Any) -> None:
    """The small case with a reservoir whose level is known, and a productivity for every stage."""
    train(directory)
    directory.tables[GEOMETRY] = {
        "hydro_id": [3] * 2, "volume_hm3": [0.0, 200.0], "height_m": [20.0, 60.0], "area_km2": [1.0, 2.0],
    }  # fmt: skip
    directory.tables[ENERGY] = {
        "hydro_id": [3], "stage_id": [None], "equivalent_productivity_mw_per_m3s": [0.8],
        "reference_outflow_m3s": [None], "specific_productivity_mw_per_m3s_per_m": [None],
    }  # fmt: skip


def split(directory: Any) -> None:
    """The small case with a plant that feeds both buses, and limits of its groups in single stages."""
    train(directory)
    directory.put(LINES, "lines.0.capacity", {"direct_mw": 0.0, "reverse_mw": 0.0})
    plant = directory.documents[HYDROS]["hydros"][0]
    group = plant["unit_groups"][0]
    group |= {"max_turbined_m3s": 30.0, "max_generation_mw": 40.0}
    other = {**group, "id": 1, "name": "H", "bus_id": 2, "max_turbined_m3s": 25.0, "max_generation_mw": 20.0}
    plant["unit_groups"].append(other)
    rows = [(bus, t, 40.0, 0.0) for bus in (1, 2) for t in range(3)]
    names = ("bus_id", "stage_id", "mean_mw", "std_mw")
    directory.tables[LOADS] = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    directory.tables[BOUNDS.format("hydro_unit_group")] = {
        "hydro_id": [3, 3, 3], "hydro_unit_group_id": [0, 1, 0], "stage_id": [0, 1, 2],
        "block_id": [None, 0, None], "min_turbined_m3s": [None, 5.0, None],
        "max_turbined_m3s": [20.0, None, None], "min_generation_mw": [None, None, None],
        "max_generation_mw": [None, None, 11.0],
    }  # fmt: skip


def limits(directory: Any) -> None:
    """The small case with limits of a single stage that all bind, and a diversion."""
    train(directory)
    directory.put(HYDROS, "hydros.0.diversion", {"downstream_id": 5, "max_flow_m3s": 30.0})
    directory.tables[BOUNDS.format("hydro")] = {
        "hydro_id": [3], "stage_id": [1], "block_id": [None], **{name: [None] for name in HYDRO_LIMITS},
        "water_withdrawal_m3s": [None],
    }  # fmt: skip


def constraints(directory: Any) -> None:
    """The small case with generic constraints that bind, by every kind of parameter."""
    train(directory)
    directory.documents[CONSTRAINTS] = {
        "constraints": [
            {"id": 1, "name": "Cap", "description": "most of the gas", "expression": "@weighed",
             "slack": {"enabled": True, "penalty": 7.0}},
            {"id": 2, "name": "Least", "expression": "thermal_generation(4) >= @least + 0*@energy",
             "slack": {"enabled": True, "penalty": 500.0}},
        ],
        "expressions": [
            {"name": "weighed", "description": "by stage", "expression": "@weight*thermal_generation(4)"}
        ],
    }  # fmt: skip
    directory.documents[PARAMETERS] = {
        "scalar_parameters": [
            {"id": 1, "name": "weight", "kind": "per_stage", "values": [[0, 0.9], [1, 1.1], [2, 1.2]]},
            {"id": 2, "name": "least", "kind": "constant", "value": 38.0},
            {"id": 3, "name": "energy", "kind": "computed",
             "computed_spec": {"tag": "equivalent_productivity", "hydro_id": 3}},
            {"id": 4, "name": "blockwise", "kind": "per_stage_block",
             "block_values": [[t, k, 20.0 + k] for t in range(3) for k in range(2)]},
        ]
    }  # fmt: skip
    directory.tables[CONSTRAINT_BOUNDS] = {
        "constraint_id": [1, 2], "stage_id": [0, 1], "block_id": [None, None], "bound_lower": [1.0, None],
        "bound_upper": [20.0, None],
    }  # fmt: skip


def rated(directory: Any) -> None:
    """The case of :func:`constraints` with a parameter that follows from a plant's flow."""
    constraints(directory)
    directory.put(PARAMETERS, "scalar_parameters.2.computed_spec.tag", "reference_turbine")
    directory.put(CONSTRAINTS, "constraints.1.expression", "thermal_generation(4) >= @least - 0.1*@energy")
    directory.tables[ENERGY] = {
        "hydro_id": [3], "stage_id": [None], "equivalent_productivity_mw_per_m3s": [None],
        "reference_outflow_m3s": [20.0], "specific_productivity_mw_per_m3s_per_m": [None],
    }  # fmt: skip


def history(directory: Any) -> None:
    """The small case with inflow models that are estimated from a history."""
    train(directory)
    directory.drop(INFLOW_STATS)
    directory.drop(LAGS)
    directory.drop(CORRELATION)
    months = [date(1980 + k // 12, k % 12 + 1, 1) for k in range(44 * 12 + 1)]
    rng = np.random.default_rng(7)
    noise, values = rng.standard_normal((2, len(months) - 1)), []
    for _, row in enumerate(noise):
        level, series = 0.0, []
        for k, shock in enumerate(row):
            level = 0.7 * level + 0.6 * shock
            series.append(9.0 + 3.0 * np.cos(k % 12 / 2.0) + 2.0 * level)
        values += [float(value) for value in series]
    directory.tables[HISTORY] = {
        "hydro_id": [id for id in (3, 5) for _ in months[1:]],
        "start_date": [day for _ in (3, 5) for day in months[:-1]],
        "end_date": [day for _ in (3, 5) for day in months[1:]],
        "value_m3s": values,
    }


def gappy(directory: Any) -> None:
    """The case of :func:`history` whose lower plant was never observed in January."""
    history(directory)
    directory.keep_rows(HISTORY, lambda row: row["hydro_id"] == 3 or row["start_date"].month != 1)


def quarterly(directory: Any) -> None:
    """The case of :func:`history` observed by quarters."""
    history(directory)
    directory.keep_rows(HISTORY, lambda row: row["start_date"].month % 3 == 1)
    table = directory.tables[HISTORY]
    table["end_date"] = [
        date(day.year + (day.month == 10), (day.month + 2) % 12 + 1, 1) for day in table["start_date"]
    ]


def annual(directory: Any) -> None:
    """The small case with an annual component that is given."""
    train(directory)
    study = [(id, t) for id in (3, 5) for t in range(3)]
    directory.tables[ANNUAL] = {
        "hydro_id": [id for id, _ in study], "stage_id": [t for _, t in study],
        "annual_coefficient": [0.1] * 6, "annual_mean_m3s": [30.0] * 6, "annual_std_m3s": [4.0] * 6,
    }  # fmt: skip
    stats = directory.tables[INFLOW_STATS]
    for id in (3, 5):
        for month in range(2, 13):
            row = {"hydro_id": id, "stage_id": -month, "mean_m3s": 30.0 + month, "std_m3s": 3.0}
            for column, item in row.items():
                stats[column].append(item)
    windows = directory.documents[INITIAL]["recent_observations"]
    windows.clear()
    for id in (3, 5):
        for month in range(1, 13):
            end = f"2023-{month + 1:02}-01" if month < 12 else "2024-01-01"
            windows.append(
                {"hydro_id": id, "start_date": f"2023-{month:02}-01", "end_date": end,
                 "value_m3s": 20.0 + month}
            )  # fmt: skip


def external(directory: Any) -> None:
    """The grid whose trajectories replay given inflows, demands and availabilities."""
    network(directory)
    directory.put(
        CONFIG,
        "training.scenario_source",
        {name: {"scheme": "external"} for name in ("inflow", "load", "ncs")},
    )
    rows = [(t, s) for t in range(3) for s in range(2)]
    common = {"stage_id": [t for t, _ in rows], "scenario_id": [s for _, s in rows]}
    directory.tables[EXTERNAL.format("load")] = {
        **common, "bus_id": [2] * 6, "value_mw": [90.0, 90.0, 90.0, 93.0, 92.0, 92.0],
    }  # fmt: skip
    directory.tables[EXTERNAL.format("ncs")] = {
        **common, "ncs_id": [1] * 6, "value": [0.4, 0.6, 0.25, 0.25, 0.6, 0.8],
    }  # fmt: skip
    directory.tables[EXTERNAL.format("inflow")] = {
        name: [item for pair in zip(values, values, strict=True) for item in pair]
        for name, values in common.items()
    } | {"hydro_id": [3, 5] * 6, "value_m3s": [25.0 + k for k in range(12)]}


def openings(directory: Any) -> None:
    """The small case with its openings in a file."""
    train(directory)
    terms = [(t, o, e) for t in range(3) for o in range(2) for e in range(3)]
    directory.tables[OPENINGS] = {
        "stage_id": [t for t, _, _ in terms],
        "opening_index": [o for _, o, _ in terms],
        "entity_index": [e for _, _, e in terms],
        "value": [np.sin(1.0 + k) for k in range(len(terms))],
    }
    directory.put(CONFIG, "training.scenario_source", {"openings": {"source": "file"}})


def small(directory: Any) -> None:
    """The small case as it is, for a short run."""
    train(directory)


def long(directory: Any) -> None:
    """The small case for a run with more cuts than it needs."""
    train(directory, iterations=6)


Base = Callable[[Any], None]
