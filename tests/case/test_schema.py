"""The exported format is the one that is read: examples fit it, broken inputs don't, nothing is missing."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from case.test_broken import BREAKS, MISSING
from case.walk import leaves
from pycobre.case import export_schemas
from pycobre.case.format import FORMAT_VERSION, schema_name, schema_reference, version_of
from pycobre.case.load import DOCUMENTS, TABLES
from pycobre.case.meanings import MEANINGS
from pycobre.case.record import UNITS
from pycobre.case.schema import schema_of

SHARED = Path(os.environ.get("PYCOBRE_SHARED_CASES") or Path(__file__).parents[2].parent / "shared" / "cases")
EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMAS = {file: schema_of(model) for _, file, model, _ in DOCUMENTS}
# What a JSON Schema can't say: that one part of a file asks for another.
ACROSS_FIELDS = {"no_iteration_limit", "no_scenarios", "dispatch_ahead_by_nothing"}
BROKEN_JSON = [
    param
    for param in BREAKS
    if str(param.values[0]).endswith(".json")
    and param.values[3][0] == "schema"
    and param.id not in ACROSS_FIELDS
]


def faults(file: str, content: object) -> list[str]:
    validator = Draft202012Validator(SCHEMAS[file], format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(content)]


def _cases() -> Iterator[Path]:
    for folder in (EXAMPLES, SHARED / "cobre-0.18", SHARED / "national", SHARED / "synthetic"):
        yield from sorted(path.parent for path in folder.glob("*/config.json"))


@pytest.mark.parametrize("case", list(_cases()), ids=lambda path: path.name)
def test_every_example_fits_the_schemas(case: Path) -> None:
    for file in SCHEMAS:
        if (case / file).is_file():
            assert faults(file, json.loads((case / file).read_text(encoding="utf-8-sig"))) == []


@pytest.mark.parametrize(("file", "path", "value", "expected"), BROKEN_JSON)
def test_a_broken_input_does_not_fit_its_schema(
    directory: Any, file: str, path: str, value: object, expected: object
) -> None:
    assert faults(file, directory.documents[file]) == []
    if value is MISSING:
        directory.drop(file, path)
    else:
        directory.put(file, path, value)
    assert faults(file, directory.documents[file])


def _fields() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for _, file, model, _ in DOCUMENTS:
        records = {model.__name__: SCHEMAS[file], **SCHEMAS[file].get("$defs", {})}
        for record, content in records.items():
            for name, field in content.get("properties", {}).items():
                yield record, name, field


def test_every_field_says_what_it_means() -> None:
    assert [
        f"{record}.{name}" for record, name, field in _fields() if field["description"] in ("", *UNITS)
    ] == []
    said = {"hm³", "m³/s", "MW", "currency per MWh", "currency per m³/s and hour"}
    assert said <= {field["description"].rpartition(", ")[2] for _, _, field in _fields()}


def test_every_meaning_is_of_a_field() -> None:
    known = {name for record, field, _ in _fields() for name in (field, f"{record}.{field}")}
    assert sorted(set(MEANINGS) - known) == []


def _published() -> list[Path]:
    return sorted((SHARED / "schemas-0.18").glob("*.schema.json"))


@pytest.mark.parametrize("place", _published(), ids=lambda path: path.name)
def test_the_fields_are_those_of_cobre(place: Path) -> None:
    ours = {schema_name(file): schema for file, schema in SCHEMAS.items()}
    assert leaves(json.loads(place.read_text())) == leaves(ours[place.name])


def test_an_export_holds_every_file_of_the_format(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "down"
    written = export_schemas(place)
    assert export_schemas(place) == written
    assert sorted(written) == sorted(place.iterdir())
    for file, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        assert json.loads((place / schema_name(file)).read_text()) == schema
    with written[-1].open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["file"], row["column"], row["type"]) for row in rows] == [
        (file, column.name, column.type) for _, file, spec in TABLES for column in spec.columns
    ]
    units = {row["column"]: row["unit"] for row in rows}
    assert units["mean_m3s"] == "m³/s"
    assert units["spillage_cost"] == "currency per m³/s and hour"
    assert units["lag"] == ""


@pytest.mark.parametrize("file", sorted(SCHEMAS))
def test_what_is_written_as_schema_names_the_version(file: str) -> None:
    reference = schema_reference(file)
    assert version_of(reference) == FORMAT_VERSION
    assert Path(file).parent.joinpath(reference).name == schema_name(file)


def test_other_places_of_a_schema_say_nothing_of_the_version(
    directory: Any, reload: Callable[..., Any]
) -> None:
    for uri in ("https://example.org/schemas/config.schema.json", "./x.json", None):
        directory.put("config.json", "$schema", uri)
        assert reload()[1] == ()
