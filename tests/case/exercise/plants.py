"""Plants whose limits are missed, and what that costs."""

from __future__ import annotations

import copy
from typing import Any

from case.exercise.paths import (
    BOUNDS,
    CORRELATION,
    GEOMETRY,
    HYDROS,
    INFLOW_STATS,
    INITIAL,
    LINES,
    LOADS,
    OVERRIDES,
    PENALTIES,
    PRODUCTION,
)
from case.exercise.short import train

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


HYDRO_LIMITS = tuple(
    f"{side}_{name}"
    for name in ("storage_hm3", "outflow_m3s", "turbined_m3s", "generation_mw", "diversion_m3s")
    for side in ("min", "max")
)


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


def limits(directory: Any) -> None:
    """The small case with limits of a single stage that all bind, and a diversion."""
    train(directory)
    directory.put(HYDROS, "hydros.0.diversion", {"downstream_id": 5, "max_flow_m3s": 30.0})
    directory.tables[BOUNDS.format("hydro")] = {
        "hydro_id": [3], "stage_id": [1], "block_id": [None], **{name: [None] for name in HYDRO_LIMITS},
        "water_withdrawal_m3s": [None],
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
