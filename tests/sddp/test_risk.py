"""Weights of a risk measure over openings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from pycobre.sddp import Cvar


@pytest.mark.parametrize(("tail", "weight"), [(0.15, 0.4), (0.3, 1.0), (1.0, 0.7), (0.5, 0.0), (0.01, 1.0)])
def test_weights_are_the_worst_that_the_measure_allows(tail, weight):
    """The measure's dual: maximise the mean of the costs over all weights that it allows."""
    rng = np.random.default_rng(1)
    probability = rng.dirichlet(np.ones(7))
    values = rng.normal(size=(5, 7))
    found = Cvar(tail, weight).weights(values, probability)
    assert found.sum(axis=1) == pytest.approx(np.ones(5))
    for row, ours in zip(values, found, strict=True):
        worst = linprog(-row, A_eq=np.ones((1, 7)), b_eq=[1.0], bounds=[(0.0, p / tail) for p in probability])
        expected = (1.0 - weight) * (probability @ row) + weight * -worst.fun
        assert ours @ row == pytest.approx(expected)


def test_the_measure_of_scenarios_counts_a_part_of_the_scenario_at_its_edge():
    costs = np.array([5.0, 1.0, 9.0, 7.0])
    # The dearest three eighths are the 9 and half of the 7.
    assert Cvar(0.375, 0.4).of(costs) == pytest.approx(0.6 * 5.5 + 0.4 * (9.0 + 0.5 * 7.0) / 1.5)
    assert Cvar(1.0, 0.4).of(costs) == pytest.approx(5.5)


def test_equal_costs_are_told_apart_by_their_order():
    weights = Cvar(0.25, 1.0).weights(np.array([[1.0, 2.0, 2.0, 0.0]]), np.full(4, 0.25))
    assert weights.tolist() == [[0.0, 1.0, 0.0, 0.0]]


def test_a_row_does_not_depend_on_those_beside_it():
    values = np.random.default_rng(3).normal(size=(9, 6))
    measure, probability = Cvar(0.4, 0.5), np.full(6, 1.0 / 6.0)
    whole = measure.weights(values, probability)
    for k in range(9):
        assert measure.weights(values[k : k + 1], probability).tobytes() == whole[k : k + 1].tobytes()
