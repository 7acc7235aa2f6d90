"""What holds for every case: order is of no matter, an id is given once, a reference leads somewhere."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from case import exercise as e
from pycobre.case import check_case

KINDS = {
    "buses": (e.BUSES, ("bus_id", "source_bus_id", "target_bus_id")),
    "lines": (e.LINES, ("line_id",)),
    "thermals": (e.THERMALS, ("thermal_id",)),
    "hydros": (e.HYDROS, ("hydro_id", "downstream_id", "source_hydro_id", "destination_hydro_id")),
    "non_controllable_sources": (e.SOURCES, ("ncs_id",)),
    "contracts": (e.CONTRACTS, ("contract_id",)),
    "pumping_stations": (e.PUMPING, ("station_id",)),
    "constraints": (e.CONSTRAINTS, ("constraint_id",)),
    "stages": (e.STAGES, ("stage_id",)),
}
"""Where the records of each kind are, and what fields that name one are called."""


def _lists(value: Any) -> Iterator[list[Any]]:
    """Every list of objects, and of such lists' objects, within *value*."""
    if isinstance(value, dict):
        for below in value.values():
            yield from _lists(below)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield value
        for item in value:
            yield from _lists(item)


# Their order says something: what is used first, or in which order something was defined or is tried.
ORDERED = ("deficit_segments", "stopping_rules", "matrix", "entities")


@pytest.mark.parametrize("base", [e.changed, e.constraints, e.planes, e.external, e.history])
@given(data=st.data())
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_order_of_records_and_rows_is_of_no_matter(
    directory: Any, tmp_path: Path, base: e.Base, data: st.DataObject
) -> None:
    plain = copy.deepcopy(directory)
    base(plain)
    mixed = copy.deepcopy(plain)
    kept = [
        items for name in ORDERED for document in mixed.documents.values() for items in _named(document, name)
    ]
    for document in mixed.documents.values():
        for items in _lists(document):
            if not any(items is other for other in kept):
                items[:] = data.draw(st.permutations(items))
    for table in mixed.tables.values():
        rows = data.draw(st.permutations(range(len(next(iter(table.values()))))))
        for values in table.values():
            values[:] = [values[row] for row in rows]
    first, problems = check_case(plain.write(tmp_path / "plain"))
    assert first is not None, problems
    second, problems = check_case(mixed.write(tmp_path / "mixed"))
    assert second is not None, problems
    assert first.system.differences(second.system) == []
    assert first.options == second.options
    assert set(map(str, first.warnings)) == set(map(str, second.warnings))


def _named(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, below in value.items():
            if key == name:
                yield below
            yield from _named(below, name)
    elif isinstance(value, list):
        for item in value:
            yield from _named(item, name)


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_that_is_given_twice_is_named(directory: Any, reload: Callable[..., Any], kind: str) -> None:
    e.changed(directory) if kind != "constraints" else e.constraints(directory)
    file, _ = KINDS[kind]
    for record in list(directory.documents[file][kind]):
        directory.documents[file][kind].append(copy.deepcopy(record))
        errors = [problem for problem in reload()[1] if problem.kind != "warning"]
        directory.documents[file][kind].pop()
        told = [p for p in errors if (p.kind, p.file) == ("reference", file) and "given 2 times" in p.message]
        assert [p.entity.split(" (")[0].split()[-1] for p in told] == [str(record["id"])], errors


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_that_names_what_is_not_there_is_told(
    directory: Any, reload: Callable[..., Any], kind: str
) -> None:
    {"constraints": e.constraints, "hydros": e.limits}.get(kind, e.changed)(directory)
    file, fields = KINDS[kind]
    records = directory.documents[file][kind]
    found = 0
    for record in list(records):
        records.remove(record)
        expected = {
            other
            for files in (directory.documents, directory.tables)
            for other, content in files.items()
            if any(record["id"] in _values(content, field) for field in fields)
        }
        errors = [problem for problem in reload()[1] if problem.kind != "warning"]
        records.append(record)
        assert expected <= {p.file for p in errors if p.kind == "reference"}, (record, errors)
        found += len(expected)
    assert found


def _values(content: Any, field: str) -> Iterator[Any]:
    for found in _named(content, field):
        yield from found if isinstance(found, list) else [found]
