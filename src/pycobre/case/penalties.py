"""``penalties.json``: what missing a limit or wasting something costs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pycobre.case.record import CostPerFlowHour, CostPerHm3, CostPerMwh, Document, Record


class SegmentRecord(Record):
    """A slice of deficit."""

    depth_mw: Annotated[float, Field(gt=0)] | None = Field(default=None, description="MW; null: no limit")
    cost: CostPerMwh


class BusPenalties(Record):
    """Defaults of every bus."""

    deficit_segments: list[SegmentRecord] = Field(min_length=1)
    excess_cost: CostPerMwh


class LinePenalties(Record):
    """Defaults of every line."""

    exchange_cost: CostPerMwh


class HydroPenaltyDefaults(Record):
    """Defaults of every hydro plant."""

    spillage_cost: CostPerFlowHour
    turbined_cost: CostPerFlowHour
    storage_violation_below_cost: CostPerHm3
    turbined_violation_below_cost: CostPerFlowHour
    outflow_violation_below_cost: CostPerFlowHour
    outflow_violation_above_cost: CostPerFlowHour
    generation_violation_below_cost: CostPerMwh
    inflow_nonnegativity_cost: CostPerFlowHour | None = Field(default=None, description="1000 when absent")
    diversion_cost: CostPerFlowHour
    evaporation_violation_cost: CostPerFlowHour
    evaporation_violation_neg_cost: CostPerFlowHour | None = None
    evaporation_violation_pos_cost: CostPerFlowHour | None = None
    filling_target_violation_cost: CostPerHm3
    water_withdrawal_violation_cost: CostPerFlowHour
    water_withdrawal_violation_neg_cost: CostPerFlowHour | None = None
    water_withdrawal_violation_pos_cost: CostPerFlowHour | None = None


class HydroPenaltyOverrides(Record):
    """One plant's own penalties; an absent one falls back to ``penalties.json``."""

    spillage_cost: CostPerFlowHour | None = None
    turbined_cost: CostPerFlowHour | None = None
    storage_violation_below_cost: CostPerHm3 | None = None
    turbined_violation_below_cost: CostPerFlowHour | None = None
    outflow_violation_below_cost: CostPerFlowHour | None = None
    outflow_violation_above_cost: CostPerFlowHour | None = None
    generation_violation_below_cost: CostPerMwh | None = None
    inflow_nonnegativity_cost: CostPerFlowHour | None = None
    diversion_cost: CostPerFlowHour | None = None
    evaporation_violation_cost: CostPerFlowHour | None = None
    filling_target_violation_cost: CostPerHm3 | None = None
    water_withdrawal_violation_cost: CostPerFlowHour | None = None


class SourcePenalties(Record):
    """Defaults of every non-controllable source."""

    curtailment_cost: CostPerMwh


class PenaltiesFile(Document):
    """``penalties.json``."""

    bus: BusPenalties
    line: LinePenalties
    hydro: HydroPenaltyDefaults
    non_controllable_source: SourcePenalties
