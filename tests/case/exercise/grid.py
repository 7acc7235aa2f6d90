"""Grids: buses, lines, trade, pumping, sources and what binds them together."""

from __future__ import annotations

from typing import Any

from case.exercise.paths import (
    BOUNDS,
    BUSES,
    CONFIG,
    CONSTRAINT_BOUNDS,
    CONSTRAINTS,
    CONTRACTS,
    ENERGY,
    EXTERNAL,
    LINES,
    LOADS,
    OVERRIDES,
    PARAMETERS,
    PENALTIES,
    PUMPING,
    SOURCE_FACTORS,
    SOURCE_STATS,
    SOURCES,
    THERMALS,
)
from case.exercise.short import train

START = {"operational_start_date": "1990-01-01"}


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
