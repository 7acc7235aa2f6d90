"""JSON files: read, and checked against their records; of one with faults, what other checks can use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pycobre.case.faults import ITEM_NAMES, locate, name_item, note_fault
from pycobre.case.findings import Findings
from pycobre.case.record import Document

DocumentT = TypeVar("DocumentT", bound=Document)


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
        hint = "see that it may be read" if isinstance(error, OSError) else "save it as UTF-8"
        findings.add("structure", file, f"can't be read: {reason}", hint=hint)
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
            note_fault(detail, content, file, model, findings, overridden)
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
                    found.append(Faulty(group, name_item(group, position, item), item))
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
        _, (*way, last) = locate(detail, content, whole=True)
        place: Any = result
        for step in way:
            place = place[step]
        if detail["type"] == "extra_forbidden":
            place.pop(last, None)
        else:
            place[last] = detail["ctx"].get("ge", detail["ctx"].get("le"))
    return result
