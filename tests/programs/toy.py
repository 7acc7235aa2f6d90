"""A communicator of threads, plain and slow, and eleven ways to get it wrong.

The campaign must let the plain one pass and find every wrong one: that is how much the campaign sees.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from programs.steps import fold
from pycobre.comm import ReduceOp
from pycobre.errors import CollectiveFailed

Array = np.ndarray[Any, Any]

MUTANTS = {
    "displacements ignored": "Allgatherv",
    "broadcast always from rank 0": "Broadcast",
    "gather order reversed": "Allgatherv",
    "counts assumed equal": "Allgatherv",
    "reduction order reversed": "Allreduce",
    "sums in float32": "Allreduce",
    "fmin instead of minimum": "Allreduce",
    "NaN wins or loses by its order": "Allreduce",
    "barrier does nothing": "Barrier",
    "operations are not compared": "Disagreement",
    "dtypes are not compared": "Disagreement",
}
"""What is wrong, and the kind of step that finds it."""

_LIMIT_SECS = 3.0


@dataclass
class Board:
    """What the ranks of a toy group have in common."""

    size: int
    slots: list[Any] = field(default_factory=list)
    nested: dict[int, Board] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.slots = [None] * self.size
        self.gate = threading.Barrier(self.size, timeout=_LIMIT_SECS)
        self.lock = threading.Lock()


class ToyCommunicator:
    """A rank of the toy; *wrong* is one of the mutants, or nothing."""

    backend = "toy"

    def __init__(self, rank: int, board: Board, wrong: str = "") -> None:
        self.rank = rank
        self.size = board.size
        self._board = board
        self._wrong = wrong
        self._duplicates = 0

    def duplicate(self) -> ToyCommunicator:
        with self._board.lock:
            board = self._board.nested.setdefault(self._duplicates, Board(self.size))
        self._duplicates += 1
        return ToyCommunicator(self.rank, board, self._wrong)

    def close(self) -> None: ...

    def barrier(self) -> None:
        if self._wrong != "barrier does nothing":
            self._swap("barrier", None, ())

    def broadcast(self, buf: Array, root: int) -> None:
        parts = self._swap("broadcast", buf, (root,))
        buf[:] = parts[0 if self._wrong == "broadcast always from rank 0" else root].view(buf.dtype)

    def allreduce(self, send: Array, recv: Array, op: ReduceOp) -> None:
        parts = [part.view(recv.dtype) for part in self._swap("allreduce", send, (op,))]
        if self._wrong == "reduction order reversed":
            parts.reverse()
        if self._wrong == "sums in float32" and op is ReduceOp.SUM and recv.dtype == "f8":
            with np.errstate(all="ignore"):
                recv[:] = fold([part.astype("f4") for part in parts], op)
        elif self._wrong == "fmin instead of minimum" and op is ReduceOp.MIN:
            recv[:] = np.fmin.reduce(parts)
        elif self._wrong == "NaN wins or loses by its order" and op is not ReduceOp.SUM:
            out = parts[0]
            for part in parts[1:]:
                out = np.where(part < out if op is ReduceOp.MIN else part > out, part, out)
            recv[:] = out
        else:
            recv[:] = fold(parts, op)

    def allgatherv(self, send: Array, recv: Array, counts: Any, displs: Any) -> None:
        parts = [part.view(recv.dtype) for part in self._swap("allgatherv", send, tuple(counts))]
        if self._wrong == "displacements ignored":
            displs = np.concatenate([[0], np.cumsum(counts)[:-1]])
        if self._wrong == "gather order reversed":
            parts.reverse()
        if self._wrong == "counts assumed equal":
            parts = [part[: counts[0]] for part in parts]
        for at, part in zip(displs, parts, strict=True):
            recv[at : at + part.size] = part[: recv.size - at]

    def _swap(self, operation: str, array: Array | None, details: tuple[Any, ...]) -> list[Array]:
        """Everybody's numbers, once all have called the same."""
        data = np.empty(0, "u1") if array is None else np.ascontiguousarray(array).reshape(-1).copy()
        call: list[Any] = []
        if self._wrong != "operations are not compared":
            call = [operation, details, 0 if operation == "allgatherv" else data.nbytes]
            if self._wrong != "dtypes are not compared":
                call.append(data.dtype)
        self._board.slots[self.rank] = (call, data)
        self._board.gate.wait()
        calls = [slot[0] for slot in self._board.slots]
        parts = [slot[1] for slot in self._board.slots]
        self._board.gate.wait()
        if any(other != call for other in calls):
            odd = [rank for rank, other in enumerate(calls) if calls.count(other) * 2 < self.size]
            blamed = tuple(odd) if odd else tuple(range(self.size))
            raise CollectiveFailed(operation, "mismatch", blamed, "different calls")
        return parts
