"""What solves batches of stage problems promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.lp.basis import BasisArray, BasisNames
from pycobre.lp.solution import Dispatch, Expectation, Explanation, OpeningCosts, SolverCounts
from pycobre.lp.sparse import FloatArray, IntArray
from pycobre.lp.starts import Dispatched, Starts
from pycobre.lp.template import StageTemplate


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

        The others join it where a solution violates them: the optimum is the same, and quicker to find.
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
        """Whether a backward pass gains by what the dispatches of its iteration ended with."""

    @abstractmethod
    def take_dispatched(
        self, came_by: NDArray[np.int64], ended: Dispatched, passes: NDArray[np.int64]
    ) -> Starts:
        """Where units of forward *passes* (M,) start in a backward pass, given what dispatches ended with.

        Parameters
        ----------
        came_by : (K,)
            The forward passes that were dispatched, ascending.
        ended
            What each of the K ended with.
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
