"""The policy graph: which stage problems follow which, how likely, discounted how much.

A line of stages is the plain case. A tree, or a Markov chain with several nodes a stage, is the same
thing with more arcs. The graph must have no cycle (an infinite horizon is not planned yet).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import StageTemplate
from pycobre.sddp.floor import NoiseFloor
from pycobre.sddp.risk import Cvar

FloatArray = NDArray[np.float64]

ROOT = -1
"""The place before the first stage, source of the first arcs."""


@dataclass(frozen=True, eq=False)
class Node:
    """A stage problem with the noise that can happen in it.

    Attributes
    ----------
    template
        The problem, X incoming states and D noises.
    openings : (W, D)
        Noise realisations.
    probability : (W,)
        Theirs; equal when ``None``.
    risk
        How the costs of the openings count; by their expectation when ``None``.
    floor
        Where noise is raised, whatever it comes from; nowhere when ``None``.
    """

    template: StageTemplate
    openings: FloatArray
    probability: FloatArray | None = None
    risk: Cvar | None = None
    floor: NoiseFloor | None = None

    @cached_property
    def weights(self) -> FloatArray:
        """Probability of every opening, shape (W,)."""
        if self.probability is None:
            return np.full(len(self.openings), 1.0 / len(self.openings))
        return self.probability

    @property
    def scaled_openings(self) -> FloatArray:
        """The openings (W, D), each component times what it counts where noises are compared."""
        return self.openings * self.template.noise_weights

    @cached_property
    def cumulative(self) -> FloatArray:
        """Probability of every opening or one before it, shape (W,)."""
        return np.cumsum(self.weights)


@dataclass(frozen=True)
class Arc:
    """A step from one node to another; *source* is :data:`ROOT` for the first step."""

    source: int
    target: int
    probability: float = 1.0
    discount_factor: float = 1.0


class PolicyGraph:
    """Nodes, arcs and the state before the first stage.

    Parameters
    ----------
    nodes
        The nodes; arcs name them by position.
    arcs
        The arcs. Those of probability zero are dropped: neither solved nor cut.
    initial_state : (X,)
        Incoming state of the first nodes.

    Raises
    ------
    ValueError
        Probabilities do not add up, states do not fit, a cycle, or a node that nothing leads to.
    """

    def __init__(self, nodes: Sequence[Node], arcs: Sequence[Arc], initial_state: FloatArray) -> None:
        self.nodes = tuple(nodes)
        self.arcs = tuple(arc for arc in arcs if arc.probability > 0.0)
        self.initial_state = np.asarray(initial_state, dtype=np.float64)
        self.order = self._topological_order()
        self._check()

    @classmethod
    def line(
        cls, nodes: Sequence[Node], initial_state: FloatArray, discount_factors: Sequence[float] | None = None
    ) -> PolicyGraph:
        """Graph of *nodes* one after the other; *discount_factors* are those of the steps between them."""
        factors = [1.0, *(discount_factors if discount_factors is not None else [1.0] * (len(nodes) - 1))]
        arcs = [Arc(t - 1 if t else ROOT, t, 1.0, factor) for t, factor in enumerate(factors)]
        return cls(nodes, arcs, initial_state)

    def arcs_from(self, node: int) -> tuple[Arc, ...]:
        """Arcs that leave *node* (or :data:`ROOT`), ascending by target."""
        return self._leaving.get(node, ())

    @cached_property
    def _leaving(self) -> dict[int, tuple[Arc, ...]]:
        leaving: dict[int, list[Arc]] = {}
        for arc in sorted(self.arcs, key=lambda arc: (arc.source, arc.target)):
            leaving.setdefault(arc.source, []).append(arc)
        return {source: tuple(arcs) for source, arcs in leaving.items()}

    @cached_property
    def branches(self) -> bool:
        """Whether scenarios may take different paths."""
        return any(len(arcs) > 1 for arcs in self._leaving.values())

    @cached_property
    def depth(self) -> int:
        """Number of steps of the longest path."""
        longest = dict.fromkeys(range(len(self.nodes)), 0)
        for node in reversed(self.order):
            longest[node] = 1 + max((longest[arc.target] for arc in self.arcs_from(node)), default=0)
        return max(longest.values())

    @cached_property
    def most_states_in(self) -> int:
        """Most incoming states of any node."""
        return max(node.template.states_in for node in self.nodes)

    def future_cost_lower(self) -> tuple[float | None, ...]:
        """A valid lower bound of every node's future cost, derived from column bounds; ``None`` in a leaf.

        Raises
        ------
        ValueError
            The columns of a node allow costs without limit: bound them.
        """
        reach: dict[int, float] = {}
        for node in reversed(self.order):
            total = 0.0
            for arc in self.arcs_from(node):
                following = self.nodes[arc.target].template
                bound = following.cost_lower_bound()
                if not math.isfinite(bound):
                    raise ValueError(
                        f"no lower bound of the future cost can be derived: a column of {following.name} has"
                        " a cost and no bound on its cheap side; give it one"
                    )
                total += arc.probability * arc.discount_factor * (bound + reach[arc.target])
            reach[node] = total
        return tuple(reach[n] if self.arcs_from(n) else None for n in range(len(self.nodes)))

    def _topological_order(self) -> tuple[int, ...]:
        missing = dict.fromkeys(range(len(self.nodes)), 0)
        for arc in self.arcs:
            if not (ROOT <= arc.source < len(self.nodes) and 0 <= arc.target < len(self.nodes)):
                raise ValueError(f"arc {arc.source} -> {arc.target} names a node that does not exist")
            if arc.source != ROOT:
                missing[arc.target] += 1
        ready = [n for n, count in missing.items() if count == 0]
        order: list[int] = []
        while ready:
            node = ready.pop(0)
            order.append(node)
            for arc in self.arcs_from(node):
                missing[arc.target] -= 1
                if missing[arc.target] == 0:
                    ready.append(arc.target)
        if len(order) < len(self.nodes):
            raise ValueError("the policy graph has a cycle; an infinite horizon is not supported yet")
        return tuple(order)

    def _check(self) -> None:
        reached = {arc.target for arc in self.arcs}
        for position, node in enumerate(self.nodes):
            if position not in reached:
                raise ValueError(f"no arc leads to {node.template.name}")
            if node.openings.ndim != 2 or node.openings.shape[1] != node.template.noises:
                raise ValueError(
                    f"{node.template.name}: openings have shape {node.openings.shape}, expected"
                    f" (W, {node.template.noises})"
                )
            if len(node.weights) != len(node.openings) or abs(math.fsum(node.weights) - 1.0) > 1e-9:
                raise ValueError(f"{node.template.name}: the openings' probabilities do not add up to one")
        for source in (ROOT, *range(len(self.nodes))):
            arcs = self.arcs_from(source)
            if not arcs and source != ROOT:
                continue
            if abs(math.fsum(arc.probability for arc in arcs) - 1.0) > 1e-9:
                place = "the root" if source == ROOT else self.nodes[source].template.name
                raise ValueError(f"the probabilities of the arcs from {place} do not add up to one")
            for arc in arcs:
                given = len(self.initial_state) if source == ROOT else self.nodes[source].template.states_out
                taken = self.nodes[arc.target].template
                if given != taken.states_in:
                    raise ValueError(f"{taken.name} takes {taken.states_in} states, but {given} reach it")
