"""What solvers give back for batches of stage problems: solutions, why there is none, the work it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pycobre.lp.basis import BasisArray
from pycobre.lp.ladder import LADDER
from pycobre.lp.sparse import FloatArray, IntArray
from pycobre.lp.template import StageTemplate


@dataclass(eq=False, slots=True)
class Expectation:
    """Expected cost of a stage at M incoming states, over the openings that each was solved for.

    Attributes
    ----------
    value : (M,)
        Optimal values (from the duals: never above the true ones), weighted by probability and summed.
    slope : (M, X)
        Slopes in the incoming state, likewise.
    basis : (M, L)
        Optimal basis of the first opening of each: columns, core rows, planes, then cuts in the order in
        which they were added. A cut, or a plane that is a row only while it is binding, that was so only in
        another opening is marked :data:`~pycobre.lp.basis.USED_LATER`.
    """

    value: FloatArray
    slope: FloatArray
    basis: BasisArray

    @classmethod
    def room(cls, states: FloatArray, length: int) -> Expectation:
        """Arrays to be filled for *states* (M, X) and bases of *length*."""
        return cls(np.empty(len(states)), np.empty(states.shape), np.empty((len(states), length), np.int8))


@dataclass(eq=False, slots=True)
class OpeningCosts:
    """Cost of a stage at M incoming states, for each opening of a part of them.

    Attributes
    ----------
    value : (M, P)
        Optimal values, from the duals; zero beyond the openings of a shorter part.
    slope : (M, P, X)
        Slopes in the incoming state, likewise.
    basis : (M, L)
        As in :class:`Expectation`.
    """

    value: FloatArray
    slope: FloatArray
    basis: BasisArray

    @classmethod
    def room(cls, states: FloatArray, part: tuple[IntArray, IntArray], length: int) -> OpeningCosts:
        """Arrays to be filled, zero so far, for *states* (M, X), their openings and bases of *length*."""
        count, width = states.shape
        most = int((part[1] - part[0]).max(initial=0))
        basis = np.empty((count, length), np.int8)
        return cls(np.zeros((count, most)), np.zeros((count, most, width)), basis)

    def widened(self, most: int) -> OpeningCosts:
        """The same with room for *most* openings a state, zero beyond its own."""
        more = most - self.value.shape[1]
        if more == 0:
            return self
        slope = np.pad(self.slope, ((0, 0), (0, more), (0, 0)))
        return OpeningCosts(np.pad(self.value, ((0, 0), (0, more))), slope, self.basis)


@dataclass(eq=False, slots=True)
class Dispatch:
    """Optimal dispatch of a stage for M pairs of incoming state and noise.

    Attributes
    ----------
    objective : (M,)
        Stage cost plus future cost.
    future : (M,)
        Future cost θ, zero in a last stage.
    next_state : (M, X')
        Outgoing state.
    basis : (M, L) or (0, L)
        Optimal bases as in :class:`Expectation`, if asked for.
    primal : (M, n) or (0, n)
        Columns of the template, if asked for.
    row_dual : (M, m) or (0, m)
        What one more unit on a row's bounds costs, if asked for.
    """

    objective: FloatArray
    future: FloatArray
    next_state: FloatArray
    basis: BasisArray
    primal: FloatArray
    row_dual: FloatArray

    @classmethod
    def room(
        cls, template: StageTemplate, count: int, length: int, *, has_future: bool, full: bool, bases: bool
    ) -> Dispatch:
        """Arrays to be filled for *count* pairs and bases of *length*.

        The primal ones have a last column for the future cost, if the problem *has_future*.
        """
        kept = count if full else 0
        return cls(
            np.empty(count),
            np.empty(count),
            np.empty((count, template.states_out)),
            np.empty((count if bases else 0, length), np.int8),
            np.empty((kept, len(template.cost) + has_future)),
            np.empty((kept, len(template.row_lower))),
        )


@dataclass(frozen=True)
class Explanation:
    """Why a problem has no optimum.

    Attributes
    ----------
    conflict
        Names of the rows and columns that can't hold together.
    words
        The same as a sentence, if there is one.
    states
        Incoming states that move these rows, by name.
    trouble
        That of writing the dump, if any.
    """

    conflict: tuple[str, ...]
    words: str
    states: Mapping[str, float]
    trouble: str


@dataclass(frozen=True)
class SolverCounts:
    """What a solver has done so far: problems solved, pivots, recoveries by step of the ladder.

    ``handed_over`` are units of work that the dense dual simplex left to HiGHS.
    """

    solves: int = 0
    pivots: int = 0
    recoveries: tuple[int, ...] = field(default=(0,) * len(LADDER))
    handed_over: int = 0

    def __add__(self, other: SolverCounts) -> SolverCounts:
        return SolverCounts(
            self.solves + other.solves,
            self.pivots + other.pivots,
            tuple(a + b for a, b in zip(self.recoveries, other.recoveries, strict=True)),
            self.handed_over + other.handed_over,
        )

    def __sub__(self, other: SolverCounts) -> SolverCounts:
        return SolverCounts(
            self.solves - other.solves,
            self.pivots - other.pivots,
            tuple(a - b for a, b in zip(self.recoveries, other.recoveries, strict=True)),
            self.handed_over - other.handed_over,
        )


@dataclass(frozen=True)
class Unsolved:
    """A right-hand side that even the recovery ladder did not solve.

    ``unit`` is its position in the batch, ``opening`` that of the opening.
    """

    unit: int
    opening: int
    status: str


class StageUnsolved(Exception):
    """Raised by a solver with the :class:`Unsolved` right-hand side; the engine makes the error of it."""

    def __init__(self, unsolved: Unsolved) -> None:
        self.unsolved = unsolved
        super().__init__(unsolved.status)
