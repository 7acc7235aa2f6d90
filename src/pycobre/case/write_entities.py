"""``penalties.json``, ``initial_conditions.json`` and ``system/*.json`` of a system that is written."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from pycobre.case import files
from pycobre.case.findings import Findings, name_entity
from pycobre.case.groups import COLUMNS
from pycobre.case.unsupported import UNSUPPORTED
from pycobre.case.write_config import Json
from pycobre.system import Bus, Hydro, HydroPenalties, LinearizedHead, ProductionPlanes, Service, System

# Of the format's penalties, those that a plant may have of its own, and the names here.
PRICES = {
    "spillage_cost": "spillage_cost_per_m3s_h",
    "turbined_cost": "turbined_cost_per_m3s_h",
    "storage_violation_below_cost": "storage_below_cost_per_hm3",
    "turbined_violation_below_cost": "turbined_below_cost_per_m3s_h",
    "outflow_violation_below_cost": "outflow_below_cost_per_m3s_h",
    "outflow_violation_above_cost": "outflow_above_cost_per_m3s_h",
    "generation_violation_below_cost": "generation_below_cost_per_mwh",
    "inflow_nonnegativity_cost": "inflow_nonnegativity_cost_per_m3s_h",
    "diversion_cost": "diversion_cost_per_m3s_h",
    "filling_target_violation_cost": "filling_below_cost_per_hm3",
}
# Those with two sides; a plant may have its own only where they are alike.
TWO_SIDED = {"evaporation_violation": "evaporation", "water_withdrawal_violation": "withdrawal"}
PERCENT = 100.0
UNUSED_PRICE = 1.0
"""A default that no entity goes by, since each has prices of its own; Cobre wants it above zero."""


def entity_files(system: System, findings: Findings) -> dict[str, Json]:
    """JSON files of the entities, after noting what they can't hold."""
    first_day = system.stages[0].start_date.isoformat()

    def own(entity: Any, service: Service | None = None) -> Json:  # noqa: ANN401 - any kind of entity
        result: Json = {"id": entity.id, "name": entity.name, "operational_start_date": first_day}
        return result if service is None else {**result, **vars(service)}

    sides = {name: _usual_sides(system, name) for name in TWO_SIDED.values()}
    result: dict[str, Json] = {
        files.PENALTIES: _penalties(system, sides, findings),
        files.INITIAL: {"storage": [], "filling_storage": []},
        files.BUSES: {
            "buses": [
                {**own(bus), **_first_day(bus, system), "deficit_segments": _segments(bus)}
                for bus in system.buses
            ]
        },
        files.LINES: {
            "lines": [
                {
                    **own(line, line.service),
                    "source_bus_id": line.source_bus_id,
                    "target_bus_id": line.target_bus_id,
                    "capacity": {"direct_mw": line.direct_max_mw, "reverse_mw": line.reverse_max_mw},
                    "losses_percent": _percent(line.losses_fraction),
                    "exchange_cost": line.exchange_cost_per_mwh,
                }
                for line in system.lines
            ]
        },
        files.THERMALS: {"thermals": []},
        files.HYDROS: {
            "hydros": [{**own(plant), **_hydro(plant, sides, findings)} for plant in system.hydros]
        },
    }
    for plant in system.thermals:
        record: Json = {
            **own(plant, plant.service),
            "bus_id": plant.bus_id,
            "cost_per_mwh": plant.cost_per_mwh,
            "generation": {"min_mw": plant.generation_min_mw, "max_mw": plant.generation_max_mw},
        }
        if plant.ahead is not None:
            leads = {"lead_stages": plant.ahead.lead_stages, "lead_time_hours": plant.ahead.lead_hours}
            # Of the two one is given, and Cobre reads no null here.
            record["anticipated_config"] = {key: lead for key, lead in leads.items() if lead is not None}
        result[files.THERMALS]["thermals"].append(record)
    for hydro in system.hydros:
        key = "storage" if hydro.filling is None else "filling_storage"
        result[files.INITIAL][key].append({"hydro_id": hydro.id, "value_hm3": hydro.storage_initial_hm3})
    if system.sources:
        result[files.SOURCES] = {
            "non_controllable_sources": [
                {
                    **own(source, source.service),
                    "bus_id": source.bus_id,
                    "max_generation_mw": source.generation_max_mw,
                    "allow_curtailment": source.may_be_curtailed,
                    "curtailment_cost": source.curtailment_cost_per_mwh,
                }
                for source in system.sources
            ]
        }
    if system.contracts:
        result[files.CONTRACTS] = {
            "contracts": [
                {
                    **own(contract, contract.service),
                    "bus_id": contract.bus_id,
                    "type": "export" if contract.is_export else "import",
                    "price_per_mwh": contract.price_per_mwh,
                    "limits": {"min_mw": contract.power_min_mw, "max_mw": contract.power_max_mw},
                }
                for contract in system.contracts
            ]
        }
    if system.pumps:
        result[files.PUMPING] = {
            "pumping_stations": [
                {
                    **own(pump, pump.service),
                    "bus_id": pump.bus_id,
                    "source_hydro_id": pump.source_hydro_id,
                    "destination_hydro_id": pump.destination_hydro_id,
                    "flow": {"min_m3s": pump.flow_min_m3s, "max_m3s": pump.flow_max_m3s},
                    "consumption_mw_per_m3s": pump.mw_per_m3s,
                }
                for pump in system.pumps
            ]
        }
    return result


def _percent(fraction: float) -> float:
    """Percentage that reads as the very *fraction*."""
    near = fraction * PERCENT
    tried = (near, math.nextafter(near, -math.inf), math.nextafter(near, math.inf))
    return next((percent for percent in tried if percent / PERCENT == fraction), near)


def _first_day(bus: Bus, system: System) -> Json:
    """First day of a bus that comes later, as the format can't name its stage."""
    if bus.service.entry_stage_id is None:
        return {}
    begins = [stage.start_date for stage in system.stages if stage.id >= bus.service.entry_stage_id]
    return {"operational_start_date": (begins[0] if begins else system.stages[-1].end_date).isoformat()}


def _segments(bus: Bus) -> list[Json]:
    return [
        {"depth_mw": None if math.isinf(segment.depth_mw) else segment.depth_mw, "cost": segment.cost_per_mwh}
        for segment in bus.deficit_segments
    ]


def _usual_sides(system: System, name: str) -> tuple[float, float]:
    """Prices of the two sides that most plants with different ones have."""
    pairs = [_sides(hydro.penalties, name) for hydro in system.hydros]
    counted = Counter(pair for pair in pairs if pair[0] != pair[1] and all(map(math.isfinite, pair)))
    return counted.most_common(1)[0][0] if counted else (UNUSED_PRICE, UNUSED_PRICE)


def _sides(penalties: HydroPenalties, name: str) -> tuple[float, float]:
    below, above = (getattr(penalties, f"{name}_{side}_cost_per_m3s_h") for side in ("below", "above"))
    return float(below), float(above)


def _penalties(system: System, sides: dict[str, tuple[float, float]], findings: Findings) -> Json:
    usual = system.buses[0] if system.buses else None
    for bus in system.buses:
        if usual is not None and bus.excess_cost_per_mwh != usual.excess_cost_per_mwh:
            findings.add(
                UNSUPPORTED,
                files.PENALTIES,
                f"costs {bus.excess_cost_per_mwh:g}, at bus {usual.id} {usual.excess_cost_per_mwh:g}: the"
                " format has one cost of excess for all buses",
                entity=name_entity("bus", bus.id, bus.name),
                field="excess_cost_per_mwh",
                hint="let them be alike, and change it by stage",
            )
    hydro: Json = dict.fromkeys(PRICES, UNUSED_PRICE)
    for name, attribute in TWO_SIDED.items():
        below, above = sides[attribute]
        hydro |= {f"{name}_cost": UNUSED_PRICE, f"{name}_neg_cost": below, f"{name}_pos_cost": above}
    return {
        "bus": {
            "deficit_segments": _segments(usual) if usual else [{"depth_mw": None, "cost": UNUSED_PRICE}],
            "excess_cost": usual.excess_cost_per_mwh if usual else UNUSED_PRICE,
        },
        "line": {"exchange_cost": UNUSED_PRICE},
        "hydro": hydro,
        "non_controllable_source": {"curtailment_cost": UNUSED_PRICE},
    }


def _own_prices(hydro: Hydro, sides: dict[str, tuple[float, float]], findings: Findings) -> Json:
    entity, penalties = name_entity("hydro", hydro.id, hydro.name), hydro.penalties
    own: Json = {column: getattr(penalties, attribute) for column, attribute in PRICES.items()}
    for attribute, price in vars(penalties).items():
        if math.isinf(price):
            findings.add(
                UNSUPPORTED,
                files.HYDROS,
                "is infinite, and the format has no price for what can't be missed",
                entity=entity,
                field=f"penalties.{attribute}",
                hint="give a price that is high enough",
            )
    for name, attribute in TWO_SIDED.items():
        below, above = _sides(penalties, attribute)
        if below == above:
            own[f"{name}_cost"] = below
        elif (below, above) != sides[attribute] and math.isfinite(below) and math.isfinite(above):
            findings.add(
                UNSUPPORTED,
                files.HYDROS,
                f"costs {below:g} and {above:g}: a plant has one price of its own for both sides, and all the"
                f" others have {sides[attribute][0]:g} and {sides[attribute][1]:g}",
                entity=entity,
                field=f"penalties.{attribute}_below_cost_per_m3s_h",
                hint="let the two be alike, or as the other plants' are",
            )
    return own


def _hydro(hydro: Hydro, sides: dict[str, tuple[float, float]], findings: Findings) -> Json:
    limits = {
        "min_turbined_m3s": hydro.turbined_min_m3s,
        "max_turbined_m3s": hydro.turbined_max_m3s,
        "min_generation_mw": hydro.generation_min_mw,
        "max_generation_mw": hydro.generation_max_mw,
    }
    groups = [
        {
            "id": group.id,
            "name": group.name,
            "bus_id": group.bus_id,
            **{column: getattr(group, attribute) for column, attribute in COLUMNS.items()},
        }
        for group in hydro.unit_groups
    ]
    constant = not any(isinstance(model, ProductionPlanes) for model in hydro.production)
    most = hydro.outflow_max_m3s
    result: Json = {
        "entry_stage_id": hydro.service.entry_stage_id,
        "exit_stage_id": hydro.service.exit_stage_id,
        "downstream_id": hydro.downstream_id,
        "reservoir": {"min_storage_hm3": hydro.storage_min_hm3, "max_storage_hm3": hydro.storage_max_hm3},
        "outflow": {
            "min_outflow_m3s": hydro.outflow_min_m3s,
            "max_outflow_m3s": None if math.isinf(most) else most,
        },
        "generation": {"model": "constant_productivity" if constant else "fpha", **limits},
        "unit_groups": groups or [{"id": 0, "name": hydro.name, "bus_id": hydro.bus_id, **limits}],
        "penalties": _own_prices(hydro, sides, findings),
    }
    if hydro.diversion_to_id is not None:
        diversion = {"downstream_id": hydro.diversion_to_id, "max_flow_m3s": hydro.diversion_max_m3s}
        result["diversion"] = diversion
    if hydro.travel_hours:
        result["travel_time_hours"] = hydro.travel_hours
    if hydro.filling is not None:
        start, rate = hydro.filling.start_stage_id, hydro.filling.rate_min_m3s
        result["entry_stage_id"] = hydro.filling.entry_stage_id
        result["filling"] = {"start_stage_id": start, "filling_min_rate_m3s": rate}
    if any(isinstance(model, LinearizedHead) for model in hydro.production):
        findings.add(
            UNSUPPORTED,
            files.HYDROS,
            "follows a line in the storage, and the format has heights",
            entity=name_entity("hydro", hydro.id, hydro.name),
            field="production",
            hint="give a ConstantProductivity, or planes",
        )
    if isinstance(hydro.evaporation, tuple):
        if hydro.evaporation:
            findings.add(
                UNSUPPORTED,
                files.HYDROS,
                "holds lines, and the format has surfaces and months",
                entity=name_entity("hydro", hydro.id, hydro.name),
                field="evaporation",
                hint="give a SurfaceEvaporation",
            )
        return result
    references = hydro.evaporation.reference_volumes_hm3
    result["evaporation"] = {
        "coefficients_mm": list(hydro.evaporation.coefficients_mm),
        "reference_volumes_hm3": None if references is None else list(references),
    }
    return result
