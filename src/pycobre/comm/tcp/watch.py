"""Who is lost, stopped, late or leaves, and the one verdict that all ranks share.

A thread of each rank waits on the control links, which are silent as long as all is well. Rank 0 decides:
what another rank finds it only reports, and rank 0 sends its verdict to all before it closes a connection.
Where rank 0 itself is gone, every other rank sees that alone, and sees the same.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections import deque

from pycobre.comm.machine import process_seen
from pycobre.comm.tcp.control import (
    Ailment,
    Control,
    Leave,
    Pending,
    Query,
    Status,
    Trouble,
)
from pycobre.comm.tcp.frame import ProtocolError
from pycobre.comm.tcp.judge import LOOK_SECS, Judge, operation_name
from pycobre.comm.tcp.link import Joined, LinkEnded
from pycobre.comm.tcp.liveness import LIVENESS_SECS, SUSPECT_SECS
from pycobre.comm.tcp.verdict import Verdict, aborted, cut_off, departed, gone, overdue
from pycobre.comm.tcp.wire import Wire

_ANSWER_SECS = 0.5  # for rank 0's verdict, or word that it is pending; longer than rank 0 waits for others
_FLUSH_SECS = 1.0  # for last words
_NO_LIMIT = 1 << 63


class Watch:
    """The thread that watches over a group, and what it tells the rank that is in a collective.

    Parameters
    ----------
    joined
        The group; its control links are the watch's from now on.

    Attributes
    ----------
    wake
        A descriptor that is readable once there is a verdict; -1 in a group of one.
    entered, operation
        The collective that this rank is in, or was last: its number, and which it is. The communicator sets
        them.
    last_possible
        The last collective that can still come about, since rank 0 closed after it.
    failing
        Whether there is a verdict, or soon will be.
    """

    def __init__(self, joined: Joined) -> None:
        self.entered = 0
        self.operation = 0
        self.last_possible = _NO_LIMIT
        self.failing = False
        self.wake = -1
        self._rank = joined.rank
        self._peers = joined.peers
        self._machine = joined.peers[joined.rank].machine
        self._wires = {peer: Wire(link, len(joined.peers)) for peer, link in joined.control.items()}
        self._judge = Judge(self._stopped, self._silent)
        self._asked: Control | None = None  # what rank 0 is to give its verdict on
        self._answer_due: float | None = None
        self._final: deque[Verdict] = deque()
        self._fallback: deque[Verdict] = deque()
        self._posts: deque[Control] = deque()
        self._told = False
        self._leaving: float | None = None
        self._thread: threading.Thread | None = None
        self._descriptors: list[int] = []
        if self._wires:
            self.wake, self._waker = os.pipe()
            self._nudged, self._nudger = os.pipe()
            self._descriptors = [self.wake, self._waker, self._nudged, self._nudger]
            for descriptor in self._descriptors:
                os.set_blocking(descriptor, False)
            self._thread = threading.Thread(target=self._run, name="pycobre-watch", daemon=True)
            self._thread.start()

    # What the communicator calls.

    def settle(self, verdict: Verdict) -> None:
        """Have *verdict* become the group's, if there is none yet. From any thread or signal handler."""
        if self._rank == 0:
            self._adopt(verdict)
        else:
            self._expect(verdict)
        self._post(verdict)

    def report(self, trouble: Trouble) -> None:
        """Have rank 0 find out whose fault it is."""
        alone = cut_off(trouble.peer, self._rank)
        if trouble.ailment is Ailment.OVERDUE:
            # For the case that rank 0 does not answer: then it is late itself.
            name = operation_name(trouble.operation)
            alone = overdue([0], self._stopped(0), name, trouble.limit_secs)
        self._expect(alone)
        self._post(trouble)

    def verdict(self) -> Verdict:
        """The group's verdict, waited for if it has yet to come; only right while :attr:`failing`."""
        if not self._final and self.wake >= 0:
            poll = select.poll()
            poll.register(self.wake, select.POLLIN)
            poll.poll((LIVENESS_SECS + _ANSWER_SECS) * 1e3)  # the thread has given one by then
        if not self._final:
            self._final.append(self._fallback[0])
        return self._final[0]

    def concerned(self) -> bool:
        """Whether the collective that this rank is in can't come about any more."""
        return not self._final or self._final[0].sequence <= self.entered

    def leave(self, *, ended: bool, closing: bool = True) -> None:
        """Tell the others that this rank goes, and end the thread.

        Parameters
        ----------
        ended
            Whether nobody called close.
        closing
            Whether to close the control links and :attr:`wake`; no thread waits with them then.
        """
        if self._thread is None:
            return
        self._post(Leave(self.entered, ended))
        if self._thread is threading.current_thread():  # the garbage collector came by in it
            return
        self._thread.join()
        if closing:
            self._close()

    def disown(self) -> None:
        """Let go of everything without a word, in a process that was forked from the rank."""
        self._thread = None
        self._close()

    def _close(self) -> None:
        for wire in self._wires.values():
            wire.link.close()
        while self._descriptors:
            os.close(self._descriptors.pop())
        self.wake = -1

    def _post(self, message: Control) -> None:
        if self._descriptors:
            self._posts.append(message)
            with contextlib.suppress(BlockingIOError):  # full: it will look up anyway
                os.write(self._nudger, b"!")

    def _expect(self, fallback: Verdict) -> None:
        self._fallback.append(fallback)
        self.failing = True

    def _adopt(self, verdict: Verdict) -> None:
        self._final.append(verdict)  # the first one stands
        self.failing = True
        if self._descriptors and len(self._final) == 1:
            os.write(self._waker, b"!")

    # What the thread does.

    def _run(self) -> None:
        while self._leaving is None or (self._unsent() and time.monotonic() < self._leaving):
            ready = self._wait()
            while self._posts:
                self._take(self._posts.popleft())
            ended = {peer: wire for peer, wire in self._wires.items() if not self._serve(peer, wire, ready)}
            for peer, wire in ended.items():
                wire.link.close()
                del self._wires[peer]
            if lost := [peer for peer, wire in ended.items() if not wire.left]:
                self._conclude(gone(lost) if self._rank else self._judge.loses(lost, time.monotonic()))
            if self._alone and self._fallback and not self._final:
                self._adopt(self._fallback[0])
            if not self._final:
                self._look(time.monotonic())
            self._tell()
        for wire in self._wires.values():
            wire.link.close()

    def _look(self, now: float) -> None:
        """Do what is due."""
        if self._judge.deadline is not None and now >= self._judge.deadline:
            self._conclude(self._judge.conclude(now))
            if self._judge.deadline is not None:
                self._reassure()
        if self._answer_due is not None and now >= self._answer_due:
            silence = self._silent().get(0, 0.0)
            ended = isinstance(self._asked, Trouble) and self._asked.ailment is Ailment.ENDED
            if ended and 0.0 < silence < LIVENESS_SECS:
                self._answer_due = now + LOOK_SECS  # it may be what others saw the end of
            else:
                self._adopt(gone([0]) if ended and silence else self._fallback[0])

    def _reassure(self) -> None:
        silent = self._silent()
        for peer, wire in self._wires.items():
            if not wire.left and peer not in silent:
                wire.post(Pending(self.entered))
                wire.flush()

    def _silent(self) -> dict[int, float]:
        """For how long each rank has owed a sign of life, of those that should have given one by now."""
        silences = {peer: wire.silence_secs() for peer, wire in self._wires.items()}
        return {peer: secs for peer, secs in silences.items() if secs >= SUSPECT_SECS}

    @property
    def _alone(self) -> bool:
        """Whether rank 0 has left, or is gone: what this rank finds is then the verdict."""
        return self._rank > 0 and (0 not in self._wires or self._wires[0].left)

    def _wait(self) -> set[int]:
        poll = select.poll()
        poll.register(self._nudged, select.POLLIN)
        for wire in self._wires.values():
            poll.register(wire.link.fileno(), select.POLLIN | (select.POLLOUT if wire.outbox else 0))
        due = () if self._final else (self._judge.deadline, self._answer_due)
        until = [moment for moment in (self._leaving, *due) if moment is not None]
        limit = max(0.0, min(until) - time.monotonic()) * 1e3 + 1 if until else None
        ready = {descriptor for descriptor, _ in poll.poll(limit)}
        if self._nudged in ready:
            os.read(self._nudged, 4096)
        return ready

    def _unsent(self) -> bool:
        return any(wire.outbox for wire in self._wires.values())

    def _serve(self, peer: int, wire: Wire, ready: set[int]) -> bool:
        """Whether the wire goes on, after what could be sent and received."""
        try:
            if wire.link.fileno() in ready:
                for message in wire.receive():
                    self._hear(peer, message)
                while wire.link.buffered:
                    for message in wire.receive():
                        self._hear(peer, message)
        except LinkEnded:
            return False
        except ProtocolError as error:
            self._conclude(aborted(peer, f"sent what is no message: {error}"))
            wire.left = True
            return False
        wire.flush()
        return True

    def _take(self, message: Control) -> None:
        """Do what this rank itself asks for."""
        if isinstance(message, Leave):
            self._tell()
            for wire in self._wires.values():
                wire.post(message)
            self._leaving = time.monotonic() + _FLUSH_SECS
        elif self._rank == 0:
            if isinstance(message, Trouble):
                self._investigate(0, message)
        elif self._alone:
            self._adopt(self._fallback[0])
        else:
            self._wires[0].post(message)
            if self._asked is None:
                self._asked = message
                self._answer_due = time.monotonic() + _ANSWER_SECS

    def _hear(self, peer: int, message: Control) -> None:
        match message:
            case Verdict():
                self._adopt(message)
            case Leave():
                self._wires[peer].left = True
                if message.ended:
                    self._conclude(gone([peer], message.sequence + 1))
                elif self._rank == 0:
                    self._conclude(self._judge.leaves(peer, message.sequence))
                else:
                    self.last_possible = message.sequence
                    if self.entered > message.sequence:
                        self._adopt(departed([0], operation_name(self.operation), self.entered))
            case Query() if self._rank:
                self._wires[peer].post(Status(message.sequence, self.entered))
            case Pending() if self._rank:
                if self._answer_due is not None:
                    self._answer_due = time.monotonic() + _ANSWER_SECS
            case Status() if self._rank == 0:
                self._conclude(self._judge.answers(peer, message, time.monotonic()))
            case Trouble() if self._rank == 0:
                self._investigate(peer, message)
            case _:
                raise ProtocolError(f"{type(message).__name__} is not for rank {self._rank}")

    def _investigate(self, reporter: int, trouble: Trouble) -> None:
        self._conclude(self._judge.hears(reporter, trouble, time.monotonic()))
        if trouble.ailment is Ailment.OVERDUE and self._judge.trouble is trouble:
            asked = [peer for peer, wire in self._wires.items() if not wire.left]
            for peer in asked:
                self._wires[peer].post(Query(trouble.sequence))
            self._judge.asks(asked, [] if self.entered >= trouble.sequence else [0])

    def _conclude(self, verdict: Verdict | None) -> None:
        if verdict is not None:
            self._adopt(verdict)

    def _tell(self) -> None:
        if self._rank or self._told or not self._final:
            return
        self._told = True
        for wire in self._wires.values():
            wire.post(self._final[0])
            wire.flush()

    def _stopped(self, rank: int) -> bool:
        """Whether the process of *rank* is on this machine, and suspended."""
        peer = self._peers[rank]
        if peer.machine != self._machine:
            return False
        seen = process_seen(peer.pid)
        return seen is not None and seen[0] in ("T", "t")
