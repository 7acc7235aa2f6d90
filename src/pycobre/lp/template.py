"""The form of a stage problem whose incoming state never enters the LP.

::

    min  c·x + θ
    s.t. row_lower + T·s + N·ω  <=  A x  <=  row_upper + T·s + N·ω
         column_lower <= x <= column_upper
         P x <= plane_upper + Q·s
         θ >= α_k + β_k·s'        for every cut k

Planes P stand apart from the rows A: they are many, and few of them are binding. The incoming state s and the
noise ω are known numbers when the LP is solved, so they only move its
row bounds. The outgoing state s' has a decided part, columns of x (final storages), and a carried
part k0 + K·s + L·ω (inflow lags), known before the LP is solved as well: that part of a cut goes to
the cut row's bound, and the row has no more non-zeros than there are decided states, plus one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pycobre.lp.planes import Planes
from pycobre.lp.sparse import FloatArray, IntArray, Sparse


@dataclass(frozen=True, eq=False)
class Heads:
    """Entries of A that a simulation takes at the incoming storage; see :mod:`pycobre.lp.heads`.

    In place of the one in A, an entry is -max(constant + slope · state, 0).

    Attributes
    ----------
    entry : (E,)
        Positions among the entries of A.
    state : (E,)
        Position of the incoming state that each follows.
    constant, slope : (E,)
        MW per m³/s, at no storage and a hm³ more.
    """

    entry: IntArray
    state: IntArray
    constant: FloatArray
    slope: FloatArray

    def __len__(self) -> int:
        return len(self.entry)


_NONE = np.empty(0, dtype=np.int32)
NO_HEADS = Heads(_NONE, _NONE, np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class StageTemplate:
    """One stage's problem for any incoming state and noise.

    n columns, m rows, X incoming states, D noises; the outgoing state has the decided columns first,
    then the carried part.

    Attributes
    ----------
    name
        For people, such as ``stage 3``.
    cost, column_lower, column_upper : (n,)
        Objective in the case's currency, not discounted, and column bounds; the future cost θ is not
        among the columns, the solver adds it where cuts are to come.
    matrix : (m, n)
        A.
    row_lower, row_upper : (m,)
        Row bounds at zero state and noise.
    row_state : (m, X)
        T: what a unit of incoming state adds to both bounds of a row.
    row_noise : (m, D)
        N: likewise for the noise.
    planes
        P, its limits and Q.
    state_columns
        The columns that are the decided part of the outgoing state.
    carried_constant : (C,)
    carried_state : (C, X)
    carried_noise : (C, D)
        k0, K and L of the carried part.
    column_names, row_names
        For people, unique within the stage.
    state_names
        Of the incoming states, for people; may be left out.
    heads
        Entries of A that follow the incoming state in a simulation.
    """

    name: str
    cost: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray
    matrix: Sparse
    row_lower: FloatArray
    row_upper: FloatArray
    row_state: Sparse
    row_noise: Sparse
    planes: Planes
    state_columns: IntArray
    carried_constant: FloatArray
    carried_state: Sparse
    carried_noise: Sparse
    column_names: tuple[str, ...]
    row_names: tuple[str, ...]
    state_names: tuple[str, ...] = ()
    heads: Heads = NO_HEADS

    def __post_init__(self) -> None:
        columns, rows = len(self.cost), len(self.row_lower)
        carried = len(self.carried_constant)
        states, noises = self.row_state.shape[1], self.row_noise.shape[1]
        wanted = {
            "column_lower": (len(self.column_lower), columns),
            "column_upper": (len(self.column_upper), columns),
            "column_names": (len(self.column_names), columns),
            "row_upper": (len(self.row_upper), rows),
            "row_names": (len(self.row_names), rows),
            "matrix": (self.matrix.shape, (rows, columns)),
            "row_state": (self.row_state.shape[0], rows),
            "row_noise": (self.row_noise.shape[0], rows),
            "planes.matrix": (self.planes.matrix.shape[1], columns),
            "planes.state": (self.planes.state.shape[1], states),
            "carried_state": (self.carried_state.shape, (carried, states)),
            "carried_noise": (self.carried_noise.shape, (carried, noises)),
        }
        for name, (actual, expected) in wanted.items():
            if actual != expected:
                raise ValueError(f"{self.name}: {name} has shape {actual}, expected {expected}")
        if (self.column_lower > self.column_upper).any() or (self.row_lower > self.row_upper).any():
            raise ValueError(f"{self.name}: a lower bound is above its upper bound")

    @cached_property
    def noise_weights(self) -> FloatArray:
        """What each noise counts where noises are compared, (D,): the root of how much it moves rows."""
        moved = np.zeros(self.noises)
        np.add.at(moved, self.row_noise.column, np.abs(self.row_noise.value))
        return np.sqrt(moved)

    @property
    def states_in(self) -> int:
        """Number X of incoming states."""
        return self.row_state.shape[1]

    @property
    def states_out(self) -> int:
        """Number of outgoing states."""
        return len(self.state_columns) + len(self.carried_constant)

    @property
    def noises(self) -> int:
        """Number D of noise terms."""
        return self.row_noise.shape[1]

    def cost_lower_bound(self) -> float:
        """A number that no dispatch of this stage costs less than; ``-inf`` if the columns allow it.

        The sum of every column's cheapest bound, whatever the rows say.
        """
        cheapest = np.where(self.cost >= 0.0, self.column_lower, self.column_upper)
        used = self.cost != 0.0
        total = 0.0
        for cost, bound in zip(self.cost[used], cheapest[used], strict=True):
            total += float(cost) * float(bound)
        return total
