"""What solves batches of stage problems promises, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pycobre.lp.ladder import LADDER
from pycobre.lp.sparse import FloatArray, IntArray
from pycobre.lp.template import StageTemplate

BasisArray = NDArray[np.int8]

BASIC = 1
"""Status of a column or row that is in the basis; of a plane or cut: that it is not binding."""
USED_LATER = 5
"""Status of a plane or cut that is basic in the basis, but was binding in another opening of its unit."""


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


@dataclass(frozen=True, eq=False)
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
        which they were added. A plane or cut that was binding only in another opening is marked
        :data:`USED_LATER`.
    """

    value: FloatArray
    slope: FloatArray
    basis: BasisArray


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
    primal : (M, n) or (0, n)
        Columns of the template, if asked for.
    row_dual : (M, m) or (0, m)
        What one more unit on a row's bounds costs, if asked for.
    """

    objective: FloatArray
    future: FloatArray
    next_state: FloatArray
    primal: FloatArray
    row_dual: FloatArray


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
    """What a solver has done so far: problems solved, pivots, recoveries by step of the ladder."""

    solves: int = 0
    pivots: int = 0
    recoveries: tuple[int, ...] = field(default=(0,) * len(LADDER))

    def __add__(self, other: SolverCounts) -> SolverCounts:
        return SolverCounts(
            self.solves + other.solves,
            self.pivots + other.pivots,
            tuple(a + b for a, b in zip(self.recoveries, other.recoveries, strict=True)),
        )


class StageSolver(ABC):
    """Solves one stage's problem for batches of right-hand sides.

    The result of a state with its openings, or of a pair of state and noise, is a function of the
    template, the cuts, the start basis given for it and its own numbers: not of the batch, the thread or
    anything solved before.
    """

    template: StageTemplate

    @property
    @abstractmethod
    def basis_length(self) -> int:
        """Length L of a basis now: columns, core rows, planes, cuts.

        A shorter one, from before the last cuts, may be given as a start.
        """

    @property
    @abstractmethod
    def cuts(self) -> int:
        """How many cuts were added."""

    @abstractmethod
    def add_cuts(self, intercept: FloatArray, slope: FloatArray) -> None:
        """Take cuts θ >= intercept + slope·s', shapes (C,) and (C, X')."""

    @abstractmethod
    def choose_rows(self, cuts: NDArray[np.int32]) -> None:
        """Keep only *cuts*, positions in the order in which they were added, ascending, as rows of the LP.

        The others join it where a solution violates them: the optimum is the same, and quicker to find. No
        plane is chosen: a unit of work begins with those that matter in its start basis.
        """

    @abstractmethod
    def expectation(
        self,
        states: FloatArray,
        openings: FloatArray,
        probability: FloatArray,
        basis: BasisArray,
        part: tuple[IntArray, IntArray] | None = None,
    ) -> Expectation:
        """Expected value and slope at *states* (M, X) over *openings* (W, D) of *probability* (W,).

        Each state is solved for its *part* of the openings, from the first to before the last given; for
        all of them without. Its start basis is its row of *basis*.

        Raises
        ------
        StageUnsolved
            A right-hand side has no optimum.
        """

    @abstractmethod
    def by_opening(
        self, states: FloatArray, openings: FloatArray, basis: BasisArray, part: tuple[IntArray, IntArray]
    ) -> OpeningCosts:
        """Value and slope at *states* (M, X) for each opening of their *part* of *openings* (W, D).

        Raises
        ------
        StageUnsolved
            A right-hand side has no optimum.
        """

    @abstractmethod
    def dispatch(
        self, states: FloatArray, noises: FloatArray, basis: BasisArray, *, full: bool = False
    ) -> Dispatch:
        """Optimal dispatch for *states* (M, X) with *noises* (M, D).

        Raises
        ------
        StageUnsolved
            A right-hand side has no optimum.
        """

    @abstractmethod
    def explain(self, state: FloatArray, noise: FloatArray, dump: str) -> Explanation:
        """What is in conflict at one right-hand side; the problem is written to *dump* as MPS with names."""

    @property
    @abstractmethod
    def counts(self) -> SolverCounts:
        """What was done so far."""


def cost_scale_of(templates: list[StageTemplate]) -> float:
    """The power of two nearest to the median cost coefficient of *templates*: dividing by it is exact."""
    costs = np.concatenate([np.abs(template.cost[template.cost != 0.0]) for template in templates] or [[]])
    if len(costs) == 0:
        return 1.0
    return float(2.0 ** np.round(np.log2(np.median(costs))))
