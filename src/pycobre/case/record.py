"""The base of every record in a case file, and the quantities its fields are made of."""

from __future__ import annotations

from datetime import date
from typing import Annotated, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError


class Record(BaseModel):
    """An object of a case file: unknown fields, text for numbers and infinite numbers are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Document(Record):
    """A whole JSON file."""

    schema_uri: str | None = Field(
        default=None, alias="$schema", description="Where the file's JSON Schema is; for editors, not for us."
    )


def _read_date(value: object) -> object:
    if isinstance(value, str) and len(value) == len("2024-01-31"):
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise PydanticCustomError("date", "{why}", {"why": str(error)}) from error
    raise PydanticCustomError("date", "must be a date such as 2024-01-31")


def shape_of(value: object) -> str:
    """Whether a JSON value is an ``object``, a ``list`` or a ``scalar``: tells the arms of a union apart."""
    if isinstance(value, (dict, BaseModel)):
        return "object"
    return "list" if isinstance(value, list) else "scalar"


def _told(quantity: object) -> str:
    """Description in an annotated type."""
    (info,) = (item for item in get_args(quantity) if isinstance(item, FieldInfo))
    return str(info.description)


Date = Annotated[date, BeforeValidator(_read_date), Field(description="Day, YYYY-MM-DD")]
Id = Annotated[int, Field(ge=-(2**31), lt=2**31, description="Identifier")]
Count = Annotated[int, Field(ge=1, lt=2**32, description="Number of things, at least 1")]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63, description="Random seed")]

# A unit each, so that the JSON Schema tells it. All are non-negative unless their name says otherwise.
Megawatts = Annotated[float, Field(ge=0, description="MW")]
Flow = Annotated[float, Field(ge=0, description="m³/s")]
SignedFlow = Annotated[float, Field(description="m³/s, may be negative")]
Volume = Annotated[float, Field(ge=0, description="hm³")]
Hours = Annotated[float, Field(gt=0, description="h")]
Seconds = Annotated[float, Field(gt=0, description="s")]
Productivity = Annotated[float, Field(gt=0, description="MW per m³/s")]
CostPerMwh = Annotated[float, Field(ge=0, description="currency per MWh")]
CostPerHm3 = Annotated[float, Field(ge=0, description="currency per hm³")]
CostPerFlowHour = Annotated[float, Field(ge=0, description="currency per m³/s and hour")]
AnnualRate = Annotated[float, Field(ge=0, description="fraction a year")]

_QUANTITIES = (
    Megawatts, Flow, SignedFlow, Volume, Hours, Seconds, Productivity, CostPerMwh, CostPerHm3,
    CostPerFlowHour, AnnualRate,
)  # fmt: skip
UNITS = frozenset(_told(quantity) for quantity in _QUANTITIES)
"""What the quantities above are measured in."""
SORTS = frozenset(_told(sort) for sort in (Date, Id, Count, Seed))
"""What the other types above are; a field's own meaning says more."""
