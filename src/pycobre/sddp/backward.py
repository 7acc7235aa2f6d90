"""Backward pass: from the last nodes to the first, one cut a trial point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import Communicator
from pycobre.lp import BasisArray, StageSolver, StageUnsolved
from pycobre.sddp.failure import stage_problem_error
from pycobre.sddp.graph import ROOT
from pycobre.sddp.policy import Policy
from pycobre.sddp.work import block_of, gather

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def backward_pass(
    policy: Policy,
    solvers: Sequence[StageSolver],
    comm: Communicator,
    iteration: int,
    paths: IntArray,
    states: FloatArray,
    mine: range,
    dump_directory: str | None,
) -> None:
    """Add this iteration's cuts to the pool and to every rank's solvers.

    Parameters
    ----------
    paths : (S, D)
        Node of each step of every scenario of the iteration, as :class:`~pycobre.sddp.forward.Walk` has it.
    states : (S, D, X)
        Incoming states of the steps.
    mine
        The scenarios whose trial points this rank works on.

    Raises
    ------
    StageProblemError
        A stage problem has no optimum.
    """
    graph = policy.graph
    for node in reversed(graph.order):
        if not graph.arcs_from(node):
            continue
        width = graph.nodes[node].template.states_out
        scenarios, steps = np.nonzero(paths == node)
        if len(scenarios) == 0:
            continue
        trial = np.ascontiguousarray(states[scenarios, steps + 1, :width])
        own = [k for k, scenario in enumerate(scenarios) if scenario in mine]
        record = _cuts_at(policy, solvers, node, iteration, scenarios[own], trial[own], dump_directory)
        counts = _trial_points_by_rank(scenarios, len(paths), comm.size)
        raw = gather(comm, record.view(np.uint8).reshape(len(own), record.dtype.itemsize), counts)
        cuts: NDArray[np.void] = raw.reshape(-1).view(record.dtype)
        slots = (iteration - 1) * policy.pool.forward_passes + scenarios
        policy.pool.write(node, slots, cuts["intercept"], cuts["slope"], trial)
        solvers[node].add_cuts(cuts["intercept"], cuts["slope"])
        for arc in graph.arcs_from(node):
            _keep_bases(
                policy, solvers, arc.target, scenarios.tolist(), cuts[f"basis{arc.target}"], iteration
            )


def lower_bound(
    policy: Policy, solvers: Sequence[StageSolver], iteration: int, dump_directory: str | None
) -> float:
    """Expected cost of the first nodes at the initial state under the current cuts, discounted.

    Every rank computes it for itself: few problems, and no exchange.

    Raises
    ------
    StageProblemError
        A stage problem has no optimum.
    """
    graph, total = policy.graph, 0.0
    state = graph.initial_state.reshape(1, -1)
    for arc in graph.arcs_from(ROOT):
        node = graph.nodes[arc.target]
        try:
            found = solvers[arc.target].expectation(
                state, node.openings, node.weights, policy.start_bases(arc.target, [0])
            )
        except StageUnsolved as unsolved:
            raise _error(
                unsolved, solvers, arc.target, state, node.openings, [0], iteration, dump_directory
            ) from None
        everyone = range(policy.pool.forward_passes)
        fresh = np.repeat(found.basis, len(everyone), axis=0)
        _keep_bases(policy, solvers, arc.target, everyone, fresh, iteration)
        total += arc.probability * arc.discount_factor * float(found.value[0])
    return total


def _keep_bases(
    policy: Policy,
    solvers: Sequence[StageSolver],
    node: int,
    scenarios: Sequence[int],
    fresh: BasisArray,
    iteration: int,
) -> None:
    """Remember *fresh* bases, and make rows of the cuts that they show to matter."""
    solver = solvers[node]
    solver.choose_rows(policy.keep_bases(node, scenarios, fresh, solver.cuts, iteration))


def _cuts_at(
    policy: Policy,
    solvers: Sequence[StageSolver],
    node: int,
    iteration: int,
    scenarios: IntArray,
    trial: FloatArray,
    dump_directory: str | None,
) -> NDArray[np.void]:
    """Cuts of *node* at this rank's trial points: intercept, slope, basis at every next node."""
    graph = policy.graph
    arcs = graph.arcs_from(node)
    record = np.zeros(
        len(trial),
        dtype=[
            ("intercept", np.float64),
            ("slope", np.float64, (trial.shape[1],)),
            *((f"basis{arc.target}", np.int8, (solvers[arc.target].basis_length,)) for arc in arcs),
        ],
    )
    for arc in arcs:
        following = graph.nodes[arc.target]
        bases = policy.start_bases(arc.target, scenarios.tolist())
        try:
            found = solvers[arc.target].expectation(trial, following.openings, following.weights, bases)
        except StageUnsolved as unsolved:
            raise _error(
                unsolved, solvers, arc.target, trial, following.openings, scenarios, iteration, dump_directory
            ) from None
        weight = arc.probability * arc.discount_factor
        record["intercept"] += weight * (found.value - np.einsum("ij,ij->i", found.slope, trial))
        record["slope"] += weight * found.slope
        record[f"basis{arc.target}"] = found.basis
    return record


def _trial_points_by_rank(scenarios: IntArray, count: int, size: int) -> list[int]:
    blocks = [block_of(count, rank, size) for rank in range(size)]
    return [sum(int(scenario) in block for scenario in scenarios) for block in blocks]


def _error(
    unsolved: StageUnsolved,
    solvers: Sequence[StageSolver],
    node: int,
    states: FloatArray,
    openings: FloatArray,
    scenarios: Sequence[int] | IntArray,
    iteration: int | None,
    dump_directory: str | None,
) -> Exception:
    what = unsolved.unsolved
    return stage_problem_error(
        what.status,
        solvers[node],
        states[what.unit],
        openings[what.opening],
        stage=node,
        iteration=iteration,
        scenario=int(scenarios[what.unit]),
        opening=what.opening,
        dump_directory=dump_directory,
    )
