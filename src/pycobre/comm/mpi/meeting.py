"""Every collective's first exchange: all calls and small payloads to all ranks, one line each."""

from __future__ import annotations

from collections.abc import Callable

from pycobre.comm.mpi.call import INLINE_BYTES, LINE_BYTES, PAYLOAD_AT, Call
from pycobre.comm.mpi.library import MPI
from pycobre.comm.mpi.waiting import complete


class Meeting:
    """The line of this rank and the lines of all, over buffers that never move.

    Attributes
    ----------
    turn
        Meetings that this rank has begun.
    mine
        (48,) bytes, this rank's payload of the next meeting.
    theirs
        (R, 48) bytes, everyone's payload of the last meeting, until the next one.
    """

    def __init__(self, comm: MPI.Intracomm, crowded: bool) -> None:
        size = comm.Get_size()
        self.turn = 0
        self._line = bytearray(LINE_BYTES)
        self._lines = bytearray(LINE_BYTES * size)
        self._crowded = crowded
        whole = memoryview(self._lines)
        self.mine = memoryview(self._line)[PAYLOAD_AT : PAYLOAD_AT + INLINE_BYTES]
        self.theirs = [
            whole[at + PAYLOAD_AT : at + PAYLOAD_AT + INLINE_BYTES]
            for at in range(0, len(self._lines), LINE_BYTES)
        ]
        self._fingerprints = whole.cast("Q")[:: LINE_BYTES // 8]
        self._size = size
        self._written: Call | None = None
        self._comm = comm
        self._specs = ([self._line, LINE_BYTES, MPI.BYTE], [self._lines, LINE_BYTES, MPI.BYTE])
        try:
            # Prepared once, a third faster than to describe the same exchange every time.
            self._request: MPI.Request = comm.Allgather_init(*self._specs)
        except (NotImplementedError, MPI.Exception):  # before MPI 4
            self._request = MPI.REQUEST_NULL

    def meet(self, call: Call, look: Callable[[], None]) -> bool:
        """Whether all ranks call what this one does, once all have come."""
        if call is not self._written:
            call.write(self._line)
            self._written = call
        test = self.begin().Test
        if not (test() or test() or test()):
            complete(test, look, self._crowded)
        return self._fingerprints.tolist().count(call.fingerprint) == self._size

    def begin(self) -> MPI.Request:
        """The exchange of what is in the buffers, now under way."""
        self.turn += 1
        request = self._request
        if isinstance(request, MPI.Prequest):
            request.Start()
        else:
            request = self._request = self._comm.Iallgather(*self._specs)
        return request

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
