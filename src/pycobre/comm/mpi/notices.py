"""Bad news between the ranks of a group, on a communicator of its own, and the verdict that comes of it.

Only a rank that is inside an operation reads its notices, so nothing is decided by asking: whoever finds
something tells everyone. All findings that come within a moment of the first are weighed, and that of the
lowest rank is the verdict; who finds something later has read the earlier finding before it speaks.
"""

from __future__ import annotations

import struct
import threading
import time
from dataclasses import dataclass

from pycobre.comm.mpi.library import MPI

SETTLE_SECS = 0.02
"""How long findings are weighed: far longer than a short message travels."""

_DEFER_SECS = 1.0  # how long an operation that all have begun may still take to complete

_REASONS = ("", "lost", "stopped", "timeout", "mismatch", "aborted")

_TEXT_BYTES = 800
# Kind, reason, bytes of text; sender and its turn; finder and its turn; MPI's code. The sender tells itself:
# the status of a frame that is read twice would not.
_HEAD = struct.Struct("<BBHqqqqi")
_FINDING, _LEAVE, _LEAVE_BROKEN, _QUERY, _ANSWER = range(1, 6)
_TAG = 1


@dataclass(frozen=True)
class Finding:
    """What a rank found out in its operation *turn*; else the fields of a ``CollectiveFailed``."""

    turn: int
    reason: str
    ranks: tuple[int, ...]
    message: str
    code: int = 0


class Notices:
    """What this rank has told the others, and they it.

    Attributes
    ----------
    findings
        What has been found, by finder; empty as long as all is well.
    left
        Turn that a rank had reached when it closed the group, by rank.
    broken
        Whether a rank has closed the group amid an exchange that failed.
    answers
        Turn that a rank is in, by rank, since the last question.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm
        self._rank, self._size = comm.Get_rank(), comm.Get_size()
        self._map_bytes = (self._size + 7) // 8
        self._frame = bytearray(_HEAD.size + self._map_bytes + _TEXT_BYTES)
        self.findings: dict[int, Finding] = {}
        self._settled_at = 0.0
        self._turn = 0
        self._sent: list[MPI.Request] = []
        self._polling = threading.Lock()
        self.left: dict[int, int] = {}
        self.broken = False
        self.answers: dict[int, int] = {}
        self._full = False  # whether the frame is to be read
        self._status = MPI.Status()

    def poll(self, turn: int) -> bool:
        """Whether the group has failed, by all that has come until now; *turn* answers who asks."""
        # Another thread that is here, or a signal's handler amid it, leaves it to the first.
        if self._size > 1 and self._polling.acquire(blocking=False):
            try:
                self._turn = turn
                # Asked for, not awaited by a receive from anybody: between machines MPICH 5.0.2 loses
                # what such a receive is to take.
                while self._full or self._comm.Iprobe(MPI.ANY_SOURCE, _TAG, self._status):
                    if not self._full:
                        # A handler that raises after this leaves a frame to be read twice: no harm.
                        self._full = True
                        self._comm.Recv([self._frame, MPI.BYTE], self._status.source, _TAG)
                    self._take()
                    self._full = False
            finally:
                self._polling.release()
        return bool(self.findings)

    def ends(self, turn: int) -> bool:
        """Whether operation *turn* is to end by what has been found."""
        # Whoever found something in a later one has completed this one, so it is about to complete here.
        return any(finding.turn <= turn for finding in self.findings.values()) or (
            bool(self.findings) and time.monotonic() > self._settled_at + _DEFER_SECS
        )

    def find(self, finding: Finding) -> None:
        """Tell everyone, unless somebody was first."""
        if self.findings:
            return
        self._add(self._rank, finding)
        self._tell_all(_FINDING, 0, (self._rank, finding))
        self.verdict()  # a library may need to be called some more before a first message is on its way

    def verdict(self) -> Finding:
        """What all ranks raise; there must be a finding."""
        while (rest := self._settled_at - time.monotonic()) > 0:
            time.sleep(min(rest, 1e-3))
            self.poll(self._turn)
        return self.findings[min(self.findings)]

    def leave(self, turn: int, broken: bool) -> None:
        """Tell everyone that this rank has closed the group after *turn* operations, and why if it failed."""
        # Who hears it before the finder's own notice must not think that this rank is the first to go.
        verdict = self.verdict() if self.findings else None
        kind = _LEAVE_BROKEN if broken else _LEAVE
        self._tell_all(kind, turn, (min(self.findings), verdict) if verdict else None)

    def ask(self) -> None:
        """Ask everyone which turn it is in; only who is in one answers."""
        self.answers.clear()
        self._tell_all(_QUERY)

    @property
    def all_left(self) -> bool:
        """Whether all others have closed the group, and all have heard that this rank has."""
        return len(self.left) == self._size - 1 and MPI.Request.Testall(self._sent)

    def _add(self, finder: int, finding: Finding) -> None:
        now = time.monotonic()
        if not self.findings:
            self._settled_at = now + SETTLE_SECS
        if now <= self._settled_at:
            self.findings.setdefault(finder, finding)

    def _tell_all(self, kind: int, turn: int = 0, found: tuple[int, Finding] | None = None) -> None:
        frame = self._packed(kind, turn, found)
        for rank in range(self._size):
            if rank != self._rank:
                self._tell(rank, frame)

    def _tell(self, rank: int, frame: bytes) -> None:
        # Only ever appended to: another thread's abort(), or a signal's handler, may be here at once.
        self._sent.append(self._comm.Isend([frame, MPI.BYTE], rank, _TAG))

    def _packed(self, kind: int, turn: int, found: tuple[int, Finding] | None = None) -> bytes:
        blamed = bytearray(self._map_bytes)
        if found is None:
            return _HEAD.pack(kind, 0, 0, self._rank, turn, 0, 0, 0) + blamed
        finder, finding = found
        text = finding.message.encode()[:_TEXT_BYTES]
        for rank in finding.ranks:
            blamed[rank // 8] |= 1 << rank % 8
        head = _HEAD.pack(
            kind,
            _REASONS.index(finding.reason),
            len(text),
            self._rank,
            turn,
            finder,
            finding.turn,
            finding.code,
        )
        return head + blamed + text

    def _take(self) -> None:
        kind, reason, length, source, turn, finder, found_in, code = _HEAD.unpack_from(self._frame)
        if reason:
            at = _HEAD.size + self._map_bytes
            blamed = self._frame[_HEAD.size : at]
            ranks = tuple(rank for rank in range(self._size) if blamed[rank // 8] >> rank % 8 & 1)
            text = self._frame[at : at + length].decode(errors="replace")
            self._add(finder, Finding(found_in, _REASONS[reason], ranks, text, code))
        if kind in (_LEAVE, _LEAVE_BROKEN):
            self.left[source] = turn
            self.broken |= kind == _LEAVE_BROKEN
        elif kind == _QUERY:
            self._tell(source, self._packed(_ANSWER, self._turn))
        elif kind == _ANSWER:
            self.answers[source] = turn
