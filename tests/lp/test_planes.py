"""Planes apart from the core rows: the same optimum as with all of them as rows, from the same bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pycobre.lp import BASIC, Assembly, DenseSolver, HighsSolver, Starts
from pycobre.lp.dense import rows_of_inverse

PLANES = 12
STATES, NOISES = 2, 1
OPENINGS = np.random.default_rng(4).standard_normal((5, NOISES))
WEIGHTS = np.full(5, 0.2)


def template(*, apart):
    """Two plants whose generation is concave in storage and flow, as planes apart or as plain rows."""
    rng = np.random.default_rng(7)
    lp = Assembly("two plants")
    storages = [lp.column(f"v{h}", upper=60.0) for h in range(2)]
    demand = lp.row("demand", 40.0, 40.0)
    lp.move_by_noise(demand, 0, 4.0)
    lp.add(demand, lp.column("thermal", cost=30.0, upper=15.0), 1.0)
    lp.add(demand, lp.column("deficit", cost=400.0), 1.0)
    for h, storage in enumerate(storages):
        q, s = lp.column(f"q{h}", cost=0.1, upper=25.0), lp.column(f"s{h}", cost=0.2)
        g = lp.column(f"generation_mw[hydro {h}]", upper=30.0)
        lp.add(demand, g, 1.0)
        water = lp.row(f"water{h}", 10.0, 10.0)
        for column in (storage, q, s):
            lp.add(water, column, 1.0)
        lp.move_by_state(water, h, 1.0)
        for k, flow in enumerate(np.linspace(0.0, 25.0, PLANES)):  # tangents of √q, steeper when full
            slope, half = 4.0 / math.sqrt(flow + 1.0), 0.01 * (k + 1) * float(rng.uniform(0.5, 1.0))
            constant = slope * (flow / 2.0 + 1.0)
            terms = [(q, slope), (s, -0.02), (storage, half)]
            if apart:
                lp.plane(g, constant, terms, [(h, half)])
            else:
                row = lp.row(f"plane {h} {k}", -math.inf, constant)
                lp.add(row, g, 1.0)
                for column, factor in terms:
                    lp.add(row, column, -factor)
                lp.move_by_state(row, h, half)
    return lp.template(
        states_in=STATES,
        noises=NOISES,
        state_columns=storages,
        carried_constant=[],
        carried_state=[],
        carried_noise=[],
    )


@pytest.fixture(params=[HighsSolver, DenseSolver], ids=["highs", "dense"])
def solver_of(request):
    def made(which, threads=1):
        solver = request.param(which, future_lower=0.0, threads=threads)
        solver.add_cuts(np.array([900.0, 2000.0]), np.array([[-8.0, -6.0], [-30.0, -20.0]]))
        return solver

    return made


def states(count):
    return np.random.default_rng(11).uniform(0.0, 50.0, (count, STATES))


def test_planes_apart_cost_and_slope_as_planes_that_are_rows(solver_of):
    trial = states(30)
    apart = solver_of(template(apart=True)).expectation(trial, OPENINGS, WEIGHTS, Starts.slacks(30))
    rows = solver_of(template(apart=False)).expectation(trial, OPENINGS, WEIGHTS, Starts.slacks(30))
    assert apart.value == pytest.approx(rows.value, rel=1e-9)
    assert apart.slope == pytest.approx(rows.slope, rel=1e-6, abs=1e-6)


def test_planes_move_the_slope_with_the_storage_that_comes_in(solver_of):
    """Without the planes' share the slope would be that of the water balance alone."""
    which, state, step = template(apart=True), np.array([[20.0, 30.0]]), 1e-4
    solver = solver_of(which)
    found = solver.expectation(state, OPENINGS, WEIGHTS, Starts.slacks(1))
    for h in range(STATES):
        further = state.copy()
        further[0, h] += step
        after = solver.expectation(further, OPENINGS, WEIGHTS, Starts.slacks(1)).value
        assert found.slope[0, h] == pytest.approx((after - found.value)[0] / step, rel=1e-4)


def test_every_plane_holds_in_the_dispatch(solver_of):
    which, trial = template(apart=True), states(20)
    noise = np.random.default_rng(12).standard_normal((20, NOISES))
    x = solver_of(which).dispatch(trial, noise, Starts.slacks(20), full=True).primal
    planes = which.planes
    left = x @ planes.matrix.toarray().T - trial @ planes.state.toarray().T
    assert (left <= planes.upper + 1e-7).all()
    assert (np.isclose(left, planes.upper).sum(axis=1) > 0).all()  # and they are what holds generation back


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_do_not_depend_on_what_was_solved_before(solver_of, threads):
    which, trial = template(apart=True), states(12)
    first = solver_of(which).expectation(trial, OPENINGS, WEIGHTS, Starts.slacks(12))
    binding = (first.basis[:, -2 - 2 * PLANES : -2] != BASIC).sum(axis=1)
    assert (binding > 0).all()
    assert (binding < 2 * PLANES).all()
    known = first.basis
    plain, other = solver_of(which), solver_of(which, threads)
    expected = plain.expectation(trial, OPENINGS, WEIGHTS, Starts.each(known))
    other.expectation(trial[::-2].copy(), OPENINGS[::-1].copy(), WEIGHTS, Starts.slacks(6))  # unrelated
    for piece in (range(7, 12), range(7)):
        found = other.expectation(trial[piece], OPENINGS, WEIGHTS, Starts(np.array(piece), known))
        assert found.value.tobytes() == expected.value[piece].tobytes()
        assert found.slope.tobytes() == expected.slope[piece].tobytes()
        assert found.basis.tobytes() == expected.basis[piece].tobytes()


def test_any_start_basis_gives_the_same_optimum(solver_of):
    """What the basis brings along is where the search begins, not what holds."""
    which, trial = template(apart=True), states(8)
    expected = solver_of(which).expectation(trial, OPENINGS, WEIGHTS, Starts.slacks(8))
    solver = solver_of(which)
    solver.choose_rows(np.empty(0, dtype=np.int32))
    found = solver.expectation(trial, OPENINGS, WEIGHTS, Starts.each(expected.basis[::-1].copy()))
    assert found.value == pytest.approx(expected.value, rel=1e-9)


def test_one_plane_of_each_column_counts_as_a_row():
    assert rows_of_inverse(template(apart=True)) == 5  # demand, water and a plane of both plants
    assert rows_of_inverse(template(apart=False)) == 3


def test_planes_are_named_after_the_column_that_they_limit():
    which = template(apart=True)
    names = which.planes.names(which.column_names)
    assert names[0] == "plane_0_mw[hydro 0]"
    assert names[-1] == f"plane_{PLANES - 1}_mw[hydro 1]"
