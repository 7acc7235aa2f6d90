"""Collects the columns, rows and entries of a stage problem, then makes the template of them."""

from __future__ import annotations

import math
import sys

import numpy as np

from pycobre.lp.planes import Planes
from pycobre.lp.sparse import Sparse
from pycobre.lp.template import NO_HEADS, Heads, StageTemplate

ABSENT = -1
Entry = tuple[int, float]
"""A column or state and its factor."""


class Assembly:
    """A stage problem under construction.

    Columns and rows get their positions in the order in which they are added; :data:`ABSENT` stands for
    one that was left out, and whatever is said of it later is dropped.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._columns: list[tuple[str, float, float, float]] = []
        self._rows: list[tuple[str, float, float]] = []
        self._entries: dict[tuple[int, int], float] = {}
        self._row_state: dict[tuple[int, int], float] = {}
        self._row_noise: dict[tuple[int, int], float] = {}
        self._heads: list[tuple[int, int, int, float, float]] = []
        self._planes: dict[int, list[tuple[float, list[Entry], list[Entry]]]] = {}

    def column(
        self, name: str, *, cost: float = 0.0, lower: float = 0.0, upper: float = math.inf, keep: bool = False
    ) -> int:
        """Position of a new column; ABSENT for one that can only be zero, unless it is to be kept."""
        if lower == 0.0 and upper == 0.0 and not keep:
            return ABSENT
        self._columns.append((name, cost, lower, upper))
        return len(self._columns) - 1

    def row(self, name: str, lower: float, upper: float) -> int:
        """Position of a new row."""
        self._rows.append((name, lower, upper))
        return len(self._rows) - 1

    def add(self, row: int, column: int, value: float) -> None:
        """Add *value* to the entry of *row* and *column*."""
        if column != ABSENT and value != 0.0:
            self._entries[row, column] = self._entries.get((row, column), 0.0) + value

    def move(self, row: int, value: float) -> None:
        """Move both bounds of *row* by *value*."""
        name, lower, upper = self._rows[row]
        self._rows[row] = (name, lower + value, upper + value)

    def move_by_state(self, row: int, state: int, value: float) -> None:
        """Let a unit of incoming *state* move the bounds of *row* by *value*."""
        self._row_state[row, state] = self._row_state.get((row, state), 0.0) + value

    def move_by_noise(self, row: int, noise: int, value: float) -> None:
        """Let a unit of *noise* move the bounds of *row* by *value*."""
        self._row_noise[row, noise] = self._row_noise.get((row, noise), 0.0) + value

    def head(self, row: int, column: int, state: int, constant: float, slope: float) -> None:
        """Let the entry of *row* and *column* be -(*constant* + *slope* · *state*) in a simulation."""
        if column != ABSENT:
            self._heads.append((row, column, state, constant, slope))

    def plane(self, column: int, upper: float, terms: list[Entry], by_state: list[Entry]) -> None:
        """Limit *column* to *upper* + Σ *terms* + Σ *by_state*; columns and states are each named once."""
        self._planes.setdefault(column, []).append((upper, terms, by_state))

    def template(
        self,
        *,
        states_in: int,
        noises: int,
        state_columns: list[int],
        carried_constant: list[float],
        carried_state: list[tuple[int, int, float]],
        carried_noise: list[tuple[int, int, float]],
    ) -> StageTemplate:
        """The finished template; names that other stages have too are in memory once."""
        rows, columns, carried = len(self._rows), len(self._columns), len(carried_constant)
        matrix = _sparse(self._entries, (rows, columns))
        return StageTemplate(
            name=self.name,
            cost=np.array([column[1] for column in self._columns], dtype=np.float64),
            column_lower=np.array([column[2] for column in self._columns], dtype=np.float64),
            column_upper=np.array([column[3] for column in self._columns], dtype=np.float64),
            matrix=matrix,
            row_lower=np.array([row[1] for row in self._rows], dtype=np.float64),
            row_upper=np.array([row[2] for row in self._rows], dtype=np.float64),
            row_state=_sparse(self._row_state, (rows, states_in)),
            row_noise=_sparse(self._row_noise, (rows, noises)),
            planes=self._all_planes(columns, states_in),
            state_columns=np.array(state_columns, dtype=np.int32),
            carried_constant=np.array(carried_constant, dtype=np.float64),
            carried_state=Sparse.of(carried_state, (carried, states_in)),
            carried_noise=Sparse.of(carried_noise, (carried, noises)),
            column_names=tuple(sys.intern(column[0]) for column in self._columns),
            row_names=tuple(sys.intern(row[0]) for row in self._rows),
            heads=self._all_heads(matrix),
        )

    def _all_heads(self, matrix: Sparse) -> Heads:
        if not self._heads:
            return NO_HEADS
        places = zip(matrix.row.tolist(), matrix.column.tolist(), strict=True)
        entry = {place: position for position, place in enumerate(places)}
        return Heads(
            np.array([entry[row, column] for row, column, *_ in self._heads], dtype=np.int32),
            np.array([head[2] for head in self._heads], dtype=np.int32),
            np.array([head[3] for head in self._heads]),
            np.array([head[4] for head in self._heads]),
        )

    def _all_planes(self, columns: int, states: int) -> Planes:
        limited: list[int] = []
        upper: list[float] = []
        entries: list[tuple[int, int, float]] = []
        by_state: list[tuple[int, int, float]] = []
        for column in sorted(self._planes):
            for limit, terms, moving in self._planes[column]:
                number = len(limited)
                limited.append(column)
                upper.append(limit)
                entries.append((number, column, 1.0))
                entries += [(number, other, -factor) for other, factor in terms if other != ABSENT]
                by_state += [(number, state, factor) for state, factor in moving]
        return Planes(
            np.array(limited, dtype=np.int32),
            Sparse.of(entries, (len(limited), columns)),
            np.array(upper, dtype=np.float64),
            Sparse.of(by_state, (len(limited), states)),
        )


def _sparse(entries: dict[tuple[int, int], float], shape: tuple[int, int]) -> Sparse:
    return Sparse.of(((row, column, value) for (row, column), value in entries.items()), shape)
