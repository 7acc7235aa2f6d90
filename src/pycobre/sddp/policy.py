"""A policy under training: the graph, its cuts, and the bases that stage problems start from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import SharedMemoryProvider
from pycobre.lp import BasisArray, StageSolver
from pycobre.sddp.cuts import CutPool
from pycobre.sddp.events import IterationFinished
from pycobre.sddp.graph import PolicyGraph

FloatArray = NDArray[np.float64]


class Policy:
    """Cuts of every node of a graph; whole after every iteration, whatever happens in the next.

    Attributes
    ----------
    graph
        What the policy is for.
    pool
        Its cuts.
    history
        One record an iteration.
    """

    def __init__(self, graph: PolicyGraph, memory: SharedMemoryProvider, forward_passes: int) -> None:
        self.graph = graph
        states = [
            node.template.states_out if graph.arcs_from(position) else None
            for position, node in enumerate(graph.nodes)
        ]
        self.pool = CutPool(memory, states, forward_passes)
        self.history: list[IterationFinished] = []
        # One start basis a forward pass and node, the same on every rank: a unit of work may start from
        # nothing else. No basis yet is one of length zero.
        self._bases: list[BasisArray] = [np.empty((forward_passes, 0), dtype=np.int8) for _ in graph.nodes]

    @property
    def lower_bound(self) -> float:
        """Bound after the last iteration; ``-inf`` before the first."""
        return self.history[-1].lower_bound if self.history else -np.inf

    def start_bases(self, node: int, scenarios: Sequence[int]) -> BasisArray:
        """Start bases of *node* for *scenarios*; those beyond the forward passes share them in turn."""
        kept = self._bases[node]
        return np.ascontiguousarray(kept[[scenario % len(kept) for scenario in scenarios]])

    def keep_bases(self, node: int, scenarios: Sequence[int], fresh: BasisArray) -> None:
        """Start *scenarios* of *node* from *fresh* bases from now on.

        A scenario that never came by gets the first of them.
        """
        old, (passes, length) = self._bases[node], (len(self._bases[node]), fresh.shape[1])
        kept = np.ones((passes, length), dtype=np.int8)  # rows younger than a basis are basic in it
        if old.shape[1]:
            kept[:, : old.shape[1]] = old
        else:
            kept[:] = fresh[0]
        kept[list(scenarios)] = fresh
        self._bases[node] = kept

    def evaluate(self, node: int, state: FloatArray) -> float:
        """Future cost after *node* that the cuts promise at outgoing *state*; ``-inf`` without cuts."""
        cuts = self.pool.of(node)
        heights = cuts.intercept + np.einsum("cx,x->c", cuts.slope, state)
        return float(np.max(heights[cuts.filled > 0.0], initial=-np.inf))

    def load_into(self, solvers: Sequence[StageSolver]) -> None:
        """Give every solver, fresh ones, the cuts of its node in slot order."""
        for node, solver in enumerate(solvers):
            cuts = self.pool.of(node)
            filled = np.flatnonzero(cuts.filled > 0.0)
            if len(filled):
                solver.add_cuts(cuts.intercept[filled], cuts.slope[filled])
