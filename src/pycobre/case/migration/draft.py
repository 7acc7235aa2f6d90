"""A case on its way to another format: its files in memory, and what was done to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa

from pycobre.case import files

EARLY = date(1990, 1, 1)


@dataclass(frozen=True)
class Change:
    """One thing that a migration did, as a record.

    Attributes
    ----------
    file
        The file of the new case, relative to its directory.
    field
        The field's path in the file, or the column; ``None`` for the whole file.
    message
        What was done, and what it means for the study if it means anything.
    """

    file: str
    field: str | None
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


@dataclass
class Draft:
    """Files of a case, to be changed in place.

    Attributes
    ----------
    documents
        JSON files by name.
    tables
        Parquet files by name.
    dropped
        Files that the new case does not have.
    """

    documents: dict[str, Any]
    tables: dict[str, pa.Table]
    dropped: set[str] = field(default_factory=set)
    _changes: dict[Change, None] = field(default_factory=dict)
    _read: dict[str, pa.Table] = field(init=False)

    def __post_init__(self) -> None:
        self._read = dict(self.tables)

    @property
    def changed_tables(self) -> dict[str, pa.Table]:
        """Tables that are no longer what was read; the others keep their files."""
        return {file: table for file, table in self.tables.items() if table is not self._read.get(file)}

    def note(self, file: str, where: str | None, message: str) -> None:
        """Note a change, once."""
        self._changes[Change(file, where, message)] = None

    @property
    def changes(self) -> list[Change]:
        """What was done, grouped by file, in the order it was done."""
        order = dict.fromkeys(change.file for change in self._changes)
        return [change for file in order for change in self._changes if change.file == file]

    def section(self, file: str, *names: str) -> dict[str, Any]:
        """An object inside a document, empty (and no part of it) where the document has none."""
        place: Any = self.documents.get(file)
        for name in names:
            place = place.get(name) if isinstance(place, dict) else None
        return place if isinstance(place, dict) else {}

    def items(self, file: str, name: str) -> list[dict[str, Any]]:
        """Objects of a list in a document."""
        found = self.section(file).get(name)
        return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []

    def remove(self, file: str, path: str, reason: str) -> None:
        """Take a field out of a document, if it is there."""
        *names, last = path.split(".")
        if self.section(file, *names).pop(last, _ABSENT) is not _ABSENT:
            self.note(file, path, f"left out: {reason}")

    @property
    def hydros(self) -> list[dict[str, Any]]:
        """Hydro plants."""
        return self.items(files.HYDROS, "hydros")

    @property
    def stages(self) -> list[dict[str, Any]]:
        """Stages of the study by id."""
        return sorted(self.items(files.STAGES, "stages"), key=lambda stage: int(stage.get("id", 0)))

    @property
    def first_day(self) -> date:
        """The study's first day."""
        return day_of(self.stages[0]["start_date"])

    @property
    def has_lags(self) -> bool:
        """Whether inflow models of the case may have a memory."""
        found = {files.INFLOW_AR, files.INFLOW_HISTORY, files.INFLOW_ANNUAL} & set(self.tables)
        return bool(found) or any(
            (stage.get("state_variables") or {}).get("inflow_lags") for stage in self.stages
        )

    def choices(self, model: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The choices of one entry of the production models."""
        for name in ("stage_ranges", "seasons"):
            yield from (choice for choice in model.get(name) or [] if isinstance(choice, dict))


_ABSENT = object()


def day_of(text: object) -> date:
    """Day that a date in a JSON file names."""
    return date.fromisoformat(str(text))
