"""Backward pass: from the last nodes to the first, one cut a trial point; and the lower bound.

A unit of work is a trial point with one part of the next node's openings. Units are dealt to ranks in
contiguous blocks, part by part, and their sums are gathered and added in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import Communicator
from pycobre.lp import BasisArray, Expectation, OpeningCosts, StageSolver, StageUnsolved, Starts
from pycobre.sddp.failure import stage_problem_error
from pycobre.sddp.graph import ROOT
from pycobre.sddp.policy import Policy
from pycobre.sddp.work import Units, block_of, gather, gather_together, rank_in_group, units_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Backward:
    """What every backward step of an iteration works with.

    Attributes
    ----------
    policy
        Gets the cuts.
    solvers
        One a node; they get the cuts too.
    comm
        The ranks.
    iteration
        The iteration at hand.
    dump_directory
        Where a stage problem without optimum is written; nowhere if ``None``.
    paths : (S, D)
        Node of each step of every scenario of the iteration, as a :class:`~pycobre.sddp.forward.Walk` has it.
    dispatched
        By node, the bases (M, L) that this rank's dispatches of the iteration ended with.
    """

    policy: Policy
    solvers: Sequence[StageSolver]
    comm: Communicator
    iteration: int
    dump_directory: str | None
    paths: IntArray
    dispatched: Mapping[int, BasisArray]

    def add_cuts(self, states: FloatArray) -> None:
        """Add this iteration's cuts to the pool and to every rank's solvers.

        Parameters
        ----------
        states : (S, D, X)
            Incoming states of the steps.

        Raises
        ------
        StageProblemError
            A stage problem has no optimum.
        """
        policy, graph = self.policy, self.policy.graph
        for node in reversed(graph.order):
            scenarios, steps = np.nonzero(self.paths == node)
            arcs = graph.arcs_from(node)
            if not arcs or len(scenarios) == 0:
                continue
            trial = np.ascontiguousarray(
                states[scenarios, steps + 1, : graph.nodes[node].template.states_out]
            )
            intercept, slope = np.zeros(len(trial)), np.zeros(trial.shape)
            for arc in arcs:
                weight = arc.probability * arc.discount_factor
                found = self.expected_cost(arc.target, trial, scenarios)
                intercept += weight * (found.value - np.einsum("ij,ij->i", found.slope, trial))
                slope += weight * found.slope
            slots = (self.iteration - 1) * policy.pool.forward_passes + scenarios
            policy.pool.write(node, slots, intercept, slope, trial)
            self.solvers[node].add_cuts(intercept, slope)

    def lower_bound(self) -> float:
        """Expected cost of the first nodes at the initial state under the current cuts, discounted.

        Raises
        ------
        StageProblemError
            A stage problem has no optimum.
        """
        graph, total = self.policy.graph, 0.0
        for arc in graph.arcs_from(ROOT):
            found = self.expected_cost(arc.target, graph.initial_state.reshape(1, -1), None)
            total += arc.probability * arc.discount_factor * float(found.value[0])
        return total

    def expected_cost(self, node: int, trial: FloatArray, scenarios: IntArray | None) -> Expectation:
        """Cost of *node* over its openings, by its risk measure, and its slope at *trial* states (M, X).

        The same on every rank. The bases found are where the next iteration starts, and show which cuts
        matter.

        Parameters
        ----------
        scenarios : (M,)
            Forward pass that each trial state is of; ``None`` for the one initial state of all.
        """
        policy, comm = self.policy, self.comm
        numbers = np.zeros(1, dtype=np.int64) if scenarios is None else scenarios
        at, parts = policy.graph.nodes[node], policy.parts[node]
        units = units_of(parts, len(trial), comm.rank, comm.size)
        found = self._solve(node, trial, numbers, units)
        values, slopes, bases = (
            array.reshape(len(parts), len(trial), *array.shape[1:])
            for array in gather_together(comm, (found.value, found.slope, found.basis), units.counts)
        )
        if at.risk is None:
            value, slope = values[0], slopes[0]
            for part in range(1, len(parts)):
                value, slope = value + values[part], slope + slopes[part]
        else:
            places = [(part, place) for part, span in enumerate(parts) for place in range(len(span))]
            costs = np.stack([values[part, :, place] for part, place in places], axis=1)
            weights = at.risk.weights(costs, at.weights)
            value, slope = np.zeros(len(trial)), np.zeros(trial.shape)
            for opening, (part, place) in enumerate(places):
                value += weights[:, opening] * costs[:, opening]
                slope += weights[:, opening, None] * slopes[part, :, place]
        self._keep_bases(node, bases, numbers if scenarios is not None else None)
        return Expectation(value, slope, bases[0])

    def _starts(self, node: int, numbers: IntArray) -> Starts:
        """Where trial points of the forward passes *numbers* (M,) at *node* start.

        From what dispatches there ended with: they had the same incoming states, and another noise. A solver
        that chooses keeps them among others, while it has few. For one that does not, a forward pass that
        did not come by takes the basis of the first that did; where none did, they are those of an earlier
        iteration.
        """
        solver = self.solvers[node]
        if not solver.takes_dispatched:
            return self.policy.starts(numbers)
        came_by = np.flatnonzero((self.paths == node).any(axis=1))
        if len(came_by) == 0:
            return self.policy.starts(numbers)
        blocks = [block_of(len(self.paths), rank, self.comm.size) for rank in range(self.comm.size)]
        counts = [int(((came_by >= block.start) & (came_by < block.stop)).sum()) for block in blocks]
        bases = gather(self.comm, self.dispatched[node], counts)
        if solver.chooses_starts:
            solver.keep_starts(came_by.tolist(), bases[np.newaxis])
            return self.policy.starts(numbers)
        place = np.minimum(np.searchsorted(came_by, numbers), len(came_by) - 1)
        return Starts(np.where(came_by[place] == numbers, place, 0), bases)

    def _solve(
        self, node: int, trial: FloatArray, numbers: IntArray, units: Units
    ) -> Expectation | OpeningCosts:
        """Value, slope and basis of each of this rank's *units*.

        With a risk measure values and slopes are those of the single openings: what they weigh is only
        known when the costs of all are.
        """
        solver, at = self.solvers[node], self.policy.graph.nodes[node]
        starts = self._starts(node, numbers).some(units.point)
        states, first, last = trial[units.point], units.first, units.last
        openings, weights = at.openings, at.weights
        if at.floor is not None and len(states):  # every unit has openings of its own: those of its state
            rows = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
            counts = last - first
            openings = at.floor.raised(np.repeat(states, counts, axis=0), openings[rows])
            weights = np.ascontiguousarray(weights[rows])
            last = np.cumsum(counts).astype(np.int32)
            first = (last - counts).astype(np.int32)
        try:
            if at.risk is None:
                return solver.expectation(states, openings, weights, starts, (first, last))
            found = solver.by_opening(states, openings, starts, (first, last))
            # A rank's last units may all be short: its arrays are then narrower than those of others.
            return found.widened(max(len(part) for part in self.policy.parts[node]))
        except StageUnsolved as unsolved:
            what = unsolved.unsolved
            raise stage_problem_error(
                what.status,
                solver,
                states[what.unit],
                openings[what.opening],
                stage=node,
                iteration=self.iteration,
                scenario=int(numbers[units.point[what.unit]]),
                opening=int(units.first[what.unit]) + what.opening - int(first[what.unit]),
                rank=rank_in_group(self.comm),
                dump_directory=self.dump_directory,
            ) from None

    def _keep_bases(self, node: int, fresh: BasisArray, scenarios: IntArray | None) -> None:
        """Let the next iteration start from *fresh* bases (parts, M, L), and drop cuts that don't matter.

        Without *scenarios* all forward passes set out from the one state that was solved.
        """
        policy, solver = self.policy, self.solvers[node]
        keepers = scenarios.tolist() if scenarios is not None else list(range(policy.pool.forward_passes))
        solver.keep_starts(keepers, fresh)
        if solver.chooses_rows:
            solver.choose_rows(policy.choose_rows(node, fresh, solver.cuts, self.iteration))
