"""What only the dense solver promises: it believes nothing that is not so, and leaves the rest to HiGHS."""

from __future__ import annotations

import math
import resource
from pathlib import Path

import numpy as np
import pytest

from lp.test_stage_solvers import NOISES, STATES, random_cuts, random_template
from pycobre.lp import BASIC, Assembly, DenseSolver, HighsSolver, Starts, stage_solver
from pycobre.lp import dense as dense_module
from pycobre.lp.dense import rows_of_inverse

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


def with_limits(seed):
    """The random problem with rows of one bound: a least outflow that may be missed, and a ceiling."""
    rng = np.random.default_rng(seed)
    lp = Assembly(f"limits {seed}")
    storages = [lp.column(f"v{h}", upper=50.0) for h in range(2)]
    demand, ceiling = lp.row("demand", 40.0, 40.0), lp.row("ceiling", -np.inf, 18.0)
    for j in range(5):
        g = lp.column(f"g{j}", cost=rng.uniform(1, 100), upper=rng.uniform(2, 9))
        lp.add(demand, g, 1.0)
        lp.add(ceiling, g, 1.0)
    lp.add(demand, lp.column("deficit", cost=500.0), 1.0)
    for h in range(2):
        q, s, missed = (
            lp.column(f"{name}{h}", cost=cost) for name, cost in (("q", 0), ("s", 0.01), ("m", 7))
        )
        lp.add(demand, q, rng.uniform(0.6, 1.2))
        water, least = lp.row(f"water{h}", 6.0, 6.0), lp.row(f"least{h}", 9.0, np.inf)
        for column in (storages[h], q, s):
            lp.add(water, column, 1.0)
        for column in (q, s, missed):
            lp.add(least, column, 1.0)
        lp.move_by_state(water, h, 1.0)
        lp.move_by_state(least, 2, 0.2)
        lp.move_by_noise(water, h, 1.5)
    return lp.template(
        states_in=STATES,
        noises=NOISES,
        state_columns=storages,
        carried_constant=[2.0],
        carried_state=[(0, 2, 0.5)],
        carried_noise=[(0, 2, 1.0)],
    )


@pytest.mark.parametrize("seed", range(5))
def test_rows_with_one_bound_are_out_of_the_inverse_and_nobody_sees_it(seed):
    rng = np.random.default_rng(30 + seed)
    template = with_limits(seed)
    assert rows_of_inverse(template) == 3 < len(template.row_lower)
    dense, highs = both(template, *random_cuts(rng, 9))
    states, openings = rng.uniform(0.0, 40.0, (25, STATES)), rng.standard_normal((8, NOISES))
    ours = dense.expectation(states, openings, WEIGHTS, Starts.slacks(25))
    theirs = highs.expectation(states, openings, WEIGHTS, Starts.slacks(25))
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)
    assert ours.slope == pytest.approx(theirs.slope, rel=1e-6, abs=1e-6)
    # Duals and bases are those of the whole problem: each solver starts from the other's, and stays there.
    noises = openings[rng.integers(0, 8, 25)]
    own = dense.dispatch(states, noises, Starts(np.arange(25)), full=True, bases=True)
    before = highs.counts.pivots
    same = highs.dispatch(states, noises, Starts.each(own.basis), full=True, bases=True)
    assert highs.counts.pivots == before
    assert own.row_dual == pytest.approx(same.row_dual, abs=1e-7)
    assert (own.row_dual[:, [template.row_names.index(f"least{h}") for h in range(2)]] > 0.0).any()
    before = dense.counts.pivots
    again = dense.dispatch(states, noises, Starts.each(same.basis), full=True)
    assert dense.counts.pivots == before
    assert again.primal == pytest.approx(own.primal, abs=1e-9)
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


@pytest.mark.parametrize("seed", range(20))
def test_a_demand_that_takes_every_plant_whole_is_solved(seed):
    """Their limits, taken off it one by one, leave what rounding leaves: nothing that needs another pivot."""
    rng = np.random.default_rng(seed)
    limits = rng.permutation(0.1 * rng.integers(1, 90, 12))
    lp = Assembly("whole")
    storage, total = lp.column("v", upper=50.0), math.fsum(limits)
    demand, water = lp.row("demand", total, total), lp.row("water", 0.0, 0.0)
    lp.add(water, storage, 1.0)
    lp.move_by_state(water, 0, 1.0)
    for j, limit in enumerate(limits):
        lp.add(demand, lp.column(f"g{j}", cost=j + 1.0, upper=limit), 1.0)
    template = lp.template(
        states_in=1,
        noises=1,
        state_columns=[storage],
        carried_constant=[],
        carried_state=[],
        carried_noise=[],
    )
    solver = DenseSolver(template, future_lower=0.0)
    found = solver.expectation(np.array([[7.0]]), np.zeros((1, 1)), np.ones(1), Starts.slacks(1))
    assert found.value == pytest.approx([float(np.arange(1.0, 13.0) @ limits)], rel=1e-12)
    assert solver.counts.handed_over == 0


def test_what_right_hand_sides_take_is_taken_once_and_not_by_each_stage():
    """The heights of all cuts for each of 128 at once: 20 MB here, and a study has dozens of stages."""
    rng = np.random.default_rng(31)
    solvers = [DenseSolver(random_template(7), future_lower=0.0) for _ in range(8)]
    states, openings = rng.uniform(0.0, 50.0, (16, STATES)), rng.standard_normal((8, NOISES))
    taken = []
    for solver in solvers:
        solver.add_cuts(*random_cuts(rng, 20_000))
        solver.expectation(states, openings, WEIGHTS, Starts.slacks(16))
        taken.append(resident_mb())
    assert taken[-1] - taken[0] < 40


def resident_mb() -> float:
    """What of this process lies in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def test_size_chooses_the_solver_unless_told(monkeypatch):
    template = random_template(9)
    assert isinstance(stage_solver(template, future_lower=0.0), DenseSolver)
    assert isinstance(stage_solver(template, "highs", future_lower=0.0), HighsSolver)
    monkeypatch.setattr(dense_module, "MOST_ROWS", rows_of_inverse(template) - 1)
    assert isinstance(stage_solver(template, future_lower=0.0), HighsSolver)
    assert isinstance(stage_solver(template, "dense", future_lower=0.0), DenseSolver)
