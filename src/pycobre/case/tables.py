"""Parquet files: read whole into arrays, their columns checked by name, type, nulls, range and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pycobre.case.columns import DAY, FIRST_DAY, LAST_DAY, Column, TableSpec
from pycobre.case.findings import Findings
from pycobre.case.renames import COLUMNS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# Stands for a null identifier ("every stage") in arrays; no int32 can be it.
NULL_ID = -(2**40)

DTYPES = {"int32": np.int32, "uint32": np.uint32, "double": np.float64, DAY: np.int32}

KEY_WORDS = {
    "hydro_id": "hydro",
    "bus_id": "bus",
    "line_id": "line",
    "family_id": "family",
    "segment_id": "segment",
    "contract_id": "contract",
    "station_id": "pumping station",
    "constraint_id": "constraint",
    "ncs_id": "source",
    "hydro_unit_group_id": "unit group",
    "block_id": "block",
    "thermal_id": "thermal",
    "stage_id": "stage",
    "lag": "lag",
    "plane_id": "plane",
    "scenario_id": "scenario",
    "opening_index": "opening",
    "entity_index": "entity",
}


@dataclass(frozen=True, eq=False)
class Table:
    """A table's columns as arrays, in the rows' order.

    Whole numbers, and days since 1970, are int64 with :data:`NULL_ID` for null; numbers are float64 with
    NaN for null. A column that is allowed to be absent and is absent is all null. ``left_out`` holds the
    identifiers of rows that are wrong in another column.
    """

    rows: int
    ints: Mapping[str, IntArray]
    floats: Mapping[str, FloatArray]
    present: frozenset[str]
    left_out: Mapping[str, IntArray] = field(default_factory=dict)

    def ids(self, column: str) -> set[int]:
        """All identifiers in a *column*, of rows that are wrong elsewhere too; without null."""
        values = np.unique(self.ints[column]).tolist()
        return {*values, *np.unique(self.left_out.get(column, [])).tolist()} - {NULL_ID}


def read_table(root: Path, file: str, spec: TableSpec, findings: Findings) -> tuple[Table | None, bool]:
    """Table in *file* without the rows that are wrong, if it can be read, and whether nothing is wrong.

    Every fault is noted.
    """
    try:
        raw = pq.ParquetFile(root / file).read()
    except (OSError, pa.ArrowException) as error:
        findings.add(
            "structure", file, f"can't be read as Parquet: {str(error).splitlines()[0]}", hint="write it anew"
        )
        return None, False
    before = findings.count
    _check_columns(raw.schema, file, spec, findings)
    if findings.count > before:
        return None, False
    ints: dict[str, IntArray] = {}
    floats: dict[str, FloatArray] = {}
    for column in spec.columns:
        if column.type == "double":
            floats[column.name] = _float_array(raw, column)
        else:
            ints[column.name] = _int_array(raw, column)
    table = Table(raw.num_rows, ints, floats, frozenset(raw.schema.names))
    wrong_in = {
        column.name: _check_values(raw, table, column, file, spec, findings)
        for column in spec.columns
        if column.name in table.present
    }
    wrong = np.any([*wrong_in.values(), np.zeros(table.rows, dtype=np.bool_)], axis=0)
    if not spec.merged:
        _check_key(table, file, spec, findings)
    if not wrong.any():
        return table, findings.count == before
    kept_ints = {name: values[~wrong] for name, values in ints.items()}
    kept_floats = {name: values[~wrong] for name, values in floats.items()}
    left_out = {name: ints[name][wrong & ~bad] for name, bad in wrong_in.items() if name in ints}
    return Table(int((~wrong).sum()), kept_ints, kept_floats, table.present, left_out), False


def describe_row(table: Table, spec: TableSpec, row: int) -> str:
    """Which thing a row is about, such as ``hydro 3, stage 7``."""
    parts = [
        f"{KEY_WORDS[name]} {table.ints[name][row]}"
        for name in spec.key
        if name in KEY_WORDS and table.ints[name][row] != NULL_ID
    ]
    return ", ".join(parts)


def _check_columns(schema: pa.Schema, file: str, spec: TableSpec, findings: Findings) -> None:
    known = {column.name: column for column in spec.columns}
    for given in schema:
        name, found = str(given.name), str(given.type)
        column = known.get(name)
        if schema.names.count(name) > 1:
            findings.add(
                "schema", file, "there is more than one column of this name", field=name, hint="keep one"
            )
        elif column is None:
            absent = [other for other in known if other not in schema.names]
            near = get_close_matches(name, absent or list(known), n=1)
            findings.add(
                "schema",
                file,
                "is not a column of this table",
                field=name,
                hint=COLUMNS.get((file, name))
                or (f"did you mean {near[0]}?" if near else "leave it out: it would have no effect"),
            )
        elif found != column.type and not (found == "null" and column.nullable):
            findings.add(
                "schema",
                file,
                f"must be of type {column.type}, but is {found}",
                field=name,
                hint=f"cast the column to {column.type} before writing the file",
            )
    for column in spec.columns:
        if not column.optional and column.name not in schema.names:
            findings.add(
                "schema",
                file,
                "the column is missing",
                field=column.name,
                hint=f"add it, of type {column.type}",
            )


def _values(raw: pa.Table, name: str) -> NDArray[np.generic]:
    """Values of a column, with anything where it is null."""
    # Straight from Arrow's buffers: to_numpy() and fill_null() import pandas, 0.3 s for nothing.
    dtype = DTYPES.get(str(raw.schema.field(name).type))
    if dtype is None:
        return np.zeros(raw.num_rows, dtype=np.int64)  # a column of nothing but nulls has no values
    filled = (chunk for chunk in raw.column(name).chunks if len(chunk))
    parts = [np.frombuffer(chunk.buffers()[1], dtype)[chunk.offset :][: len(chunk)] for chunk in filled]
    return np.concatenate([np.zeros(0, dtype), *parts])


def _nulls(raw: pa.Table, name: str) -> BoolArray:
    parts = [np.zeros(0, dtype=np.bool_)]
    for chunk in raw.column(name).chunks:
        bits = chunk.buffers()[0]
        if str(chunk.type) == "null" or bits is None:
            parts.append(np.full(len(chunk), str(chunk.type) == "null"))
        else:
            valid = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
            parts.append(valid[chunk.offset :][: len(chunk)] == 0)
    return np.concatenate(parts)


def _float_array(raw: pa.Table, column: Column) -> FloatArray:
    if column.name not in raw.schema.names:
        return np.full(raw.num_rows, np.nan)
    return np.where(_nulls(raw, column.name), np.nan, _values(raw, column.name))


def _int_array(raw: pa.Table, column: Column) -> IntArray:
    if column.name not in raw.schema.names:
        return np.full(raw.num_rows, NULL_ID, dtype=np.int64)
    return np.where(_nulls(raw, column.name), NULL_ID, _values(raw, column.name).astype(np.int64))


def _check_values(
    raw: pa.Table, table: Table, column: Column, file: str, spec: TableSpec, findings: Findings
) -> BoolArray:
    """Which rows have a value in *column* that is wrong, after noting it."""
    null = _nulls(raw, column.name)
    wrong = np.zeros(table.rows, dtype=np.bool_)

    def note(bad: BoolArray, message: str) -> None:
        rows = np.flatnonzero(bad)
        wrong[rows] = True
        if rows.size:
            more = f" (and in {rows.size - 1} more rows)" if rows.size > 1 else ""
            first = int(rows[0])
            value = (table.floats if column.type == "double" else table.ints)[column.name][first]
            where = describe_row(table, spec, first) if column.name not in spec.key else ""
            findings.add(
                "schema",
                file,
                message.format(value=value) + more,
                entity=where or f"row {first}",
                field=column.name,
            )

    if not column.nullable:
        note(null, "must not be null")
    values = (table.floats if column.type == "double" else table.ints)[column.name]
    finite = ~null & np.isfinite(values)
    note(~null & ~finite, "must be a finite number, got {value}")
    if column.type == DAY:
        outside = (values < FIRST_DAY) | (values > LAST_DAY)
        note(finite & outside, "must be a day of the years 1 to 9999, got day {value} since 1970")
    if column.minimum is not None:
        word = "above" if column.exclusive else "at least"
        low = values <= column.minimum if column.exclusive else values < column.minimum
        note(finite & low, f"must be {word} {column.minimum:g}, got {{value}}")
    if column.maximum is not None:
        note(finite & (values > column.maximum), f"must be at most {column.maximum:g}, got {{value}}")
    return wrong


def _check_key(table: Table, file: str, spec: TableSpec, findings: Findings) -> None:
    keys = [table.ints[name] for name in spec.key]
    order = np.lexsort(keys[::-1])
    same = np.ones(max(table.rows - 1, 0), dtype=np.bool_)
    for values in keys:
        same &= values[order][1:] == values[order][:-1]
    rows: Sequence[int] = order[1:][same].tolist()
    for row in rows[:10]:
        findings.add(
            "dimension",
            file,
            "has more than one row",
            entity=describe_row(table, spec, int(row)),
            hint="keep one",
        )
    if len(rows) > 10:
        findings.add("dimension", file, f"{len(rows) - 10} more rows repeat others", hint="keep one of each")
