"""JSON files: read, checked against their records, and every fault told in words with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pycobre.case import renames
from pycobre.case.findings import Findings, name_entity
from pycobre.case.record import Document

DocumentT = TypeVar("DocumentT", bound=Document)

# What a list holds, for naming its items: "hydro 7 (Ilha)".
ITEM_NAMES = {
    "buses": ("bus", "id"),
    "lines": ("line", "id"),
    "thermals": ("thermal", "id"),
    "hydros": ("hydro", "id"),
    "stages": ("stage", "id"),
    "pre_study_stages": ("pre-study stage", "id"),
    "production_models": ("hydro", "hydro_id"),
    "storage": ("hydro", "hydro_id"),
    "filling_storage": ("hydro", "hydro_id"),
    "recent_observations": ("hydro", "hydro_id"),
    "past_defluences": ("hydro", "hydro_id"),
    "past_anticipated_commitments": ("thermal", "thermal_id"),
    "thermal_bounds": ("thermal", "thermal_id"),
    "load_factors": ("bus", "bus_id"),
    "contracts": ("contract", "id"),
    "pumping_stations": ("pumping station", "id"),
    "non_controllable_sources": ("source", "id"),
    "non_controllable_factors": ("source", "ncs_id"),
    "constraints": ("constraint", "id"),
    "scalar_parameters": ("parameter", "id"),
}


@dataclass(frozen=True)
class Faulty:
    """A record that is wrong: the list that it is in, how a message names it, and what the file says."""

    group: str
    entity: str
    content: Mapping[str, object]


@dataclass(frozen=True)
class Remainder(Generic[DocumentT]):
    """A document without what is wrong, for checks of the rest.

    Attributes
    ----------
    document
        What is left; faults that are in no record are mended in it.
    lost
        Ids of the records left out; ``None`` if one of them has none.
    faulty
        These records, but for those that are no objects.
    """

    document: DocumentT
    lost: frozenset[int] | None
    faulty: tuple[Faulty, ...]


# Stands for a file that can't be read; null is something that a file may hold.
UNREADABLE = object()


def read_json(root: Path, file: str, findings: Findings) -> object:
    """Content of a JSON file, or :data:`UNREADABLE` after noting why."""
    try:
        text = (root / file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not UTF-8 text ({error})"
        findings.add("structure", file, f"can't be read: {reason}")
        return UNREADABLE
    repeated: list[str] = []

    def collect(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(sorted({key for key in keys if keys.count(key) > 1}))
        return result

    try:
        content: object = json.loads(text, object_pairs_hook=collect)
    except (json.JSONDecodeError, RecursionError) as error:
        findings.add(
            "structure", file, f"is not JSON: {error}", hint="check commas, quotes and brackets there"
        )
        return UNREADABLE
    for key in dict.fromkeys(repeated):
        findings.add("structure", file, "is written twice in one object", field=key, hint="keep one of them")
    return UNREADABLE if repeated else content


def parse_document(
    content: object, file: str, model: type[DocumentT], findings: Findings, overridden: frozenset[str]
) -> DocumentT | Remainder[DocumentT] | None:
    """Model of a file's *content*; after noting every fault what is left of it, or ``None``."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
        for detail in details:
            _note(detail, content, file, model, findings, overridden)
        return _remainder(content, model, details)


def _remainder(
    content: object, model: type[DocumentT], details: Sequence[ErrorDetails]
) -> Remainder[DocumentT] | None:
    """What is left without the items of the document's lists that have a fault, and the faults elsewhere.

    ``None`` if one of those can't be taken away.
    """
    faulty: dict[str, set[int]] = {}
    elsewhere = []
    for detail in details:
        match detail["loc"]:
            case (str(group), int(position), *_):
                faulty.setdefault(group, set()).add(position)
            case _:
                elsewhere.append(detail)
    rest = _mend(content, elsewhere)
    if rest is None:
        return None
    assert isinstance(content, Mapping)
    lost: list[object] = []
    found: list[Faulty] = []
    for group, positions in faulty.items():
        _, key = ITEM_NAMES.get(group, ("", "id"))
        items = list(enumerate(content[group]))
        rest[group] = [item for position, item in items if position not in positions]
        for position, item in items:
            if position in positions:
                lost.append(item.get(key) if isinstance(item, Mapping) else None)
                if isinstance(item, Mapping) and group in ITEM_NAMES:
                    found.append(Faulty(group, _name_item(group, position, item), item))
    try:
        document = model.model_validate(rest)
    except ValidationError:  # such as a list that has become empty
        return None
    ids = [id for id in lost if isinstance(id, int)]
    return Remainder(document, frozenset(ids) if len(ids) == len(lost) else None, tuple(found))


def _mend(content: object, details: Sequence[ErrorDetails]) -> dict[str, Any] | None:
    """Copy of *content* without unknown fields, and with numbers within their limits; for checks alone."""
    result = deepcopy(content)
    if not isinstance(result, dict):
        return None
    for detail in details:
        if detail["type"] not in ("extra_forbidden", "greater_than_equal", "less_than_equal"):
            return None
        _, (*way, last) = _locate(detail, content, whole=True)
        place: Any = result
        for step in way:
            place = place[step]
        if detail["type"] == "extra_forbidden":
            place.pop(last, None)
        else:
            place[last] = detail["ctx"].get("ge", detail["ctx"].get("le"))
    return result


def _note(
    detail: ErrorDetails,
    content: object,
    file: str,
    model: type[Document],
    findings: Findings,
    overridden: frozenset[str],
) -> None:
    kind = detail["type"]
    entity, steps = _locate(detail, content)
    if kind.startswith("union_tag") and not detail["ctx"]["discriminator"].endswith("()"):
        steps = [*steps, detail["ctx"]["discriminator"].strip("'")]
    dotted = ".".join(str(step) for step in _locate(detail, content, whole=True)[1])
    # A fault lies in an override, or in what an override made on its way down.
    if dotted and any(
        f"{key}.".startswith(f"{dotted}.") or dotted.startswith(f"{key}.") for key in overridden
    ):
        entity = "override"
    findings.add(
        "schema",
        file,
        _describe(detail),
        entity=entity,
        field=_join(steps) or None,
        hint=_advise(detail, file, model, content),
    )


def _locate(
    detail: ErrorDetails, content: object, *, whole: bool = False
) -> tuple[str | None, list[int | str]]:
    """Entity that a fault is in, and the steps from there (or from the top, if *whole*).

    pydantic's locations also name the arm of a union; those steps lead nowhere in the file.
    """
    loc, absent = detail["loc"], detail["type"] == "missing"
    entity: str | None = None
    steps: list[int | str] = []
    parent: object = None
    value = content
    for position, step in enumerate(loc):
        if isinstance(value, Mapping) and isinstance(step, str):
            if step in value or (absent and position == len(loc) - 1):
                parent, value = step, value.get(step)
                steps.append(step)
            continue
        if isinstance(value, Sequence) and not isinstance(value, str) and isinstance(step, int):
            value = value[step] if step < len(value) else None
            steps.append(step)
            if entity is None and len(steps) == 2 and parent in ITEM_NAMES and not whole:
                entity, steps = _name_item(str(parent), step, value), []
    return entity, steps


def _name_item(group: str, position: int, value: object) -> str:
    kind, key = ITEM_NAMES[group]
    if isinstance(value, Mapping) and type(value.get(key)) is int:
        name = value.get("name")
        return name_entity(kind, value[key], name if isinstance(name, str) else None)
    return f"{group}[{position}]"


def _join(steps: Sequence[int | str]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _describe(detail: ErrorDetails) -> str:
    """Say what is wrong, in a sentence without the field's name."""
    kind = detail["type"]
    context: Mapping[str, Any] = detail.get("ctx", {})
    got = _show(detail["input"])
    limits = {
        "greater_than_equal": ("at least", "ge"),
        "greater_than": ("above", "gt"),
        "less_than_equal": ("at most", "le"),
        "less_than": ("below", "lt"),
    }
    if kind in limits:
        word, key = limits[kind]
        return f"must be {word} {context[key]:g}, got {got}"
    if kind == "union_tag_invalid" and context["discriminator"].endswith("()"):
        return f"can't be a {context['tag']}, got {got}"
    if kind == "union_tag_invalid":
        return f"must be one of {context['expected_tags']}, got '{context['tag']}'"
    if kind == "literal_error":
        return f"must be {context['expected'].replace(' or ', ', or ')}, got {got}"
    plain = {
        "missing": "is required",
        "union_tag_not_found": "is required",
        "extra_forbidden": "is not a field of this object",
        "finite_number": f"must be a finite number, got {got}",
        "too_short": "must not be empty",
        "int_from_float": f"must be a whole number, got {got}",
        "date": f"must be a day written YYYY-MM-DD, got {got}",
    }
    if kind in plain:
        return plain[kind]
    for ending, expected in (
        ("int_type", "a whole number"),
        ("float_type", "a number"),
        ("string_type", "a text"),
        ("bool_type", "true or false"),
        ("list_type", "a list"),
        ("dict_type", "an object"),
        ("model_type", "an object"),
        ("model_attributes_type", "an object"),
    ):
        if kind == ending:
            return f"must be {expected}, got {got}"
    return f"{detail['msg'][0].lower()}{detail['msg'][1:]}, got {got}"


def _show(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _advise(detail: ErrorDetails, file: str, model: type[Document], content: object) -> str | None:
    kind = detail["type"]
    _, steps = _locate(detail, content, whole=True)
    names = [str(step) for step in steps if isinstance(step, str)]
    last = names[-1] if names else ""
    if kind == "extra_forbidden":
        renamed = renames.UNKNOWN.get((file, ".".join(names)))
        if renamed:
            return renamed
        near = get_close_matches(last, list(_fields_at(model, names[:-1])), n=1, cutoff=0.6)
        return f"did you mean {near[0]}?" if near else "leave it out: it would have no effect"
    if kind == "missing":
        return renames.MISSING.get(last)
    if kind in ("union_tag_invalid", "literal_error") and "()" not in detail["ctx"].get("discriminator", ""):
        context: Mapping[str, Any] = detail.get("ctx", {})
        given = str(context.get("tag", detail["input"]))
        if given in renames.TAGS:
            return renames.TAGS[given]
        expected = str(context.get("expected_tags", context.get("expected", "")))
        known = [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]
        near = get_close_matches(given, known, n=1, cutoff=0.6)
        return f"did you mean {near[0]}?" if near else None
    return None


def _fields_at(model: type[BaseModel], names: Sequence[str]) -> Iterator[str]:
    """Fields that exist at a path of field names below *model*, in any arm of a union."""
    models = [model]
    for name in names:
        below: list[type[BaseModel]] = []
        for owner in models:
            for key, field in owner.model_fields.items():
                if (field.alias or key) == name:
                    below += _models_in(field.annotation)
        models = below or models
    for owner in models:
        yield from (field.alias or key for key, field in owner.model_fields.items())


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType, Annotated, list, dict):
        return [model for part in get_args(annotation) for model in _models_in(part)]
    return []
