"""The power system that checked files describe."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.inflow import StageInflow
from pycobre.case.lags import Lags
from pycobre.case.penalties import HydroPenaltyDefaults, SegmentRecord
from pycobre.case.physics import common_limits
from pycobre.case.stages import Cvar
from pycobre.case.statistics import bus_ids, spread, study_stages
from pycobre.case.tables import FloatArray
from pycobre.system import (
    Block,
    Bus,
    Correlation,
    DeficitSegment,
    Hydro,
    HydroPenalties,
    InflowStatistics,
    Line,
    LoadStatistics,
    ProductionModel,
    Stage,
    System,
    Thermal,
    ThermalOverride,
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


def build_system(case: CaseFiles, resolved: Resolved) -> System:
    """Power system of a case without errors."""
    assert case.config is not None
    return System(
        stages=_build_stages(case),
        buses=_build_buses(case),
        lines=_build_lines(case),
        thermals=_build_thermals(case),
        hydros=_build_hydros(case, resolved.production),
        inflow=_build_inflow(case, resolved.inflow, resolved.lags),
        load=_build_load(case),
        correlation=resolved.correlation,
        thermal_overrides=_build_overrides(case),
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
    default = case.penalties.bus
    return tuple(
        Bus(
            bus.id, bus.name, _segments(bus.deficit_segments or default.deficit_segments), default.excess_cost
        )
        for bus in sorted(case.buses.buses, key=lambda bus: bus.id)
    )


def _build_lines(case: CaseFiles) -> tuple[Line, ...]:
    assert case.lines is not None
    assert case.penalties is not None
    default = case.penalties.line.exchange_cost
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
        )
        for line in sorted(case.lines.lines, key=lambda line: line.id)
    )


def _build_thermals(case: CaseFiles) -> tuple[Thermal, ...]:
    assert case.thermals is not None
    return tuple(
        Thermal(
            id=plant.id,
            name=plant.name,
            bus_id=plant.bus_id,
            generation_min_mw=plant.generation.min_mw,
            generation_max_mw=plant.generation.max_mw,
            cost_per_mwh=plant.cost_per_mwh,
        )
        for plant in sorted(case.thermals.thermals, key=lambda plant: plant.id)
    )


def _build_hydros(case: CaseFiles, production: dict[int, tuple[ProductionModel, ...]]) -> tuple[Hydro, ...]:
    assert case.hydros is not None
    assert case.penalties is not None
    assert case.initial is not None
    storage = {item.hydro_id: item.value_hm3 for item in case.initial.storage}
    hydros = []
    for hydro in sorted(case.hydros.hydros, key=lambda hydro: hydro.id):
        turbined, generation = common_limits(hydro, "turbined_m3s"), common_limits(hydro, "generation_mw")
        flow = hydro.outflow
        hydros.append(
            Hydro(
                id=hydro.id,
                name=hydro.name,
                bus_id=hydro.unit_groups[0].bus_id,
                downstream_id=hydro.downstream_id,
                storage_min_hm3=hydro.reservoir.min_storage_hm3,
                storage_max_hm3=hydro.reservoir.max_storage_hm3,
                storage_initial_hm3=storage[hydro.id],
                outflow_min_m3s=flow.min_outflow_m3s,
                outflow_max_m3s=math.inf if flow.max_outflow_m3s is None else flow.max_outflow_m3s,
                turbined_min_m3s=turbined[0],
                turbined_max_m3s=turbined[1],
                generation_min_mw=generation[0],
                generation_max_mw=generation[1],
                production=production[hydro.id],
                penalties=_build_penalties(hydro, case.penalties.hydro),
            )
        )
    return tuple(hydros)


def _build_penalties(hydro: HydroRecord, default: HydroPenaltyDefaults) -> HydroPenalties:
    def pick(name: str) -> float:
        own = getattr(hydro.penalties, name) if hydro.penalties is not None else None
        value = getattr(default, name) if own is None else own
        return INFLOW_NONNEGATIVITY_COST if value is None else float(value)

    return HydroPenalties(
        spillage_cost_per_m3s_h=pick("spillage_cost"),
        turbined_cost_per_m3s_h=pick("turbined_cost"),
        storage_below_cost_per_hm3=pick("storage_violation_below_cost"),
        turbined_below_cost_per_m3s_h=pick("turbined_violation_below_cost"),
        outflow_below_cost_per_m3s_h=pick("outflow_violation_below_cost"),
        outflow_above_cost_per_m3s_h=pick("outflow_violation_above_cost"),
        generation_below_cost_per_mwh=pick("generation_violation_below_cost"),
        inflow_nonnegativity_cost_per_m3s_h=pick("inflow_nonnegativity_cost"),
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
        residual_ratio=inflow.residual_ratio,
        residuals=inflow.residuals,
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


def _build_overrides(case: CaseFiles) -> dict[tuple[int, int], ThermalOverride]:
    table = case.thermal_bounds
    if table is None:
        return {}

    def values(name: str) -> list[float | None]:
        return [None if math.isnan(value) else value for value in table.floats[name].tolist()]

    keys = zip(table.ints["thermal_id"].tolist(), table.ints["stage_id"].tolist(), strict=True)
    columns = (values("min_generation_mw"), values("max_generation_mw"), values("cost_per_mwh"))
    overrides = {
        key: ThermalOverride(low, high, cost) for key, low, high, cost in zip(keys, *columns, strict=True)
    }
    return dict(sorted(overrides.items()))
