"""The backend of a single rank: nothing to send, everything to check."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre._native import shm as native
from pycobre.comm.arguments import check_allgatherv, check_allreduce, check_broadcast
from pycobre.comm.base import Backend, Counts, ReduceOp
from pycobre.comm.heap import HeapRegion
from pycobre.errors import CollectiveFailed, InvalidCommunicator


class LocalCommunicator(native.Alone, Backend):
    """A group of one. It checks and fails as a larger one would, so that mistakes show on a laptop.

    Plainly right calls end in the native type; here is what the others turn to.
    """

    backend = "local"
    is_leader = True

    def __init__(self) -> None:
        self.rank = 0
        self.size = 1
        self._closed = False
        self._failure: str | None = None
        self._told = False

    def _checked_allgatherv(
        self, send: npt.NDArray[Any], recv: npt.NDArray[Any], counts: Counts, displs: Counts
    ) -> None:
        self._enter("allgatherv")
        source, target, lengths, starts = check_allgatherv(send, recv, counts, displs, 0, 1)
        target.reshape(-1)[starts[0] : starts[0] + lengths[0]] = source.reshape(-1)

    def _checked_allreduce(self, send: npt.NDArray[Any], recv: npt.NDArray[Any], op: ReduceOp) -> None:
        self._enter("allreduce")
        source, target, _ = check_allreduce(send, recv, op)
        np.copyto(target.reshape(-1), source.reshape(-1))

    def _checked_broadcast(self, buf: npt.NDArray[Any], root: int) -> None:
        self._enter("broadcast")
        check_broadcast(buf, root, 1)

    def _checked_barrier(self) -> None:
        self._enter("barrier")

    def abort(self, reason: str) -> None:
        """Make every later call raise."""
        if self._closed:
            raise InvalidCommunicator("this communicator is closed")
        self._failure = self._failure or f"rank 0 aborted: {reason}"
        self._usable = False

    def close(self) -> None:
        """End the group of one."""
        self._closed = True
        self._usable = False

    def create_shared_region(self, count: int, dtype: npt.DTypeLike) -> HeapRegion:
        """A region in this process's memory."""
        self._enter("create_shared_region")
        return HeapRegion(count, dtype)

    def split_local(self) -> LocalCommunicator:
        """Another group of one."""
        self._enter("split_local")
        return LocalCommunicator()

    def duplicate(self) -> LocalCommunicator:
        """Another group of one."""
        self._enter("duplicate")
        return LocalCommunicator()

    def _enter(self, operation: str) -> None:
        if self._closed:
            raise InvalidCommunicator("this communicator is closed")
        if self._failure is None:
            return
        if self._told:
            raise InvalidCommunicator(f"this communicator failed before (aborted): {self._failure}")
        self._told = True
        raise CollectiveFailed(operation, "aborted", [0], self._failure)
