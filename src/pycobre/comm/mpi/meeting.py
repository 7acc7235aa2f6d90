"""Every collective's first exchange: all calls and small payloads to all ranks, one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.call import INLINE_BYTES, LINE_BYTES, PAYLOAD_AT, Call
from pycobre.comm.mpi.library import MPI
from pycobre.comm.mpi.waiting import complete

Array = npt.NDArray[Any]


class Meeting:
    """The line of this rank and the lines of all, over buffers that never move.

    Attributes
    ----------
    turn
        Meetings that this rank has begun.
    """

    def __init__(self, comm: MPI.Intracomm, crowded: bool) -> None:
        self._size = comm.Get_size()
        self.turn = 0
        self._crowded = crowded
        self._line, self._lines = bytearray(LINE_BYTES), bytearray(LINE_BYTES * self._size)
        self._fingerprints = memoryview(self._lines).cast("Q")[:: LINE_BYTES // 8]
        self._payloads: dict[np.dtype[Any], tuple[Array, list[Array]]] = {}
        self._written: Call | None = None
        self._comm = comm
        self._specs = ([self._line, LINE_BYTES, MPI.BYTE], [self._lines, LINE_BYTES, MPI.BYTE])
        self._request: MPI.Request = MPI.REQUEST_NULL
        self._start: Callable[[], None] = self._start_once
        try:
            # Prepared once, a third faster than to describe the same exchange every time.
            prepared = comm.Allgather_init(*self._specs)
        except (NotImplementedError, MPI.Exception):  # before MPI 4
            return
        self._request, self._start = prepared, prepared.Start

    def payloads(self, dtype: np.dtype[Any]) -> tuple[Array, list[Array]]:
        """What this rank gives to the next meeting, and what all gave to the last one, as *dtype*."""
        found = self._payloads.get(dtype)
        if found is None:
            count = INLINE_BYTES // dtype.itemsize
            theirs = [
                np.ndarray((count,), dtype, self._lines, at + PAYLOAD_AT)
                for at in range(0, len(self._lines), LINE_BYTES)
            ]
            found = np.ndarray((count,), dtype, self._line, PAYLOAD_AT), theirs
            self._payloads[dtype] = found
        return found

    def meet(self, call: Call, look: Callable[[], None]) -> bool:
        """Whether all ranks call what this one does, once all have come."""
        if call is not self._written:
            call.write(self._line)
            self._written = call
        self.turn += 1
        self._start()
        test = self._request.Test
        if not (test() or test() or test()):
            complete(test, look, self._crowded)
        return self._fingerprints.tolist().count(call.fingerprint) == self._size

    def join(self) -> None:
        """Take part in a meeting that failed elsewhere, so that it ends; nobody looks at it."""
        self.turn += 1
        self._start()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return self._request.Test()

    def lines(self) -> list[bytes]:
        """Everyone's line of the last meeting."""
        return [bytes(self._lines[at : at + LINE_BYTES]) for at in range(0, len(self._lines), LINE_BYTES)]

    def free(self) -> None:
        """Give the request back; none may be under way."""
        if isinstance(self._request, MPI.Prequest):
            self._request.Free()

    def _start_once(self) -> None:
        self._request = self._comm.Iallgather(*self._specs)
