"""Forward pass: scenarios walk the graph under the current policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import BasisArray, Dispatch, StageSolver, StageUnsolved, Starts, basis_by_name
from pycobre.sddp.failure import stage_problem_error
from pycobre.sddp.graph import ROOT
from pycobre.sddp.policy import Policy
from pycobre.sddp.source import NoiseSource
from pycobre.stochastic import Purpose, choose, generator, path_draws

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ENDED = -2
"""Node of a step past the end of a scenario's path."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Which random numbers a forward pass uses, and where its noise comes from.

    ``source`` gives it in the place of the openings'; without one a forward pass is in-sample.
    """

    seed: int
    purpose: Purpose
    iteration: int
    source: NoiseSource | None = None


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
        Opening that was drawn for each.
    state : (M, X)
        Incoming states.
    noise : (M, D)
        Noise that each got.
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
        Node of each step, :data:`ENDED` past the end of a path.
    state : (S, D, X)
        Incoming state of each step, padded with zeros.
    cost : (S, D)
        Stage cost of each step, not discounted.
    discount : (S, D)
        What a cost of the step is worth at the root.
    steps
        The steps themselves, if they were to be kept: by depth, then node.
    bases
        By node, those that its dispatches ended with, (M, L) in the order of the scenarios; none where the
        steps are kept.
    """

    node: IntArray
    state: FloatArray
    cost: FloatArray
    discount: FloatArray
    steps: tuple[tuple[Step, ...], ...]
    bases: Mapping[int, BasisArray]

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
    rank: int | None = None,
    dump_directory: str | None = None,
) -> Walk:
    """Walk *scenarios* through the graph.

    Parameters
    ----------
    keep
        Also keep each step's full solution.
    rank
        Whom an error names as the one that walked; ``None`` where there is one alone.
    dump_directory
        Where a problem that can't be solved is written.

    Raises
    ------
    StageProblemError
        A stage problem has no optimum.
    """
    return _Walkers(policy, solvers, scenarios, draw, keep, rank, dump_directory).walk()


class _Walkers:
    """Scenarios under way: where each is, with which state, and what a cost there is worth at the root."""

    def __init__(
        self,
        policy: Policy,
        solvers: Sequence[StageSolver],
        scenarios: range,
        draw: Draw,
        keep: bool,
        rank: int | None,
        dump_directory: str | None,
    ) -> None:
        self.policy, self.graph, self.solvers = policy, policy.graph, solvers
        self.scenarios, self.draw, self.keep = scenarios, draw, keep
        self.rank, self.dump_directory = rank, dump_directory
        count, initial = len(scenarios), self.graph.initial_state
        self.place = np.full(count, ROOT)
        self.worth = np.ones(count)
        self.state = np.zeros((count, self.graph.most_states))
        self.state[:, : len(initial)] = initial
        self.draws = path_draws(draw.seed, draw.purpose, draw.iteration, scenarios, self.graph.depth)
        # The basis of each one's last dispatch, and where it was: a start where the solver keeps none.
        self.last_node = np.full(count, ROOT)
        self.last_basis = [np.empty(0, dtype=np.int8)] * count
        self.bases = {
            node: np.empty((0, solver.basis_length), dtype=np.int8) for node, solver in enumerate(solvers)
        }

    def walk(self) -> Walk:
        """Every step of every scenario."""
        count, depth = len(self.scenarios), self.graph.depth
        nodes = np.full((count, depth), ENDED, dtype=np.int64)
        width = max(node.template.states_in for node in self.graph.nodes)
        states, costs = np.zeros((count, depth, width)), np.zeros((count, depth))
        discounts = np.ones((count, depth))
        kept: list[tuple[Step, ...]] = []
        for level in range(depth):
            self._move(level)
            steps = []
            for node, members in self._groups():
                if node == ENDED:
                    continue
                step = self._solve(node, members, level)
                nodes[members, level] = node
                states[members, level, : step.state.shape[1]] = step.state
                costs[members, level] = step.dispatch.objective - step.dispatch.future
                discounts[members, level] = self.worth[members]
                following = step.dispatch.next_state
                self.state[members, : following.shape[1]] = following
                if self.keep:
                    steps.append(step)
            kept.append(tuple(steps))
        return Walk(nodes, states, costs, discounts, tuple(kept), self.bases)

    def _groups(self) -> list[tuple[int, IntArray]]:
        """Who is where: nodes, ascending, and the members of each."""
        return [(node, np.flatnonzero(self.place == node)) for node in sorted(set(self.place.tolist()))]

    def _move(self, level: int) -> None:
        """Take every scenario along an arc."""
        for source, members in self._groups():
            arcs = self.graph.arcs_from(source)
            if not arcs:
                self.place[members] = ENDED
                continue
            way = np.zeros(len(members), dtype=np.int64)
            if len(arcs) > 1:
                way = choose(np.cumsum([arc.probability for arc in arcs]), self.draws[members, level, 0])
            self.place[members] = np.array([arc.target for arc in arcs])[way]
            self.worth[members] *= np.array([arc.discount_factor for arc in arcs])[way]

    def _noise(self, node: int, members: IntArray, openings: IntArray, level: int) -> FloatArray:
        """Noise (M, D) of *members* at *node*, from their *openings* or from elsewhere."""
        noise, draw = self.graph.nodes[node].openings[openings], self.draw
        if draw.source is None:
            return noise
        before = max(draw.iteration - 1, 0) * self.policy.pool.forward_passes
        for row, member in enumerate(members):
            scenario = self.scenarios[int(member)]
            stream = generator(draw.seed, draw.purpose, draw.iteration, scenario, level)
            noise[row] = draw.source.noise(node, scenario + before, stream, noise[row])
        return noise

    def _solve(self, node: int, members: IntArray, level: int) -> Step:
        """Dispatch of *members* at *node*."""
        at, solver = self.graph.nodes[node], self.solvers[node]
        openings = choose(at.cumulative, self.draws[members, level, 1])
        state = self.state[members, : at.template.states_in]
        noise = self._noise(node, members, openings, level)
        if at.floor is not None:
            noise = at.floor.raised(state, noise)
        starts = self.policy.starts(members + self.scenarios.start)
        is_new = not solver.keeps_starts
        if is_new:
            starts = Starts.each(self._bases_of_last_steps(node, members))
        try:
            wanted = solver.takes_dispatched and (is_new or not self.keep)
            dispatch = solver.dispatch(state, noise, starts, full=self.keep, bases=wanted)
        except StageUnsolved as unsolved:
            unit = unsolved.unsolved.unit
            raise stage_problem_error(
                unsolved.unsolved.status,
                solver,
                state[unit],
                noise[unit],
                stage=node,
                iteration=None if self.draw.purpose is Purpose.SIMULATION else self.draw.iteration,
                scenario=self.scenarios[int(members[unit])],
                opening=int(openings[unit]) if self.draw.source is None else None,
                rank=self.rank,
                dump_directory=self.dump_directory,
            ) from None
        if not self.keep:
            self.bases[node] = dispatch.basis
        if is_new:
            self.last_node[members] = node
            for member, basis in zip(members, dispatch.basis, strict=True):
                self.last_basis[member] = basis
        return Step(node, members, openings, state, noise, dispatch)

    def _bases_of_last_steps(self, node: int, members: IntArray) -> BasisArray:
        """Start of *members* (M, L) at *node* from the bases that they ended with where they come from."""
        came_from = self.last_node[members]
        if (came_from == ROOT).all():
            return np.empty((len(members), 0), dtype=np.int8)
        wanted = self.solvers[node].basis_names
        starts = np.empty((len(members), len(wanted[0]) + len(wanted[1])), dtype=np.int8)
        for before in np.unique(came_from):
            here = np.flatnonzero(came_from == before)
            names = ((), ()) if before == ROOT else self.solvers[before].basis_names
            known = np.stack([self.last_basis[member] for member in members[here]])
            starts[here] = basis_by_name(known, names, wanted)
        return starts
