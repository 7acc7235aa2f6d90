"""Frames on their way over data links, each a step at a time, never waiting."""

from __future__ import annotations

import select
from collections.abc import Iterator

from pycobre.comm.tcp.frame import (
    HEADER_BYTES,
    PIECE_BYTES,
    SEAL_BYTES,
    SEALED_PIECE_BYTES,
    FrameKind,
    ProtocolError,
    Seal,
    body_length,
    header,
)
from pycobre.comm.tcp.link import Link, LinkEnded


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
    piece_bytes
        What one frame of a large payload holds.
    bare
        Whether frames pass the socket as they are.
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self.sends = Seal(link.keys.sends) if link.keys else None
        self.receives = Seal(link.keys.receives) if link.keys else None
        self.seal_bytes = SEAL_BYTES if link.keys else 0
        self.piece_bytes = SEALED_PIECE_BYTES if link.keys else PIECE_BYTES
        self.bare = link.bare and not link.keys


class Outgoing:
    """Frames on their way to one peer.

    Parameters
    ----------
    channel
        Where they go.
    frames
        The parts of each, made when its turn comes.

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
        self._frames = frames
        self._parts = next(frames, [])
        self.done = not self._parts

    def step(self) -> bool:
        """Whether a whole frame went out just now: if not, there is no room for more."""
        wanted = sum(part.nbytes for part in self._parts)
        sent = self.channel.link.send_some(self._parts)
        if sent:
            self.went(sent)
        return sent == wanted

    def went(self, sent: int) -> None:
        """Take note that *sent* bytes went out."""
        while self._parts and sent >= self._parts[0].nbytes:
            sent -= self._parts.pop(0).nbytes
        if sent:
            self._parts[0] = self._parts[0][sent:]
        elif not self._parts:
            self._parts = next(self._frames, [])
            self.done = not self._parts


def rest_of_frame(channel: Channel, frame: bytearray, sent: int) -> Outgoing:
    """What is left of *frame*, of which *sent* bytes went out already."""
    parts = [memoryview(frame)]
    if channel.sends:
        parts.append(memoryview(channel.sends.mark(parts)))
    rest = Outgoing(channel, iter([parts]))
    rest.went(sent)
    return rest


def pieces(channel: Channel, sequence: int, data: memoryview) -> Iterator[list[memoryview]]:
    """The frames of a large payload."""
    for at in range(0, data.nbytes, channel.piece_bytes):
        piece = data[at : at + channel.piece_bytes]
        parts = [memoryview(header(FrameKind.PIECE, piece.nbytes, sequence)), piece]
        if channel.sends:
            parts.append(memoryview(channel.sends.mark(parts)))
        yield parts


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
        self._begin_frame()

    def step(self) -> bool:
        """Whether all that the frame lacked came just now: if not, more is yet to come."""
        count = self.channel.link.receive_parts(self._rooms)
        if not count:
            return False
        while self._rooms and count >= self._rooms[0].nbytes:
            count -= self._rooms.pop(0).nbytes
        if count:
            self._rooms[0] = self._rooms[0][count:]
        if not self._headed and (not self._rooms or self._rooms[0].obj is not self._head.obj):
            self._read_head()
        if self._rooms:
            return False
        if self.channel.receives:
            self.channel.receives.check((self._head, self._piece), self._mark)
        self._begin_frame()
        return True

    def _begin_frame(self) -> None:
        # All that a frame has: where it goes is known before its header tells.
        expected = min(self.channel.piece_bytes, self._left.nbytes)
        self._piece, self._left = self._left[:expected], self._left[expected:]
        self._rooms = (
            [room for room in (self._head, self._piece, self._mark) if room.nbytes] if expected else []
        )
        self._headed = False
        self.done = not expected

    def _read_head(self) -> None:
        expected = self._piece.nbytes
        if body_length(self._head, FrameKind.PIECE, self._sequence, expected) != expected:
            raise ProtocolError("a piece of a payload is shorter than it should be")
        self._headed = True


class FrameIn:
    """The frame of a meeting, of a length that only its header tells, into room of a fixed size.

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
        self._head = b""
        self._sequence = 0

    def expect(self, head: bytes, length: int, sequence: int) -> None:
        """Begin to receive the meeting of operation *sequence*, most likely *length* bytes after *head*."""
        self.done = False
        self.end = HEADER_BYTES + length
        self._head = head
        self._sequence = sequence
        self._filled = 0
        self._goal = self.end + self.channel.seal_bytes

    def step(self) -> bool:
        """Whether something came just now."""
        count = self.channel.link.receive_some(self._view[self._filled : self._goal])
        if count:
            self.came(count)
        return count > 0

    def came(self, count: int) -> None:
        """Take note that *count* bytes came."""
        before = self._filled
        self._filled = before + count
        if self._filled < HEADER_BYTES:
            return
        if before < HEADER_BYTES and self._room[:HEADER_BYTES] != self._head:
            # A rank that calls something else sends another length. What was then read beyond the frame is
            # of no use to anyone: the group fails.
            head = self._view[:HEADER_BYTES]
            self.end = HEADER_BYTES + body_length(head, FrameKind.MEETING, self._sequence, self._most)
            self._goal = self.end + self.channel.seal_bytes
        if self._filled >= self._goal:
            if self.channel.receives:
                self.channel.receives.check((self._view[: self.end],), self._view[self.end : self._goal])
            self.done = True


Transfer = Outgoing | Incoming | FrameIn
"""What a driver moves."""
