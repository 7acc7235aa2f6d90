"""Which cuts of a node are rows of its stage problem from the start of a unit of work.

All others join where a solution violates them, so no choice lowers a bound or moves a cost: it only changes
how long problems take, and which of several optimal solutions they find. Every rank chooses from the same
data, and chooses the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import BASIC, BasisArray
from pycobre.sddp.cuts import NodeCuts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

RECENT_ITERATIONS = 5


@dataclass(frozen=True)
class RowSelection:
    """How rows are chosen.

    Attributes
    ----------
    method
        ``binding``: what was binding at some trial point in the last iterations; ``highest``: what is within
        the tolerance of the highest cut at some state visited so far; ``oldest_highest``: the oldest of
        these at each state; ``all``: every cut.
    recent_iterations
        For ``binding``: how many iterations count.
    tolerance
        For the other two: how far below the highest, relative to its height where that is above 1.
    every
        Iterations between choices; the cuts made since are rows as well.
    first_iteration
        Before it every cut is a row.
    most_rows
        At most so many rows, but always those of the iteration at hand: those go first that were binding
        longest ago, then least often, then the oldest. ``None`` for no limit.
    """

    method: Literal["binding", "highest", "oldest_highest", "all"] = "binding"
    recent_iterations: int = RECENT_ITERATIONS
    tolerance: float = 0.0
    every: int = 1
    first_iteration: int = 1
    most_rows: int | None = None


@dataclass(eq=False)
class NodeRows:
    """The choice of one node's rows, iteration by iteration.

    Cuts are known by their position in the order in which the node got them.
    """

    selection: RowSelection
    _made: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _last_used: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _times_used: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _chosen: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _heights: _Heights | None = None

    def choose(self, cuts: NodeCuts, count: int, fresh: BasisArray, iteration: int) -> NDArray[np.int32]:
        """Positions of the cuts that are rows from now on, ascending.

        Parameters
        ----------
        cuts
            Those of finished iterations.
        count
            Number of all cuts, those of the iteration at hand included.
        fresh : (parts, M, L)
            Bases just found; their last *count* entries are the cuts'.
        iteration
            The iteration at hand.
        """
        new = np.arange(len(self._made), count)
        now, never = np.full(len(new), iteration), np.zeros(len(new), dtype=np.int64)
        self._made = np.concatenate([self._made, now])
        self._last_used = np.concatenate([self._last_used, now])
        self._times_used = np.concatenate([self._times_used, never])
        binding = (fresh[:, :, fresh.shape[2] - count :] != BASIC).any(axis=(0, 1))
        self._last_used[binding] = iteration
        self._times_used += binding
        if iteration % self.selection.every:
            chosen = np.concatenate([self._chosen, new])
        else:
            chosen = self._select(cuts, count, iteration)
        self._chosen = self._within_limit(chosen, iteration)
        return self._chosen.astype(np.int32)

    def _select(self, cuts: NodeCuts, count: int, iteration: int) -> IntArray:
        method = self.selection.method
        if method == "all" or iteration < self.selection.first_iteration:
            return np.arange(count)
        if method == "binding":
            return np.flatnonzero(self._last_used > iteration - self.selection.recent_iterations)
        if self._heights is None:
            self._heights = _Heights(self.selection.tolerance)
        filled = cuts.filled > 0.0
        self._heights.take(cuts.intercept[filled], cuts.slope[filled], cuts.state[filled])
        highest = self._heights.oldest() if method == "oldest_highest" else self._heights.all()
        return np.concatenate([highest, np.arange(int(filled.sum()), count)])

    def _within_limit(self, chosen: IntArray, iteration: int) -> IntArray:
        """*chosen* without those that are too many."""
        most = self.selection.most_rows
        if most is None or len(chosen) <= most:
            return chosen
        is_new = self._made[chosen] == iteration
        old, new = chosen[~is_new], chosen[is_new]
        order = np.lexsort((old, self._times_used[old], self._last_used[old]))
        first = len(old) - max(most - len(new), 0)
        return np.sort(np.concatenate([old[order[first:]], new]))


class _Heights:
    """Which cuts are highest, or nearly so, at the states visited so far; grows by cuts and their states."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._seen = 0
        self._best = np.empty(0)
        # Pairs of a state and a cut that is within the tolerance there.
        self._state, self._cut = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        self._height = np.empty(0)

    def take(self, intercept: FloatArray, slope: FloatArray, state: FloatArray) -> None:
        """Look at all cuts (C,), (C, X) and their states (C, X), of which the first are known."""
        seen, count = self._seen, len(intercept)
        # A sum of products by einsum has the same bits whatever stands beside it, unlike a BLAS product.
        late = intercept[seen:] + np.einsum("sx,cx->sc", state[:seen], slope[seen:])
        fresh = intercept + np.einsum("sx,cx->sc", state[seen:], slope)
        best = np.concatenate(
            [np.maximum(self._best, late.max(axis=1, initial=-np.inf)), fresh.max(axis=1, initial=-np.inf)]
        )
        floor = best - self._tolerance * np.maximum(1.0, np.abs(best))
        kept = self._height >= floor[self._state]
        late_state, late_cut = np.nonzero(late >= floor[:seen, None])
        fresh_state, fresh_cut = np.nonzero(fresh >= floor[seen:, None])
        self._state = np.concatenate([self._state[kept], late_state, fresh_state + seen])
        self._cut = np.concatenate([self._cut[kept], late_cut + seen, fresh_cut])
        self._height = np.concatenate(
            [self._height[kept], late[late_state, late_cut], fresh[fresh_state, fresh_cut]]
        )
        self._best, self._seen = best, count

    def all(self) -> IntArray:
        """Every cut that is nearly highest somewhere, ascending."""
        return np.unique(self._cut)

    def oldest(self) -> IntArray:
        """The oldest nearly highest cut of every state, ascending."""
        oldest = np.full(self._seen, self._seen)
        np.minimum.at(oldest, self._state, self._cut)
        return np.unique(oldest)
