"""The format as JSON Schemas, for editors and other programs, and as a table of the Parquet columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from functools import cache
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from pycobre.case.format import FORMAT_VERSION, schema_name
from pycobre.case.load import DOCUMENTS, TABLES
from pycobre.case.meanings import MEANINGS
from pycobre.case.penalties import (
    BusPenalties,
    HydroPenaltyDefaults,
    LinePenalties,
    SourcePenalties,
)
from pycobre.case.record import SORTS, UNITS, Document

TABLE_OF_COLUMNS = "tables.csv"
COLUMNS = ("file", "column", "type", "required", "null", "key", "minimum", "maximum", "unit")
# The longest ending that fits decides.
_UNITS = {
    "_mw_per_m3s_per_m": "MW per m³/s and m",
    "_mw_per_m3s": "MW per m³/s",
    "_per_mwh": "currency per MWh",
    "_m3s": "m³/s",
    "_hm3": "hm³",
    "_km2": "km²",
    "_mw": "MW",
    "_m": "m",
    "_date": "day",
}


class _Plain(GenerateJsonSchema):
    """Schemas without titles of fields, which only repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - pydantic's own type
        return False


def schema_of(model: type[Document]) -> dict[str, Any]:
    """JSON Schema of a case file, with meanings and units as descriptions."""
    schema = _schema_of_record(model)
    head = {"$schema": GenerateJsonSchema.schema_dialect, "$comment": f"Case format {FORMAT_VERSION}"}
    return {**head, **{key: value for key, value in schema.items() if key != "title"}}


def _schema_of_record(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True, mode="validation", schema_generator=_Plain)
    for name, record in [(model.__name__, schema), *schema.get("$defs", {}).items()]:
        for field, content in record.get("properties", {}).items():
            _describe(name, field, content)
    return schema


def _describe(record: str, field: str, content: dict[str, Any]) -> None:
    """Put a field's meaning before its unit, and both where editors look."""
    own: str | None = content.pop("description", None)
    for arm in content.get("anyOf", []):
        unit_of_arm = arm.pop("description", None)
        own = own or unit_of_arm
    unit = own if own in UNITS else None
    meaning = MEANINGS.get(f"{record}.{field}") or MEANINGS.get(field)
    if own is not None and own not in (*UNITS, *SORTS):
        meaning = own
    content["description"] = ", ".join(part for part in (meaning, unit) if part)


def export_schemas(directory: str | PathLike[str]) -> list[Path]:
    """Files written to *directory*: the JSON Schema of every JSON file of a case, and ``tables.csv``.

    The table has a line for each column of the format's Parquet files: its type, whether it must be there,
    whether it may be null, whether it tells rows apart, its limits and its unit.

    Parameters
    ----------
    directory
        Where they go; it is made if need be, and earlier exports in it are replaced.
    """
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in _texts().items():
        (place / name).write_text(text, encoding="utf-8")
    return [place / name for name in _texts()]


@cache
def _texts() -> Mapping[str, str]:
    """Content of every file of an export: they are the same each time."""
    found = {
        schema_name(file): json.dumps(schema_of(model), indent=2, ensure_ascii=False) + "\n"
        for _, file, model, _ in DOCUMENTS
    }
    stream = StringIO()
    lines = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    lines.writeheader()
    lines.writerows(table_columns())
    return {**found, TABLE_OF_COLUMNS: stream.getvalue()}


def table_columns() -> Iterator[dict[str, str]]:
    """Columns of the Parquet files, one record each, all of it text."""
    for _, file, spec in TABLES:
        for column in spec.columns:
            least = "" if column.minimum is None else f"{column.minimum:g}"
            yield {
                "file": file,
                "column": column.name,
                "type": column.type,
                "required": "no" if column.optional else "yes",
                "null": "yes" if column.nullable else "no",
                "key": "yes" if column.name in spec.key else "no",
                "minimum": f"above {least}" if column.exclusive else least,
                "maximum": "" if column.maximum is None else f"{column.maximum:g}",
                "unit": unit_of(column.name),
            }


def unit_of(column: str) -> str:
    """Unit of a column of numbers, told from its name; empty where it has none."""
    for ending, unit in _UNITS.items():
        if column.endswith(ending):
            return unit
    for model in (HydroPenaltyDefaults, BusPenalties, LinePenalties, SourcePenalties):
        priced: type[BaseModel] = model
        if column in priced.model_fields:
            properties = _schema_of_record(priced)["properties"]
            return str(properties[column]["description"]).rpartition(", ")[2]
    return ""
