"""The format as JSON Schemas, for editors and other programs, and as a table of the Parquet columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from pycobre.case.format import FORMAT_VERSION, schema_name
from pycobre.case.load import DOCUMENTS, TABLES
from pycobre.case.penalties import (
    BusPenalties,
    HydroPenaltyDefaults,
    LinePenalties,
    SourcePenalties,
)
from pycobre.case.record import Document

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


def schema_of(model: type[Document]) -> dict[str, Any]:
    """JSON Schema of a case file, with units and meanings as descriptions."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    schema.pop("title", None)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$comment": f"Case format {FORMAT_VERSION}",
        "title": (model.__doc__ or "").strip().strip("`."),
        **{key: value for key, value in schema.items() if key != "description"},
    }


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
    written = []
    for _, file, model, _ in DOCUMENTS:
        path = place / schema_name(file)
        text = json.dumps(schema_of(model), indent=2, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        written.append(path)
    path = place / TABLE_OF_COLUMNS
    with path.open("w", newline="", encoding="utf-8") as stream:
        lines = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        lines.writeheader()
        lines.writerows(table_columns())
    return [*written, path]


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
    priced: tuple[type[BaseModel], ...] = (HydroPenaltyDefaults, BusPenalties, LinePenalties, SourcePenalties)
    for model in priced:
        field = model.model_fields.get(column)
        if field is not None:
            return _described(field)
    return ""


def _described(field: Any) -> str:  # noqa: ANN401 - pydantic's FieldInfo, whose metadata is untyped
    return str(field.description or "")
