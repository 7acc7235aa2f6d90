"""Solving batches of stage problems: the contract, and HiGHS behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pycobre import _native
from pycobre.lp.basis import BasisArray, BasisNames
from pycobre.lp.ladder import LADDER, SMALL_ROWS, ladder_options, usual_options
from pycobre.lp.planes import Planes
from pycobre.lp.sparse import FloatArray, IntArray, Sparse
from pycobre.lp.template import StageTemplate
from pycobre.lp.words import explain_in_words, states_behind

_STATUS = {
    4: "not solved (the solver failed)",
    7: "not solved to the accuracy that a cut needs",
    8: "infeasible",
    9: "unbounded or infeasible",
    10: "unbounded",
    15: "not solved (the solver gave up)",
}


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
    def basis_names(self) -> BasisNames:
        """Names of what a basis has before cuts."""

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
        self,
        states: FloatArray,
        noises: FloatArray,
        basis: BasisArray,
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


class HighsSolver(StageSolver):
    """The reference solver: HiGHS's dual simplex over a working set of planes and cuts.

    Parameters
    ----------
    template
        The stage's problem.
    future_lower
        A number that the future cost can't be below, or ``None`` in a last stage, which takes no cuts.
    cost_scale
        Costs are divided by it inside HiGHS, whose tolerances are absolute.
    threads
        Native threads over the units of a batch.
    """

    def __init__(
        self,
        template: StageTemplate,
        *,
        future_lower: float | None,
        cost_scale: float = 1.0,
        threads: int = 1,
    ) -> None:
        self.template = template
        cost, lower, upper = template.cost, template.column_lower, template.column_upper
        matrix, future_column = template.matrix, -1
        self._column_names = list(template.column_names)
        if future_lower is not None:
            future_column = len(cost)
            cost = np.append(cost, 1.0)
            lower = np.append(lower, future_lower)
            upper = np.append(upper, np.inf)
            self._column_names.append("future_cost")
        start, index, value = _by_columns(matrix, len(cost))
        self._columns = len(cost)
        self._problem = _native.StageProblem(
            cost=cost,
            column_lower=lower,
            column_upper=upper,
            row_lower=template.row_lower,
            row_upper=template.row_upper,
            start=start,
            index=index,
            value=value,
            row_state=_triplets(template.row_state),
            row_noise=_triplets(template.row_noise),
            planes=_planes(template.planes),
            state_columns=template.state_columns,
            carried_constant=template.carried_constant,
            carried_state=_triplets(template.carried_state),
            carried_noise=_triplets(template.carried_noise),
            states_in=template.states_in,
            noises=template.noises,
            future_column=future_column,
            cost_scale=cost_scale,
            threads=threads,
            keep=len(template.row_lower) <= SMALL_ROWS,
            options=usual_options(),
            ladder=ladder_options(),
        )

    @property
    def basis_length(self) -> int:
        """Columns, core rows, planes and cuts."""
        return self._problem.basis_length

    @property
    def basis_names(self) -> BasisNames:
        """Those of the template, and that of the future cost."""
        planes = self.template.planes.names(self.template.column_names)
        return tuple(self._column_names), (*self.template.row_names, *planes)

    @property
    def cuts(self) -> int:
        """How many cuts were added."""
        return self._problem.cuts

    def add_cuts(self, intercept: FloatArray, slope: FloatArray) -> None:
        """Take the cuts, as rows until the next :meth:`choose_rows`."""
        self._problem.add_cuts(np.ascontiguousarray(intercept), np.ascontiguousarray(slope))

    def choose_rows(self, cuts: NDArray[np.int32]) -> None:
        """Rebuild every thread's cut rows."""
        self._problem.choose_rows(cuts)

    def expectation(
        self,
        states: FloatArray,
        openings: FloatArray,
        probability: FloatArray,
        basis: BasisArray,
        part: tuple[IntArray, IntArray] | None = None,
    ) -> Expectation:
        """One native call: threads over states, openings in order."""
        count, width = states.shape
        if part is None:
            part = np.zeros(count, dtype=np.int32), np.full(count, len(openings), dtype=np.int32)
        result = Expectation(
            np.empty(count), np.empty((count, width)), np.empty((count, self.basis_length), dtype=np.int8)
        )
        failed = self._problem.expectation(
            states, *part, openings, probability, basis, result.value, result.slope, result.basis
        )
        _raise_if(failed)
        return result

    def by_opening(
        self, states: FloatArray, openings: FloatArray, basis: BasisArray, part: tuple[IntArray, IntArray]
    ) -> OpeningCosts:
        """One native call, likewise."""
        count, width = states.shape
        most = int((part[1] - part[0]).max(initial=0))
        result = OpeningCosts(
            np.zeros((count, most)),
            np.zeros((count, most, width)),
            np.empty((count, self.basis_length), dtype=np.int8),
        )
        failed = self._problem.by_opening(
            states, *part, openings, basis, result.value, result.slope, result.basis
        )
        _raise_if(failed)
        return result

    def dispatch(
        self,
        states: FloatArray,
        noises: FloatArray,
        basis: BasisArray,
        *,
        full: bool = False,
        bases: bool = False,
    ) -> Dispatch:
        """One native call: threads over the pairs."""
        count = len(states)
        kept = count if full else 0
        result = Dispatch(
            np.empty(count),
            np.empty(count),
            np.empty((count, self.template.states_out)),
            np.empty((count if bases else 0, self.basis_length), dtype=np.int8),
            np.empty((kept, self._columns)),
            np.empty((kept, len(self.template.row_lower))),
        )
        failed = self._problem.dispatch(
            states,
            noises,
            basis,
            result.objective,
            result.future,
            result.next_state,
            result.basis,
            result.primal,
            result.row_dual,
        )
        _raise_if(failed)
        return replace(result, primal=result.primal[:, : len(self.template.cost)])

    def explain(self, state: FloatArray, noise: FloatArray, dump: str) -> Explanation:
        """HiGHS's irreducible infeasible subsystem, by name."""
        row_names = [*self.template.row_names, *self.template.planes.names(self.template.column_names)]
        trouble, rows, columns = self._problem.explain(state, noise, row_names, self._column_names, dump)
        named = len(row_names)
        names = [row_names[row] if row < named else f"cut_{row - named}" for row in rows]
        conflict = (*names, *(self._column_names[column] for column in columns))
        return Explanation(
            conflict,
            explain_in_words(self.template, conflict, state, noise),
            states_behind(self.template, conflict, state),
            trouble,
        )

    @property
    def counts(self) -> SolverCounts:
        """Sums over threads."""
        problem = self._problem
        return SolverCounts(problem.solves, problem.pivots, tuple(problem.recoveries))


def solver_version() -> str:
    """Version of HiGHS that is linked."""
    return _native.highs_version()


def cost_scale_of(templates: list[StageTemplate]) -> float:
    """The power of two nearest to the median cost coefficient of *templates*: dividing by it is exact."""
    costs = np.concatenate([np.abs(template.cost[template.cost != 0.0]) for template in templates] or [[]])
    if len(costs) == 0:
        return 1.0
    return float(2.0 ** np.round(np.log2(np.median(costs))))


def _raise_if(failed: tuple[int, int, int]) -> None:
    unit, opening, status = failed
    if unit >= 0:
        raise StageUnsolved(
            Unsolved(unit, opening, _STATUS.get(status, f"not solved (HiGHS status {status})"))
        )


Triplets = tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]


def _triplets(matrix: Sparse) -> Triplets:
    return matrix.row, matrix.column, matrix.value


def _planes(
    planes: Planes,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], FloatArray, FloatArray, Triplets]:
    start = np.searchsorted(planes.matrix.row, np.arange(len(planes) + 1)).astype(np.int32)
    matrix = planes.matrix
    return planes.column, start, matrix.column, matrix.value, planes.upper, _triplets(planes.state)


def _by_columns(matrix: Sparse, columns: int) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
    order = np.lexsort((matrix.row, matrix.column))
    counts = np.bincount(matrix.column, minlength=columns)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return start, matrix.row[order], matrix.value[order]
