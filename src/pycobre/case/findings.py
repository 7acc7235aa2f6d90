"""Everything found wrong or odd with a case, collected so that all of it is told at once."""

from __future__ import annotations

from collections.abc import Iterable

from pycobre.errors import Problem

WARNING = "warning"


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
        return tuple(problem for problem in self._found if problem.kind != WARNING)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is odd but honoured."""
        return tuple(problem for problem in self._found if problem.kind == WARNING)


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
