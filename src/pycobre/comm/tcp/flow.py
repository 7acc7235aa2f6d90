"""Bytes in both directions over many links at once, and how a rank waits for them."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable, Iterator

from pycobre.comm.tcp.frame import (
    HEADER_BYTES,
    PIECE_BYTES,
    SEAL_BYTES,
    Kind,
    ProtocolError,
    Seal,
    body_length,
    header,
)
from pycobre.comm.tcp.link import Link, LinkEnded

_YIELD_SECS = 50e-6  # a rank that is nearly here costs less than going to sleep and being woken
_LEAST_YIELD_SECS = 4e-6
_EMPTY = memoryview(b"")


class Overdue(Exception):
    """The limit of one collective has passed, in a wait for *peer* among others."""

    def __init__(self, peer: int) -> None:
        self.peer = peer
        super().__init__(f"rank {peer}")


class Interrupted(Exception):
    """The group has failed, as the wake descriptor tells."""


class PeerFailed(Exception):
    """The link to a peer ended (:class:`LinkEnded`) or brought nonsense (:class:`ProtocolError`)."""

    def __init__(self, peer: int, cause: LinkEnded | ProtocolError) -> None:
        self.peer = peer
        self.cause = cause
        super().__init__(f"rank {peer}: {cause}")


class Channel:
    """A data link with its seals.

    Attributes
    ----------
    link
        The link.
    sends, receives
        The seal of each direction, ``None`` where frames are not sealed.
    seal_bytes
        What a seal adds to each frame.
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self.sends = Seal(link.keys.sends) if link.keys else None
        self.receives = Seal(link.keys.receives) if link.keys else None
        self.seal_bytes = SEAL_BYTES if link.keys else 0


class Outgoing:
    """A large payload on its way to one peer, in frames; *parts* alone for one frame that is ready.

    Attributes
    ----------
    channel
        Where it goes.
    done
        Whether all of it went out.
    """

    events = select.POLLOUT

    def __init__(self, channel: Channel, frames: Iterator[list[memoryview]]) -> None:
        self.channel = channel
        self.done = False
        self._frames = frames
        self._parts: list[memoryview] = []

    def step(self) -> bool:
        """Whether something went out just now."""
        if not self._parts:
            self._parts = next(self._frames, [])
            if not self._parts:
                self.done = True
                return True
        sent = self.channel.link.send_some(self._parts)
        if not sent:
            return False
        while self._parts and sent >= self._parts[0].nbytes:
            sent -= self._parts.pop(0).nbytes
        if sent:
            self._parts[0] = self._parts[0][sent:]
        return True


def single_frame(channel: Channel, parts: list[memoryview]) -> Iterator[list[memoryview]]:
    """One frame of *parts*, the header first, with its seal."""
    yield [*parts, memoryview(channel.sends.mark(parts))] if channel.sends else parts


def pieces(channel: Channel, sequence: int, data: memoryview) -> Iterator[list[memoryview]]:
    """The frames of a large payload."""
    for at in range(0, data.nbytes, PIECE_BYTES):
        piece = data[at : at + PIECE_BYTES]
        head = memoryview(header(Kind.PIECE, piece.nbytes, sequence))
        yield from single_frame(channel, [head, piece])


class Incoming:
    """A large payload on its way in, straight to its place.

    Attributes
    ----------
    channel
        Where it comes from.
    done
        Whether all of it is here.
    """

    events = select.POLLIN

    def __init__(self, channel: Channel, sequence: int, place: memoryview) -> None:
        self.channel = channel
        self.done = not place.nbytes
        self._sequence = sequence
        self._left = place
        self._head = memoryview(bytearray(HEADER_BYTES))
        self._mark = memoryview(bytearray(channel.seal_bytes))
        self._piece = _EMPTY
        self._room = self._head
        self._stage = 0

    def step(self) -> bool:
        """Whether something came just now."""
        count = self.channel.link.receive_some(self._room)
        if not count:
            return False
        self._room = self._room[count:]
        if not self._room.nbytes:
            self._next_stage()
        return True

    def _next_stage(self) -> None:
        # Header, piece, and its seal where there is one; then the next piece.
        if self._stage == 0:
            expected = min(PIECE_BYTES, self._left.nbytes)
            if body_length(self._head, Kind.PIECE, self._sequence, expected) != expected:
                raise ProtocolError("a piece of a payload is shorter than it should be")
            self._room = self._piece = self._left[:expected]
            self._left = self._left[expected:]
            self._stage = 1
            return
        if self._stage == 1 and self.channel.receives:
            self._room = self._mark
            self._stage = 2
            return
        if self._stage == 2 and self.channel.receives:
            self.channel.receives.check((self._head, self._piece), self._mark)
        self._room = self._head
        self._stage = 0
        self.done = not self._left.nbytes


class FrameIn:
    """One frame of a length that only its header tells, into room of a fixed size.

    Attributes
    ----------
    channel
        Where it comes from.
    done
        Whether all of it is here.
    end
        Where its body ends in the room; right once it is done.
    """

    events = select.POLLIN

    def __init__(self, channel: Channel, room: bytearray) -> None:
        self.channel = channel
        self.done = True
        self.end = 0
        self._room = room
        self._view = memoryview(room)
        self._most = len(room) - HEADER_BYTES - channel.seal_bytes
        self._filled = 0
        self._goal = 0
        self._sequence = 0

    def expect(self, sequence: int, length: int) -> None:
        """Begin to receive the meeting of operation *sequence*, most likely with *length* bytes of body."""
        self.done = False
        self.end = HEADER_BYTES + length
        self._sequence = sequence
        self._filled = 0
        self._goal = self.end + self.channel.seal_bytes

    def step(self) -> bool:
        """Whether something came just now."""
        count = self.channel.link.receive_some(self._view[self._filled : self._goal])
        if not count:
            return False
        before = self._filled
        self._filled += count
        if self._filled < HEADER_BYTES:
            return True
        if before < HEADER_BYTES:
            # A rank that calls something else sends another length. What was then read beyond the frame is
            # of no use to anyone: the group fails.
            head = self._view[:HEADER_BYTES]
            self.end = HEADER_BYTES + body_length(head, Kind.MEETING, self._sequence, self._most)
            self._goal = self.end + self.channel.seal_bytes
        if self._filled >= self._goal:
            if self.channel.receives:
                self.channel.receives.check((self._view[: self.end],), self._view[self.end : self._goal])
            self.done = True
        return True


Transfer = Outgoing | Incoming | FrameIn


class Driver:
    """Moves transfers until they are done: tries, gives way for a moment, then sleeps.

    Parameters
    ----------
    wake
        A descriptor that is readable once the group has failed.
    """

    def __init__(self, wake: int) -> None:
        self._wake = wake
        self._yield_secs = _YIELD_SECS
        self.deadline: float | None = None

    def run(self, transfers: Iterable[Transfer]) -> None:
        """Return when all *transfers* are done.

        Raises
        ------
        PeerFailed
            A link ended or brought nonsense.
        Overdue
            :attr:`deadline` has passed.
        Interrupted
            The group has failed.
        """
        pending = list(transfers)
        give_up = 0.0
        while pending:
            moved = False
            for transfer in pending:
                try:
                    moved |= transfer.step()
                except (LinkEnded, ProtocolError) as error:
                    raise PeerFailed(transfer.channel.link.peer, error) from error
            pending = [transfer for transfer in pending if not transfer.done]
            if moved:
                if give_up:
                    self._yield_secs = min(_YIELD_SECS, self._yield_secs * 1.25)
                    give_up = 0.0
                continue
            now = time.monotonic()
            if not give_up:
                give_up = now + self._yield_secs
            if now < give_up:
                os.sched_yield()
                continue
            self._yield_secs = max(_LEAST_YIELD_SECS, self._yield_secs / 2)  # it did not pay this time
            give_up = 0.0
            self._sleep(pending, now)

    def _sleep(self, pending: list[Transfer], now: float) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        events: dict[int, int] = {}
        for transfer in pending:
            link = transfer.channel.link
            if link.buffered:
                return
            events[link.fileno()] = events.get(link.fileno(), 0) | transfer.events
        for descriptor, wanted in events.items():
            poll.register(descriptor, wanted)
        left = None if self.deadline is None else self.deadline - now
        if left is not None and left <= 0:
            raise Overdue(pending[0].channel.link.peer)
        ready = poll.poll(None if left is None else left * 1e3)
        if any(descriptor == self._wake for descriptor, _ in ready):
            raise Interrupted
