"""``constraints/generic_*.json``: constraints, named expressions and parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pycobre.case.record import Document, Id, Record

Tag = Literal[
    "equivalent_productivity",
    "accumulated_productivity",
    "reference_volume",
    "reference_turbine",
    "min_storage",
    "max_storage",
    "specific_productivity",
    "integrated_equivalent_productivity",
    "integrated_accumulated_productivity",
    "max_stored_energy",
]


class Slack(Record):
    """Whether a constraint may be missed, and at what price."""

    enabled: bool
    penalty: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="currency per unit and hour"
    )


class ConstraintRecord(Record):
    """A generic constraint."""

    id: Id
    name: str
    description: str | None = None
    expression: str
    slack: Slack


class NamedExpression(Record):
    """An expression that constraints may call by its name."""

    name: str
    description: str | None = None
    expression: str


class ConstraintsFile(Document):
    """``constraints/generic_constraints.json``."""

    constraints: list[ConstraintRecord]
    expressions: list[NamedExpression] = Field(default=[])


class Computed(Record):
    """A parameter that follows from a hydro plant."""

    tag: Tag
    hydro_id: Id


class ParameterRecord(Record):
    """A number that expressions may call by its name."""

    id: Id
    name: str
    kind: Literal["constant", "per_stage", "seasonal", "computed", "per_stage_block"]
    value: float | None = None
    values: list[Annotated[list[float], Field(min_length=2, max_length=2)]] | None = None
    computed_spec: Computed | None = None
    block_values: list[Annotated[list[float], Field(min_length=3, max_length=3)]] | None = None


class ParametersFile(Document):
    """``constraints/generic_parameters.json``."""

    scalar_parameters: list[ParameterRecord]
