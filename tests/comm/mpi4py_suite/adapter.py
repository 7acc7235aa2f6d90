"""A communicator of ours, as the part of ``mpi4py.MPI.Comm`` that mpi4py's tests of our collectives call."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from mpi4py import MPI

from pycobre.comm import Communicator, ReduceOp

Array = np.ndarray[Any, Any]

_REDUCTIONS = ((MPI.SUM, ReduceOp.SUM), (MPI.MIN, ReduceOp.MIN), (MPI.MAX, ReduceOp.MAX))


def buffer_of(given: Any) -> tuple[Array, Any, Any]:
    """The numbers of a message as mpi4py spells it, and its counts and displacements where it has any.

    ``data``, ``(data, type)``, ``(data, count, type)``, ``(data, (counts, displacements), type)``, and each
    without its type.
    """
    if not isinstance(given, tuple | list):
        return flat(given), None, None
    data, *rest = [part for part in given if not isinstance(part, MPI.Datatype)]
    counts = rest[0] if rest else None
    if isinstance(counts, tuple | list):
        return flat(data), counts[0], counts[1]
    return flat(data), counts, None


def flat(data: Any) -> Array:
    """The very memory of *data*, without its shape."""
    return np.asarray(data if isinstance(data, np.ndarray) else memoryview(data)).reshape(-1)


class Adapter:
    """What ``self.COMM`` is in mpi4py's tests."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm

    def Get_rank(self) -> int:
        return self._comm.rank

    def Get_size(self) -> int:
        return self._comm.size

    def Barrier(self) -> None:
        self._comm.barrier()

    def Bcast(self, buf: Any, root: int = 0) -> None:
        self._comm.broadcast(buffer_of(buf)[0], root)

    def Allgather(self, send: Any, recv: Any) -> None:
        everyone = buffer_of(recv)[0]
        count = everyone.size // self._comm.size
        self._gather(send, everyone, [count] * self._comm.size, None)

    def Allgatherv(self, send: Any, recv: Any) -> None:
        everyone, counts, displs = buffer_of(recv)
        size = self._comm.size
        if counts is None:
            counts = [everyone.size // size + (rank < everyone.size % size) for rank in range(size)]
        elif isinstance(counts, int):
            counts = [counts] * size
        if isinstance(displs, int):
            displs = [displs * rank for rank in range(size)]
        self._gather(send, everyone, counts, displs)

    def _gather(self, send: Any, recv: Array, counts: list[int], displs: list[int] | None) -> None:
        starts = list(accumulate(counts[:-1], initial=0)) if displs is None else displs
        start, count = starts[self._comm.rank], counts[self._comm.rank]
        if send is None or send is MPI.IN_PLACE:
            part = recv[start : start + count]
        else:
            part, given, _ = buffer_of(send)
            part = part if given is None else part[:given]
        self._comm.allgatherv(part, recv, counts, starts)

    def Allreduce(self, send: Any, recv: Any, op: MPI.Op = MPI.SUM) -> None:
        result = buffer_of(recv)[0]
        part = result if send is None or send is MPI.IN_PLACE else buffer_of(send)[0]
        for theirs, ours in _REDUCTIONS:
            if op == theirs:
                self._comm.allreduce(part, result, ours)
                return
        # We have no product, and MPI programs make one of a gather where a reduction is not at hand.
        size = self._comm.size
        factors = np.empty(part.size * size, part.dtype)
        self._comm.allgatherv(part, factors, [part.size] * size, [part.size * rank for rank in range(size)])
        np.multiply.reduce(factors.reshape(size, -1), out=result)
