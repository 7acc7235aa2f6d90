"""Every collective's first exchange: all ranks learn all calls, and payloads that are small.

In round k a rank sends what it knows, its own block first, to the rank 2^k before it and hears as much from
the rank 2^k after it: everybody knows everything after ceil(log2 R) rounds, with two ranks after one.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pycobre._native import tcp as native
from pycobre.comm.call import CALL_BYTES, Call
from pycobre.comm.tcp.driver import PATIENCE_NS, Driver, attempt, step
from pycobre.comm.tcp.flow import Channel, FrameIn, PeerFailed, rest_of_frame
from pycobre.comm.tcp.frame import HEADER_BYTES, NUMBER_AT, FrameKind, ProtocolError, header
from pycobre.comm.tcp.verdict import Verdict, mismatch

_LENGTH = struct.Struct("<Q")
_HEAD_BYTES = _LENGTH.size + CALL_BYTES
_TOGETHER_BYTES = 64 << 10
_MEETING = int(FrameKind.MEETING)
_stamp = struct.Struct("<Q").pack_into


def small_bytes(size: int) -> int:
    """The largest payload of one rank that travels with the calls of *size* ranks."""
    return _TOGETHER_BYTES // size


class CallsDiffer(Exception):
    """Ranks called different things; all of them find the same :attr:`verdict`."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(verdict.message)


class _Turn:
    """A rank's part in a round: a message out and one in, with the blocks of *origins*."""

    def __init__(
        self, to: Channel, source: Channel, origins: tuple[int, ...], most: int, driver: Driver
    ) -> None:
        self.to = to
        self.origins = origins
        self.room = bytearray(HEADER_BYTES + len(origins) * (_HEAD_BYTES + most) + source.seal_bytes)
        self.incoming = FrameIn(source, self.room)
        self.poll = driver.poll_for([self.incoming])
        # Where bytes pass as they are, most messages need no more than these two.
        bare = to.bare and source.bare
        self.outlet, self.inlet = (to.link.fileno(), source.link.fileno()) if bare else (-1, -1)


@dataclass(frozen=True, slots=True)
class _Stage:
    """What a turn sends and brings if all ranks call the same.

    Attributes
    ----------
    turn
        The turn.
    frame
        What goes out; native code puts the number of the meeting in it, and the blocks that came before.
    hoped
        What the frame that comes in begins with; the number is put in likewise.
    expected_bytes
        The length of that frame.
    heads
        What its later blocks begin with, and where.
    """

    turn: _Turn
    frame: bytearray
    hoped: bytearray
    expected_bytes: int
    heads: tuple[tuple[bytes, int], ...]

    def came_as_hoped(self, end: int) -> bool:
        """Whether the frame that came, up to *end*, says what it would if all ranks call the same."""
        room = self.turn.room
        return (
            end == self.expected_bytes
            and room.startswith(self.hoped)
            and all(room.startswith(head, at) for head, at in self.heads)
        )


@dataclass(frozen=True, slots=True)
class Agenda:
    """A call, and what its meeting will bring if all ranks call the same.

    Attributes
    ----------
    operation
        Number of the operation.
    call
        The packed call.
    blocks
        (R,) Where each rank's block is.
    block_bytes
        (R,) How long each rank's block is.
    stages
        This rank's part in each round.
    rounds
        The same for native code, which goes through them as long as all goes well.
    payloads
        (R,) Where the payloads are: this rank's own before a meeting, all after it.
    """

    operation: int
    call: bytes
    blocks: tuple[memoryview, ...]
    block_bytes: tuple[int, ...]
    stages: tuple[_Stage, ...]
    rounds: native.Rounds
    payloads: tuple[memoryview, ...]


def split_blocks(body: bytes | bytearray | memoryview, count: int, most: int) -> list[tuple[bytes, int, int]]:
    """(count,) The packed call, begin and length of the payload of each block in *body*.

    Raises
    ------
    ProtocolError
        They are not *count* blocks with at most *most* bytes of payload each.
    """
    found, at = [], 0
    for _ in range(count):
        if len(body) - at < _HEAD_BYTES:
            raise ProtocolError("a meeting ends within a block")
        (length,) = _LENGTH.unpack_from(body, at)
        if length > most:
            raise ProtocolError(f"a block brings {length} bytes where {most} is the most")
        found.append((bytes(body[at + _LENGTH.size : at + _HEAD_BYTES]), at + _HEAD_BYTES, length))
        at += _HEAD_BYTES + length
    if at != len(body):
        raise ProtocolError("a meeting is not as long as its blocks")
    return found


class Meeting:
    """The place where the ranks of a group meet, with room for what they bring.

    Parameters
    ----------
    rank, size
        This rank and the number of ranks.
    channels
        To every other rank.
    driver
        What moves the bytes.
    crowded
        Whether this machine has more of the ranks than processors, so that who waits gives way at once.
    """

    def __init__(
        self, rank: int, size: int, channels: Mapping[int, Channel], driver: Driver, *, crowded: bool
    ) -> None:
        self._rank = rank
        self._size = size
        self._driver = driver
        self._most = small_bytes(size)
        self._waiting = native.Waiting(crowded)
        self._turns: list[_Turn] = []
        distance = 1
        while distance < size:
            count = min(distance, size - distance)
            origins = tuple((rank + distance + block) % size for block in range(count))
            to, source = channels[(rank - distance) % size], channels[(rank + distance) % size]
            self._turns.append(_Turn(to, source, origins, self._most, driver))
            distance *= 2

    def plan(self, call: Call, payload_bytes: Sequence[int]) -> Agenda:
        """The agenda of *call*, to which the ranks bring (R,) *payload_bytes*."""
        heads = [_LENGTH.pack(length) + call.packed for length in payload_bytes]
        block_bytes = tuple(_HEAD_BYTES + length for length in payload_bytes)
        first = bytearray(HEADER_BYTES) + heads[self._rank] + bytes(payload_bytes[self._rank])
        blocks = {self._rank: memoryview(first)[HEADER_BYTES:]}
        stages: list[_Stage] = []
        rounds = native.Rounds(NUMBER_AT, self._waiting)
        for turn in self._turns:
            told = [(self._rank + i) % self._size for i in range(len(turn.origins))]
            length = HEADER_BYTES + sum(block_bytes[origin] for origin in told)
            frame, copies, at = first, [], HEADER_BYTES
            if stages:
                frame = bytearray(length)
                for origin in told:
                    end = at + block_bytes[origin]
                    copies.append((memoryview(frame)[at:end], blocks[origin]))
                    at = end
            frame[:HEADER_BYTES] = header(_MEETING, length - HEADER_BYTES, 0)
            at, expected = HEADER_BYTES, []
            for origin in turn.origins:
                end = at + block_bytes[origin]
                expected.append((heads[origin], at))
                blocks[origin] = memoryview(turn.room)[at:end]
                at = end
            hoped = bytearray(header(_MEETING, at - HEADER_BYTES, 0) + expected[0][0])
            stages.append(_Stage(turn, frame, hoped, at, tuple(expected[1:])))
            rounds.add(turn.outlet, frame, turn.inlet, turn.room, hoped, at, copies, expected[1:])
        places = tuple(blocks[rank] for rank in range(self._size))
        payloads = tuple(block[_HEAD_BYTES:] for block in places)
        return Agenda(int(call.kind), call.packed, places, block_bytes, tuple(stages), rounds, payloads)

    def hold(self, sequence: int, agenda: Agenda) -> None:
        """Return when the payloads of all ranks have come; this rank's is in its place already.

        Raises
        ------
        CallsDiffer
            Ranks called different things.
        PeerFailed, Overdue, Interrupted
            As :meth:`Driver.run` says.
        """
        left = agenda.rounds.meet(0, sequence, PATIENCE_NS)
        while left is not None:  # a round after some bytes sent and come
            at, sent, came = left
            stage = agenda.stages[at]
            end = self._complete(stage, stage.frame, sent, came, sequence)
            if not stage.came_as_hoped(end):
                # Somebody calls something else. The others must still hear of it: the rounds go on.
                odd: dict[int, bytes] = {}
                moved: dict[int, memoryview] = {}
                self._read_odd(stage.turn, end, agenda, odd, moved)
                for later in agenda.stages[at + 1 :]:
                    frame = self._odd_frame(later.turn, agenda, moved, sequence)
                    _stamp(later.hoped, NUMBER_AT, sequence)
                    end = self._complete(later, frame, 0, 0, sequence)
                    if not later.came_as_hoped(end):
                        self._read_odd(later.turn, end, agenda, odd, moved)
                raise CallsDiffer(mismatch([odd.get(rank, agenda.call) for rank in range(self._size)]))
            left = agenda.rounds.meet(at + 1, sequence, PATIENCE_NS)

    def _complete(self, stage: _Stage, frame: bytearray, sent: int, count: int, sequence: int) -> int:
        """Where the frame that came ends, once all is here and out; *count* and *sent* bytes are already."""
        turn, incoming = stage.turn, stage.turn.incoming
        incoming.expect(bytes(stage.hoped[:HEADER_BYTES]), stage.expected_bytes - HEADER_BYTES, sequence)
        if count:
            attempt(incoming, lambda: incoming.came(count))
        rest = rest_of_frame(turn.to, frame, sent)
        if not rest.done:
            step(rest)
        if rest.done:
            self._driver.receive(incoming, turn.poll, at_once=turn.outlet >= 0)
        else:
            self._driver.run((rest, incoming))
        return incoming.end

    def _odd_frame(
        self, turn: _Turn, agenda: Agenda, moved: Mapping[int, memoryview], sequence: int
    ) -> bytearray:
        """The frame of *turn* after some blocks, at *moved* places, came in other lengths than hoped for."""
        told = [(self._rank + i) % self._size for i in range(len(turn.origins))]
        body = b"".join(moved.get(rank, agenda.blocks[rank]) for rank in told)
        return bytearray(header(_MEETING, len(body), sequence) + body)

    def _read_odd(
        self, turn: _Turn, end: int, agenda: Agenda, odd: dict[int, bytes], moved: dict[int, memoryview]
    ) -> None:
        """Note the calls that differ in *odd*, and where the blocks of this turn are in *moved*."""
        body = memoryview(turn.room)[HEADER_BYTES:end]
        try:
            blocks = split_blocks(body, len(turn.origins), self._most)
            for origin, (call, begin, length) in zip(turn.origins, blocks, strict=True):
                if call != agenda.call:
                    odd[origin] = call
                elif length != agenda.block_bytes[origin] - _HEAD_BYTES:
                    raise ProtocolError(
                        f"the block of rank {origin} has a length that its call does not have"
                    )
                moved[origin] = body[begin - _HEAD_BYTES : begin + length]
        except ProtocolError as error:
            raise PeerFailed(turn.incoming.channel.link.peer, error) from error
