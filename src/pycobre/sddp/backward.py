"""Backward pass: from the last nodes to the first, one cut a trial point; and the lower bound.

A unit of work is a trial point with one part of the next node's openings. Units are dealt to ranks in
contiguous blocks, part by part, and their sums are gathered and added in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre import _native
from pycobre.comm import Communicator
from pycobre.errors import StageProblemError
from pycobre.lp import (
    BasisArray,
    Dispatched,
    Expectation,
    OpeningCosts,
    StageSolver,
    StageUnsolved,
    Starts,
    summed,
)
from pycobre.sddp.failure import stage_problem_error
from pycobre.sddp.graph import ROOT
from pycobre.sddp.parts import Units
from pycobre.sddp.paths import Visits
from pycobre.sddp.policy import Policy
from pycobre.sddp.work import block_of, block_sizes, gather_together, rank_in_group, shifted

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_FIRST = np.zeros(1, dtype=np.int64)
"""The forward pass that the initial state, which is that of all, starts like."""


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
    visits
        Which scenario of the iteration comes by which node, on any rank.
    dispatched
        By node, what this rank's dispatches of the iteration ended with.
    """

    policy: Policy
    solvers: Sequence[StageSolver]
    comm: Communicator
    iteration: int
    dump_directory: str | None
    visits: Visits
    dispatched: Mapping[int, Dispatched]

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
        policy, graph, visits = self.policy, self.policy.graph, self.visits
        first_slot = (self.iteration - 1) * policy.pool.forward_passes
        trials = states[visits.scenario, visits.following]
        for node in reversed(graph.order):
            here = visits.at.get(node)
            if here is None or here.rows is None:
                continue
            trial = np.ascontiguousarray(trials[here.rows, : graph.nodes[node].template.states_out])
            intercept, slope = np.zeros(len(trial)), np.zeros(trial.shape)
            for arc in graph.arcs_from(node):
                values, slopes = self.expected_cost(arc.target, trial, here.scenario)
                weight = arc.probability * arc.discount_factor
                _native.add_to_cuts(weight, values, slopes, trial, intercept, slope)
            policy.pool.write(node, shifted(here.members, first_slot), intercept, slope, trial)
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
            values, _ = self.expected_cost(arc.target, graph.initial_state.reshape(1, -1), None)
            total += arc.probability * arc.discount_factor * float(np.add.accumulate(values)[-1])
        return total

    def expected_cost(
        self, node: int, trial: FloatArray, scenarios: IntArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Cost of *node* over its openings, by its risk measure, and its slope at *trial* states.

        Summands of it, to be added in their order: (P · M,) and (P · M, X), those of a part of the openings
        at all states together. The same on every rank. The bases found are where the next iteration starts,
        and show which cuts matter.

        Parameters
        ----------
        trial : (M, X)
            Incoming states.
        scenarios : (M,)
            Forward pass that each trial state is of; ``None`` for the one initial state of all.
        """
        comm, at, parts = self.comm, self.policy.graph.nodes[node], self.policy.parts(node)
        units = parts.units(len(trial), comm.rank, comm.size)
        found = self._solve(node, trial, _FIRST if scenarios is None else scenarios, units)
        values, slopes, bases = gather_together(comm, (found.value, found.slope, found.basis), units.counts)
        self._keep_bases(node, bases.reshape(len(parts), len(trial), -1), scenarios)
        if at.risk is None:
            return values, slopes
        values = values.reshape(len(parts), len(trial), -1)
        slopes = slopes.reshape(*values.shape, -1)
        costs = values[parts.part, :, parts.place]
        weights = at.risk.weights(costs.T, at.weights).T
        value, slope = np.zeros(len(trial)), np.zeros(trial.shape)
        for opening, (part, place) in enumerate(zip(parts.part, parts.place, strict=True)):
            value += weights[opening] * costs[opening]
            slope += weights[opening, :, None] * slopes[part, :, place]
        return value, slope

    def _starts(self, node: int, trial: FloatArray, numbers: IntArray, units: Units) -> Starts:
        """Where *units* at *node* start.

        From what dispatches there ended with, if the solver gains by it: they had the same incoming states,
        and the noise of one opening. But they knew no cut of this iteration; so where a trial point has
        several units, one opening is solved there first, and all of them start from that.
        """
        solver, here = self.solvers[node], self.visits.at.get(node)
        if here is None or not solver.wants_dispatched:
            return Starts(numbers.take(units.point))
        ended = Dispatched(*gather_together(self.comm, self.dispatched[node], here.counts))
        starts = solver.take_dispatched(here.scenario, ended, numbers)
        if len(self.policy.parts(node)) > 1 and starts.noises is not None:
            starts = self._lead(node, trial, numbers, starts)
        return starts.some(units.point)

    def _lead(self, node: int, trial: FloatArray, numbers: IntArray, starts: Starts) -> Starts:
        """At each *trial* state the optimum of the opening that is nearest to the noise of its start."""
        comm, at, solver = self.comm, self.policy.graph.nodes[node], self.solvers[node]
        mine = np.array(block_of(len(trial), comm.rank, comm.size), dtype=np.int64)
        states, starts = trial.take(mine, axis=0), starts.some(mine)
        choice = np.tile(at.openings, (len(mine), 1))
        if at.floor is not None:
            choice = at.floor.raised(np.repeat(states, len(at.openings), axis=0), choice)
        choice = choice.reshape(len(mine), *at.openings.shape)
        apart = np.abs(choice - starts.brought_noises()[:, np.newaxis]) * at.template.noise_weights
        chosen = summed(apart).argmin(axis=1)
        noises = choice[np.arange(len(mine)), chosen]
        try:
            basis = solver.dispatch(states, noises, starts, bases=True).basis
        except StageUnsolved as unsolved:
            unit = unsolved.unsolved.unit
            raise self._error(
                node, unsolved, states[unit], noises[unit], int(numbers[mine[unit]]), int(chosen[unit])
            ) from None
        counts = block_sizes(len(trial), comm.size)
        return Starts(np.arange(len(trial)), *gather_together(comm, (basis, noises), counts))

    def _solve(
        self, node: int, trial: FloatArray, numbers: IntArray, units: Units
    ) -> Expectation | OpeningCosts:
        """Value, slope and basis of each of this rank's *units*.

        With a risk measure values and slopes are those of the single openings: what they weigh is only
        known when the costs of all are.
        """
        solver, at, parts = self.solvers[node], self.policy.graph.nodes[node], self.policy.parts(node)
        starts = self._starts(node, trial, numbers, units)
        states, part = trial.take(units.point, axis=0), units.part
        openings, weights = parts.arranged(at.openings), parts.arranged(at.weights)
        if at.floor is not None and len(states):  # every unit has openings of its own: those of its state
            rows, counts, part = units.apart
            openings = at.floor.raised(np.repeat(states, counts, axis=0), openings[rows])
            weights = weights.take(rows)
        try:
            if at.risk is None:
                return solver.expectation(states, openings, weights, starts, part)
            found = solver.by_opening(states, openings, starts, part)
            # A rank's last units may all be short: its arrays are then narrower than those of others.
            return found.widened(parts.longest)
        except StageUnsolved as unsolved:
            unit, opening = unsolved.unsolved.unit, unsolved.unsolved.opening
            place = int(units.part[0][unit]) + opening - int(part[0][unit])
            raise self._error(
                node,
                unsolved,
                states[unit],
                openings[opening],
                int(numbers[units.point[unit]]),
                int(parts.order[place]),
            ) from None

    def _error(
        self,
        node: int,
        unsolved: StageUnsolved,
        state: FloatArray,
        noise: FloatArray,
        scenario: int,
        opening: int,
    ) -> StageProblemError:
        return stage_problem_error(
            unsolved.unsolved.status,
            self.solvers[node],
            state,
            noise,
            stage=node,
            iteration=self.iteration,
            scenario=scenario,
            opening=opening,
            rank=rank_in_group(self.comm),
            dump_directory=self.dump_directory,
        )

    def _keep_bases(self, node: int, fresh: BasisArray, scenarios: IntArray | None) -> None:
        """Let the next iteration start from *fresh* bases (parts, M, L), and drop cuts that don't matter.

        Without *scenarios* all forward passes set out from the one state that was solved.
        """
        policy, solver = self.policy, self.solvers[node]
        solver.keep_starts(range(policy.pool.forward_passes) if scenarios is None else scenarios, fresh)
        if solver.chooses_rows:
            solver.choose_rows(policy.choose_rows(node, fresh, solver.cuts, self.iteration))
