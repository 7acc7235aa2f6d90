"""Promises about gathering, broadcasting and meeting."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.base import PLAIN_DTYPES, Communicator, ReduceOp
from pycobre.comm.conformance.promises import promise

# Around every limit at which a backend may change its way: a cache line, one piece, few pieces, many.
LENGTHS = (0, 1, 6, 7, 1_000, 16_384, 16_385, 40_000, 131_072, 196_608, 262_145)


def pattern(rank: int, length: int, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Numbers that tell their rank and place."""
    numbers = (np.arange(length) * 7 + rank * 13 + 1) % 101
    return numbers.astype(dtype)


def gathered(comm: Communicator, mine: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(R, n) Every rank's array of one length."""
    whole = np.empty((comm.size, mine.size), mine.dtype)
    comm.allgatherv(mine, whole, [mine.size] * comm.size, [rank * mine.size for rank in range(comm.size)])
    return whole


@promise
def rank_and_size_are_constant(comm: Communicator) -> None:
    """They hold before and after close, and every rank has its own."""
    before = (comm.rank, comm.size, comm.backend)
    assert gathered(comm, np.array([comm.rank])).ravel().tolist() == list(range(comm.size))
    comm.close()
    assert (comm.rank, comm.size, comm.backend) == before
    comm.close()


@promise
def allgatherv_puts_every_part_in_its_place(comm: Communicator) -> None:
    """Lengths differ, gaps stay as they were."""
    for base in LENGTHS:
        counts = [base + 3 * rank for rank in range(comm.size)]
        displs = [2 + sum(counts[:rank]) + 5 * rank for rank in range(comm.size)]
        expected = np.full(displs[-1] + counts[-1] + 4, -1.0)
        recv = expected.copy()
        for rank, (count, start) in enumerate(zip(counts, displs, strict=True)):
            expected[start : start + count] = pattern(rank, count)
        comm.allgatherv(pattern(comm.rank, counts[comm.rank]), recv, counts, displs)
        np.testing.assert_array_equal(recv, expected)


@promise
def allgatherv_takes_places_in_any_order(comm: Communicator) -> None:
    """The last rank may come first; counts and places may be arrays."""
    counts = np.array([rank + 1 for rank in range(comm.size)])
    displs = np.array([int(counts[rank + 1 :].sum()) for rank in range(comm.size)])
    recv = np.zeros(int(counts.sum()), np.int32)
    comm.allgatherv(pattern(comm.rank, comm.rank + 1, np.int32), recv, counts, displs)
    parts = [pattern(rank, rank + 1, np.int32) for rank in reversed(range(comm.size))]
    np.testing.assert_array_equal(recv, np.concatenate(parts))


@promise
def allgatherv_takes_every_subset_of_empty_parts(comm: Communicator) -> None:
    """A rank with nothing to give still takes part."""
    for full in itertools.product((0, 5), repeat=comm.size):
        displs = [5 * rank for rank in range(comm.size)]
        recv = np.full(5 * comm.size, 255, np.uint8)
        comm.allgatherv(pattern(comm.rank, full[comm.rank], np.uint8), recv, full, displs)
        for rank, count in enumerate(full):
            part = recv[5 * rank : 5 * rank + 5]
            np.testing.assert_array_equal(part, pattern(rank, 5, np.uint8) if count else np.full(5, 255))


@promise
def allgatherv_carries_every_dtype(comm: Communicator) -> None:
    """Booleans, integers, floats and complex numbers come out as they went in."""
    for dtype in sorted(PLAIN_DTYPES, key=str):
        whole = gathered(comm, pattern(comm.rank, 9, dtype))
        assert whole.dtype == dtype
        for rank in range(comm.size):
            np.testing.assert_array_equal(whole[rank], pattern(rank, 9, dtype))


@promise
def allgatherv_works_in_place(comm: Communicator) -> None:
    """What is sent may already lie in its place."""
    for length in (4, 30_000):
        recv = np.zeros(length * comm.size)
        mine = recv[length * comm.rank : length * (comm.rank + 1)]
        mine[:] = pattern(comm.rank, length)
        comm.allgatherv(mine, recv, [length] * comm.size, [length * rank for rank in range(comm.size)])
        np.testing.assert_array_equal(recv, np.concatenate([pattern(r, length) for r in range(comm.size)]))


@promise
def sends_of_any_strides_arrive_whole(comm: Communicator) -> None:
    """Steps, reversed, transposed and repeated arrays are sent as what they hold."""
    grid = np.arange(24.0).reshape(4, 6) + comm.rank
    for view in (grid[::2], grid[:, ::3], grid.T, grid[::-1], np.broadcast_to(grid[0], (3, 6))):
        whole = gathered_like(comm, view)
        for rank in range(comm.size):
            np.testing.assert_array_equal(whole[rank], np.ascontiguousarray(view).ravel() - comm.rank + rank)
        comm.allreduce(view, out := np.empty(view.shape), ReduceOp.SUM)
        np.testing.assert_array_equal(out, sum(view - comm.rank + rank for rank in range(comm.size)))


def gathered_like(comm: Communicator, view: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(R, n) Every rank's *view*, sent with the strides that it has."""
    whole = np.empty((comm.size, view.size), view.dtype)
    comm.allgatherv(view, whole, [view.size] * comm.size, [rank * view.size for rank in range(comm.size)])
    return whole


@promise
def nobody_returns_before_all_have_contributed(comm: Communicator) -> None:
    """A gather and a barrier end after the last rank began them."""
    for turn in range(comm.size):
        if comm.rank == turn:
            time.sleep(0.02)
        began = np.array([time.monotonic()])
        whole = gathered(comm, began)
        assert time.monotonic() >= whole.max()
        if comm.rank == turn:
            time.sleep(0.02)
        began = np.array([time.monotonic()])
        comm.barrier()
        left = time.monotonic()
        assert left >= gathered(comm, began).max()


@promise
def broadcast_from_every_root(comm: Communicator) -> None:
    """Every rank may be the root, of any length."""
    for root, length in itertools.product(range(comm.size), LENGTHS):
        buf = pattern(root, length) if comm.rank == root else np.full(length, -1.0)
        comm.broadcast(buf, root)
        np.testing.assert_array_equal(buf, pattern(root, length))


@promise
def collectives_in_a_row_do_not_mix(comm: Communicator) -> None:
    """A fast rank never overwrites what a slow one still reads."""
    random = np.random.default_rng(7)  # the same program on every rank
    whole = np.empty((comm.size, 20_000))
    for step in range(400):
        length = int(random.choice([1, 5, 300, 3_000] + [20_000] * (step % 50 == 0)))
        slow = int(random.integers(comm.size))
        part = whole.ravel()[: comm.size * length]
        comm.allgatherv(
            np.full(length, step * 10.0 + comm.rank),
            part,
            [length] * comm.size,
            list(range(0, part.size, length)),
        )
        if comm.rank == slow and step % 40 == 0:
            time.sleep(0.001)
        expected = np.repeat(step * 10.0 + np.arange(comm.size), length)
        np.testing.assert_array_equal(part, expected)
        buf = np.full(length, float(step if comm.rank == slow else -1))
        comm.broadcast(buf, slow)
        assert (buf == step).all()


@promise
def other_threads_run_while_a_rank_waits(comm: Communicator) -> None:
    """The interpreter is free during a wait, and calls may come from any thread."""
    if comm.size == 1:
        return
    if comm.rank != 0:
        time.sleep(0.2)
        comm.barrier()
        return
    done = threading.Event()

    def wait() -> None:
        comm.barrier()
        done.set()

    thread = threading.Thread(target=wait)
    began = time.monotonic()
    thread.start()
    turns = 0
    while not done.is_set() and time.monotonic() < began + 5:
        time.sleep(0.005)
        turns += 1
    thread.join()
    assert turns >= 10, f"another thread ran {turns} times during a wait of 0.2 s"
