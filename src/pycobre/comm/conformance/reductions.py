"""Promises about reductions: the fold in rank order, to the last bit."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.base import Communicator, ReduceOp
from pycobre.comm.conformance.exchange import LENGTHS, gathered, pattern
from pycobre.comm.conformance.promises import promise


def assert_same_bits(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    """Signs of zeros count; which NaN it is does not."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind in "fc":
        parts = (np.real, np.imag) if found.dtype.kind == "c" else (np.asarray,)
        for part in parts:
            real, other = part(found), part(expected)
            there = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(real)[there], np.signbit(other)[there])


def folded(parts: npt.NDArray[Any], op: ReduceOp) -> npt.NDArray[Any]:
    """What the promises say, in plain NumPy: the fold of (R, n) over the first axis, in order."""
    out: npt.NDArray[Any] = parts[0].copy()
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            if op is ReduceOp.SUM:
                out = np.add(out, part).astype(parts.dtype)
                continue
            better = part < out if op is ReduceOp.MIN else part > out
            if parts.dtype.kind == "f":
                first = np.signbit(part) if op is ReduceOp.MIN else ~np.signbit(part)
                better |= (part == out) & (part == 0) & first
                better |= np.isnan(part)
                better &= ~np.isnan(out)
            out = np.where(better, part, out)
    return out


@promise
def the_same_call_gives_the_same_bits_each_time(comm: Communicator) -> None:
    """A backend that tries several ways, and keeps the quickest, does not show it, whoever is late."""
    random = np.random.default_rng([5, comm.rank])
    for length in (9_000, 40_000, 300_000):
        mine = random.standard_normal(length) * 10.0 ** random.uniform(-9, 9, length)
        parts = gathered(comm, mine)
        total = folded(parts, ReduceOp.SUM)
        for turn in range(12):
            if turn % comm.size == comm.rank:
                time.sleep(0.0005)
            out = mine.copy() if turn % 2 else np.empty(length)
            comm.allreduce(out if turn % 2 else mine, out, ReduceOp.SUM)
            assert_same_bits(out, total)
            assert_same_bits(gathered(comm, mine), parts)
            root = turn % comm.size
            buf = mine.copy() if comm.rank == root else np.empty(length)
            comm.broadcast(buf, root)
            assert_same_bits(buf, parts[root])


@promise
def sums_fold_in_rank_order(comm: Communicator) -> None:
    """Numbers of all sizes: another order would give other bits."""
    random = np.random.default_rng(comm.rank)
    for dtype in (np.float64, np.float32, np.float16):
        for length in LENGTHS:
            limit = 300 if dtype is np.float64 else 30 if dtype is np.float32 else 3
            with np.errstate(all="ignore"):
                scale = 10.0 ** random.uniform(-limit / 2, limit / 2, length)
                mine = (random.standard_normal(length) * scale).astype(dtype)
            out = np.empty_like(mine)
            comm.allreduce(mine, out, ReduceOp.SUM)
            assert_same_bits(out, folded(gathered(comm, mine), ReduceOp.SUM))


@promise
def every_rank_gets_the_same_bits(comm: Communicator) -> None:
    """1e16 + 1 - 1e16 is 0 or 1 by the order alone."""
    for length in (3, 1_000, 50_000):
        mine = np.resize([1e16, 1.0, -1e16, 1.0, 3.0], length + comm.rank)[comm.rank :]
        out = np.empty(length)
        comm.allreduce(mine, out, ReduceOp.SUM)
        for other in gathered(comm, out):
            assert other.tobytes() == out.tobytes()


@promise
def nans_win_and_minus_zero_is_less(comm: Communicator) -> None:
    """NaN wins in every reduction; -0 < +0; infinities are numbers."""
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324])
    for dtype in (np.float64, np.float32, np.float16):
        table = np.stack(np.meshgrid(*[special] * min(comm.size, 3))).reshape(min(comm.size, 3), -1)
        with np.errstate(all="ignore"):
            mine = table[comm.rank % len(table)].astype(dtype)
        for op in ReduceOp:
            for repeat in (1, 60):
                send = np.tile(mine, repeat)
                out = np.empty_like(send)
                comm.allreduce(send, out, op)
                assert_same_bits(out, folded(gathered(comm, send), op))


@promise
def integers_reduce_exactly_and_wrap(comm: Communicator) -> None:
    """Both ends of every width."""
    for code in "bhiqBHIQ":
        dtype = np.dtype(code)
        ends = np.iinfo(dtype)
        values = np.array([ends.min, ends.max, 0, 1, ends.max - 1, ends.min + 1], dtype)
        mine = np.roll(values, comm.rank)
        for op in ReduceOp:
            out = np.empty_like(mine)
            comm.allreduce(mine, out, op)
            assert_same_bits(out, folded(gathered(comm, mine), op))


@promise
def booleans_reduce_by_or_and_and(comm: Communicator) -> None:
    """Sum and maximum are *or*, minimum is *and*."""
    mine = np.array([False, True, comm.rank == 0, comm.rank != 0])
    some, all_of = (
        np.array([False, True, True, comm.size > 1]),
        np.array([False, True, comm.size == 1, False]),
    )
    for op in ReduceOp:
        out = np.empty_like(mine)
        comm.allreduce(mine, out, op)
        np.testing.assert_array_equal(out, all_of if op is ReduceOp.MIN else some)


@promise
def complex_numbers_sum_by_their_parts(comm: Communicator) -> None:
    """Real and imaginary parts each fold in rank order."""
    random = np.random.default_rng(comm.rank)
    for dtype in (np.complex64, np.complex128):
        for length in (3, 40_000):
            mine = (random.standard_normal(length) * 1e8 + 1j * random.standard_normal(length)).astype(dtype)
            out = np.empty_like(mine)
            comm.allreduce(mine, out, ReduceOp.SUM)
            assert_same_bits(out, folded(gathered(comm, mine), ReduceOp.SUM))


@promise
def allreduce_works_in_place(comm: Communicator) -> None:
    """The result may take the place of what is sent, and an empty array is a meeting."""
    for length in LENGTHS:
        mine = pattern(comm.rank, length)
        expected = folded(np.stack([pattern(rank, length) for rank in range(comm.size)]), ReduceOp.SUM)
        comm.allreduce(mine, mine, ReduceOp.SUM)
        assert_same_bits(mine, expected)


@promise
def a_prepared_allreduce_is_an_allreduce(comm: Communicator) -> None:
    """Called again it takes what the arrays hold by then, and it may meet an ordinary allreduce."""
    for length in (0, 4, 50_000):
        for step in (1, 2):
            send = np.zeros(length * step)[::step]  # what is only read may have any strides
            recv = np.zeros(length)
            prepared = comm.prepare_allreduce(send, recv, ReduceOp.SUM)
            for turn in range(3):
                send[:] = pattern(comm.rank + turn, length)
                if comm.rank == turn % comm.size:
                    comm.allreduce(send, recv, ReduceOp.SUM)
                else:
                    prepared()
                parts = [pattern(rank + turn, length) for rank in range(comm.size)]
                assert_same_bits(recv, folded(np.stack(parts), ReduceOp.SUM))
