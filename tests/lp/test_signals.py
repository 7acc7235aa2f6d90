"""A signal's handler runs amid a batch that takes long, and ends it by what it raises."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

from lp.test_stage_solvers import NOISES, random_cuts, random_template
from pycobre.lp import Assembly, DenseSolver, HighsSolver, Starts
from pycobre.lp.dense import rows_of_inverse
from pycobre.lp.solver import all_openings

WEIGHTS = np.full(8, 0.125)
BATCH_SECS = 3.0
ALARM_SECS = 0.2


class Enough(Exception):
    pass


def wide_template():
    """Reservoirs enough that the dense solver takes the openings of a state in turn."""
    rng = np.random.default_rng(2)
    lp = Assembly("wide")
    storages = [lp.column(f"v{h}", upper=50.0) for h in range(18)]
    demand = lp.row("demand", 200.0, 200.0)
    for j in range(9):
        lp.add(demand, lp.column(f"g{j}", cost=rng.uniform(1, 100), upper=rng.uniform(5, 30)), 1.0)
    lp.add(demand, lp.column("deficit", cost=500.0), 1.0)
    for h, storage in enumerate(storages):
        q, s = lp.column(f"q{h}", upper=15.0), lp.column(f"s{h}", cost=0.01)
        lp.add(demand, q, rng.uniform(0.6, 1.2))
        water = lp.row(f"water{h}", 6.0, 6.0)
        for column in (storage, q, s):
            lp.add(water, column, 1.0)
        lp.move_by_state(water, h, 1.0)
        lp.move_by_noise(water, h % NOISES, 1.5)
    return lp.template(
        states_in=18,
        noises=NOISES,
        state_columns=storages,
        carried_constant=[],
        carried_state=[],
        carried_noise=[],
    )


def expectation(solver, states, openings):
    found = solver.expectation(states, openings, WEIGHTS, Starts.slacks(len(states)))
    return np.column_stack([found.value, found.slope])


def by_opening(solver, states, openings):
    return solver.by_opening(
        states, openings, Starts.slacks(len(states)), all_openings(states, openings)
    ).value


def dispatch(solver, states, openings):
    noises = openings[np.arange(len(states)) % len(openings)]
    return solver.dispatch(states, noises, Starts.slacks(len(states))).objective


@pytest.fixture(
    params=[
        (HighsSolver, random_template, expectation, 1),
        (HighsSolver, random_template, by_opening, 2),
        (DenseSolver, random_template, expectation, 1),
        (DenseSolver, random_template, dispatch, 2),
        (DenseSolver, wide_template, expectation, 2),
    ],
    ids=lambda param: "-".join(str(getattr(part, "__name__", part)) for part in param),
)
def work(request):
    """What solves some states so many times over, how many times take long, and what counts problems."""
    kind, make, call, threads = request.param
    template = make() if make is wide_template else make(7)
    assert (rows_of_inverse(template) >= 16) == (make is wide_template)
    solver = kind(template, future_lower=0.0, threads=threads)
    rng = np.random.default_rng(1)
    if make is random_template:
        solver.add_cuts(*random_cuts(rng, 20))
    openings, count = rng.standard_normal((8, NOISES)), 400
    states = rng.uniform(0.0, 50.0, (count, template.row_state.shape[1]))
    taken = []
    for _ in range(5):  # the quickest: others may have waited for a processor
        began = time.perf_counter()
        call(solver, states, openings)
        taken.append(time.perf_counter() - began)
    many = round(BATCH_SECS / min(taken)) + 1

    def run(times=1):
        return call(solver, np.tile(states, (times, 1)), openings)

    return run, many, lambda: solver.counts.solves


@pytest.fixture
def alarm():
    """Has a handler called a while after it is set."""
    before = signal.getsignal(signal.SIGALRM)

    def ring(handler):
        signal.signal(signal.SIGALRM, lambda number, frame: handler())
        signal.setitimer(signal.ITIMER_REAL, ALARM_SECS)

    yield ring
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


def test_what_a_handler_raises_ends_a_batch_and_leaves_the_solver_as_it_was(work, alarm):
    run, many, solved = work
    before = solved()
    expected = run()
    one = solved() - before

    def refuse():
        raise Enough

    alarm(refuse)
    with pytest.raises(Enough):
        run(many)
    assert solved() - before - one < many * one  # not after it
    assert run().tobytes() == expected.tobytes()


def test_a_handler_that_raises_nothing_changes_nothing(work, alarm):
    run, many, solved = work
    expected = np.tile(run().T, many).T
    seen = []
    alarm(lambda: seen.append(solved()))
    assert run(many).tobytes() == expected.tobytes()
    assert seen[0] < solved()  # amid it
