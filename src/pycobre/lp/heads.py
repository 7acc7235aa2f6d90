"""Generation that follows the head: in a simulation, a stage problem takes the head of its incoming storage.

A product of flow and storage is no linear program, and cuts need one problem a stage: while a policy is
trained, the head is that of a reference volume. A simulation makes no cuts, so that each of its problems may
have coefficients of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pycobre.lp.basis import BasisArray
from pycobre.lp.solution import Dispatch, Expectation, Explanation, OpeningCosts, SolverCounts, StageUnsolved
from pycobre.lp.solver import StageSolver
from pycobre.lp.sparse import FloatArray, IntArray
from pycobre.lp.starts import Dispatched, Starts
from pycobre.lp.template import StageTemplate


def at_heads(template: StageTemplate, state: FloatArray) -> StageTemplate:
    """*template* with the productivities that hold at an incoming *state* (X,)."""
    heads, value = template.heads, template.matrix.value.copy()
    value[heads.entry] = -np.maximum(heads.constant + heads.slope * state[heads.state], 0.0)
    return replace(template, matrix=replace(template.matrix, value=value))


class HeadSolver(StageSolver):
    """Dispatches every pair of state and noise with the productivities of its own incoming storage.

    Parameters
    ----------
    trained
        The stage's solver with the productivities of the reference volumes; all but dispatches are its.
    make
        A solver of a template.
    cuts
        Intercepts (C,) and slopes (C, X') of the cuts, as *trained* has them.
    """

    def __init__(
        self,
        trained: StageSolver,
        make: Callable[[StageTemplate], StageSolver],
        cuts: tuple[FloatArray, FloatArray],
    ) -> None:
        self.template, self.has_future = trained.template, trained.has_future
        self.chooses_rows = trained.chooses_rows
        self._trained, self._make, self._given = trained, make, cuts
        self._counts = SolverCounts()

    def _at(self, state: FloatArray) -> StageSolver:
        """A solver of the problem at *state*; cuts become rows where they are violated."""
        solver = self._make(at_heads(self.template, state))
        if len(self._given[0]):
            solver.add_cuts(*self._given)
            solver.choose_rows(np.empty(0, dtype=np.int32))
        return solver

    def dispatch(
        self,
        states: FloatArray,
        noises: FloatArray,
        starts: Starts,
        *,
        full: bool = False,
        bases: bool = False,
    ) -> Dispatch:
        """One problem a pair."""
        parts, known = [], self._trained.bases_of(starts)
        for unit, state in enumerate(states):
            solver, one = self._at(state), slice(unit, unit + 1)
            own = Starts.each(known[one])
            try:
                parts.append(solver.dispatch(states[one], noises[one], own, full=full, bases=bases))
            except StageUnsolved as failed:
                raise StageUnsolved(replace(failed.unsolved, unit=unit)) from None
            finally:
                self._counts += solver.counts
        return Dispatch(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("objective", "future", "next_state", "basis", "primal", "row_dual")
            )
        )

    def explain(self, state: FloatArray, noise: FloatArray, dump: str) -> Explanation:
        """Of the problem at *state*."""
        return self._at(state).explain(state, noise, dump)

    @property
    def basis_length(self) -> int:
        """Of the trained solver."""
        return self._trained.basis_length

    @property
    def cuts(self) -> int:
        """Of the trained solver."""
        return self._trained.cuts

    def add_cuts(self, intercept: FloatArray, slope: FloatArray) -> None:
        """To the trained solver, and to those that come."""
        self._trained.add_cuts(intercept, slope)
        self._given = (
            np.concatenate([self._given[0], intercept]),
            np.concatenate([self._given[1].reshape(-1, slope.shape[1]), slope]),
        )

    def choose_rows(self, cuts: NDArray[np.int32]) -> None:
        """In the trained solver."""
        self._trained.choose_rows(cuts)

    def keep_starts(self, passes: Sequence[int] | NDArray[np.int64], fresh: BasisArray) -> None:
        """By the trained solver."""
        self._trained.keep_starts(passes, fresh)

    @property
    def wants_dispatched(self) -> bool:
        """Of the trained solver."""
        return self._trained.wants_dispatched

    def take_dispatched(
        self, came_by: NDArray[np.int64], ended: Dispatched, passes: NDArray[np.int64]
    ) -> Starts:
        """By the trained solver."""
        return self._trained.take_dispatched(came_by, ended, passes)

    @property
    def keeps_starts(self) -> bool:
        """Of the trained solver."""
        return self._trained.keeps_starts

    def bases_of(self, starts: Starts) -> BasisArray:
        """Of the trained solver."""
        return self._trained.bases_of(starts)

    def expectation(
        self,
        states: FloatArray,
        openings: FloatArray,
        probability: FloatArray,
        starts: Starts,
        part: tuple[IntArray, IntArray] | None = None,
    ) -> Expectation:
        """By the trained solver."""
        return self._trained.expectation(states, openings, probability, starts, part)

    def by_opening(
        self, states: FloatArray, openings: FloatArray, starts: Starts, part: tuple[IntArray, IntArray]
    ) -> OpeningCosts:
        """By the trained solver."""
        return self._trained.by_opening(states, openings, starts, part)

    @property
    def counts(self) -> SolverCounts:
        """What the trained solver has done, and the others."""
        return self._trained.counts + self._counts
