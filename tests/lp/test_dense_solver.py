"""What only the dense solver promises: it believes nothing that is not so, and leaves the rest to HiGHS."""

from __future__ import annotations

import numpy as np
import pytest

from lp.test_stage_solvers import NOISES, STATES, random_cuts, random_template
from pycobre.lp import BASIC, DenseSolver, HighsSolver, Starts, stage_solver

WEIGHTS = np.full(8, 0.125)


def both(template, intercepts, slopes):
    solvers = DenseSolver(template, future_lower=0.0), HighsSolver(template, future_lower=0.0)
    for solver in solvers:
        solver.add_cuts(intercepts, slopes)
    return solvers


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9])
def test_cuts_that_are_nearly_parallel_give_the_values_of_highs(apart):
    """Their rows make bases that are nearly singular, as late in a training."""
    rng = np.random.default_rng(21)
    intercepts, slopes = (np.repeat(part, 30, axis=0) for part in random_cuts(rng, 5))
    slopes = slopes * (1.0 + apart * rng.standard_normal(slopes.shape))
    intercepts = intercepts * (1.0 + apart * rng.standard_normal(intercepts.shape))
    dense, highs = both(random_template(4), intercepts, slopes)
    starts = Starts.slacks(40)
    states, openings = rng.uniform(0.0, 50.0, (40, STATES)), rng.standard_normal((8, NOISES))
    for _ in range(3):
        found = dense.expectation(states, openings, WEIGHTS, starts)
        expected = highs.expectation(states, openings, WEIGHTS, Starts.slacks(40))
        assert found.value == pytest.approx(expected.value, rel=1e-9)
        starts = Starts.each(found.basis)


def test_every_value_is_a_bound_that_its_slope_extends():
    """A wrong dual would lift the cut above the value somewhere else."""
    rng = np.random.default_rng(22)
    dense, _ = both(random_template(5), *random_cuts(rng, 60))
    states, openings = rng.uniform(0.0, 50.0, (30, STATES)), rng.standard_normal((8, NOISES))
    found = dense.expectation(states, openings, WEIGHTS, Starts.slacks(30))
    heights = found.value[:, None] + np.einsum(
        "ax,abx->ab", found.slope, states[None, :, :] - states[:, None, :]
    )
    assert (heights <= found.value * (1.0 + 1e-9) + 1e-6).all()


def test_a_start_that_is_no_basis_or_not_dual_feasible_is_left_out():
    rng = np.random.default_rng(23)
    template = random_template(6)
    dense, highs = both(template, *random_cuts(rng, 12))
    states, openings = rng.uniform(0.0, 50.0, (9, STATES)), rng.standard_normal((8, NOISES))
    good = dense.expectation(states, openings, WEIGHTS, Starts.slacks(9)).basis
    expected = highs.expectation(states, openings, WEIGHTS, Starts.slacks(9)).value
    nonsense = rng.integers(0, 4, good.shape).astype(np.int8)
    exchanged = good.copy()  # as many basic variables, but others
    exchanged[:, : len(template.cost)] = good[:, : len(template.cost)][:, ::-1]
    for bases in (nonsense, exchanged, np.concatenate([nonsense, good])):
        found = dense.expectation(states, openings, WEIGHTS, Starts(np.zeros(9, dtype=np.int64), bases))
        assert found.value == pytest.approx(expected, rel=1e-9)
    assert dense.counts.handed_over == 0


def test_a_basis_says_which_cuts_are_binding():
    rng = np.random.default_rng(24)
    dense, highs = both(random_template(7), *random_cuts(rng, 25))
    states, openings = rng.uniform(0.0, 50.0, (12, STATES)), rng.standard_normal((8, NOISES))
    ours = dense.expectation(states, openings, WEIGHTS, Starts.slacks(12)).basis
    theirs = highs.expectation(states, openings, WEIGHTS, Starts.slacks(12)).basis
    assert ((ours[:, -25:] != BASIC) == (theirs[:, -25:] != BASIC)).all()
    assert (ours[:, -25:] != BASIC).any(axis=1).all()


def test_what_is_left_to_highs_is_solved_with_all_cuts():
    """Cuts that came before and after HiGHS was first asked."""
    rng = np.random.default_rng(25)
    template = random_template(8)
    dense, highs = both(template, *random_cuts(rng, 9))
    state, noise = rng.uniform(5.0, 40.0, (1, STATES)), rng.standard_normal((1, NOISES))
    reference = dense.reference().dispatch(state, noise, Starts.slacks(1))
    assert reference.objective == pytest.approx(highs.dispatch(state, noise, Starts.slacks(1)).objective)
    dense.add_cuts(*random_cuts(rng, 3))
    assert dense.reference().cuts == 12
    assert dense.counts.handed_over == 0


def test_size_chooses_the_solver_unless_told():
    template = random_template(9)
    assert isinstance(stage_solver(template, future_lower=0.0), DenseSolver)
    assert isinstance(stage_solver(template, "highs", future_lower=0.0), HighsSolver)
