"""Room that the cut pool makes: memory that every rank holds from then on."""

from __future__ import annotations

import numpy as np
import pytest

from pycobre.comm import create_communicator
from pycobre.sddp.cuts import CutPool

PASSES = 2


class Watched:
    """A provider of shared memory that keeps the sizes that were asked for, in bytes."""

    def __init__(self, memory):
        self.memory, self.is_leader, self.sizes = memory, memory.is_leader, []

    def create_shared_region(self, count, dtype):
        self.sizes.append(count * np.dtype(dtype).itemsize)
        return self.memory.create_shared_region(count, dtype)


def put(pool, iteration, states):
    pool.reserve(iteration)
    slots = np.arange(PASSES) + (iteration - 1) * PASSES
    vectors = np.full((PASSES, states), float(iteration))
    pool.write(0, slots, np.full(PASSES, 10.0 * iteration), vectors, vectors)
    pool.finish(iteration)


@pytest.mark.parametrize(("states", "iterations"), [(50, 16), (200_000, 5), (2_000_000, 1)])
def test_room_is_made_for_fewer_iterations_where_cuts_are_large(states, iterations):
    with create_communicator("local") as comm:
        memory = Watched(comm)
        pool = CutPool(memory, [states], PASSES)
        pool.close()
    assert memory.sizes == [iterations * PASSES * (2 + 2 * states) * 8]


def test_cuts_stay_when_room_for_more_is_made():
    with create_communicator("local") as comm:
        memory = Watched(comm)
        pool = CutPool(memory, [200_000], PASSES)
        for iteration in range(1, 7):
            put(pool, iteration, 200_000)
        cuts = pool.of(0)
        assert len(memory.sizes) == 2
        assert cuts.intercept.tolist() == [10.0 * n for n in range(1, 7) for _ in range(PASSES)]
        assert (cuts.slope[:, -1] == np.repeat(np.arange(1.0, 7.0), PASSES)).all()
        del cuts
        pool.close()


def test_room_doubles_while_it_is_small_and_then_grows_by_a_quarter():
    """Old and new room are there together for a moment, and every rank's memory counts them."""
    with create_communicator("local") as comm:
        memory = Watched(comm)
        pool = CutPool(memory, [400_000], PASSES)
        for iterations in range(1, 20):
            pool.reserve(iterations)
        pool.close()
        small = Watched(comm)
        pool = CutPool(small, [50], PASSES)
        for iterations in range(1, 200):
            pool.reserve(iterations)
        pool.close()
    one = PASSES * (2 + 2 * 400_000) * 8
    assert [size // one for size in memory.sizes] == [2, 4, 6, 8, 10, 12, 15, 18, 22]
    one = PASSES * (2 + 2 * 50) * 8
    assert [size // one for size in small.sizes] == [16, 32, 64, 128, 256]
