"""Simulation of a trained policy, in rounds of scenarios so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import Communicator
from pycobre.lp import Dispatch, StageSolver
from pycobre.sddp.forward import Draw, Step, Walk, walk
from pycobre.sddp.paths import ENDED
from pycobre.sddp.policy import Policy
from pycobre.sddp.source import NoiseSource
from pycobre.sddp.train import mean, sample_deviation
from pycobre.sddp.work import block_of, block_sizes, gather, rank_in_group
from pycobre.stochastic import Purpose

FloatArray = NDArray[np.float64]

NORMAL_975 = 1.959963984540054
"""0.975 quantile of the standard normal distribution: half width of a 95 % interval in deviations."""

_ROUND_BYTES = 24 * 2**20
"""Most that a round's solutions take, few scenarios aside. Rank 0's tables take some times as much."""
_ROUND_SCENARIOS = range(4, 129)


@dataclass(frozen=True, eq=False)
class SimulatedRound:
    """Scenarios *first* .. *first* + S - 1 with their full solutions, on every rank.

    Attributes
    ----------
    first
        Number of the first scenario.
    walk
        Their paths; ``walk.steps[t]`` holds the solutions of step *t*, one entry a node, whose
        ``members`` are positions within the round.
    cost : (S,)
        Discounted cost of each scenario.
    """

    first: int
    walk: Walk
    cost: FloatArray


@dataclass(frozen=True)
class SimulationSummary:
    """Cost of a policy over simulated scenarios.

    Attributes
    ----------
    scenarios
        Their number.
    mean, std
        Of the discounted cost; the deviation is of the sample.
    ci95
        Half width of the 95 % interval of the mean (normal approximation); zero for one scenario.
    """

    scenarios: int
    mean: float
    std: float
    ci95: float

    @classmethod
    def of(cls, costs: FloatArray) -> SimulationSummary:
        """Summary of *costs*, folded in scenario order."""
        deviation = sample_deviation(costs)
        return cls(len(costs), mean(costs), deviation, NORMAL_975 * deviation / float(np.sqrt(len(costs))))


def simulate(
    policy: Policy,
    solvers: Sequence[StageSolver],
    scenarios: int,
    seed: int,
    comm: Communicator,
    dump_directory: str | None = None,
    source: NoiseSource | None = None,
) -> Iterator[SimulatedRound]:
    """Rounds of *scenarios* simulated scenarios, in order; every rank gets all of every round.

    Their noise comes from *source*; from the openings without one.

    Raises
    ------
    StageProblemError
        A stage problem has no optimum.
    CommError
        Ranks can no longer work together.
    """
    draw = Draw(seed, Purpose.SIMULATION, 0, source)
    for first in range(0, scenarios, _round_size(policy)):
        count = min(_round_size(policy), scenarios - first)
        mine = block_of(count, comm.rank, comm.size)
        own = range(first + mine.start, first + mine.stop)
        walked = walk(
            policy, solvers, own, draw, keep=True, rank=rank_in_group(comm), dump_directory=dump_directory
        )
        whole = _gather_walk(comm, policy, walked, mine, count)
        del walked  # before tables are as large again
        yield SimulatedRound(first, whole, whole.total_cost())
        del whole  # before the next round is


def _round_size(policy: Policy) -> int:
    """Scenarios a round: a function of the problem alone, so that files do not depend on ranks."""
    numbers = sum(
        len(node.template.cost) + len(node.template.row_lower) + node.template.states_in
        for node in policy.graph.nodes
    )
    return min(_ROUND_SCENARIOS[-1], max(_ROUND_SCENARIOS[0], _ROUND_BYTES // (8 * numbers)))


def _gather_walk(comm: Communicator, policy: Policy, walked: Walk, mine: range, count: int) -> Walk:
    blocks = block_sizes(count, comm.size)
    node, state = gather(comm, walked.node, blocks), gather(comm, walked.state, blocks)
    cost, discount = gather(comm, walked.cost, blocks), gather(comm, walked.discount, blocks)
    steps = []
    for level in range(node.shape[1]):
        here = []
        for position in sorted({int(n) for n in node[:, level] if n != ENDED}):
            members = np.flatnonzero(node[:, level] == position)
            own = [step for step in walked.steps[level] if step.node == position]
            step = own[0] if own else _no_step(policy, position)
            ends = np.cumsum(blocks)
            counts = [int(((members >= end - block) & (members < end)).sum()) for block, end in
                      zip(blocks, ends, strict=True)]  # fmt: skip
            here.append(_gather_step(comm, step, members, counts))
        steps.append(tuple(here))
    return Walk(node, state, cost, discount, tuple(steps), {})


def _gather_step(comm: Communicator, step: Step, members: NDArray[np.int64], counts: list[int]) -> Step:
    dispatch = step.dispatch
    whole = Dispatch(
        gather(comm, dispatch.objective, counts),
        gather(comm, dispatch.future, counts),
        gather(comm, dispatch.next_state, counts),
        dispatch.basis[:0].copy(),
        gather(comm, dispatch.primal, counts),
        gather(comm, dispatch.row_dual, counts),
    )
    return replace(
        step,
        members=members,
        opening=gather(comm, step.opening, counts),
        state=gather(comm, step.state, counts),
        noise=gather(comm, step.noise, counts),
        dispatch=whole,
    )


def _no_step(policy: Policy, node: int) -> Step:
    """A step that no scenario of this rank takes."""
    template = policy.graph.nodes[node].template
    return Step(
        node,
        np.empty(0, dtype=np.int64),
        np.empty(0, dtype=np.int64),
        np.empty((0, template.states_in)),
        np.empty((0, template.noises)),
        Dispatch(
            np.empty(0),
            np.empty(0),
            np.empty((0, template.states_out)),
            np.empty((0, 0), dtype=np.int8),
            np.empty((0, len(template.cost))),
            np.empty((0, len(template.row_lower))),
        ),
    )
