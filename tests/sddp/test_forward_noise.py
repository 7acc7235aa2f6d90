"""Noise of forward passes: raised where a quantity would be negative, or taken from another source."""

from __future__ import annotations

import numpy as np
import pytest

from pycobre.comm import LocalCommunicator
from pycobre.lp import Assembly, Sparse
from pycobre.sddp import Node, NoiseFloor, PolicyGraph, simulate


def reservoir(t):
    """A reservoir of 50 whose inflow is 4 + noise; demand of 6 is met by water or bought at 1 + t."""
    lp = Assembly(f"stage {t}")
    stored = lp.column("stored", upper=50.0)
    used, spilled = lp.column("used"), lp.column("spilled", cost=0.01)
    bought = lp.column("bought", cost=1.0 + t)
    water = lp.row("water", 4.0, 4.0)
    for column in (stored, used, spilled):
        lp.add(water, column, 1.0)
    lp.move_by_state(water, 0, 1.0)
    lp.move_by_noise(water, 0, 1.0)
    demand = lp.row("demand", 6.0, 6.0)
    lp.add(demand, used, 1.0)
    lp.add(demand, bought, 1.0)
    return lp.template(states_in=1, noises=1, state_columns=[stored],
                       carried_constant=[], carried_state=[], carried_noise=[])  # fmt: skip


def floor(constant=4.0, certain=()):
    return NoiseFloor(
        np.array([constant]), Sparse.of([], (1, 1)), np.array([0]), np.ones(1), np.array(certain, dtype=int)
    )


def train(train_graph, openings, **more):
    nodes = [Node(reservoir(t), openings, **more) for t in range(3)]
    return train_graph(PolicyGraph.line(nodes, np.zeros(1)), iterations=20, forward_passes=2)


@pytest.mark.parametrize("risk", [None, "cvar"])
def test_raised_noise_is_the_same_as_openings_that_are_not_too_low(train_graph, risk):
    from pycobre.sddp import Cvar

    low = np.linspace(-9.0, 3.0, 12)[:, None]
    measure = Cvar(0.3, 0.5) if risk else None
    policy, solvers = train(train_graph, low, floor=floor(), risk=measure)
    other, _ = train(train_graph, np.maximum(low, -4.0), risk=measure)
    assert policy.lower_bound == pytest.approx(other.lower_bound, rel=1e-12)
    (found,) = simulate(policy, solvers, 40, 1, LocalCommunicator())
    noises = [step.noise for (step,) in found.walk.steps]
    assert min(noise.min() for noise in noises) == -4.0


def test_a_floor_that_depends_on_the_state_raises_by_what_is_missing():
    rising = NoiseFloor(
        np.array([1.0]),
        Sparse.of([(0, 1, 0.5)], (1, 2)),
        np.array([1]),
        np.array([2.0]),
        np.empty(0, dtype=int),
    )
    states = np.array([[0.0, 4.0], [0.0, -10.0]])
    noises = np.array([[-9.0, -9.0], [-9.0, 3.0]])
    assert rising.raised(states, noises).tolist() == [[-9.0, -1.5], [-9.0, 3.0]]
    assert noises.tolist() == [[-9.0, -9.0], [-9.0, 3.0]]


def test_a_certain_quantity_below_zero_is_raised_and_its_noise_means_nothing():
    raised = floor(constant=-2.0, certain=[0]).raised(np.zeros((2, 1)), np.array([[5.0], [-7.0]]))
    assert raised.tolist() == [[2.0], [2.0]]


class Counting:
    """Gives every scenario its own number as noise, and remembers who asked."""

    def __init__(self):
        self.asked = []

    def noise(self, node, number, stream, opening):
        self.asked.append((node, number))
        return np.array([-1.0 + 0.1 * number])


def test_simulated_scenarios_have_the_noise_of_the_source(train_graph):
    policy, solvers = train(train_graph, np.array([[0.0], [1.0]]))
    source = Counting()
    (found,) = simulate(policy, solvers, 5, 1, LocalCommunicator(), source=source)
    for (step,) in found.walk.steps:
        assert step.noise[:, 0] == pytest.approx([-1.0, -0.9, -0.8, -0.7, -0.6])
    assert source.asked == [(node, number) for node in range(3) for number in range(5)]


def test_training_numbers_its_scenarios_through(train_graph):
    from pycobre.lp import HighsSolver
    from pycobre.sddp import IterationLimit, Policy, Stopping, TrainingSettings
    from pycobre.sddp import train as run

    graph = PolicyGraph.line([Node(reservoir(t), np.array([[0.0], [1.0]])) for t in range(2)], np.zeros(1))
    solvers = [
        HighsSolver(node.template, future_lower=lower)
        for node, lower in zip(graph.nodes, graph.future_cost_lower(), strict=True)
    ]
    source, comm = Counting(), LocalCommunicator()
    settings = TrainingSettings(Stopping((IterationLimit(3),)), seed=1, source=source)
    for _ in run(Policy(graph, comm, 2), solvers, settings, comm):
        pass
    assert [number for node, number in source.asked if node == 0] == [0, 1, 2, 3, 4, 5]
