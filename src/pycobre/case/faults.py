"""What is wrong with a record of a JSON file, in words, with its place and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from pycobre.case import renames
from pycobre.case.findings import Findings, name_entity
from pycobre.case.record import Document

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


def note_fault(
    detail: ErrorDetails,
    content: object,
    file: str,
    model: type[Document],
    findings: Findings,
    overridden: frozenset[str],
) -> None:
    """Note one fault that pydantic found in a file's *content*."""
    kind = detail["type"]
    entity, steps = locate(detail, content)
    if kind.startswith("union_tag") and not detail["ctx"]["discriminator"].endswith("()"):
        steps = [*steps, detail["ctx"]["discriminator"].strip("'")]
    dotted = ".".join(str(step) for step in locate(detail, content, whole=True)[1])
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


def locate(
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
                entity, steps = name_item(str(parent), step, value), []
    return entity, steps


def name_item(group: str, position: int, value: object) -> str:
    """How a message names an item of a list: ``hydro 7 (Ilha)``, or ``hydros[3]`` where it has no id."""
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
    _, steps = locate(detail, content, whole=True)
    names = [str(step) for step in steps if isinstance(step, str)]
    last = names[-1] if names else ""
    if kind == "extra_forbidden":
        renamed = renames.UNKNOWN.get((file, ".".join(names)))
        if renamed:
            return renamed
        fields = list(_fields_at(model, names[:-1]))
        near = get_close_matches(last, fields, n=1, cutoff=0.6)
        near = near or [field for field in fields if field.startswith(f"{last}_")]
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
