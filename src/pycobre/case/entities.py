"""``system/*.json``: buses, lines and plants."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pycobre.case.penalties import HydroPenaltyOverrides, SegmentRecord
from pycobre.case.record import (
    CostPerMwh,
    Count,
    Date,
    Document,
    Flow,
    Hours,
    Id,
    Megawatts,
    Productivity,
    Record,
    Volume,
)


class Entity(Record):
    """What every entity has."""

    id: Id
    name: str
    operational_start_date: Date = Field(description="Day it enters service, YYYY-MM-DD")


class MayRetire(Entity):
    """An entity that may come and go during the study."""

    entry_stage_id: Id | None = None
    exit_stage_id: Id | None = None


class BusRecord(Entity):
    """A bus."""

    deficit_segments: Annotated[list[SegmentRecord], Field(min_length=1)] | None = None


class LineCapacity(Record):
    """What a line carries."""

    direct_mw: Megawatts
    reverse_mw: Megawatts


class LineRecord(MayRetire):
    """A line."""

    source_bus_id: Id
    target_bus_id: Id
    capacity: LineCapacity
    losses_percent: Annotated[float, Field(ge=0, lt=100)] = Field(
        default=0.0, description="% of what is sent"
    )
    exchange_cost: CostPerMwh | None = None


class ThermalGeneration(Record):
    """Limits of a thermal plant."""

    min_mw: Megawatts
    max_mw: Megawatts


class Anticipation(Record):
    """Dispatch decided so many stages or hours ahead: one of the two."""

    lead_stages: Count | None = None
    lead_time_hours: Hours | None = None


class ThermalRecord(MayRetire):
    """A thermal plant."""

    bus_id: Id
    cost_per_mwh: CostPerMwh
    generation: ThermalGeneration
    anticipated_config: Anticipation | None = None


class Reservoir(Record):
    """Limits of storage."""

    min_storage_hm3: Volume
    max_storage_hm3: Volume


class Outflow(Record):
    """Limits of turbined plus spilled flow."""

    min_outflow_m3s: Flow
    max_outflow_m3s: Flow | None = Field(default=None, description="Largest outflow, m³/s; null: no limit")


class Generation(Record):
    """Limits of the turbines, and which production model they follow."""

    model: Literal["constant_productivity", "linearized_head", "fpha"]
    min_turbined_m3s: Flow
    max_turbined_m3s: Flow
    min_generation_mw: Megawatts
    max_generation_mw: Megawatts


class UnitGroup(Record):
    """Turbines that feed one bus."""

    id: Id
    name: str
    bus_id: Id
    min_turbined_m3s: Flow
    max_turbined_m3s: Flow
    min_generation_mw: Megawatts
    max_generation_mw: Megawatts


class Diversion(Record):
    """A channel to another plant."""

    downstream_id: Id
    max_flow_m3s: Flow


class Evaporation(Record):
    """Water lost to the air."""

    coefficients_mm: list[float]
    reference_volumes_hm3: list[float] | None = None


class Filling(Record):
    """A reservoir that is being filled."""

    start_stage_id: Id
    filling_min_rate_m3s: Flow = 0.0


class Efficiency(Record):
    """Efficiency of the turbines."""

    type: Literal["constant"]
    value: Annotated[float, Field(gt=0, le=1)]


class LossFactor(Record):
    """Head losses as a fraction."""

    type: Literal["factor"]
    value: float


class LossConstant(Record):
    """Head losses in metres."""

    type: Literal["constant"]
    value_m: float


class TailracePolynomial(Record):
    """Tailrace level as a polynomial of the outflow."""

    type: Literal["polynomial"]
    coefficients: list[float]


class TailracePoint(Record):
    """A point of a tailrace curve."""

    outflow_m3s: float
    height_m: float


class TailracePiecewise(Record):
    """Tailrace level by points."""

    type: Literal["piecewise"]
    points: list[TailracePoint]


class HydroRecord(MayRetire):
    """A hydro plant."""

    downstream_id: Id | None = None
    reservoir: Reservoir
    outflow: Outflow
    generation: Generation
    unit_groups: list[UnitGroup] = Field(min_length=1)
    penalties: HydroPenaltyOverrides | None = None
    diversion: Diversion | None = None
    evaporation: Evaporation | None = None
    filling: Filling | None = None
    travel_time_hours: Annotated[float, Field(ge=0, description="h to the plant below")] | None = None
    efficiency: Efficiency | None = None
    hydraulic_losses: Annotated[LossFactor | LossConstant | None, Field(discriminator="type")] = None
    tailrace: Annotated[TailracePolynomial | TailracePiecewise | None, Field(discriminator="type")] = None
    specific_productivity_mw_per_m3s_per_m: Productivity | None = None


class ContractLimits(Record):
    """Limits of a contract."""

    min_mw: Megawatts
    max_mw: Megawatts


class ContractRecord(MayRetire):
    """An energy contract."""

    bus_id: Id
    type: Literal["import", "export"]
    price_per_mwh: Annotated[float, Field(description="currency per MWh; below zero it earns")]
    limits: ContractLimits


class PumpingFlow(Record):
    """Limits of a pumping station."""

    min_m3s: Flow
    max_m3s: Flow


class PumpingRecord(MayRetire):
    """A pumping station."""

    bus_id: Id
    source_hydro_id: Id
    destination_hydro_id: Id
    flow: PumpingFlow
    consumption_mw_per_m3s: Annotated[float, Field(ge=0, description="MW per m³/s")]


class SourceRecord(MayRetire):
    """A non-controllable source."""

    bus_id: Id
    max_generation_mw: Megawatts
    allow_curtailment: bool = True
    curtailment_cost: CostPerMwh | None = None


class BusesFile(Document):
    """``system/buses.json``."""

    buses: list[BusRecord] = Field(min_length=1)


class LinesFile(Document):
    """``system/lines.json``."""

    lines: list[LineRecord]


class ThermalsFile(Document):
    """``system/thermals.json``."""

    thermals: list[ThermalRecord]


class HydrosFile(Document):
    """``system/hydros.json``."""

    hydros: list[HydroRecord]


class SourcesFile(Document):
    """``system/non_controllable_sources.json``."""

    non_controllable_sources: list[SourceRecord]


class ContractsFile(Document):
    """``system/energy_contracts.json``."""

    contracts: list[ContractRecord]


class PumpingFile(Document):
    """``system/pumping_stations.json``."""

    pumping_stations: list[PumpingRecord]
