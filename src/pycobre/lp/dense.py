"""The solver of most stage problems: a dual simplex of our own, and HiGHS where it gives up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pycobre import _native
from pycobre.lp.basis import BasisArray
from pycobre.lp.highs import HighsSolver
from pycobre.lp.solution import Dispatch, Expectation, Explanation, OpeningCosts, SolverCounts, StageUnsolved
from pycobre.lp.solver import StageSolver, all_openings
from pycobre.lp.sparse import FloatArray, IntArray
from pycobre.lp.stage_data import stage_data
from pycobre.lp.starts import Dispatched, Starts
from pycobre.lp.template import StageTemplate

MOST_ROWS = 500
"""Up to this many rows of its inverse it is quicker than HiGHS."""

MOST_STARTS = 64
"""So many bases are kept: beyond it choosing costs more than a better start saves."""

FEW_STARTS = 16
"""With fewer, those of the same states are worth an exchange between ranks, even if pivots cost little."""

_NOTHING = SolverCounts()

SolverKind = Literal["auto", "dense", "highs"]
"""Who solves stage problems; ``auto`` goes by their size."""


def stage_solver(
    template: StageTemplate,
    kind: SolverKind = "auto",
    *,
    future_lower: float | None,
    cost_scale: float = 1.0,
    threads: int = 1,
) -> StageSolver:
    """The solver for *template*: our own up to :data:`MOST_ROWS` rows, unless *kind* says which."""
    dense = rows_of_inverse(template) <= MOST_ROWS if kind == "auto" else kind == "dense"
    made: type[DenseSolver | HighsSolver] = DenseSolver if dense else HighsSolver
    return made(template, future_lower=future_lower, cost_scale=cost_scale, threads=threads)


def rows_of_inverse(template: StageTemplate) -> int:
    """Rows that the inverse has at most optima.

    Core rows, and of each column that planes limit one of them. Core rows with one bound are rows while they
    bind, unless noise moves them.
    """
    stays = np.isfinite(template.row_lower) == np.isfinite(template.row_upper)
    stays[template.row_noise.row] = True
    return int(stays.sum()) + len(np.unique(template.planes.column))


class DenseSolver(StageSolver):
    """Dual simplex in which planes, cuts and rows with one bound are rows only while they are binding.

    Its inverse is a dense matrix, or from 100 rows on a sparse factorization.

    A right-hand side starts from whichever known basis promises it the highest dual bound; of larger
    problems, the openings of a unit of work are solved in turn, and start from the optima of those before
    them. Of smaller ones right-hand sides that pivot alike share the work, but each has numbers of its
    own: its result is a function of the template, the cuts, the known bases, its unit's openings before it
    and itself. A unit of work with one that ends without a clean optimum is solved
    by HiGHS as a whole; such units are counted.

    Parameters
    ----------
    template, future_lower, cost_scale, threads
        As for :class:`~pycobre.lp.highs.HighsSolver`.
    """

    chooses_rows = False

    def __init__(
        self,
        template: StageTemplate,
        *,
        future_lower: float | None,
        cost_scale: float = 1.0,
        threads: int = 1,
    ) -> None:
        self.template, self.has_future = template, future_lower is not None
        self._problem = _native.DenseProblem(stage_data(template, future_lower, cost_scale), threads)
        self._given: BasisArray | None = None  # bases of the last call that brought some
        self._handed_over = 0
        self._has_starts = False
        self._highs: HighsSolver | None = None
        self._highs_terms = (future_lower, cost_scale, threads)

    @property
    def basis_length(self) -> int:
        """Columns, core rows, planes and cuts."""
        return self._problem.basis_length

    @property
    def cuts(self) -> int:
        """How many cuts were added."""
        return self._problem.cuts

    def add_cuts(self, intercept: FloatArray, slope: FloatArray) -> None:
        """Take the cuts."""
        self._problem.add_cuts(np.ascontiguousarray(intercept), np.ascontiguousarray(slope))

    def choose_rows(self, cuts: NDArray[np.int32]) -> None:
        """Do nothing: no cut is a row before it is binding."""

    def keep_starts(self, passes: Sequence[int] | NDArray[np.int64], fresh: BasisArray) -> None:
        """All of them, whatever their forward pass; with them the latest kept before."""
        self._has_starts = True
        self._problem.keep_starts(fresh.reshape(-1, fresh.shape[2]), MOST_STARTS)

    @property
    def wants_dispatched(self) -> bool:
        """Where openings are solved in turn, as the first starts best from one; else while there are few."""
        return self._problem.takes_turns or self._problem.starts < FEW_STARTS

    def take_dispatched(
        self, came_by: NDArray[np.int64], ended: Dispatched, passes: NDArray[np.int64]
    ) -> Starts:
        """Kept among others, of which a unit chooses."""
        self.keep_starts(came_by, ended.bases[np.newaxis])
        return Starts(passes)

    @property
    def keeps_starts(self) -> bool:
        """Whether any came; until then there are slacks alone."""
        return self._has_starts

    def bases_of(self, starts: Starts) -> BasisArray:
        """Kept ones, in turns."""
        if starts.bases is not None:
            return starts.brought()
        count = self._problem.starts
        if count == 0:
            return np.empty((len(starts.own), 0), dtype=np.int8)
        bases = np.empty((count, self.basis_length), dtype=np.int8)
        self._problem.write_starts(bases)
        return bases[starts.own % count]

    def expectation(
        self,
        states: FloatArray,
        openings: FloatArray,
        probability: FloatArray,
        starts: Starts,
        part: tuple[IntArray, IntArray] | None = None,
    ) -> Expectation:
        """One native call: threads over right-hand sides, openings summed in order."""
        part = all_openings(states, openings) if part is None else part
        if starts.bases is not None:
            self._take(starts.bases)
        result, failed = Expectation.room(states, self.basis_length), np.empty(len(states), dtype=np.uint8)
        if not self._problem.expectation(
            states, *part, openings, probability, result.value, result.slope, result.basis, failed
        ):
            units, again = self._hand_over(failed, starts)
            some = part[0][units], part[1][units]
            try:
                found = self.reference().expectation(states[units], openings, probability, again, some)
            except StageUnsolved as error:
                raise _of_batch(error, units) from None
            result.value[units], result.slope[units] = found.value, found.slope
            result.basis[units] = found.basis
        return result

    def by_opening(
        self, states: FloatArray, openings: FloatArray, starts: Starts, part: tuple[IntArray, IntArray]
    ) -> OpeningCosts:
        """One native call, likewise."""
        if starts.bases is not None:
            self._take(starts.bases)
        result = OpeningCosts.room(states, part, self.basis_length)
        failed = np.empty(len(states), dtype=np.uint8)
        if not self._problem.by_opening(
            states, *part, openings, result.value, result.slope, result.basis, failed
        ):
            units, again = self._hand_over(failed, starts)
            some = part[0][units], part[1][units]
            try:
                found = self.reference().by_opening(states[units], openings, again, some)
            except StageUnsolved as error:
                raise _of_batch(error, units) from None
            most = found.value.shape[1]
            result.value[units, :most], result.slope[units, :most] = found.value, found.slope
            result.basis[units] = found.basis
        return result

    def dispatch(
        self,
        states: FloatArray,
        noises: FloatArray,
        starts: Starts,
        *,
        full: bool = False,
        bases: bool = False,
    ) -> Dispatch:
        """One native call: threads over the pairs, each of which may start from the basis it came with."""
        result = Dispatch.room(
            self.template, len(states), self.basis_length, has_future=self.has_future, full=full, bases=bases
        )
        failed = np.empty(len(states), dtype=np.uint8)
        solved = self._problem.dispatch(
            states,
            noises,
            starts.brought(),
            result.objective,
            result.future,
            result.next_state,
            result.basis,
            result.primal,
            result.row_dual,
            failed,
        )
        if full:
            result = replace(result, primal=result.primal[:, : len(self.template.cost)])
        if not solved:
            units, again = self._hand_over(failed, starts)
            try:
                found = self.reference().dispatch(states[units], noises[units], again, full=full, bases=bases)
            except StageUnsolved as error:
                raise _of_batch(error, units) from None
            result.objective[units], result.future[units] = found.objective, found.future
            result.next_state[units] = found.next_state
            if bases:
                result.basis[units] = found.basis
            if full:
                result.primal[units], result.row_dual[units] = found.primal, found.row_dual
        return result

    def explain(self, state: FloatArray, noise: FloatArray, dump: str) -> Explanation:
        """HiGHS's irreducible infeasible subsystem, by name."""
        return self.reference().explain(state, noise, dump)

    @property
    def counts(self) -> SolverCounts:
        """What both solvers did; problems that were handed over count once."""
        problem = self._problem
        more = _NOTHING if self._highs is None else self._highs.counts
        pivots = problem.pivots + more.pivots
        return SolverCounts(problem.solves, pivots, more.recoveries, self._handed_over)

    def _take(self, bases: BasisArray) -> None:
        """Let *bases* that come with a call take the place of those that were kept."""
        if bases is not self._given:
            self._problem.forget_starts()
            self._problem.keep_starts(bases, len(bases))
            self._given = bases

    def _hand_over(self, failed: NDArray[np.uint8], starts: Starts) -> tuple[NDArray[np.int64], Starts]:
        units = np.flatnonzero(failed)
        self._handed_over += len(units)
        return units, Starts.each(self.bases_of(starts.some(units)))

    def reference(self) -> HighsSolver:
        """HiGHS with the same template and cuts: what solves the problems that are left to it."""
        if self._highs is None:
            future_lower, cost_scale, threads = self._highs_terms
            self._highs = HighsSolver(
                self.template, future_lower=future_lower, cost_scale=cost_scale, threads=threads
            )
        known = self._highs.cuts
        if known < self.cuts:
            intercept = np.empty(self.cuts - known)
            slope = np.empty((self.cuts - known, self.template.states_out))
            self._problem.cuts_from(known, intercept, slope)
            self._highs.add_cuts(intercept, slope)
            self._highs.choose_rows(np.empty(0, dtype=np.int32))  # those of a start basis are rows anyway
        return self._highs


def _of_batch(error: StageUnsolved, units: NDArray[np.int64]) -> StageUnsolved:
    """*error* of a part of a batch as one of the batch."""
    return StageUnsolved(replace(error.unsolved, unit=int(units[error.unsolved.unit])))
