"""A row of the table of fields, and short ways to write one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from case import exercise as e

Also = tuple[str, object] | tuple[str, str, object]
Change = tuple[str, str, object]


@dataclass(frozen=True)
class Row:
    """A value at a dotted path of a file that a base gets, after the changes of *also*."""

    promise: str
    base: e.Base
    file: str
    path: str
    value: object
    also: tuple[Change, ...]
    leaf: str
    """The field, whatever list item it is in."""


def _leaf(file: str, path: str) -> str:
    if file.endswith(".parquet"):
        return path.partition(".")[0]
    return re.sub(r"^profiles\.\w+", "profiles.*", re.sub(r"\.\d+(?=\.|$)", "[]", path))


def _maker(promise: str) -> Callable[..., Row]:
    def make(base: e.Base, file: str, path: str, value: object, *also: Also, leaf: str | None = None) -> Row:
        """A row; *also* are changes to the same file, or to another that they name first."""
        full = tuple(item if len(item) == 3 else (file, *item) for item in also)
        return Row(promise, base, file, path, value, full, leaf or _leaf(file, path))  # type: ignore[arg-type]

    return make


changes, refused, key = _maker("changes"), _maker("refused"), _maker("key")


def columns(
    make: Callable[..., Row], base: e.Base, file: str, row: int = 0, **values: object
) -> Iterator[Row]:
    """Rows of columns, each changed in one row of the table."""
    for column, value in values.items():
        yield make(base, file, f"{column}.{row}", value)


def fields(make: Callable[..., Row], base: e.Base, file: str, prefix: str, **values: object) -> Iterator[Row]:
    """Rows of the fields of one object."""
    for name, value in values.items():
        yield make(base, file, f"{prefix}.{name}", value)
