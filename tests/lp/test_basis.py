"""Bases that one problem hands to the next: what they keep, and that they only shorten the way."""

from __future__ import annotations

import numpy as np
import pytest

from pycobre.lp import BASIC, Assembly, HighsSolver, Starts, basis_by_name


def template(name, plants):
    """Plants that share a demand; some plants are the same in two problems, others only in one."""
    lp = Assembly(name)
    demand = lp.row("demand", 50.0, 50.0)
    lp.move_by_noise(demand, 0, 5.0)
    storages = [lp.column("storage", upper=90.0)]
    water = lp.row("water", 10.0, 10.0)
    lp.add(water, storages[0], 1.0)
    lp.move_by_state(water, 0, 1.0)
    for plant in plants:
        flow = lp.column(f"flow {plant}", cost=0.01 * plant, upper=6.0 + plant)
        lp.add(water, flow, 1.0)
        lp.add(demand, flow, 0.9)
        lp.add(demand, lp.column(f"thermal {plant}", cost=20.0 + plant, upper=8.0), 1.0)
    lp.add(demand, lp.column("deficit", cost=500.0), 1.0)
    return lp.template(
        states_in=1,
        noises=1,
        state_columns=storages,
        carried_constant=[],
        carried_state=[],
        carried_noise=[],
    )


def dispatch(solver, starts):
    states = np.array([[5.0], [20.0], [60.0]])
    noises = np.array([[-0.5], [0.1], [0.8]])
    before = solver.counts.pivots
    found = solver.dispatch(states, noises, starts, bases=True)
    return found, solver.counts.pivots - before


def solver_of(which):
    solver = HighsSolver(which, future_lower=0.0)
    solver.add_cuts(np.array([900.0]), np.array([[-15.0]]))
    return solver


def test_what_both_problems_know_keeps_its_status():
    names = (("flow", "spill"), ("demand", "plane"))
    wanted = (("spill", "new flow", "flow"), ("new plane", "demand"))
    basis = np.array([[BASIC, 2, 0, 5]], dtype=np.int8)
    assert basis_by_name(basis, names, wanted).tolist() == [[2, 0, BASIC, BASIC, 0]]


def test_a_problem_that_starts_from_its_own_optimal_basis_takes_no_pivot():
    solver = solver_of(template("stage", range(1, 6)))
    first, pivots = dispatch(solver, Starts.slacks(3))
    again, none = dispatch(solver, Starts.each(first.basis))
    assert pivots > 0
    assert none == 0
    assert again.objective == pytest.approx(first.objective, rel=1e-12)
    assert again.basis.tobytes() == first.basis.tobytes()


def test_no_bases_are_made_that_nobody_asks_for():
    solver = solver_of(template("stage", range(1, 6)))
    found = solver.dispatch(np.array([[5.0]]), np.array([[0.0]]), Starts.slacks(1))
    assert found.basis.shape == (0, solver.basis_length)


def test_a_start_from_another_stage_shortens_the_way_to_the_same_optimum():
    """Plants 1 and 7 are in one stage alone: the basis that is read has a wrong number of basic entries."""
    before, after = solver_of(template("before", range(1, 7))), solver_of(template("after", range(2, 8)))
    known, _ = dispatch(before, Starts.slacks(3))
    plain, pivots = dispatch(after, Starts.slacks(3))
    start = basis_by_name(known.basis, before.basis_names, after.basis_names)
    assert start.shape == (3, after.basis_length - 1)  # the cut is younger
    found, fewer = dispatch(after, Starts.each(start))
    assert found.objective == pytest.approx(plain.objective, rel=1e-9)
    assert fewer < pivots
