"""A stage problem without optimum, on two ranks: the error says where, and on which rank."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Sequence

import pytest

from pycobre.comm import launch
from pycobre.errors import WorkerError

# Two stages; in the second what must be met is the noise, and no more than 10 can be.
RANK = """
    import json, math, sys
    import numpy as np
    from pycobre.comm import create_communicator, launcher_pipe
    from pycobre.errors import CollectiveFailed, StageProblemError
    from pycobre.lp import Assembly, HighsSolver, cost_scale_of
    from pycobre.sddp import IterationLimit, Node, Policy, PolicyGraph, Stopping, TrainingSettings, train

    def stage(name):
        lp = Assembly(name)
        lp.column("x", cost=1.0, upper=10.0)
        row = lp.row("demand", 0.0, math.inf)
        lp.add(row, 0, 1.0)
        lp.move_by_noise(row, 0, 1.0)
        return lp.template(states_in=1, noises=1, state_columns=[0], carried_constant=[], carried_state=[],
                           carried_noise=[])

    demand = 1.0 + np.arange(20.0)[:, np.newaxis] % 2  # those with an even number are near each other
    demand[json.loads(sys.argv[1])] = 11.0
    graph = PolicyGraph.line([Node(stage("a"), demand[1:2] * 0), Node(stage("b"), demand)], np.zeros(1))
    scale = cost_scale_of([node.template for node in graph.nodes])
    solvers = [HighsSolver(node.template, future_lower=lower, cost_scale=scale, threads=1)
               for node, lower in zip(graph.nodes, graph.future_cost_lower(), strict=True)]
    with create_communicator() as comm:
        policy = Policy(graph, comm, 2)
        try:
            for _ in train(policy, solvers, TrainingSettings(Stopping((IterationLimit(1),)), 1), comm):
                pass
        except StageProblemError as error:
            told = [error.rank, error.stage, error.iteration, error.opening, str(error)]
            launcher_pipe().send(json.dumps(told).encode())
            raise
"""


def errors_of_two_ranks(impossible: Sequence[int]) -> dict[int, list]:
    """What each rank that raised told of its error, when the openings *impossible* have no solution."""
    told = {}
    command = [sys.executable, "-c", textwrap.dedent(RANK), json.dumps(list(impossible))]
    with launch(command, 2, grace_secs=1, on_stderr=lambda rank, line: None) as job:
        watchdog = threading.Timer(30, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            with pytest.raises(WorkerError) as caught:
                told.update((rank, json.loads(line)) for rank, line in job)
        finally:
            watchdog.cancel()
    assert caught.value.rank in told
    return told


@pytest.mark.parametrize(("opening", "rank"), [(0, 0), (3, 0), (16, 1), (19, 1)])
def test_an_error_of_the_backward_pass_names_the_rank_that_solved(opening, rank):
    told = errors_of_two_ranks([opening])
    assert list(told) == [rank]
    assert told[rank][:4] == [rank, 1, 1, opening]
    assert f"opening {opening}, rank {rank} is infeasible" in told[rank][4]


def test_an_error_of_the_forward_pass_names_the_rank_that_walked():
    told = errors_of_two_ranks(range(20))
    assert told
    assert all(error[:3] == [rank, 1, 1] for rank, error in told.items())
