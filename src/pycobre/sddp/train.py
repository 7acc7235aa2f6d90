"""Training: SDDP, read from top to bottom."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import Communicator
from pycobre.lp import SolverCounts, StageSolver
from pycobre.sddp.backward import Backward
from pycobre.sddp.events import IterationFinished, TrainingEvent, TrainingFinished, TrainingStarted
from pycobre.sddp.forward import Draw, walk
from pycobre.sddp.policy import Policy
from pycobre.sddp.source import NoiseSource
from pycobre.sddp.stopping import Stopping
from pycobre.sddp.work import block_of, block_sizes, gather, rank_in_group
from pycobre.stochastic import Purpose

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingSettings:
    """How a policy is trained.

    Attributes
    ----------
    stopping
        When to stop.
    seed
        Of the forward passes' choice of openings.
    interrupt
        Once any rank's is set, all ranks stop together after the iteration at hand.
    dump_directory
        Where a stage problem without optimum is written; nowhere if ``None``.
    source
        Where the forward passes' noise comes from; from the openings if ``None``.
    """

    stopping: Stopping
    seed: int
    interrupt: threading.Event = field(default_factory=threading.Event)
    dump_directory: str | None = None
    source: NoiseSource | None = None


def train(
    policy: Policy, solvers: Sequence[StageSolver], settings: TrainingSettings, comm: Communicator
) -> Iterator[TrainingEvent]:
    """Events of the training of *policy*, which grows by the cuts of one iteration between two of them.

    Every rank runs it with the same arguments. The solvers, one a node, hold the policy's cuts.

    Raises
    ------
    StageProblemError
        A stage problem has no optimum. The policy keeps the cuts of all finished iterations.
    CommError
        Ranks can no longer work together.
    """
    graph, pool, passes = policy.graph, policy.pool, policy.pool.forward_passes
    mine = block_of(passes, comm.rank, comm.size)
    blocks = block_sizes(passes, comm.size)
    done, counts = SolverCounts(), _counts(solvers)
    began = time.monotonic()
    yield TrainingStarted(comm.rank, len(graph.nodes), len(graph.initial_state), passes, comm.size)

    reason: str | None = None
    while reason is None:
        iteration = pool.iterations + 1
        clock = [time.monotonic()]

        forward = walk(
            policy,
            solvers,
            mine,
            Draw(settings.seed, Purpose.FORWARD, iteration, settings.source),
            rank=rank_in_group(comm),
            dump_directory=settings.dump_directory,
        )
        visits = policy.visits(gather(comm, forward.node, blocks), comm.size)
        states = gather(comm, forward.state, blocks)
        clock.append(time.monotonic())

        pool.reserve(iteration)
        backward = Backward(
            policy, solvers, comm, iteration, settings.dump_directory, visits, forward.dispatched
        )
        backward.add_cuts(states)
        clock.append(time.monotonic())

        bound = backward.lower_bound()
        clock.append(time.monotonic())

        before, counts = counts, _counts(solvers)
        interrupt = settings.interrupt.is_set()
        report = _exchange(comm, blocks, forward.total_cost(), counts - before, interrupt, began)
        done += report.counts
        pool.finish(iteration)
        policy.history.append(
            IterationFinished(
                rank=comm.rank,
                iteration=iteration,
                lower_bound=bound,
                forward_mean=mean(report.costs),
                forward_std=sample_deviation(report.costs),
                cuts=sum(solver.cuts for solver in solvers),
                lp_solves=done.solves,
                pivots=done.pivots,
                recoveries=done.recoveries,
                handed_over=done.handed_over,
                forward_s=clock[1] - clock[0],
                backward_s=clock[2] - clock[1],
                bound_s=clock[3] - clock[2],
                elapsed_s=report.elapsed_s,
            )
        )
        reason = "interrupted" if report.interrupted else settings.stopping.reason(policy.history)
        yield policy.history[-1]
    elapsed_s = policy.history[-1].elapsed_s
    yield TrainingFinished(comm.rank, pool.iterations, policy.lower_bound, reason, elapsed_s)


def mean(values: FloatArray) -> float:
    """Arithmetic mean, its sum rounded once: the same bits in any order."""
    return math.fsum(values) / len(values)


def sample_deviation(values: FloatArray) -> float:
    """Sample standard deviation (divisor n - 1), its sums rounded once; zero for a single value."""
    if len(values) < 2:
        return 0.0
    center = mean(values)
    return math.sqrt(math.fsum((float(value) - center) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True, eq=False)
class _Report:
    """What the ranks tell each other at the end of an iteration."""

    costs: FloatArray
    counts: SolverCounts
    interrupted: bool
    elapsed_s: float


def _exchange(
    comm: Communicator,
    blocks: list[int],
    costs: FloatArray,
    spent: SolverCounts,
    interrupt: bool,
    began: float,
) -> _Report:
    """Gather the scenarios' costs in scenario order, and counts, wishes and rank 0's clock with them."""
    told = [float(interrupt), time.monotonic() - began, spent.solves, spent.pivots, spent.handed_over]
    told += spent.recoveries
    rows = np.zeros((1, len(told) + max(blocks)))  # one a rank, each with room for the most scenarios
    rows[0, : len(told)] = told
    rows[0, len(told) : len(told) + len(costs)] = costs
    rows = gather(comm, rows, [1] * comm.size)
    interrupts, elapsed_s, *counts = zip(*rows[:, : len(told)].tolist(), strict=True)
    solves, pivots, handed_over, *recoveries = (int(sum(count)) for count in counts)
    return _Report(
        costs=np.concatenate([row[len(told) : len(told) + n] for row, n in zip(rows, blocks, strict=True)]),
        counts=SolverCounts(solves, pivots, tuple(recoveries), handed_over),
        interrupted=any(interrupts),
        elapsed_s=elapsed_s[0],
    )


def _counts(solvers: Sequence[StageSolver]) -> SolverCounts:
    each = [solver.counts for solver in solvers]
    return SolverCounts(
        sum(counts.solves for counts in each),
        sum(counts.pivots for counts in each),
        tuple(map(sum, zip(*(counts.recoveries for counts in each), strict=True))),
        sum(counts.handed_over for counts in each),
    )
