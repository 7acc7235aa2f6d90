"""What solves batches of stage problems promises, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pycobre.lp.ladder import LADDER
from pycobre.lp.sparse import FloatArray, IntArray
from pycobre.lp.template import StageTemplate

BasisArray = NDArray[np.int8]
BasisNames = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of the columns, and of the core rows and planes, that a basis has before those of cuts."""

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


@dataclass(eq=False, slots=True)  # not frozen: one is made at every visit, in a third of the time
class Starts:
    """What M units of work start from.

    Attributes
    ----------
    own : (M,)
        The position of each unit's basis among *bases*; without these the forward pass whose kept basis it
        starts from. A solver may choose another one.
    bases : (K, L)
        As :class:`Expectation` has them; of length zero for none. ``None`` for those that the solver keeps.
    """

    own: NDArray[np.int64]
    bases: BasisArray | None = None

    @classmethod
    def slacks(cls, units: int) -> Starts:
        """No basis: *units* that start from nothing."""
        return cls(np.zeros(units, dtype=np.int64), np.empty((1, 0), dtype=np.int8))

    @classmethod
    def each(cls, bases: BasisArray) -> Starts:
        """One basis a unit, the rows of *bases*."""
        return cls(np.arange(len(bases)), bases)

    def brought(self) -> BasisArray:
        """The basis (M, L) that each unit came with; of length zero if none did."""
        if self.bases is None:
            return np.empty((len(self.own), 0), dtype=np.int8)
        return np.ascontiguousarray(self.bases[self.own])

    def some(self, units: NDArray[np.int64]) -> Starts:
        """Those of *units*, by position."""
        return Starts(self.own.take(units), self.bases)


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
        which they were added. A plane or cut that was binding only in another opening is marked
        :data:`USED_LATER`.
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
    def room(cls, solver: StageSolver, count: int, *, full: bool, bases: bool) -> Dispatch:
        """Arrays to be filled for *count* pairs; the primal ones have a last column for the future cost."""
        template, kept = solver.template, count if full else 0
        return cls(
            np.empty(count),
            np.empty(count),
            np.empty((count, template.states_out)),
            np.empty((count if bases else 0, solver.basis_length), np.int8),
            np.empty((kept, len(template.cost) + solver.has_future)),
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


class StageSolver(ABC):
    """Solves one stage's problem for batches of right-hand sides.

    The result of a state with its openings, or of a pair of state and noise, is a function of the
    template, the cuts, the start bases given and its own numbers: not of the batch, the thread or
    anything solved before.

    Attributes
    ----------
    template
        The stage's problem.
    has_future
        Whether it has a future cost, and takes cuts.
    chooses_rows
        Whether :meth:`choose_rows` makes a difference.
    """

    template: StageTemplate
    has_future: bool
    chooses_rows: bool

    @property
    @abstractmethod
    def basis_length(self) -> int:
        """Length L of a basis now: columns, core rows, planes, cuts.

        A shorter one, from before the last cuts, may be given as a start.
        """

    @property
    def basis_names(self) -> BasisNames:
        """Names of what a basis has before cuts."""
        template = self.template
        columns = (*template.column_names, "future_cost") if self.has_future else template.column_names
        return columns, (*template.row_names, *template.planes.names(template.column_names))

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
    def keep_starts(self, passes: Sequence[int] | NDArray[np.int64], fresh: BasisArray) -> None:
        """Start units of forward *passes* (M,) from *fresh* bases from now on.

        Parameters
        ----------
        fresh : (parts, M, L)
            As :class:`Expectation` has them; one for all *passes* if M is 1.
        """

    @property
    @abstractmethod
    def wants_dispatched(self) -> bool:
        """Whether a backward pass gains by the bases that the dispatches of its iteration ended with."""

    @abstractmethod
    def take_dispatched(
        self, came_by: NDArray[np.int64], bases: BasisArray, passes: NDArray[np.int64]
    ) -> Starts:
        """Where units of forward *passes* (M,) start in a backward pass, given what dispatches ended with.

        Parameters
        ----------
        came_by : (K,)
            The forward passes that were dispatched, ascending.
        bases : (K, L)
            What each ended with.
        """

    @property
    @abstractmethod
    def keeps_starts(self) -> bool:
        """Whether there are kept bases to start from, or none is needed."""

    @abstractmethod
    def bases_of(self, starts: Starts) -> BasisArray:
        """The bases (M, L) that units with *starts* could start from in another solver."""

    @abstractmethod
    def expectation(
        self,
        states: FloatArray,
        openings: FloatArray,
        probability: FloatArray,
        starts: Starts,
        part: tuple[IntArray, IntArray] | None = None,
    ) -> Expectation:
        """Expected value and slope at *states* (M, X) over *openings* (W, D) of *probability* (W,).

        Each state is solved for its *part* of the openings, from the first to before the last given; for
        all of them without.

        Raises
        ------
        StageUnsolved
            A right-hand side has no optimum.
        """

    @abstractmethod
    def by_opening(
        self, states: FloatArray, openings: FloatArray, starts: Starts, part: tuple[IntArray, IntArray]
    ) -> OpeningCosts:
        """Value and slope at *states* (M, X) for each opening of their *part* of *openings* (W, D).

        Raises
        ------
        StageUnsolved
            A right-hand side has no optimum.
        """

    @abstractmethod
    def dispatch(
        self,
        states: FloatArray,
        noises: FloatArray,
        starts: Starts,
        *,
        full: bool = False,
        bases: bool = False,
    ) -> Dispatch:
        """Optimal dispatch for *states* (M, X) with *noises* (M, D), with *full* solutions, with *bases*.

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


def all_openings(states: FloatArray, openings: FloatArray) -> tuple[IntArray, IntArray]:
    """The part of *states* (M, X) that is all of *openings* (W, D)."""
    return np.zeros(len(states), dtype=np.int32), np.full(len(states), len(openings), dtype=np.int32)


def cost_scale_of(templates: list[StageTemplate]) -> float:
    """The power of two that makes the largest cost coefficient of *templates* about 2**15: dividing is exact.

    HiGHS's least tolerances are absolute, 1e-10 of a reduced cost: the smaller costs are, the sooner it stops
    at a solution that is only near the best.
    """
    costs = np.concatenate([np.abs(template.cost[template.cost != 0.0]) for template in templates] or [[]])
    if len(costs) == 0:
        return 1.0
    return float(2.0 ** (np.round(np.log2(np.max(costs))) - 15))
