"""What training and simulation tell while they run. Consoles, logs and files are readers of this stream.

Every event begins with the ``rank`` that tells it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingStarted:
    """Training begins.

    Attributes
    ----------
    nodes, states
        Size of the problem: stage problems, and states of the first of them.
    forward_passes
        Scenarios an iteration.
    ranks
        Processes that share the work.
    """

    rank: int
    nodes: int
    states: int
    forward_passes: int
    ranks: int


@dataclass(frozen=True)
class IterationFinished:
    """One iteration is done; everything but the times is the same on any number of ranks and threads.

    Attributes
    ----------
    iteration
        From 1.
    lower_bound
        No policy costs less on the tree of openings (expected, discounted).
    forward_mean, forward_std
        Of this iteration's forward passes under the policy before it; the deviation is of the sample.
    cuts
        Cuts in the pool.
    lp_solves, pivots
        Stage problems solved so far by all ranks, and their simplex iterations.
    recoveries
        How often each step of the solver's recovery ladder helped so far.
    handed_over
        Units of work that the dense dual simplex left to HiGHS so far.
    forward_s, backward_s, bound_s
        Wall time of the parts of this iteration on this rank, exchange included.
    elapsed_s
        Wall time since training began, on rank 0.
    """

    rank: int
    iteration: int
    lower_bound: float
    forward_mean: float
    forward_std: float
    cuts: int
    lp_solves: int
    pivots: int
    recoveries: tuple[int, ...]
    handed_over: int
    forward_s: float
    backward_s: float
    bound_s: float
    elapsed_s: float


@dataclass(frozen=True)
class TrainingFinished:
    """Training ended by a rule or by request.

    ``reason`` is the rule's name (``iteration_limit``, ``time_limit``, ``bound_stalling``) or
    ``interrupted``.
    """

    rank: int
    iterations: int
    lower_bound: float
    reason: str
    elapsed_s: float


TrainingEvent = TrainingStarted | IterationFinished | TrainingFinished
