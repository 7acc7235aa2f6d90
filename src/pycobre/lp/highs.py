"""HiGHS behind the contract of solvers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pycobre import _native
from pycobre.lp.ladder import SMALL_ROWS, ladder_options, usual_options
from pycobre.lp.planes import Planes
from pycobre.lp.solver import (
    BasisArray,
    Dispatch,
    Expectation,
    Explanation,
    OpeningCosts,
    SolverCounts,
    StageSolver,
    StageUnsolved,
    Unsolved,
)
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
            options=usual_options(len(template.row_lower)),
            ladder=ladder_options(),
        )

    @property
    def basis_length(self) -> int:
        """Columns, core rows, planes and cuts."""
        return self._problem.basis_length

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
        self, states: FloatArray, noises: FloatArray, basis: BasisArray, *, full: bool = False
    ) -> Dispatch:
        """One native call: threads over the pairs."""
        count = len(states)
        kept = count if full else 0
        result = Dispatch(
            np.empty(count),
            np.empty(count),
            np.empty((count, self.template.states_out)),
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
