"""The power system that checked files describe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pycobre.case.ahead import ahead_of, later_stages
from pycobre.case.changes import hydro_limits
from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.filling import filling_of
from pycobre.case.inflow import StageInflow
from pycobre.case.lags import Lags
from pycobre.case.penalties import HydroPenaltyDefaults, SegmentRecord
from pycobre.case.service import first_stage, service_of
from pycobre.case.sources import build_source_statistics, build_sources
from pycobre.case.stages import Cvar
from pycobre.case.statistics import bus_ids, spread, study_stages
from pycobre.case.tables import FloatArray
from pycobre.case.travel import past_outflow, travels
from pycobre.system import (
    Block,
    Bus,
    Changes,
    Contract,
    Correlation,
    DeficitSegment,
    GenericConstraint,
    Hydro,
    HydroPenalties,
    InflowStatistics,
    Line,
    LoadStatistics,
    ProductionModel,
    PumpingStation,
    Service,
    Stage,
    SurfaceEvaporation,
    System,
    Thermal,
    UnitGroup,
)

# What Cobre charges where the file says nothing, per m³/s and hour.
INFLOW_NONNEGATIVITY_COST = 1000.0
PERCENT = 100.0


@dataclass(frozen=True)
class Resolved:
    """What the checks worked out on the way."""

    inflow: StageInflow
    lags: Lags
    production: dict[int, tuple[ProductionModel, ...]]
    correlation: Correlation
    changes: dict[str, Changes]
    constraints: tuple[GenericConstraint, ...]
    evaporation: dict[int, SurfaceEvaporation]
    groups: dict[int, tuple[UnitGroup, ...]]


def build_system(case: CaseFiles, resolved: Resolved) -> System:
    """Power system of a case without errors."""
    assert case.config is not None
    return System(
        stages=_build_stages(case),
        buses=_build_buses(case),
        lines=_build_lines(case),
        thermals=_build_thermals(case),
        hydros=_build_hydros(case, resolved),
        inflow=_build_inflow(case, resolved.inflow, resolved.lags),
        load=_build_load(case),
        correlation=resolved.correlation,
        contracts=_build_contracts(case),
        pumps=_build_pumps(case),
        sources=build_sources(case),
        availability=build_source_statistics(case),
        constraints=resolved.constraints,
        changes=resolved.changes,
        later=later_stages(case),
    )


def _build_stages(case: CaseFiles) -> tuple[Stage, ...]:
    assert case.stages is not None
    graph = case.stages.policy_graph
    rates = {arc.source_id: arc.annual_discount_rate_override for arc in graph.transitions}
    stages = []
    for stage in study_stages(case):
        own = (rates.get(stage.id), stage.annual_discount_rate_override, graph.annual_discount_rate)
        blocks = sorted(stage.blocks, key=lambda block: block.id)
        cvar = stage.risk_measure.cvar if isinstance(stage.risk_measure, Cvar) else None
        stages.append(
            Stage(
                id=stage.id,
                start_date=stage.start_date,
                end_date=stage.end_date,
                season_id=stage.season_id,
                blocks=tuple(Block(block.id, block.name, block.hours) for block in blocks),
                num_openings=stage.num_openings,
                annual_discount_rate=next(rate for rate in own if rate is not None),
                sampling_method=stage.sampling_method,
                cvar_tail=cvar.alpha if cvar else 1.0,
                cvar_weight=cvar.lambda_ if cvar else 0.0,
                chronological=stage.block_mode == "chronological",
            )
        )
    return tuple(stages)


def _segments(records: list[SegmentRecord]) -> tuple[DeficitSegment, ...]:
    return tuple(
        DeficitSegment(math.inf if record.depth_mw is None else record.depth_mw, record.cost)
        for record in records
    )


def _build_buses(case: CaseFiles) -> tuple[Bus, ...]:
    assert case.buses is not None
    assert case.penalties is not None
    default, stages = case.penalties.bus, study_stages(case)
    return tuple(
        Bus(
            id=bus.id,
            name=bus.name,
            deficit_segments=_segments(bus.deficit_segments or default.deficit_segments),
            excess_cost_per_mwh=default.excess_cost,
            service=Service(first_stage(bus, stages)),
        )
        for bus in sorted(case.buses.buses, key=lambda bus: bus.id)
    )


def _build_lines(case: CaseFiles) -> tuple[Line, ...]:
    assert case.lines is not None
    assert case.penalties is not None
    default, stages = case.penalties.line.exchange_cost, study_stages(case)
    return tuple(
        Line(
            id=line.id,
            name=line.name,
            source_bus_id=line.source_bus_id,
            target_bus_id=line.target_bus_id,
            direct_max_mw=line.capacity.direct_mw,
            reverse_max_mw=line.capacity.reverse_mw,
            losses_fraction=line.losses_percent / PERCENT,
            exchange_cost_per_mwh=default if line.exchange_cost is None else line.exchange_cost,
            service=service_of(line, stages),
        )
        for line in sorted(case.lines.lines, key=lambda line: line.id)
    )


def _build_thermals(case: CaseFiles) -> tuple[Thermal, ...]:
    assert case.thermals is not None
    stages = study_stages(case)
    return tuple(
        Thermal(
            id=plant.id,
            name=plant.name,
            bus_id=plant.bus_id,
            generation_min_mw=plant.generation.min_mw,
            generation_max_mw=plant.generation.max_mw,
            cost_per_mwh=plant.cost_per_mwh,
            service=service_of(plant, stages),
            ahead=ahead_of(case, plant),
        )
        for plant in sorted(case.thermals.thermals, key=lambda plant: plant.id)
    )


def _build_contracts(case: CaseFiles) -> tuple[Contract, ...]:
    stages, records = study_stages(case), case.contracts.contracts if case.contracts else []
    return tuple(
        Contract(
            id=contract.id,
            name=contract.name,
            bus_id=contract.bus_id,
            is_export=contract.type == "export",
            power_min_mw=contract.limits.min_mw,
            power_max_mw=contract.limits.max_mw,
            price_per_mwh=contract.price_per_mwh,
            service=service_of(contract, stages),
        )
        for contract in sorted(records, key=lambda contract: contract.id)
    )


def _build_pumps(case: CaseFiles) -> tuple[PumpingStation, ...]:
    stages, records = study_stages(case), case.pumping.pumping_stations if case.pumping else []
    return tuple(
        PumpingStation(
            id=pump.id,
            name=pump.name,
            bus_id=pump.bus_id,
            source_hydro_id=pump.source_hydro_id,
            destination_hydro_id=pump.destination_hydro_id,
            flow_min_m3s=pump.flow.min_m3s,
            flow_max_m3s=pump.flow.max_m3s,
            mw_per_m3s=pump.consumption_mw_per_m3s,
            service=service_of(pump, stages),
        )
        for pump in sorted(records, key=lambda pump: pump.id)
    )


def _build_hydros(case: CaseFiles, resolved: Resolved) -> tuple[Hydro, ...]:
    assert case.hydros is not None
    assert case.penalties is not None
    assert case.initial is not None
    initial = (*case.initial.storage, *case.initial.filling_storage)
    storage = {item.hydro_id: item.value_hm3 for item in initial}
    stages = study_stages(case)
    limits: dict[int, dict[str, Any]] = {
        hydro.id: dict(hydro_limits(hydro, apart=hydro.id in resolved.groups)) for hydro in case.hydros.hydros
    }
    return tuple(
        Hydro(
            id=hydro.id,
            name=hydro.name,
            bus_id=hydro.unit_groups[0].bus_id,
            downstream_id=hydro.downstream_id,
            storage_initial_hm3=storage[hydro.id],
            **limits[hydro.id],
            production=resolved.production[hydro.id],
            penalties=_build_penalties(hydro, case.penalties.hydro),
            evaporation=resolved.evaporation.get(hydro.id, ()),
            diversion_to_id=None if hydro.diversion is None else hydro.diversion.downstream_id,
            filling=filling_of(hydro),
            travel_hours=hydro.travel_time_hours or 0.0 if travels(hydro) else 0.0,
            past_outflow=past_outflow(case, hydro),
            unit_groups=resolved.groups.get(hydro.id, ()),
            service=service_of(hydro, stages),
        )
        for hydro in sorted(case.hydros.hydros, key=lambda hydro: hydro.id)
    )


def _build_penalties(hydro: HydroRecord, default: HydroPenaltyDefaults) -> HydroPenalties:
    def pick(*names: str) -> float:
        """First price that is given, the plant's own ones before the defaults."""
        own = [getattr(hydro.penalties, name, None) for name in names]
        general = [getattr(default, name) for name in names]
        return next(
            float(price) for price in (*own, *general, INFLOW_NONNEGATIVITY_COST) if price is not None
        )

    return HydroPenalties(
        spillage_cost_per_m3s_h=pick("spillage_cost"),
        turbined_cost_per_m3s_h=pick("turbined_cost"),
        storage_below_cost_per_hm3=pick("storage_violation_below_cost"),
        turbined_below_cost_per_m3s_h=pick("turbined_violation_below_cost"),
        outflow_below_cost_per_m3s_h=pick("outflow_violation_below_cost"),
        outflow_above_cost_per_m3s_h=pick("outflow_violation_above_cost"),
        generation_below_cost_per_mwh=pick("generation_violation_below_cost"),
        inflow_nonnegativity_cost_per_m3s_h=pick("inflow_nonnegativity_cost"),
        evaporation_below_cost_per_m3s_h=pick("evaporation_violation_neg_cost", "evaporation_violation_cost"),
        evaporation_above_cost_per_m3s_h=pick("evaporation_violation_pos_cost", "evaporation_violation_cost"),
        diversion_cost_per_m3s_h=pick("diversion_cost"),
        filling_below_cost_per_hm3=pick("filling_target_violation_cost"),
        withdrawal_below_cost_per_m3s_h=pick(
            "water_withdrawal_violation_neg_cost", "water_withdrawal_violation_cost"
        ),
        withdrawal_above_cost_per_m3s_h=pick(
            "water_withdrawal_violation_pos_cost", "water_withdrawal_violation_cost"
        ),
    )


def _build_inflow(case: CaseFiles, inflow: StageInflow, lags: Lags) -> InflowStatistics:
    assert case.config is not None
    method = case.config.modeling.inflow_non_negativity.method
    return InflowStatistics(
        mean_m3s=inflow.mean_m3s,
        std_m3s=inflow.std_m3s,
        coefficients=inflow.coefficients,
        lag_mean_m3s=lags.mean_m3s,
        lag_std_m3s=lags.std_m3s,
        past_m3s=lags.past_m3s,
        nonnegativity="penalty" if method.endswith("penalty") else "none",
        truncated=method.startswith("truncation"),
        annual=inflow.annual,
        residual_ratio=lags.residual_ratio,
        residuals=inflow.residuals,
        lag_weights=lags.weights,
    )


def _build_load(case: CaseFiles) -> LoadStatistics:
    ids, stages = bus_ids(case), study_stages(case)
    stage_ids = [stage.id for stage in stages]
    factor = np.ones((len(ids), len(stages), max(len(stage.blocks) for stage in stages)))
    rows = {id: position for position, id in enumerate(ids)}
    columns = {id: position for position, id in enumerate(stage_ids)}
    for item in case.load_factors.load_factors if case.load_factors else []:
        for block in item.block_factors:
            factor[rows[item.bus_id], columns[item.stage_id], block.block_id] = block.factor
    table = case.load_stats

    def dense(name: str) -> FloatArray:
        if table is None:
            return np.zeros((len(ids), len(stage_ids)))
        # A bus without any row has no demand.
        return np.nan_to_num(spread(table, "bus_id", name, ids, stage_ids))

    return LoadStatistics(mean_mw=dense("mean_mw"), std_mw=dense("std_mw"), block_factor=factor)
