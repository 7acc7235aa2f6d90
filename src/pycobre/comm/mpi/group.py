"""A group as the backend uses it: one call at a time, a meeting before everything, one verdict for all."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from time import monotonic
from typing import NoReturn

from pycobre.comm.call import Call, Kind, mismatch_of, ranks_text
from pycobre.comm.mpi.library import MPI
from pycobre.comm.mpi.meeting import Meeting
from pycobre.comm.mpi.notices import Finding, Notices
from pycobre.comm.mpi.place import Place
from pycobre.comm.mpi.waiting import complete
from pycobre.errors import (
    AllocationFailed,
    CollectiveFailed,
    CommError,
    InvalidBufferSize,
    InvalidCommunicator,
    InvalidRoot,
)

_ANSWER_SECS = 0.3  # how long a rank that is in an operation may take to say so
_LOOK_SECS = 0.01  # calls that follow each other faster do without a look at the notices
_FAILED_SECS = 2.0  # how long the end of the process waits for groups that failed, perhaps amid an exchange
_ALIVE_SECS = 0.2  # how often a rank that waits looks whether the processes beside it are there
_LOOKS = 16  # MPI may take in one message a time, and others came before the notice


class _Found(Exception):
    """Ends a wait: with what this rank has found, or ``None`` when another rank has."""

    def __init__(self, finding: Finding | None) -> None:
        self.finding = finding


class Group:
    """Two private communicators, one for data and one for notices. To make one is collective.

    Attributes
    ----------
    comm
        For data.
    meeting, notices
        What happens on the two.
    place
        Where the ranks are.
    limit
        Of one collective in seconds, or ``None``.
    closed, freed
        Whether this rank has left; whether all have, and MPI has back what it keeps of the group.
    leave
        Ends a call.
    """

    def __init__(self, parent: MPI.Intracomm, place: Place | None, limit: float | None) -> None:
        sweep()
        self.comm, self._control = parent.Dup(), parent.Dup()
        for comm in (self.comm, self._control):
            comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        self.place = Place(self.comm) if place is None else place
        self.limit = limit
        self.meeting = Meeting(self.comm)
        self.notices = Notices(self._control)
        self.closed = self.freed = self._told = self._asked = False
        self._process = os.getpid()
        self._timed, self._deadline = -1, 0.0  # a turn, and when it is late
        self._looked = self._counted = monotonic()
        self._abandoned: object = None  # a request that will not complete, and what MPI may still touch
        self._door = threading.Lock()  # held by the call that is under way; a closed group keeps it
        # What every call needs, looked up once: small ones take hardly longer than looking it up.
        self._come, self.leave = self._door.acquire, self._door.release
        self._findings, self._meet = self.notices.findings, self.meeting.meet
        _kept.append(self)

    # One call: enter, meet, perhaps finish requests; then leave, or fail and leave.

    def enter(self, kind: Kind) -> None:
        """Begin a call, or raise why none can be made."""
        if not self._come(False):
            if self.closed:
                raise InvalidCommunicator("this communicator is closed")
            if os.getpid() != self._process:
                raise InvalidCommunicator("this process was forked from a rank, it is not one itself")
            raise InvalidCommunicator("another thread (or a signal's handler) is using this communicator")
        now = monotonic()
        if now - self._looked > _LOOK_SECS:  # a rank that comes late may have missed something
            self._looked = now
            any(self.notices.poll(self.meeting.turn) for _ in range(_LOOKS))
        if self._findings:
            self.leave()
            raise self._verdict_as_error(kind)

    def meet(self, call: Call) -> None:
        """Return once all ranks have made *call*, with what they put in ``meeting.payloads``."""
        if not self._meet(call, self.look):
            blamed, text = mismatch_of(self.meeting.lines())
            raise _Found(Finding(self.meeting.turn, "mismatch", tuple(blamed), text))

    def finish(self, request: MPI.Request, buffers: object) -> None:
        """Complete a request that all ranks have begun; MPI uses *buffers* meanwhile."""
        try:
            complete(request.Test, self.look, met=True)
        except BaseException:
            self._abandoned = (request, buffers)
            raise

    def look(self) -> None:
        """Raise if this wait is to end: somebody has failed, left, or does not come in time."""
        turn = self.meeting.turn
        if self.notices.poll(turn) and self.notices.ends(turn):
            raise _Found(None)
        early = sorted(rank for rank, last in self.notices.left.items() if last < turn)
        if early:
            text = f"{ranks_text(early)} closed the communicator while others were in a collective"
            raise _Found(Finding(turn, "lost", tuple(early), text))
        now = monotonic()
        if now - self._counted > _ALIVE_SECS:
            self._counted = now
            gone = self.place.gone_among([rank for rank in range(self.size) if rank not in self.notices.left])
            if gone:
                text = f"{ranks_text(gone)} disappeared: killed, or ended without close()"
                raise _Found(Finding(turn, "lost", tuple(gone), text))
        if self.limit is None:
            return
        if turn != self._timed:
            self._timed, self._deadline, self._asked = turn, now + self.limit, False
        elif now >= self._deadline + _ANSWER_SECS:
            raise _Found(self._late(turn))
        elif now >= self._deadline and not self._asked:
            self._asked = True
            self.notices.ask()

    def fail(self, kind: Kind, error: BaseException) -> NoReturn:
        """Raise what becomes of *error*: it, where nothing was sent, otherwise the verdict of all ranks."""
        if isinstance(error, InvalidBufferSize | InvalidRoot | AllocationFailed):
            raise error
        if isinstance(error, _Found):
            if error.finding is not None:
                self.notices.find(error.finding)
        elif isinstance(error, MPI.Exception):
            self.notices.find(self._trouble(error))
        else:
            # What a signal's handler raised is this rank's report; the others hear who was interrupted.
            text = f"rank {self.rank} was interrupted in {kind.title} by {type(error).__name__}"
            self.notices.find(Finding(self.meeting.turn, "aborted", (self.rank,), text))
            self._told = True
            raise error
        raise self._verdict_as_error(kind) from (error if isinstance(error, MPI.Exception) else None)

    # From outside of a call.

    def abort(self, reason: str) -> None:
        """Make every rank fail with *reason*."""
        if self.closed:
            raise InvalidCommunicator("this communicator is closed")
        if os.getpid() == self._process and not self.notices.poll(self.meeting.turn):
            text = f"rank {self.rank} aborted: {reason}"
            turn = self.meeting.turn + (not self._door.locked())
            self.notices.find(Finding(turn, "aborted", (self.rank,), text))

    def close(self) -> None:
        """Leave; what MPI keeps of the group is given back once all ranks have left."""
        if self.closed:
            return
        if not self._door.acquire(False):
            raise InvalidCommunicator("another thread is in a collective: abort() it first")
        self.closed = True
        if os.getpid() == self._process:
            self.notices.leave(self.meeting.turn, self._abandoned is not None)

    @property
    def outcome(self) -> Finding | None:
        """Why the group failed, ``None`` if it did not."""
        return self.notices.verdict() if self.notices.findings else None

    @property
    def broken(self) -> bool:
        """Whether some rank has a request that will never complete, so that MPI must keep the group."""
        return self._abandoned is not None or self.notices.broken

    @property
    def over(self) -> bool:
        """Whether all ranks have closed it, and nothing is under way any more."""
        if not self.closed:
            return False
        self.notices.poll(self.meeting.turn)
        if self.broken or not self.notices.all_left:
            return False
        if not self.meeting.idle:
            return False
        if self.meeting.turn < max(self.notices.left.values(), default=0):
            self.meeting.join()  # others failed in a meeting that this rank never came to: let it end
        return self.meeting.idle

    def free(self) -> None:
        """Give back what MPI keeps of a group that is over."""
        self.meeting.free()
        self.comm.Free()
        self._control.Free()
        self.freed = True

    def disown(self) -> None:
        """In a process that was forked from a rank: refuse everything."""
        self._door.acquire(False)  # if it is held, then by a thread that does not exist here

    def _late(self, turn: int) -> Finding:
        others = [rank for rank in range(self.size) if rank != self.rank]
        late = [rank for rank in others if self.notices.answers.get(rank, -1) < turn] or others
        asleep = self.place.stopped_among(late)
        what = "stopped (suspended, not dead)" if asleep else "did not come in time"
        text = f"{ranks_text(asleep or late)} {what}; a collective has waited for {self.limit:g} s, its limit"
        return Finding(turn, "stopped" if asleep else "timeout", tuple(asleep or late), text)

    def _trouble(self, error: MPI.Exception) -> Finding:
        # An MPI that tells of a dead process at all does it by this class; anything else is this rank's own.
        lost = error.Get_error_class() == getattr(MPI, "ERR_PROC_FAILED", None)
        text = f"MPI failed on rank {self.rank}: {error.Get_error_string()}"
        reason = "lost" if lost else "aborted"
        return Finding(self.meeting.turn, reason, (self.rank,), text, error.Get_error_code())

    def _verdict_as_error(self, kind: Kind) -> CommError:
        found = self.notices.verdict()
        if self._told:
            return InvalidCommunicator(f"this communicator failed before ({found.reason}): {found.message}")
        self._told = True
        return CollectiveFailed(kind.title, found.reason, found.ranks, found.message, found.code)


# Every group that MPI may still touch: an open one, one that another rank has not left, one that broke amid
# an exchange.
_kept: list[Group] = []


def sweep() -> None:
    """Give back what MPI keeps of groups that are over."""
    for group in [group for group in _kept if group.over]:
        _kept.remove(group)
        group.free()


def close_all() -> None:
    """At the end of this process: leave every group, and wait for the other ranks to do so too."""
    for group in _kept:
        with contextlib.suppress(InvalidCommunicator):  # a thread is still in it
            group.close()
    until, pause = monotonic() + _FAILED_SECS, 1e-5
    while any(
        group.closed and not group.broken and (not group.notices.findings or monotonic() < until)
        for group in _kept
    ):
        sweep()
        time.sleep(pause)
        pause = min(1e-3, 1.5 * pause)
    # MPI's own end comes after Python's: what it may write to until then has to stay.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))


def _disown_all() -> None:
    for group in _kept:
        group.disown()


os.register_at_fork(after_in_child=_disown_all)
