"""The cut pool: one copy a node of the machine, in a shared region.

A cut's slot is (iteration - 1) · forward passes + forward pass, on any number of ranks. A slot stays empty
where the forward pass did not come by that node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import SharedMemoryProvider, SharedRegion
from pycobre.sddp.work import Places

FloatArray = NDArray[np.float64]
_FIRST_ITERATIONS = 16
_STEP_BYTES = 32 * 2**20
"""Room is made for so many iterations at first, for fewer where they are larger: it is taken at once."""


@dataclass(frozen=True, eq=False)
class NodeCuts:
    """The cuts of one node, as views of the pool.

    θ >= intercept + slope · s' for the outgoing state s'.

    Attributes
    ----------
    filled : (C,)
        1 where the slot holds a cut.
    intercept : (C,)
    slope, state : (C, X')
        *state* is the trial point that the cut was made at.
    """

    filled: FloatArray
    intercept: FloatArray
    slope: FloatArray
    state: FloatArray


class CutPool:
    """Cuts of all nodes in one shared region that grows: it doubles while small, then takes a quarter more.

    Creating, growing, writing, finishing an iteration and closing are collective: every rank of the machine
    takes part.

    Parameters
    ----------
    memory
        Where shared regions come from.
    states
        Outgoing states of every node; ``None`` for one that takes no cuts.
    forward_passes
        Slots an iteration.
    """

    def __init__(self, memory: SharedMemoryProvider, states: list[int | None], forward_passes: int) -> None:
        self._memory = memory
        self._states = states
        self.forward_passes = forward_passes
        self.iterations = 0
        self._capacity = 0
        self._region: SharedRegion | None = None
        # Views, by node and whether to write.
        self._found: dict[tuple[int, bool], tuple[FloatArray, ...]] = {}
        self._step = max(1, _STEP_BYTES // (8 * max(self._size(1), 1)))
        self.reserve(min(_FIRST_ITERATIONS, self._step))

    def reserve(self, iterations: int) -> None:
        """Make room for that many iterations."""
        if iterations <= self._capacity:
            return
        more = max(self._capacity // 4, min(self._capacity, self._step))
        capacity = max(iterations, self._capacity + more)
        region = self._memory.create_shared_region(max(self._size(capacity), 1), np.float64)
        old, old_capacity = self._region, self._capacity
        if self._memory.is_leader:
            fresh = region.as_mut_slice()  # of zeros
            if old is not None:
                used = self.iterations * self.forward_passes
                for node in range(len(self._states)):
                    source = self._views(old.as_slice(), node, old_capacity)
                    target = self._views(fresh, node, capacity)
                    for kept, copy in zip(source, target, strict=True):
                        copy[:used] = kept[:used]
        region.fence()
        self._region, self._capacity = region, capacity
        self._found.clear()
        if old is not None:
            old.close()

    def write(
        self, node: int, slots: Places, intercept: FloatArray, slope: FloatArray, state: FloatArray
    ) -> None:
        """Put cuts into *slots* of *node*; they are seen after :meth:`finish`."""
        if self._memory.is_leader:
            filled, intercepts, slopes, states = self._at(node, writing=True)
            filled[slots] = 1.0
            intercepts[slots] = intercept
            slopes[slots] = slope
            states[slots] = state

    def finish(self, iteration: int) -> None:
        """Let every rank of the machine see the cuts of *iteration*, and keep them."""
        assert self._region is not None
        self._region.fence()
        self.iterations = iteration

    def of(self, node: int) -> NodeCuts:
        """Cuts of *node* so far, read-only."""
        used = self.iterations * self.forward_passes
        return NodeCuts(*(view[:used] for view in self._at(node, writing=False)))

    def close(self) -> None:
        """Give the region back."""
        self._found.clear()
        if self._region is not None:
            self._region.close()
            self._region = None

    def _size(self, iterations: int) -> int:
        """Numbers that the cuts of so many iterations are."""
        return sum(self._width(n) for n in range(len(self._states))) * iterations * self.forward_passes

    def _width(self, node: int) -> int:
        states = self._states[node]
        return 0 if states is None else 2 + 2 * states

    def _at(self, node: int, *, writing: bool) -> tuple[FloatArray, ...]:
        """Views of all of a node's slots."""
        views = self._found.get((node, writing))
        if views is None:
            assert self._region is not None
            whole = self._region.as_mut_slice() if writing else self._region.as_slice()
            views = self._found[node, writing] = self._views(whole, node, self._capacity)
        return views

    def _views(self, whole: FloatArray, node: int, capacity: int) -> tuple[FloatArray, ...]:
        slots = capacity * self.forward_passes
        start = sum(self._width(n) for n in range(node)) * slots
        states = self._states[node] or 0
        if self._width(node) == 0:
            slots = 0
        filled = whole[start : start + slots]
        intercept = whole[start + slots : start + 2 * slots]
        vectors = whole[start + 2 * slots : start + (2 + 2 * states) * slots]
        slope = vectors[: states * slots].reshape(slots, states)
        state = vectors[states * slots :].reshape(slots, states)
        return filled, intercept, slope, state
