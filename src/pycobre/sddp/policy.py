"""A policy under training: the graph, its cuts, and the bases that dispatches start from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import SharedMemoryProvider
from pycobre.lp import BASIC, BasisArray, StageSolver
from pycobre.sddp.cuts import CutPool
from pycobre.sddp.events import IterationFinished
from pycobre.sddp.graph import PolicyGraph
from pycobre.sddp.selection import NodeRows, RowSelection
from pycobre.sddp.work import OPENINGS_A_PART, parts_of

FloatArray = NDArray[np.float64]


class Policy:
    """Cuts of every node of a graph; whole after every iteration, whatever happens in the next.

    Parameters
    ----------
    selection
        Which cuts are rows; those that were binding lately unless told otherwise.
    openings_a_part
        Most openings of one unit of work, one number a node.

    Attributes
    ----------
    graph
        What the policy is for.
    pool
        Its cuts.
    parts
        The parts that each node's openings are solved in.
    history
        One record an iteration.
    """

    def __init__(
        self,
        graph: PolicyGraph,
        memory: SharedMemoryProvider,
        forward_passes: int,
        selection: RowSelection | None = None,
        openings_a_part: Sequence[int] | None = None,
    ) -> None:
        self.graph = graph
        most = openings_a_part or [OPENINGS_A_PART] * len(graph.nodes)
        self.parts = [parts_of(len(node.openings), n) for node, n in zip(graph.nodes, most, strict=True)]
        states = [
            node.template.states_out if graph.arcs_from(position) else None
            for position, node in enumerate(graph.nodes)
        ]
        self.pool = CutPool(memory, states, forward_passes)
        self.history: list[IterationFinished] = []
        # One start basis a forward pass, shape (passes, L), the same on every rank: a dispatch may start from
        # nothing else that is not its scenario's own. No basis yet is one of length zero.
        self._bases: list[BasisArray] = [np.empty((forward_passes, 0), dtype=np.int8) for _ in graph.nodes]
        self._rows = [NodeRows(selection or RowSelection()) for _ in graph.nodes]

    @property
    def lower_bound(self) -> float:
        """Bound after the last iteration; ``-inf`` before the first."""
        return self.history[-1].lower_bound if self.history else -np.inf

    def start_bases(self, node: int, scenarios: Sequence[int]) -> BasisArray:
        """Start bases (M, L) of *node* for *scenarios*; of length zero before there are any.

        Scenarios beyond the forward passes share the bases of these in turn.
        """
        kept = self._bases[node]
        return np.ascontiguousarray(kept[np.array(scenarios, dtype=np.int64) % len(kept)])

    def keep_bases(
        self, node: int, scenarios: Sequence[int], fresh: BasisArray, cuts: int, iteration: int
    ) -> NDArray[np.int32]:
        """Start *scenarios* of *node* from *fresh* bases from now on; returns the cuts that are rows.

        Parameters
        ----------
        fresh : (parts, M, L)
            Bases as an :class:`~pycobre.lp.Expectation` has them, the same on every rank. Kept are those of
            the first part; all show which cuts matter.
        cuts
            How many cuts the node has: the last entries of a basis.
        iteration
            The iteration at hand.
        """
        old, length = self._bases[node], fresh.shape[2]
        # A cut younger than a basis is basic in it.
        kept = np.full((len(old), length), BASIC, dtype=np.int8)
        if old.shape[1]:
            kept[:, : old.shape[1]] = old
        else:
            kept[:] = fresh[0, 0]  # a scenario that never came by starts from the first that did
        kept[list(scenarios)] = fresh[0]
        self._bases[node] = kept
        return self._rows[node].choose(self.pool.of(node), cuts, fresh, iteration)

    def evaluate(self, node: int, state: FloatArray) -> float:
        """Future cost after *node* that the cuts promise at outgoing *state*; ``-inf`` without cuts."""
        cuts = self.pool.of(node)
        heights = cuts.intercept + np.einsum("cx,x->c", cuts.slope, state)
        return float(np.max(heights[cuts.filled > 0.0], initial=-np.inf))

    def give_cuts(self, solvers: Sequence[StageSolver]) -> None:
        """Give every solver, fresh ones, the cuts of its node in slot order.

        For a policy that was read: training gives its solvers the cuts as it makes them.
        """
        for node, solver in enumerate(solvers):
            cuts = self.pool.of(node)
            filled = np.flatnonzero(cuts.filled > 0.0)
            if len(filled):
                solver.add_cuts(cuts.intercept[filled], cuts.slope[filled])
