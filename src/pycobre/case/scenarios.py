"""``scenarios/*.json``: block factors of the demand, and the correlation of the noise."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pycobre.case.record import Document, Id, Record


class BlockFactor(Record):
    """Demand, or availability, of a block over the stage's."""

    block_id: Annotated[int, Field(ge=0)]
    factor: Annotated[float, Field(gt=0, description="MW per MW of the stage")]


class LoadFactor(Record):
    """Block factors of a bus in a stage."""

    bus_id: Id
    stage_id: Id
    block_factors: list[BlockFactor]


class LoadFactorsFile(Document):
    """``scenarios/load_factors.json``."""

    load_factors: list[LoadFactor]


class SourceFactor(Record):
    """Block factors of a source in a stage."""

    ncs_id: Id
    stage_id: Id
    block_factors: list[BlockFactor]


class SourceFactorsFile(Document):
    """``scenarios/non_controllable_factors.json``."""

    non_controllable_factors: list[SourceFactor]


class NoiseEntity(Record):
    """A row of a correlation matrix."""

    type: Literal["inflow", "load", "ncs"]
    id: Id


class CorrelationGroup(Record):
    """Entities of one type whose noises move together."""

    name: str
    entities: list[NoiseEntity] = Field(min_length=1)
    matrix: list[list[float]]


class Profile(Record):
    """A set of groups; entities in none of them are independent."""

    correlation_groups: list[CorrelationGroup]


class ScheduleEntry(Record):
    """The profile of a stage."""

    stage_id: Id
    profile_name: str


class CorrelationFile(Document):
    """``scenarios/correlation.json``."""

    method: Literal["spectral"]
    profiles: dict[str, Profile] = Field(min_length=1)
    schedule: list[ScheduleEntry] | None = None
