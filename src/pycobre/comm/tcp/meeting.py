"""Every collective's first exchange: all ranks learn all calls, and payloads that are small.

In round k a rank sends what it knows, its own block first, to the rank 2^k before it and hears as much from
the rank 2^k after it: everybody knows everything after ceil(log2 R) rounds, with two ranks after one.
"""

from __future__ import annotations

import select
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pycobre.comm.call import CALL_BYTES, Call
from pycobre.comm.tcp.driver import Driver
from pycobre.comm.tcp.flow import Channel, FrameIn, PeerFailed, rest_of_frame
from pycobre.comm.tcp.frame import HEADER_BYTES, FrameKind, ProtocolError, header
from pycobre.comm.tcp.verdict import Verdict, mismatch

_LENGTH = struct.Struct("<Q")
_HEAD_BYTES = _LENGTH.size + CALL_BYTES
_TOGETHER_BYTES = 64 << 10
_MEETING = int(FrameKind.MEETING)  # looked up once: it is in every call


def small_bytes(size: int) -> int:
    """The largest payload of one rank that travels with the calls of *size* ranks."""
    return _TOGETHER_BYTES // size


class CallsDiffer(Exception):
    """Ranks called different things; all of them find the same :attr:`verdict`."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(verdict.message)


@dataclass(frozen=True, slots=True)
class _Round:
    """A message there and one back; *origins* are those whose blocks come, in their order."""

    to: Channel
    incoming: FrameIn
    poll: select.poll
    room: bytearray
    origins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Stage:
    """What a round brings if all ranks call the same.

    Attributes
    ----------
    told_bytes, expected_bytes
        The lengths of the blocks that go out and come in.
    heads
        Begin, end and content of the head of each block that comes in.
    """

    round: _Round
    told_bytes: int
    expected_bytes: int
    heads: tuple[tuple[int, int, bytes], ...]


Places = list[tuple[bytes | bytearray, int]]
"""(R,) Where each rank's payload is: a buffer that is good until the next meeting, and its begin."""


@dataclass(frozen=True, slots=True)
class Agenda:
    """A call, and what its meeting will bring if all ranks call the same.

    Attributes
    ----------
    operation
        Number of the operation.
    call
        The packed call.
    head
        What this rank's block begins with.
    block_bytes
        (R,) How long each rank's block is.
    stages
        A rank's part in each round.
    places
        Where the payloads of the others will be.
    """

    operation: int
    call: bytes
    head: bytes
    block_bytes: tuple[int, ...]
    stages: tuple[_Stage, ...]
    places: Places


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
    """

    def __init__(self, rank: int, size: int, channels: Mapping[int, Channel], driver: Driver) -> None:
        self._rank = rank
        self._size = size
        self._driver = driver
        self._most = small_bytes(size)
        self._rounds: list[_Round] = []
        distance = 1
        while distance < size:
            count = min(distance, size - distance)
            source = channels[(rank + distance) % size]
            room = bytearray(HEADER_BYTES + count * (_HEAD_BYTES + self._most) + source.seal_bytes)
            origins = tuple((rank + distance + block) % size for block in range(count))
            incoming, to = FrameIn(source, room), channels[(rank - distance) % size]
            self._rounds.append(_Round(to, incoming, driver.poll_for([incoming]), room, origins))
            distance *= 2

    def plan(self, call: Call, payload_bytes: Sequence[int]) -> Agenda:
        """The agenda of *call*, to which the ranks bring (R,) *payload_bytes*."""
        packed = call.packed
        heads = [_LENGTH.pack(length) + packed for length in payload_bytes]
        block_bytes = tuple(_HEAD_BYTES + length for length in payload_bytes)
        places: Places = [(b"", 0)] * self._size
        stages = []
        for turn in self._rounds:
            told = sum(block_bytes[(self._rank + i) % self._size] for i in range(len(turn.origins)))
            at, expected = HEADER_BYTES, []
            for origin in turn.origins:
                expected.append((at, at + _HEAD_BYTES, heads[origin]))
                places[origin] = (turn.room, at + _HEAD_BYTES)
                at += block_bytes[origin]
            stages.append(_Stage(turn, told, at - HEADER_BYTES, tuple(expected)))
        own = heads[self._rank]
        return Agenda(int(call.kind), packed, own, block_bytes, tuple(stages), places)

    def hold(self, sequence: int, agenda: Agenda, payload: bytes) -> Places:
        """Where each rank's payload is, after all have come.

        Raises
        ------
        CallsDiffer
            Ranks called different things.
        PeerFailed, Overdue, Interrupted
            As :meth:`Driver.run` says.
        """
        own = agenda.head + payload
        known: list[memoryview] = []  # the blocks of the ranks after this one
        odd: dict[int, bytes] = {}
        for stage in agenda.stages:
            turn, length, expected = stage.round, stage.told_bytes, stage.expected_bytes
            others = known[: len(turn.origins) - 1]
            if odd:
                length = len(own) + sum(map(len, others))
            head = header(_MEETING, length, sequence)
            hoped = head if expected == length else header(_MEETING, expected, sequence)
            incoming, room = turn.incoming, turn.room
            incoming.expect(hoped, expected, sequence)
            rest = rest_of_frame(turn.to, [memoryview(head + own), *others], HEADER_BYTES + length)
            if rest is None:
                self._driver.receive(incoming, turn.poll)
            else:
                self._driver.run((rest, incoming))
            same = incoming.end == HEADER_BYTES + expected
            for begin, end, block_head in stage.heads:
                same = same and room[begin:end] == block_head
            if not same:
                # Somebody calls something else. The others must still hear of it: the rounds go on.
                odd |= self._read_odd(turn, known, agenda)
            elif len(agenda.stages) > 1:
                view = memoryview(room)
                for origin, (begin, _, _) in zip(turn.origins, stage.heads, strict=True):
                    known.append(view[begin : begin + agenda.block_bytes[origin]])
        if odd:
            raise CallsDiffer(mismatch([odd.get(rank, agenda.call) for rank in range(self._size)]))
        places = agenda.places.copy()
        places[self._rank] = (own, _HEAD_BYTES)
        return places

    def _read_odd(self, turn: _Round, known: list[memoryview], agenda: Agenda) -> dict[int, bytes]:
        odd: dict[int, bytes] = {}
        body = memoryview(turn.room)[HEADER_BYTES : turn.incoming.end]
        try:
            blocks = split_blocks(body, len(turn.origins), self._most)
            for origin, (call, begin, length) in zip(turn.origins, blocks, strict=True):
                if call != agenda.call:
                    odd[origin] = call
                elif length != agenda.block_bytes[origin] - _HEAD_BYTES:
                    raise ProtocolError(
                        f"the block of rank {origin} has a length that its call does not have"
                    )
                known.append(body[begin - _HEAD_BYTES : begin + length])
        except ProtocolError as error:
            raise PeerFailed(turn.incoming.channel.link.peer, error) from error
        return odd
