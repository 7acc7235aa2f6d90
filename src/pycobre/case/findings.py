"""Everything found wrong or odd with a case, collected so that all of it is told at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pycobre.errors import Problem

WARNING = "warning"
# A national system has hundreds of plants and stages: the same fault of more of them than this is told once.
MOST_ALIKE = 4
_ENTITY = re.compile(r"(?P<kind>[a-z -]+) (?P<id>-?\d+)( \(.*\))?")


class Findings:
    """Problems and warnings in the order they were found, each once."""

    def __init__(self) -> None:
        # A dictionary is a set that keeps the order: two layers may see the same fault.
        self._found: dict[Problem, None] = {}

    def add(
        self,
        kind: str,
        file: str,
        message: str,
        *,
        entity: str | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Note one problem; the arguments are those of :class:`~pycobre.errors.Problem`."""
        self._found[Problem(kind, message, file, entity, field, hint)] = None

    def warn(
        self,
        file: str,
        message: str,
        *,
        entity: str | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Note something odd that does not stop the study."""
        self.add(WARNING, file, message, entity=entity, field=field, hint=hint)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """What stops the study."""
        return condense(problem for problem in self._found if problem.kind != WARNING)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is odd but honoured."""
        return condense(problem for problem in self._found if problem.kind == WARNING)

    @property
    def count(self) -> int:
        """How many problems there are so far, each entity's its own, warnings apart."""
        return sum(problem.kind != WARNING for problem in self._found)


def condense(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems with those that many entities share told once, for all of these entities."""
    groups: dict[tuple[object, ...], list[Problem]] = {}
    for problem in problems:
        named = _ENTITY.fullmatch(problem.entity or "")
        field = re.sub(r"\[\d+\]", "[]", problem.field or "")
        key: tuple[object, ...] = (
            problem.kind,
            problem.file,
            problem.message,
            problem.hint,
            field,
            named and named["kind"],
        )
        groups.setdefault(key if named else (problem,), []).append(problem)
    condensed: list[Problem] = []
    for key, group in groups.items():
        if len(group) <= MOST_ALIKE:
            condensed += group
            continue
        ids = {int(named["id"]) for problem in group if (named := _ENTITY.fullmatch(problem.entity or ""))}
        noun = plural(str(key[-1])) if len(ids) > 1 else str(key[-1])
        entity = f"{noun} {list_ids(ids, limit=len(ids))}"
        condensed.append(replace(group[0], entity=entity, field=str(key[-2]) or None))
    return tuple(condensed)


def plural(noun: str) -> str:
    """Plural of an entity's kind."""
    return "buses" if noun == "bus" else f"{noun}s"


def name_entity(kind: str, id: int, name: str | None = None) -> str:
    """Name of an entity in a message, such as ``hydro 7 (Ilha)``."""
    return f"{kind} {id} ({name})" if name else f"{kind} {id}"


def list_ids(ids: Iterable[int], limit: int = 8) -> str:
    """Numbers as people write them: ``1, 4-9, 12``; the end is left out beyond *limit* runs."""
    runs: list[list[int]] = []
    for id in sorted(set(ids)):
        if runs and id == runs[-1][1] + 1:
            runs[-1][1] = id
        else:
            runs.append([id, id])
    texts = [str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}" for a, b in runs[:limit]]
    if len(runs) > limit:
        texts.append("...")
    return ", ".join(texts)
