"""Where two systems differ, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

import numpy as np

NOUNS = {
    "stages": "stage",
    "blocks": "block",
    "buses": "bus",
    "lines": "line",
    "thermals": "thermal",
    "hydros": "hydro",
    "sources": "source",
    "contracts": "contract",
    "pumps": "pumping station",
    "constraints": "constraint",
}
"""What people call one of each kind of entity, by the attribute of a system or stage that holds them."""


def differences(one: object, other: object, where: str = "") -> Iterator[str]:
    """Every place where *one* is not *other*: ``hydro 3, storage_max_hm3: 20.0, not 25.0``."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        yield from _of_arrays(one, other, where)
    elif is_dataclass(one) and type(one) is type(other):
        if one == other:
            return
        for field in fields(one):
            yield from _of_field(getattr(one, field.name), getattr(other, field.name), where, field.name)
    elif isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}, key=repr):
            yield from _of_item(one, other, key, _join(where, f"[{key}]"))
    elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for position, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, _join(where, f"[{position}]"))
    elif one != other:
        yield f"{where}: {_show(one)}, not {_show(other)}"


def _of_field(one: object, other: object, where: str, name: str) -> Iterator[str]:
    if name not in NOUNS or not isinstance(one, tuple) or not isinstance(other, tuple):
        yield from differences(one, other, _join(where, name))
        return
    mine, theirs = ({entity.id: entity for entity in entities} for entities in (one, other))
    for id in sorted({*mine, *theirs}):
        yield from _of_item(mine, theirs, id, _join(where, f"{NOUNS[name]} {id}"))


def _of_item(
    one: Mapping[object, object], other: Mapping[object, object], key: object, where: str
) -> Iterator[str]:
    if key in one and key in other:
        yield from differences(one[key], other[key], where)
    else:
        yield f"{where}: only in {'this' if key in one else 'the other'}"


def _of_arrays(one: np.ndarray, other: np.ndarray, where: str) -> Iterator[str]:
    if one.shape != other.shape:
        yield f"{where}: of shape {one.shape}, not {other.shape}"
        return
    apart = np.argwhere(~np.equal(one, other))
    if len(apart):
        first = tuple(int(index) for index in apart[0])
        more = f" (and {len(apart) - 1} more)" if len(apart) > 1 else ""
        yield f"{_join(where, str(list(first)))}: {one[first]!s}, not {other[first]!s}{more}"


def _join(where: str, step: str) -> str:
    return f"{where}{step}" if step.startswith("[") or not where else f"{where}, {step}"


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
