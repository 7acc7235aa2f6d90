"""The stage solvers against scipy, and their promise that history changes nothing."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy.optimize import linprog

from pycobre.lp import Assembly, DenseSolver, HighsSolver, StageUnsolved, Starts, cost_scale_of, ladder

STATES, NOISES = 3, 4


def random_template(seed, carried=True):
    """A reservoir system: three storages, the last state an inflow that is carried on."""
    rng = np.random.default_rng(seed)
    lp = Assembly(f"random {seed}")
    storages = [lp.column(f"v{h}", upper=50.0) for h in range(2)]
    demand = lp.row("demand", 40.0, 40.0)
    for j in range(6):
        lp.add(demand, lp.column(f"g{j}", cost=rng.uniform(1, 100), upper=rng.uniform(2, 9)), 1.0)
    lp.add(demand, lp.column("deficit", cost=500.0), 1.0)
    lp.move_by_noise(demand, 3, 2.0)
    for h in range(2):
        q, s = lp.column(f"q{h}", upper=15.0), lp.column(f"s{h}", cost=0.01)
        lp.add(demand, q, rng.uniform(0.6, 1.2))
        water = lp.row(f"water{h}", 6.0, 6.0)
        for column in (storages[h], q, s):
            lp.add(water, column, 1.0)
        lp.move_by_state(water, h, 1.0)
        lp.move_by_state(water, 2, 0.3)
        lp.move_by_noise(water, h, 1.5)
    return lp.template(
        states_in=STATES,
        noises=NOISES,
        state_columns=storages,
        carried_constant=[2.0] if carried else [],
        carried_state=[(0, 2, 0.5)] if carried else [],
        carried_noise=[(0, 2, 1.0)] if carried else [],
    )


def random_cuts(rng, count):
    return rng.uniform(100, 4000, count), -rng.uniform(1, 60, (count, STATES))


def reference(template, state, noise, intercepts, slopes):
    """Optimal value by scipy with the future cost as one more column."""
    n = len(template.cost)
    shift = template.row_state.toarray() @ state + template.row_noise.toarray() @ noise
    carried = (
        template.carried_constant
        + template.carried_state.toarray() @ state
        + template.carried_noise.toarray() @ noise
    )
    a = np.hstack([template.matrix.toarray(), np.zeros((len(shift), 1))])
    cut_rows = np.zeros((len(intercepts), n + 1))
    cut_rows[:, template.state_columns] = slopes[:, : len(template.state_columns)]
    cut_rows[:, n] = -1.0
    cut_upper = -(intercepts + slopes[:, len(template.state_columns) :] @ carried)
    found = linprog(
        [*template.cost, 1.0],
        A_ub=cut_rows,
        b_ub=cut_upper,
        A_eq=a,
        b_eq=template.row_lower + shift,
        bounds=[*zip(template.column_lower, template.column_upper, strict=True), (0.0, None)],
        method="highs",
    )
    assert found.status == 0
    return found.fun


@pytest.fixture(params=[HighsSolver, DenseSolver], ids=["highs", "dense"])
def solver_kind(request):
    return request.param


@pytest.mark.parametrize("seed", range(8))
def test_value_and_slope_agree_with_scipy(solver_kind, seed):
    rng = np.random.default_rng(100 + seed)
    template = random_template(seed)
    solver = solver_kind(template, future_lower=0.0, cost_scale=64.0)
    intercepts, slopes = random_cuts(rng, 12)
    solver.add_cuts(intercepts, slopes)
    state = rng.uniform(5, 40, (1, STATES))
    openings = rng.standard_normal((5, NOISES))
    weights = np.full(5, 0.2)

    def value(at):
        return math.fsum(0.2 * reference(template, at, w, intercepts, slopes) for w in openings)

    found = solver.expectation(state, openings, weights, Starts.slacks(1))
    assert found.value[0] == pytest.approx(value(state[0]), rel=1e-9)
    # The slope is a subgradient: the cut it gives lies below the value function everywhere.
    for _ in range(10):
        other = rng.uniform(5, 40, STATES)
        assert found.value[0] + found.slope[0] @ (other - state[0]) <= value(other) * (1 + 1e-9) + 1e-6


def test_dispatch_agrees_with_scipy_and_with_its_own_parts(solver_kind):
    template, rng = random_template(3), np.random.default_rng(5)
    solver = solver_kind(template, future_lower=0.0)
    intercepts, slopes = random_cuts(rng, 6)
    solver.add_cuts(intercepts, slopes)
    states, noises = rng.uniform(5, 40, (7, STATES)), rng.standard_normal((7, NOISES))
    found = solver.dispatch(states, noises, Starts.slacks(7), full=True)
    for k in range(7):
        assert found.objective[k] == pytest.approx(
            reference(template, states[k], noises[k], intercepts, slopes), rel=1e-9
        )
    assert found.objective == pytest.approx(found.primal @ template.cost + found.future, rel=1e-12)
    assert (found.next_state[:, :2] == np.clip(found.primal[:, template.state_columns], 0.0, 50.0)).all()
    assert found.next_state[:, 2] == pytest.approx(2.0 + 0.5 * states[:, 2] + noises[:, 2])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("pieces", [1, 2, 3, 4, 5, 6, 7])
def test_bits_do_not_depend_on_batch_order_or_threads(solver_kind, threads, pieces):
    """A batch split in 1 to 7 pieces, permuted, on 1 to 3 threads, after unrelated work: the same bits."""
    template, rng = random_template(1), np.random.default_rng(9)
    intercepts, slopes = random_cuts(rng, 40)
    states, openings = rng.uniform(0, 45, (20, STATES)), rng.standard_normal((6, NOISES))
    weights = np.full(6, 1.0 / 6.0)

    plain = solver_kind(template, future_lower=0.0)
    plain.add_cuts(intercepts, slopes)
    start = plain.expectation(states[:1], openings, weights, Starts.slacks(1)).basis
    start = np.concatenate([start, plain.expectation(states[5:9], openings, weights, Starts.slacks(4)).basis])
    own = np.arange(20) % len(start)
    expected = plain.expectation(states, openings, weights, Starts(own, start))

    other = solver_kind(template, future_lower=0.0, threads=threads)
    other.add_cuts(intercepts[:25], slopes[:25])
    other.expectation(states[::-3].copy(), openings[::-1].copy(), weights, Starts.slacks(7))  # unrelated
    other.add_cuts(intercepts[25:], slopes[25:])
    order = np.random.default_rng(pieces).permutation(20)
    for piece in np.array_split(order, pieces):
        found = other.expectation(states[piece], openings, weights, Starts(own[piece], start))
        assert found.value.tobytes() == expected.value[piece].tobytes()
        assert found.slope.tobytes() == expected.slope[piece].tobytes()
        assert found.basis.tobytes() == expected.basis[piece].tobytes()


def test_cut_row_holds_no_more_than_decided_states_and_future_cost(tmp_path):
    """The carried state is in the row's bound, not among its coefficients."""
    template = random_template(2)
    solver = HighsSolver(template, future_lower=0.0)
    solver.add_cuts(*random_cuts(np.random.default_rng(1), 3))
    dump = tmp_path / "stage.mps"
    solver.explain(np.full(STATES, 10.0), np.zeros(NOISES), str(dump))
    entries = re.findall(r"cut_0\b", dump.read_text().partition("COLUMNS")[2].partition("RHS")[0])
    assert len(entries) == 2 + 1


def test_infeasible_problem_names_the_rows_in_conflict(solver_kind, tmp_path):
    lp = Assembly("tight")
    v = lp.column("storage_hm3[hydro 7]", upper=10.0)
    q = lp.column("turbined_m3s[hydro 7]", upper=5.0)
    water, need = lp.row("water_hm3[hydro 7]", 0.0, 0.0), lp.row("outflow_min[hydro 7]", 8.0, math.inf)
    lp.add(water, v, 1.0)
    lp.add(water, q, 1.0)
    lp.move_by_state(water, 0, 1.0)
    lp.add(need, q, 1.0)
    template = lp.template(states_in=1, noises=0, state_columns=[v],
                           carried_constant=[], carried_state=[], carried_noise=[])  # fmt: skip
    solver = solver_kind(template, future_lower=None)
    state, noise = np.array([[3.0]]), np.zeros((1, 0))
    with pytest.raises(StageUnsolved) as caught:
        solver.dispatch(state, noise, Starts.slacks(1))
    assert caught.value.unsolved.status == "infeasible"
    dump = tmp_path / "tight.mps"
    explained = solver.explain(state[0], noise[0], str(dump))
    assert "outflow_min[hydro 7]" in explained.conflict
    assert "outflow_min[hydro_7]" in dump.read_text()  # MPS names hold no blanks
    assert not explained.trouble


def test_a_solve_that_takes_too_many_pivots_has_failed_and_says_so(monkeypatch):
    """HiGHS may go round among optimal bases for ever."""
    monkeypatch.setattr(ladder, "LEAST_LIMIT", 1)
    monkeypatch.setattr(ladder, "PIVOTS_OF_ONE", 0)
    solver = HighsSolver(random_template(3), future_lower=0.0)
    with pytest.raises(StageUnsolved) as caught:
        solver.dispatch(np.full((1, STATES), 20.0), np.zeros((1, NOISES)), Starts.slacks(1))
    assert caught.value.unsolved.status == "not solved (too many pivots)"


def test_wrong_shapes_are_refused(solver_kind):
    solver = solver_kind(random_template(0), future_lower=0.0)
    with pytest.raises(ValueError, match="states"):
        solver.dispatch(np.zeros((1, STATES + 1)), np.zeros((1, NOISES)), Starts.slacks(1))
    with pytest.raises(ValueError, match="slopes"):
        solver.add_cuts(np.zeros(1), np.zeros((1, STATES + 1)))


def test_costs_are_scaled_by_a_power_of_two_so_that_the_largest_is_large():
    """HiGHS's tolerances are absolute: costs of about one would let it stop early."""
    scale = cost_scale_of([random_template(0)])
    assert math.frexp(scale)[0] == 0.5
    assert 2**14.5 <= 500.0 / scale < 2**15.5


PLACES = 5
AROUND = np.vstack([np.zeros(PLACES), 20.0 * np.eye(PLACES)])
"""Around the first one others ask for more at a place each: one would have to undo what another did."""


@pytest.fixture
def star():
    """A problem for openings :data:`AROUND`, by HiGHS."""
    lp = Assembly("star")
    for place in range(PLACES):
        demand = lp.row(f"demand{place}", 10.0, 10.0)
        for j in range(6):
            lp.add(demand, lp.column(f"g{place},{j}", cost=1.0 + j + place / 7, upper=7.0), 1.0)
        lp.move_by_noise(demand, place, 1.0)
    template = lp.template(
        states_in=1, noises=PLACES, state_columns=[], carried_constant=[], carried_state=[], carried_noise=[]
    )
    return HighsSolver(template, future_lower=None)


def pivots_of(solver, which, start):
    """Of a unit with openings *which* of those around the first."""
    before = solver.counts.pivots
    solver.expectation(np.zeros((1, 1)), AROUND[which], np.full(len(which), 0.1), start)
    return solver.counts.pivots - before


def test_an_opening_starts_from_the_nearest_optimum_of_its_unit_not_from_the_last(star):
    alone = pivots_of(star, [0], Starts.slacks(1))
    more = [pivots_of(star, [0, k], Starts.slacks(1)) - alone for k in range(1, PLACES + 1)]
    assert min(more) > 0
    assert pivots_of(star, [0, *range(1, PLACES + 1)], Starts.slacks(1)) == alone + sum(more)


@pytest.mark.parametrize("met", range(PLACES + 1))
def test_the_opening_that_a_dispatch_met_goes_first_where_a_unit_starts_from_it(star, met):
    every = list(range(PLACES + 1))
    noise = AROUND[met : met + 1].copy()
    basis = star.dispatch(np.zeros((1, 1)), noise, Starts.slacks(1), bases=True).basis
    start = Starts(np.zeros(1, dtype=np.int64), basis, noise)
    assert pivots_of(star, [met], start) == 0
    back = pivots_of(star, [0], start)  # from it to the first one, around which the others are
    more = [pivots_of(star, [0, k], start) - back for k in every if k not in (0, met)]
    assert pivots_of(star, every, start) == back + sum(more)
    backwards = every[::-1]  # which solves the same ones, whatever comes first in the unit
    assert pivots_of(star, backwards, start) == back + sum(more)
