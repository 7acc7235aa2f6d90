"""Which scenario is at which node when: a function of the graph and of the draws, never of a solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.sddp.graph import ROOT, PolicyGraph
from pycobre.sddp.work import Places, block_sizes, places
from pycobre.stochastic import choose

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ENDED = -2
"""Node of a step past the end of a scenario's path."""


@dataclass(frozen=True, eq=False)
class Stop:
    """The scenarios that are at one node at one step.

    Attributes
    ----------
    node
        The node's position.
    level
        The step.
    members : (M,)
        Positions of the scenarios, ascending.
    rows
        Where their visits are among those of the :class:`Paths`.
    following : (M,)
        Where each one's next visit is; ``None`` where paths end.
    """

    node: int
    level: int
    members: IntArray
    rows: slice
    following: Places | None


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths of S scenarios, D steps deep at most, and their V visits: by step, then node, then scenario.

    Attributes
    ----------
    node : (S, D)
        Node of each step, :data:`ENDED` past the end of a path.
    discount : (S, D)
        What a cost of the step is worth at the root.
    stops
        Who is where together, in the order of the visits.
    scenario, level : (V,)
        Of each visit.
    """

    node: IntArray
    discount: FloatArray
    stops: tuple[Stop, ...]
    scenario: IntArray
    level: IntArray

    @classmethod
    def of(cls, graph: PolicyGraph, draws: FloatArray) -> Paths:
        """Those that *draws* (S, D), uniform in [0, 1), choose."""
        count, depth = draws.shape
        nodes, discounts = np.full((count, depth), ENDED), np.ones((count, depth))
        place, worth = np.full(count, ROOT), np.ones(count)
        for level in range(depth):
            for source, members in _groups(place):
                arcs = graph.arcs_from(source)
                if not arcs:
                    place[members] = ENDED
                    continue
                sums = np.cumsum([arc.probability for arc in arcs])
                way = choose(sums, draws[members, level])
                place[members] = np.array([arc.target for arc in arcs])[way]
                worth[members] *= np.array([arc.discount_factor for arc in arcs])[way]
            goes_on = place != ENDED
            nodes[:, level], discounts[goes_on, level] = place, worth[goes_on]
        return cls(nodes, discounts, *_stops(graph, nodes))


@dataclass(frozen=True, eq=False)
class NodeVisits:
    """Who comes by a node in an iteration.

    Attributes
    ----------
    scenario : (M,)
        Of each visit, ascending: none comes by twice.
    members
        The same.
    counts
        How many are of each rank.
    rows
        Where they are among the visits to nodes that others follow; ``None`` where paths end.
    """

    scenario: IntArray
    members: Places
    counts: list[int]
    rows: slice | None


@dataclass(frozen=True, eq=False)
class Visits:
    """Who comes by which node in an iteration, on any rank.

    Attributes
    ----------
    at
        By node; there is none where nobody comes by.
    scenario, following : (V,)
        Of the visits to nodes that others follow, node by node: the scenario, and the step after it.
    """

    at: Mapping[int, NodeVisits]
    scenario: IntArray
    following: IntArray

    @classmethod
    def of(cls, graph: PolicyGraph, nodes: IntArray, ranks: int) -> Visits:
        """Those of paths with *nodes* (S, D), scenarios being dealt to *ranks*."""
        ends = np.cumsum(block_sizes(len(nodes), ranks))
        scenarios, following = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        at: dict[int, NodeVisits] = {}
        first = 0
        for node in range(len(graph.nodes)):
            scenario, step = np.nonzero(nodes == node)
            if len(scenario) == 0:
                continue
            rows = None
            if graph.arcs_from(node):
                rows = slice(first, first + len(scenario))
                scenarios.append(scenario)
                following.append(step + 1)
                first = rows.stop
            counts = np.diff(np.searchsorted(scenario, ends), prepend=0)
            at[node] = NodeVisits(scenario, places(scenario), counts.tolist(), rows)
        return cls(at, np.concatenate(scenarios), np.concatenate(following))


def _groups(place: IntArray) -> list[tuple[int, IntArray]]:
    """Who is where: nodes, ascending, and the members of each."""
    return [(node, np.flatnonzero(place == node)) for node in sorted(set(place.tolist()))]


def _stops(graph: PolicyGraph, nodes: IntArray) -> tuple[tuple[Stop, ...], IntArray, IntArray]:
    """Stops of paths with *nodes* (S, D), and the scenario and step of each visit."""
    row = np.full(nodes.shape, -1)
    found: list[tuple[int, int, IntArray, slice]] = []
    first = 0
    for level in range(nodes.shape[1]):
        for node, members in _groups(nodes[:, level]):
            if node != ENDED:
                rows = slice(first, first + len(members))
                row[members, level] = np.arange(rows.start, rows.stop)
                found.append((node, level, members, rows))
                first = rows.stop
    stops = tuple(
        Stop(node, level, members, rows, places(row[members, level + 1]) if graph.arcs_from(node) else None)
        for node, level, members, rows in found
    )
    nothing = np.empty(0, dtype=np.int64)
    scenario = np.concatenate([nothing, *(stop.members for stop in stops)])
    level_of = np.concatenate([nothing, *(np.full(len(stop.members), stop.level) for stop in stops)])
    return stops, scenario, level_of
