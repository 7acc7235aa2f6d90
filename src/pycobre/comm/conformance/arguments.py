"""Promises about wrong arguments: the same error everywhere, before any byte moves, and no harm done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.base import Communicator, ReduceOp, SharedMemoryProvider
from pycobre.comm.conformance.promises import promise, raised
from pycobre.errors import InvalidBufferSize, InvalidRoot

Array = npt.NDArray[Any]


def _refused(comm: Communicator, operation: str, calls: list[Callable[[], object]]) -> None:
    for call in calls:
        error = raised(InvalidBufferSize, call)
        assert error.operation == operation
        assert error.expected
        assert error.actual
    comm.barrier()  # nothing was sent, so the group works on


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _unaligned(length: int) -> Array:
    return np.zeros(8 * length + 1, np.uint8)[1:].view(np.float64)


@promise
def wrong_sizes_of_a_gather_are_refused(comm: Communicator) -> None:
    """Counts, places and arrays that do not fit each other."""
    size, rank = comm.size, comm.rank
    send, recv = np.ones(2), np.zeros(2 * size)
    counts, displs = [2] * size, [2 * other for other in range(size)]

    def call(**changed: object) -> Callable[[], object]:
        arguments: dict[str, Any] = {
            "send": send,
            "recv": recv,
            "counts": counts,
            "displs": displs,
            **changed,
        }
        return lambda: comm.allgatherv(**arguments)

    cases = [
        call(send=np.ones(3)),
        call(recv=np.zeros(2 * size - 1)),
        call(recv=np.zeros(2 * size, np.float32)),
        call(counts=counts[1:]),
        call(displs=[*displs, 0]),
        call(counts=[-2] * size),
        call(displs=[-1] * size),
        call(counts=[2.0] * size),
        call(counts=None),
        call(displs=[2 * other + 1 for other in range(size)]),
        call(displs=[1 << 62] * size),
        call(send=recv[1:3] if rank == 0 else recv[:2]),
    ]
    if size > 1:
        cases.append(call(displs=[0] * size))
    _refused(comm, "allgatherv", cases)
    assert not recv.any()


@promise
def wrong_arrays_of_a_reduction_are_refused(comm: Communicator) -> None:
    """Lengths, dtypes, operations and overlaps."""
    four, memory = np.ones(4), np.zeros(8)
    _refused(
        comm,
        "allreduce",
        [
            lambda: comm.allreduce(four, np.zeros(3), ReduceOp.SUM),
            lambda: comm.allreduce(four, np.zeros(4, np.float32), ReduceOp.SUM),
            lambda: comm.allreduce(four, np.zeros(4, np.int64), ReduceOp.SUM),
            lambda: comm.allreduce(four, np.zeros(4), 7),  # type: ignore[arg-type]
            lambda: comm.allreduce(four, np.zeros(4), "sum"),  # type: ignore[arg-type]
            lambda: comm.allreduce(np.ones(2, complex), np.ones(2, complex), ReduceOp.MIN),
            lambda: comm.allreduce(np.ones(2, complex), np.ones(2, complex), ReduceOp.MAX),
            lambda: comm.allreduce(memory[:4], memory[2:6], ReduceOp.SUM),
            lambda: comm.allreduce(memory[:4][::-1], memory[:4], ReduceOp.SUM),
        ],
    )
    assert not memory.any()


@promise
def arrays_that_can_not_be_written_are_refused(comm: Communicator) -> None:
    """What receives must be writeable, contiguous, aligned and of a plain dtype."""
    bad: list[Any] = [
        _read_only(np.zeros(4)),
        np.zeros(8)[::2],
        np.zeros((4, 4)).T[:, :2],
        np.frombuffer(b"12345678" * 4),
        _unaligned(4),
        np.zeros(4, ">f8"),
        np.zeros(4, "M8[s]"),
        np.zeros(4, object),
        np.zeros(4, "S8"),
        np.zeros(4, [("a", "f8")]),
        np.zeros(4, np.longdouble),
        np.ma.zeros(4),
        [0.0] * 4,
        bytearray(32),
        memoryview(bytearray(32)),
        None,
    ]
    _refused(comm, "broadcast", [lambda array=array: comm.broadcast(array, 0) for array in bad])  # type: ignore[misc]
    _refused(
        comm,
        "allreduce",
        [lambda array=array: comm.allreduce(np.zeros(4), array, ReduceOp.SUM) for array in bad],  # type: ignore[misc]
    )
    _refused(
        comm,
        "allgatherv",
        [
            lambda array=array: comm.allgatherv(np.zeros(4), array, [4] * comm.size, [0] * comm.size)  # type: ignore[misc]
            for array in bad
        ],
    )


@promise
def wrong_roots_are_refused(comm: Communicator) -> None:
    """No such rank, or no number."""
    for root in (-1, comm.size, comm.size + 7, -(1 << 40), 1 << 70):
        error = raised(InvalidRoot, lambda root=root: comm.broadcast(np.zeros(2), root))  # type: ignore[misc]
        assert (error.root, error.size) == (root, comm.size)
    _refused(
        comm,
        "broadcast",
        [
            lambda: comm.broadcast(np.zeros(2), 0.0),  # type: ignore[arg-type]
            lambda: comm.broadcast(np.zeros(2), None),  # type: ignore[arg-type]
        ],
    )


@promise
def wrong_regions_are_refused(comm: Communicator) -> None:
    """A count below zero, a dtype that is not plain."""
    if not isinstance(comm, SharedMemoryProvider):
        raise AssertionError("every backend provides shared regions")
    provider: SharedMemoryProvider = comm
    _refused(
        comm,
        "create_shared_region",
        [
            lambda: provider.create_shared_region(-1, np.float64),
            lambda: provider.create_shared_region(2.5, np.float64),  # type: ignore[arg-type]
            lambda: provider.create_shared_region(4, object),
            lambda: provider.create_shared_region(4, ">f8"),
            lambda: provider.create_shared_region(4, None),  # type: ignore[arg-type]
        ],
    )


@promise
def keyword_arguments_work(comm: Communicator) -> None:
    """Every argument has the name that the contract gives it."""
    one = np.ones(1)
    comm.broadcast(buf=one, root=comm.size - 1)
    comm.allreduce(send=one, recv=one, op=ReduceOp.MAX)
    whole = np.zeros(comm.size)
    comm.allgatherv(send=one, recv=whole, counts=[1] * comm.size, displs=range(comm.size))
    assert whole.all()
