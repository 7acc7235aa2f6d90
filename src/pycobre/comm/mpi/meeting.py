"""Every collective's first exchange: all calls and small payloads to all ranks, one line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pycobre.comm.call import LINE_BYTES, PAYLOAD_AT, Call
from pycobre.comm.mpi.library import MPI
from pycobre.comm.mpi.waiting import complete


class Meeting:
    """The line of this rank and the lines of all, over buffers that never move.

    Attributes
    ----------
    turn
        Meetings that this rank has begun.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._size = comm.Get_size()
        self.turn = 0
        self._line, self._lines = bytearray(LINE_BYTES), bytearray(LINE_BYTES * self._size)
        self._fingerprints = memoryview(self._lines).cast("Q")[:: LINE_BYTES // 8]
        self._written: Call | None = None
        self._comm = comm
        self._specs = ([self._line, LINE_BYTES, MPI.BYTE], [self._lines, LINE_BYTES, MPI.BYTE])
        self._request: MPI.Request = MPI.REQUEST_NULL
        self._start: Callable[[], None] = self._start_once
        self._test: Callable[[], bool] = self._request.Test
        try:
            # Prepared once, a third faster than to describe the same exchange every time.
            prepared = comm.Allgather_init(*self._specs)
        except (NotImplementedError, MPI.Exception):  # before MPI 4
            return
        if self._repeats(prepared):
            self._request, self._start, self._test = prepared, prepared.Start, prepared.Test
        else:
            prepared.Free()

    def payloads(self, sizes: Sequence[int]) -> list[memoryview]:
        """(R,) Where the first bytes are, of *sizes*, that each rank gave to the last meeting."""
        lines, begins = memoryview(self._lines), range(PAYLOAD_AT, len(self._lines), LINE_BYTES)
        return [lines[at : at + size] for at, size in zip(begins, sizes, strict=True)]

    def payload(self, size: int) -> memoryview:
        """Where this rank puts the *size* bytes that it gives to the next meeting."""
        return memoryview(self._line)[PAYLOAD_AT : PAYLOAD_AT + size]

    def meet(self, call: Call, look: Callable[[], None]) -> bool:
        """Whether all ranks call what this one does, once all have come."""
        if call is not self._written:
            call.write(self._line)
            self._written = call
        self.turn += 1
        self._start()
        test = self._test
        if not (test() or test() or test()):
            complete(test, look)
        return self._fingerprints.tolist().count(call.fingerprint) == self._size

    def join(self) -> None:
        """Take part in a meeting that failed elsewhere, so that it ends; nobody looks at it."""
        self.turn += 1
        self._start()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return self._test()

    def lines(self) -> list[bytes]:
        """Everyone's line of the last meeting."""
        return [bytes(self._lines[at : at + LINE_BYTES]) for at in range(0, len(self._lines), LINE_BYTES)]

    def free(self) -> None:
        """Give the request back; none may be under way."""
        if isinstance(self._request, MPI.Prequest):
            self._request.Free()

    def _repeats(self, prepared: MPI.Prequest) -> bool:
        """Whether a prepared exchange brings all ranks, each time, what was written since the last one."""
        # MPICH 4.0 and what was made from it, Intel MPI up to 2021.19, bring some of what was there then.
        sound = True
        for turn in range(1, 4):
            self._line[:] = bytes([turn]) * LINE_BYTES
            prepared.Start()
            prepared.Wait()
            sound = sound and self._lines == self._line * self._size
        self._line[:] = bytes(LINE_BYTES)
        mine, all_ranks = bytearray([sound]), bytearray(1)
        self._comm.Allreduce([mine, 1, MPI.UINT8_T], [all_ranks, 1, MPI.UINT8_T], MPI.MIN)
        return bool(all_ranks[0])

    def _start_once(self) -> None:
        self._request = self._comm.Iallgather(*self._specs)
        self._test = self._request.Test
