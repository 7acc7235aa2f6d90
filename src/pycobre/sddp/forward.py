"""Forward pass: scenarios walk the graph under the current policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import Dispatch, StageSolver, StageUnsolved
from pycobre.sddp.failure import stage_problem_error
from pycobre.sddp.graph import ROOT
from pycobre.sddp.policy import Policy
from pycobre.stochastic import Purpose, choose, generator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Draw:
    """Which random numbers a forward pass uses."""

    seed: int
    purpose: Purpose
    iteration: int


@dataclass(frozen=True, eq=False)
class Step:
    """One step of all scenarios that are at one node.

    Attributes
    ----------
    node
        The node's position.
    members : (M,)
        Positions of the scenarios in the walk.
    opening : (M,)
        Opening that each got.
    state : (M, X)
        Incoming states.
    noise : (M, D)
        Noise of the opening.
    dispatch
        Solution, in the order of *members*.
    """

    node: int
    members: IntArray
    opening: IntArray
    state: FloatArray
    noise: FloatArray
    dispatch: Dispatch


@dataclass(frozen=True, eq=False)
class Walk:
    """Paths of S scenarios through the graph, D steps deep, X the most states of any node.

    Attributes
    ----------
    node : (S, D)
        Node of each step, -1 past the end of a path.
    state : (S, D, X)
        Incoming state of each step, padded with zeros.
    cost : (S, D)
        Stage cost of each step, not discounted.
    discount : (S, D)
        What a cost of the step is worth at the root.
    steps
        The steps themselves, if they were to be kept: by depth, then node.
    """

    node: IntArray
    state: FloatArray
    cost: FloatArray
    discount: FloatArray
    steps: tuple[tuple[Step, ...], ...]

    def total_cost(self) -> FloatArray:
        """Discounted cost of each scenario, shape (S,), summed in the order of the steps."""
        total = np.zeros(len(self.node))
        for depth in range(self.node.shape[1]):
            total += self.discount[:, depth] * self.cost[:, depth]
        return total


def walk(
    policy: Policy,
    solvers: Sequence[StageSolver],
    scenarios: range,
    draw: Draw,
    *,
    keep: bool = False,
    dump_directory: str | None = None,
) -> Walk:
    """Walk *scenarios* through the graph.

    Parameters
    ----------
    keep
        Also keep each step's full solution.
    dump_directory
        Where a problem that can't be solved is written.

    Raises
    ------
    StageProblemError
        A stage problem has no optimum.
    """
    graph = policy.graph
    count, depth = len(scenarios), graph.depth
    width = max(node.template.states_in for node in graph.nodes)
    result = Walk(
        node=np.full((count, depth), -1, dtype=np.int64),
        state=np.zeros((count, depth, width)),
        cost=np.zeros((count, depth)),
        discount=np.ones((count, depth)),
        steps=(),
    )
    place = np.full(count, ROOT)
    worth = np.ones(count)
    states = [graph.initial_state] * count
    kept: list[tuple[Step, ...]] = []
    for level in range(depth):
        openings = np.zeros(count, dtype=np.int64)
        for which, scenario in enumerate(scenarios):
            arcs = graph.arcs_from(int(place[which])) if place[which] >= ROOT else ()
            if not arcs:
                place[which] = ROOT - 1  # the path has ended
                continue
            stream = generator(draw.seed, draw.purpose, draw.iteration, scenario, level)
            arc = arcs[choose(stream, [a.probability for a in arcs]) if len(arcs) > 1 else 0]
            openings[which] = choose(stream, graph.nodes[arc.target].weights)
            place[which] = arc.target
            worth[which] *= arc.discount_factor
        steps = []
        for node in sorted({int(n) for n in place if n >= 0}):
            members = np.flatnonzero(place == node)
            step = _step(policy, solvers, node, members, openings[members], states, scenarios, draw, keep,
                         dump_directory)  # fmt: skip
            result.node[members, level] = node
            result.state[members, level, : step.state.shape[1]] = step.state
            result.cost[members, level] = step.dispatch.objective - step.dispatch.future
            result.discount[members, level] = worth[members]
            for member, following in zip(members, step.dispatch.next_state, strict=True):
                states[member] = following
            if keep:
                steps.append(step)
        kept.append(tuple(steps))
    return Walk(result.node, result.state, result.cost, result.discount, tuple(kept))


def _step(
    policy: Policy,
    solvers: Sequence[StageSolver],
    node: int,
    members: IntArray,
    openings: IntArray,
    states: list[FloatArray],
    scenarios: range,
    draw: Draw,
    keep: bool,
    dump_directory: str | None,
) -> Step:
    state = np.array([states[member] for member in members]).reshape(len(members), -1)
    noise = np.ascontiguousarray(policy.graph.nodes[node].openings[openings])
    bases = policy.start_bases(node, [scenarios[member] for member in members])
    try:
        dispatch = solvers[node].dispatch(state, noise, bases, full=keep)
    except StageUnsolved as unsolved:
        unit = unsolved.unsolved.unit
        raise stage_problem_error(
            unsolved.unsolved.status,
            solvers[node],
            state[unit],
            noise[unit],
            stage=node,
            iteration=draw.iteration,
            scenario=scenarios[int(members[unit])],
            opening=int(openings[unit]),
            dump_directory=dump_directory,
        ) from None
    return Step(node, members, openings, state, noise, dispatch)
