"""HiGHS behind the contract of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pycobre import _native
from pycobre.lp.basis import BasisArray
from pycobre.lp.ladder import SMALL_ROWS, ladder_steps, usual_options
from pycobre.lp.solution import (
    Dispatch,
    Expectation,
    Explanation,
    OpeningCosts,
    SolverCounts,
    StageUnsolved,
    Unsolved,
)
from pycobre.lp.solver import StageSolver, all_openings
from pycobre.lp.sparse import FloatArray, IntArray
from pycobre.lp.stage_data import stage_data
from pycobre.lp.starts import Dispatched, PassBases, Starts
from pycobre.lp.template import StageTemplate
from pycobre.lp.words import explain_in_words, states_behind

_STATUS = {
    4: "not solved (the solver failed)",
    7: "not solved to the accuracy that a cut needs",
    8: "infeasible",
    9: "unbounded or infeasible",
    10: "unbounded",
    14: "not solved (too many pivots)",
    15: "not solved (the solver gave up)",
}


class HighsSolver(StageSolver):
    """The reference solver: HiGHS's dual simplex over all planes and a working set of cuts.

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

    chooses_rows = True

    def __init__(
        self,
        template: StageTemplate,
        *,
        future_lower: float | None,
        cost_scale: float = 1.0,
        threads: int = 1,
    ) -> None:
        self.template, self.has_future = template, future_lower is not None
        self._problem = _native.StageProblem(
            stage_data(template, future_lower, cost_scale),
            threads=threads,
            keep=len(template.row_lower) <= SMALL_ROWS,
            options=usual_options(len(template.cost) + len(template.row_lower)),
            ladder=ladder_steps(),
        )
        self._kept = PassBases()

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

    def keep_starts(self, passes: Sequence[int] | NDArray[np.int64], fresh: BasisArray) -> None:
        """Those of the first part."""
        self._kept.keep(passes, fresh[0])

    @property
    def wants_dispatched(self) -> bool:
        """Always: they had the same incoming states."""
        return True

    def take_dispatched(
        self, came_by: NDArray[np.int64], ended: Dispatched, passes: NDArray[np.int64]
    ) -> Starts:
        """Each from its own; one that was not dispatched takes that of the first that was."""
        place = np.minimum(np.searchsorted(came_by, passes), len(came_by) - 1)
        return Starts(np.where(came_by[place] == passes, place, 0), *ended)

    @property
    def keeps_starts(self) -> bool:
        """Whether any was kept."""
        return bool(self._kept)

    def bases_of(self, starts: Starts) -> BasisArray:
        """What it starts from itself."""
        if starts.bases is None:
            return self._kept.of(starts.own)
        return starts.brought()

    def expectation(
        self,
        states: FloatArray,
        openings: FloatArray,
        probability: FloatArray,
        starts: Starts,
        part: tuple[IntArray, IntArray] | None = None,
    ) -> Expectation:
        """One native call: threads over states, openings in order."""
        part = all_openings(states, openings) if part is None else part
        result = Expectation.room(states, self.basis_length)
        failed = self._problem.expectation(
            states,
            *part,
            openings,
            probability,
            self.bases_of(starts),
            starts.brought_noises(),
            result.value,
            result.slope,
            result.basis,
        )
        _raise_if(failed)
        return result

    def by_opening(
        self, states: FloatArray, openings: FloatArray, starts: Starts, part: tuple[IntArray, IntArray]
    ) -> OpeningCosts:
        """One native call, likewise."""
        result = OpeningCosts.room(states, part, self.basis_length)
        failed = self._problem.by_opening(
            states,
            *part,
            openings,
            self.bases_of(starts),
            starts.brought_noises(),
            result.value,
            result.slope,
            result.basis,
        )
        _raise_if(failed)
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
        """One native call: threads over the pairs."""
        result = Dispatch.room(
            self.template, len(states), self.basis_length, has_future=self.has_future, full=full, bases=bases
        )
        failed = self._problem.dispatch(
            states,
            noises,
            self.bases_of(starts),
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
        column_names, row_names = self.basis_names
        trouble, rows, columns = self._problem.explain(state, noise, row_names, column_names, dump)
        named = len(row_names)
        names = [row_names[row] if row < named else f"cut_{row - named}" for row in rows]
        conflict = (*names, *(column_names[column] for column in columns))
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
