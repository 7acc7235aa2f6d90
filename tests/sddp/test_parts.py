"""Units of work: how a trial point's openings are parted."""

from __future__ import annotations

import numpy as np
import pytest

from pycobre.comm import LocalCommunicator
from pycobre.lp import Assembly, HighsSolver, Starts
from pycobre.sddp import IterationLimit, Node, Policy, PolicyGraph, Stopping, TrainingSettings, train
from pycobre.sddp.parts import Parts, distances, draw_together, openings_a_part


@pytest.mark.parametrize(
    ("openings", "points", "most"),
    [(20, 8, 20), (20, 100, 20), (20, 4, 10), (20, 1, 5), (3, 1, 3), (50, 1, 7), (50, 3, 17), (1, 1, 1)],
)
def test_openings_are_parted_only_where_there_are_few_points(openings: int, points: int, most: int) -> None:
    assert openings_a_part(openings, points) == most


@pytest.mark.parametrize(("openings", "most"), [(1, 1), (7, 3), (20, 10), (20, 20), (23, 5)])
def test_every_opening_has_one_place_and_parts_are_as_even_as_can_be(openings: int, most: int) -> None:
    parts = Parts(np.random.default_rng(openings).normal(size=(openings, 3)), most)
    sizes = np.bincount(parts.part, minlength=len(parts))
    assert sizes.max() == parts.longest <= most
    assert sizes.max() - sizes.min() <= 1
    places = [list(parts.place[parts.part == part]) for part in range(len(parts))]
    assert places == [list(range(size)) for size in sizes]  # within a part openings stay in their order
    assert np.array_equal(parts.arranged(np.arange(openings)), np.lexsort((parts.place, parts.part)))


def test_a_part_has_openings_that_are_near_each_other() -> None:
    """Three clouds, taken in turns: contiguous parts would have a third of each."""
    rng = np.random.default_rng(5)
    clouds = rng.permutation(np.repeat(np.arange(3), 6))
    noises = 10.0 * np.eye(3)[clouds] + 0.1 * rng.normal(size=(18, 3))
    parts = Parts(noises, 6)
    assert {tuple(np.unique(clouds[parts.part == part])) for part in range(3)} == {(0,), (1,), (2,)}


@pytest.mark.parametrize("seed", range(5))
def test_no_exchange_of_two_brings_the_members_of_parts_nearer(seed: int) -> None:
    apart = distances(np.random.default_rng(seed).normal(size=(12, 4)))
    part = np.repeat(np.arange(3), 4)

    def within() -> int:
        return int(sum(apart[np.ix_(part == one, part == one)].sum() for one in range(3)))

    scattered = within()
    draw_together(part, apart)
    least = within()
    assert least < scattered
    for a in range(12):
        for b in range(a):
            part[[a, b]] = part[[b, a]]
            assert within() >= least
            part[[a, b]] = part[[b, a]]


def test_a_component_counts_by_how_much_it_moves_rows() -> None:
    """The larger one moves nothing."""
    lp = Assembly("two noises")
    row = lp.row("demand", 0.0, 0.0)
    lp.add(row, lp.column("x"), 1.0)
    lp.move_by_noise(row, 0, 4.0)
    nothing = {"state_columns": [], "carried_constant": [], "carried_state": [], "carried_noise": []}
    openings = np.array([[0.0, 0.0], [1.0, 90.0], [0.1, 90.0], [1.1, 0.0]])
    node = Node(lp.template(states_in=1, noises=2, **nothing), openings)
    assert np.array_equal(node.scaled_openings, openings * [2.0, 0.0])
    assert Parts(node.scaled_openings, 2).part.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


class Watched(HighsSolver):
    """Keeps what units start from, by the units' states."""

    def __init__(self, *given, **named) -> None:
        super().__init__(*given, **named)
        self.seen: list[tuple[np.ndarray, Starts]] = []

    def expectation(self, states, openings, probability, starts, part=None):
        self.seen.append((states, starts))
        return super().expectation(states, openings, probability, starts, part)


def reservoir(name: str):
    """Demand 9; what the noise adds to the water may be kept."""
    lp = Assembly(name)
    kept = lp.column("storage", upper=40.0)
    demand, water = lp.row("demand", 9.0, 9.0), lp.row("water", 0.0, 0.0)
    for j in range(4):
        lp.add(demand, lp.column(f"g{j}", cost=10.0 * 3**j, upper=3.0), 1.0)
    released = lp.column("released")
    for row, column, value in ((demand, released, 1.0), (water, released, 1.0), (water, kept, 1.0)):
        lp.add(row, column, value)
    lp.add(water, lp.column("spilled"), 1.0)
    lp.move_by_state(water, 0, 1.0)
    lp.move_by_noise(water, 0, 1.0)
    nothing = {"carried_constant": [], "carried_state": [], "carried_noise": []}
    return lp.template(states_in=1, noises=1, state_columns=[kept], **nothing)


def test_units_of_a_trial_point_start_from_one_opening_that_is_solved_there_first() -> None:
    water = np.random.default_rng(4).uniform(0.0, 12.0, (20, 1))
    graph = PolicyGraph.line([Node(reservoir(name), water) for name in "abc"], np.array([5.0]))
    solvers = [
        Watched(node.template, future_lower=lower)
        for node, lower in zip(graph.nodes, graph.future_cost_lower(), strict=True)
    ]
    with LocalCommunicator() as comm:
        policy = Policy(graph, comm, 2)
        for _ in train(policy, solvers, TrainingSettings(Stopping((IterationLimit(3),)), 1), comm):
            pass
    assert [len(policy.parts(node)) for node in range(3)] == [4, 4, 4]
    states, starts = solvers[2].seen[-1]  # at the last iteration's two trial points
    assert starts.bases is not None
    assert starts.noises is not None
    assert list(starts.own) == [0, 1] * 4  # whatever its part
    fresh = HighsSolver(graph.nodes[2].template, future_lower=None)
    for unit, point in enumerate(starts.own):
        noise = starts.noises[point : point + 1]
        assert noise in water
        before = fresh.counts.pivots
        fresh.dispatch(states[unit : unit + 1], noise, Starts.each(starts.bases[point : point + 1]))
        assert fresh.counts.pivots == before  # an optimum already
