"""Units of work: how a trial point's openings are parted."""

from __future__ import annotations

import numpy as np
import pytest

from pycobre.lp import Assembly
from pycobre.sddp import Node
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
