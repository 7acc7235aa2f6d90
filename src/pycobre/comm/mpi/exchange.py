"""Large payloads, after a meeting: all ranks are here and agree on every length.

Everything travels as bytes, so no dtype of NumPy's needs one of MPI's, and every reduction is our own: MPI's
promises no order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.arrays import fold
from pycobre.comm.base import ReduceOp
from pycobre.comm.mpi.library import IS_INTEL, MPI

Array = npt.NDArray[Any]
Finish = Callable[[MPI.Request, object], None]
"""Completes a request; the object is kept as long as MPI may touch it."""

FOLD_ALONE_BYTES = (
    64 << 10
)  # of all ranks together: below this, to share out the fold costs more than it saves
PIECE_BYTES = 4 << 20  # scratch for a reduction is at most twice this, however long the arrays are
MOST_BYTES = 1 << 30  # of one message: MPI before version 4 counts in 32 bits, with a sign


def gathering(
    comm: MPI.Intracomm,
    finish: Finish,
    send: Array,
    recv: Array,
    counts: Sequence[int],
    displs: Sequence[int],
    most_bytes: int = MOST_BYTES,
) -> Callable[[], None]:
    """What puts every rank's *send* in every rank's *recv*, ready to be repeated; both are contiguous."""
    item, rank = recv.itemsize, comm.Get_rank()
    target = recv.reshape(-1).view(np.uint8)
    sizes = [count * item for count in counts]
    starts = [start * item for start in displs]
    own = target[starts[rank] : starts[rank] + sizes[rank]]
    source = send.reshape(-1).view(np.uint8)
    in_place = _address_of(source) == _address_of(own) or not source.size
    given: Any = MPI.IN_PLACE if in_place else [source, MPI.BYTE]
    taken = [target, sizes, starts, MPI.BYTE]

    def at_once() -> None:
        finish(comm.Iallgatherv(given, taken), (send, recv))

    def rank_by_rank() -> None:
        if not in_place:
            own[:] = source
        for root, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            broadcast(comm, finish, target[start : start + size], root, most_bytes)

    # Past what a place in one message can be, each rank sends by itself. So it does where MPI's gather fails:
    # MPICH 4.0's puts a single rank's part at the beginning, some of Intel MPI's (2021.18) do not end unless
    # they are tested without a pause.
    fits = max(map(int.__add__, starts, sizes)) <= most_bytes
    return at_once if fits and len(sizes) > 1 and not IS_INTEL else rank_by_rank


def broadcast(
    comm: MPI.Intracomm, finish: Finish, buf: Array, root: int, most_bytes: int = MOST_BYTES
) -> None:
    """The root's *buf* in every rank's *buf*, which is contiguous."""
    data = buf.reshape(-1).view(np.uint8)
    for begin in range(0, data.size, most_bytes):
        piece = data[begin : begin + most_bytes]
        finish(comm.Ibcast([piece, MPI.BYTE], root), buf)


def allreduce(comm: MPI.Intracomm, finish: Finish, send: Array, recv: Array, op: ReduceOp) -> None:
    """The fold of all ranks' *send*, in rank order, in every rank's *recv*; both are contiguous."""
    size = comm.Get_size()
    source, target = send.reshape(-1), recv.reshape(-1)
    if source.nbytes * size <= FOLD_ALONE_BYTES:
        parts = np.empty((size, source.size), source.dtype)
        gathering(comm, finish, source, parts, [source.size] * size, range(0, parts.size, source.size))()
        fold(op, list(parts), target)
        return
    step = max(size, PIECE_BYTES // source.itemsize)
    for begin in range(0, source.size, step):
        _fold_slices(comm, finish, source[begin : begin + step], target[begin : begin + step], op)


def _fold_slices(comm: MPI.Intracomm, finish: Finish, send: Array, recv: Array, op: ReduceOp) -> None:
    # Rank q folds slice q for all: still every element in rank order.
    size, rank, item = comm.Get_size(), comm.Get_rank(), send.itemsize
    edges = [send.size * other // size for other in range(size + 1)]
    lengths = [end - begin for begin, end in itertools.pairwise(edges)]
    mine = lengths[rank]
    parts = np.empty((size, mine), send.dtype)
    slices = [length * item for length in lengths], [edge * item for edge in edges[:-1]]
    taken = [mine * item] * size, [other * mine * item for other in range(size)]
    finish(
        comm.Ialltoallv([send.view(np.uint8), slices, MPI.BYTE], [parts.view(np.uint8), taken, MPI.BYTE]),
        (send, parts),
    )
    own = recv[edges[rank] : edges[rank + 1]]
    if mine:
        fold(op, list(parts), own)
    gathering(comm, finish, own, recv, lengths, edges[:-1])()


def _address_of(array: Array) -> int:
    """Where an array begins."""
    return int(array.__array_interface__["data"][0])
