"""A policy under training: the graph, its cuts, and which of them are rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import SharedMemoryProvider
from pycobre.lp import BasisArray, StageSolver
from pycobre.sddp.cuts import CutPool
from pycobre.sddp.events import IterationFinished
from pycobre.sddp.graph import PolicyGraph
from pycobre.sddp.parts import Parts, openings_a_part
from pycobre.sddp.paths import Paths, Visits
from pycobre.sddp.selection import NodeRows, RowSelection

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Policy:
    """Cuts of every node of a graph; whole after every iteration, whatever happens in the next.

    Parameters
    ----------
    selection
        Which cuts are rows; those that were binding lately unless told otherwise.
    most_openings
        Most openings of one unit of work, one number a node; as :func:`~pycobre.sddp.parts.openings_a_part`
        has them unless told otherwise.

    Attributes
    ----------
    graph
        What the policy is for.
    pool
        Its cuts.
    history
        One record an iteration.
    """

    def __init__(
        self,
        graph: PolicyGraph,
        memory: SharedMemoryProvider,
        forward_passes: int,
        selection: RowSelection | None = None,
        most_openings: Sequence[int] | None = None,
    ) -> None:
        self.graph = graph
        states = [
            node.template.states_out if graph.arcs_from(position) else None
            for position, node in enumerate(graph.nodes)
        ]
        self.pool = CutPool(memory, states, forward_passes)
        self.history: list[IterationFinished] = []
        self._rows = [NodeRows(selection or RowSelection()) for _ in graph.nodes]
        # Where no path branches those of so many scenarios are the same every time.
        self._paths: dict[int, Paths] = {}
        self._visits: dict[tuple[int, int], Visits] = {}
        self._most_openings = most_openings
        self._parts: dict[int, Parts] = {}

    @property
    def lower_bound(self) -> float:
        """Bound after the last iteration; ``-inf`` before the first."""
        return self.history[-1].lower_bound if self.history else -np.inf

    def paths(self, draws: FloatArray) -> Paths:
        """Paths through the graph that *draws* (S, D) choose."""
        if self.graph.branches:
            return Paths.of(self.graph, draws)
        if len(draws) not in self._paths:
            self._paths[len(draws)] = Paths.of(self.graph, draws)
        return self._paths[len(draws)]

    def visits(self, nodes: IntArray, ranks: int) -> Visits:
        """Visits of paths with *nodes* (S, D), whose scenarios are dealt to *ranks*."""
        if self.graph.branches:
            return Visits.of(self.graph, nodes, ranks)
        key = len(nodes), ranks
        if key not in self._visits:
            self._visits[key] = Visits.of(self.graph, nodes, ranks)
        return self._visits[key]

    def parts(self, node: int) -> Parts:
        """The parts that a node's openings are solved in."""
        if node not in self._parts:
            at, told = self.graph.nodes[node], self._most_openings
            most = openings_a_part(len(at.openings), self.pool.forward_passes) if told is None else told[node]
            self._parts[node] = Parts(at.scaled_openings, most)
        return self._parts[node]

    def choose_rows(self, node: int, fresh: BasisArray, cuts: int, iteration: int) -> NDArray[np.int32]:
        """Which of a node's *cuts* are rows from now on.

        Parameters
        ----------
        fresh : (parts, M, L)
            The bases just found.
        iteration
            The iteration at hand.
        """
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
