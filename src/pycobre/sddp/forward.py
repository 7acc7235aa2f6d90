"""Forward pass: scenarios walk the graph under the current policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import BasisArray, Dispatch, Dispatched, StageSolver, StageUnsolved, Starts, basis_by_name
from pycobre.sddp.failure import stage_problem_error
from pycobre.sddp.graph import ROOT
from pycobre.sddp.paths import Stop
from pycobre.sddp.policy import Policy
from pycobre.sddp.source import NoiseSource
from pycobre.stochastic import Purpose, choose, generator, path_draws

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
        Node of each step, :data:`~pycobre.sddp.paths.ENDED` past the end of a path.
    state : (S, D, X)
        Incoming state of each step, padded with zeros.
    cost : (S, D)
        Stage cost of each step, not discounted.
    discount : (S, D)
        What a cost of the step is worth at the root.
    steps
        The steps themselves, if they were to be kept: by depth, then node.
    dispatched
        By node, what its dispatches ended with, in the order of the scenarios; none of nodes whose solver
        does not take it, nor where the steps are kept.
    """

    node: IntArray
    state: FloatArray
    cost: FloatArray
    discount: FloatArray
    steps: tuple[tuple[Step, ...], ...]
    dispatched: Mapping[int, Dispatched]

    def total_cost(self) -> FloatArray:
        """Discounted cost of each scenario, shape (S,), summed in the order of the steps."""
        return np.add.accumulate(self.discount * self.cost, axis=1)[:, -1]


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
    """Scenarios under way: the incoming state of every visit so far, and what it came to."""

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
        draws = path_draws(draw.seed, draw.purpose, draw.iteration, scenarios, self.graph.depth)
        self.paths = paths = policy.paths(draws[:, :, 0])
        # By visit: which opening is met, and the forward pass whose start it takes.
        self.meets = draws[paths.scenario, paths.level, 1]
        self.passes = (paths.scenario + scenarios.start) % policy.pool.forward_passes
        self.state = np.zeros((len(paths.scenario), self.graph.most_states_in))
        self.state[: len(scenarios), : len(self.graph.initial_state)] = self.graph.initial_state
        self.dispatches: list[Dispatch] = []
        self.steps: list[list[Step]] = [[] for _ in range(self.graph.depth)]
        # The basis of each one's last dispatch, and where it was: a start where the solver keeps none.
        self.last_node = np.full(len(scenarios), ROOT)
        self.last_basis = [np.empty(0, dtype=np.int8)] * len(scenarios)
        self.ended: dict[int, list[tuple[IntArray, Dispatched]]] = {}  # with the scenarios they are of

    def walk(self) -> Walk:
        """Every step of every scenario."""
        paths = self.paths
        for stop in paths.stops:
            dispatch = self._solve(stop)
            self.dispatches.append(dispatch)
            if stop.following is not None:
                self.state[stop.following, : dispatch.next_state.shape[1]] = dispatch.next_state
        states = np.zeros((*paths.node.shape, self.state.shape[1]))
        states[paths.scenario, paths.level] = self.state
        costs = np.zeros(paths.node.shape)
        if self.dispatches:
            objective = np.concatenate([dispatch.objective for dispatch in self.dispatches])
            future = np.concatenate([dispatch.future for dispatch in self.dispatches])
            costs[paths.scenario, paths.level] = objective - future
        ended = {node: _in_order(found) for node, found in self.ended.items()}
        for node, solver in enumerate(self.solvers):  # those that no scenario of this rank came by
            if node not in ended and solver.wants_dispatched and not self.keep:
                noises = self.graph.nodes[node].openings[:0]
                ended[node] = Dispatched(np.empty((0, solver.basis_length), dtype=np.int8), noises)
        return Walk(paths.node, states, costs, paths.discount, tuple(map(tuple, self.steps)), ended)

    def _noise(self, stop: Stop, openings: IntArray) -> FloatArray:
        """Noise (M, D) of those at *stop*, from their *openings* or from elsewhere."""
        noise, draw = self.graph.nodes[stop.node].openings.take(openings, axis=0), self.draw
        if draw.source is None:
            return noise
        before = max(draw.iteration - 1, 0) * self.policy.pool.forward_passes
        for row, member in enumerate(stop.members):
            scenario = self.scenarios[int(member)]
            stream = generator(draw.seed, draw.purpose, draw.iteration, scenario, stop.level)
            noise[row] = draw.source.noise(stop.node, scenario + before, stream, noise[row])
        return noise

    def _solve(self, stop: Stop) -> Dispatch:
        """Dispatch of those at *stop*."""
        node, members = stop.node, stop.members
        at, solver = self.graph.nodes[node], self.solvers[node]
        openings = choose(at.cumulative, self.meets[stop.rows])
        state = np.ascontiguousarray(self.state[stop.rows, : at.template.states_in])
        noise = self._noise(stop, openings)
        if at.floor is not None:
            noise = at.floor.raised(state, noise)
        starts = Starts(self.passes[stop.rows])
        is_new = not solver.keeps_starts
        if is_new:
            starts = Starts.each(self._bases_of_last_steps(node, members))
        try:
            wanted = solver.wants_dispatched and (is_new or not self.keep)
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
        if self.keep:
            self.steps[stop.level].append(Step(node, members, openings, state, noise, dispatch))
        elif wanted:
            self.ended.setdefault(node, []).append((members, Dispatched(dispatch.basis, noise)))
        if is_new:
            self.last_node[members] = node
            for member, basis in zip(members, dispatch.basis, strict=True):
                self.last_basis[member] = basis
        return dispatch

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


def _in_order(found: list[tuple[IntArray, Dispatched]]) -> Dispatched:
    """What a node's stops ended with, each with its scenarios, in the order of the scenarios."""
    if len(found) == 1:
        return found[0][1]
    members, ended = zip(*found, strict=True)
    order = np.argsort(np.concatenate(members))
    bases, noises = zip(*ended, strict=True)
    return Dispatched(np.concatenate(bases)[order], np.concatenate(noises)[order])
