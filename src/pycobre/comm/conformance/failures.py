"""Promises about what goes wrong: everyone raises, all name the same ranks, nothing works afterwards."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

import numpy as np

from pycobre.comm.base import Communicator, ReduceOp, SharedMemoryProvider
from pycobre.comm.conformance.promises import promise, raised
from pycobre.errors import CollectiveFailed, InvalidCommunicator

Call = Callable[[], object]


def _assert_poisoned(comm: Communicator) -> None:
    one = np.zeros(1)
    began = time.monotonic()
    for call in (
        comm.barrier,
        lambda: comm.broadcast(one, 0),
        lambda: comm.allreduce(one, one, ReduceOp.SUM),
        lambda: comm.allgatherv(one, np.zeros(comm.size), [1] * comm.size, list(range(comm.size))),
    ):
        raised(InvalidCommunicator, call)
    if isinstance(comm, SharedMemoryProvider):
        raised(InvalidCommunicator, lambda: comm.create_shared_region(1, np.float64))
        raised(InvalidCommunicator, comm.split_local)
    assert time.monotonic() - began < 0.5, "a poisoned communicator answers at once"


def _differ(comm: Communicator, mine: Call, odd: Call, *words: str) -> None:
    """The last rank calls something else: everyone raises and shows every call."""
    if comm.size == 1:
        return
    last = comm.size - 1
    error = raised(CollectiveFailed, odd if comm.rank == last else mine)
    assert error.reason == "mismatch", error
    # Of two ranks nobody knows which is wrong; of more, it is the one that stands alone.
    assert error.ranks == ((0, 1) if comm.size == 2 else (last,)), error
    for word in words:
        assert word in error.message, (word, error.message)
    _assert_poisoned(comm)


@promise
def different_operations_fail_everywhere(comm: Communicator) -> None:
    """A barrier here, a broadcast there."""
    _differ(
        comm, comm.barrier, lambda: comm.broadcast(np.zeros(2), 0), "barrier", "broadcast", f"{comm.size - 1}"
    )


@promise
def different_lengths_fail_everywhere(comm: Communicator) -> None:
    """100 numbers here, 200 there."""
    short, long = np.zeros(100), np.zeros(200)
    _differ(
        comm,
        lambda: comm.allreduce(short, short, ReduceOp.SUM),
        lambda: comm.allreduce(long, long, ReduceOp.SUM),
        "float64[100]",
        "float64[200]",
    )


@promise
def lengths_of_different_magnitude_fail_everywhere(comm: Communicator) -> None:
    """A few bytes here, megabytes there: each would go another way."""
    short, long = np.zeros(1), np.zeros(300_000)
    _differ(
        comm,
        lambda: comm.broadcast(short, 0),
        lambda: comm.broadcast(long, 0),
        "float64[1]",
        "float64[300000]",
    )


@promise
def different_dtypes_fail_everywhere(comm: Communicator) -> None:
    """The same bytes are not enough: 100 doubles are not 200 floats."""
    _differ(
        comm,
        lambda: comm.broadcast(np.zeros(100), 0),
        lambda: comm.broadcast(np.zeros(200, np.float32), 0),
        "float64[100]",
        "float32[200]",
    )


@promise
def different_roots_fail_everywhere(comm: Communicator) -> None:
    """Two ranks that both send, or none."""
    two = np.zeros(2)
    _differ(
        comm,
        lambda: comm.broadcast(two, 0),
        lambda: comm.broadcast(two, comm.size - 1),
        "root 0",
        f"root {comm.size - 1}",
    )


@promise
def different_reductions_fail_everywhere(comm: Communicator) -> None:
    """A sum here, a minimum there."""
    two = np.zeros(2)
    _differ(
        comm,
        lambda: comm.allreduce(two, two, ReduceOp.SUM),
        lambda: comm.allreduce(two, two, ReduceOp.MIN),
        "SUM",
        "MIN",
    )


@promise
def different_counts_fail_everywhere(comm: Communicator) -> None:
    """The same total, cut in another way."""
    if comm.size == 1:
        return
    last = comm.size - 1
    usual, odd = [2] * comm.size, [3] + [2] * (comm.size - 2) + [1]
    counts = odd if comm.rank == last else usual
    displs = [sum(counts[:rank]) for rank in range(comm.size)]
    send, recv = np.zeros(counts[comm.rank]), np.zeros(2 * comm.size)

    def call() -> None:
        comm.allgatherv(send, recv, counts, displs)

    _differ(comm, call, call, "counts [2, ", "counts [3, ")


@promise
def abort_reaches_every_rank(comm: Communicator) -> None:
    """Ranks in a wait, ranks that come later, and the one that aborts."""
    last = comm.size - 1
    if comm.rank == last:
        time.sleep(0.1)
        comm.abort("no more water")
        began = time.monotonic()
    else:
        began = time.monotonic() + 0.1
        if comm.rank == 1:
            time.sleep(0.2)
    error = raised(CollectiveFailed, comm.barrier)
    assert (error.reason, error.ranks) == ("aborted", (last,)), error
    assert "no more water" in error.message
    assert time.monotonic() - began < 1.0
    _assert_poisoned(comm)


@promise
def an_exception_in_a_with_block_aborts_the_group(comm: Communicator) -> None:
    """The others do not wait for a rank that is on its way out."""
    last = comm.size - 1

    def body() -> None:
        with comm:
            if comm.rank == last:
                raise ZeroDivisionError("by no inflow")
            comm.barrier()

    if comm.rank == last:
        raised(ZeroDivisionError, body)
        return
    error = raised(CollectiveFailed, body)
    assert (error.reason, error.ranks) == ("aborted", (last,)), error
    assert "by no inflow" in error.message


@promise
def a_rank_that_closes_early_is_named(comm: Communicator) -> None:
    """Whoever waits for it learns that it has left."""
    last = comm.size - 1
    comm.barrier()
    if comm.rank == last:
        comm.close()
        return
    error = raised(CollectiveFailed, comm.barrier)
    assert (error.reason, error.ranks) == ("lost", (last,)), error
    assert "close" in error.message
    _assert_poisoned(comm)


@promise
def a_closed_communicator_is_refused(comm: Communicator) -> None:
    """Every call after close says so."""
    comm.barrier()
    comm.close()
    comm.close()
    _assert_poisoned(comm)
    raised(InvalidCommunicator, lambda: comm.abort("too late"))


@promise
def two_threads_at_once_are_refused(comm: Communicator) -> None:
    """The second caller, and only that one."""
    if comm.size == 1:
        return
    if comm.rank != 0:
        time.sleep(0.15)
        comm.barrier()
        comm.barrier()
        return
    outcome: list[BaseException | None] = []

    def wait() -> None:
        try:
            comm.barrier()
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    raised(InvalidCommunicator, comm.barrier)
    raised(InvalidCommunicator, comm.close)
    thread.join()
    assert outcome == [None], outcome
    comm.barrier()


@promise
def a_signal_is_seen_in_a_wait(comm: Communicator) -> None:
    """Within half a second, as Ctrl-C must be; the others learn who was interrupted."""
    if comm.size == 1 or threading.current_thread() is not threading.main_thread():
        return
    if comm.rank != 0:
        if comm.rank == 1:
            time.sleep(0.4)
        error = raised(CollectiveFailed, comm.barrier)
        assert (error.reason, error.ranks) == ("aborted", (0,)), error
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        began = time.monotonic()
        raised(KeyboardInterrupt, comm.barrier)
        assert time.monotonic() - began < 0.6
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    _assert_poisoned(comm)


@promise
def a_signal_that_raises_nothing_does_no_harm(comm: Communicator) -> None:
    """The wait goes on."""
    if comm.size == 1 or threading.current_thread() is not threading.main_thread():
        return
    if comm.rank != 0:
        time.sleep(0.2)
        comm.barrier()
        return
    seen: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
        comm.barrier()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) >= 2
