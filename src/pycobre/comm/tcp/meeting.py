"""Every collective's first exchange: all ranks learn all calls, and payloads that are small.

In round k a rank sends what it knows, its own block first, to the rank 2^k before it and hears as much from
the rank 2^k after it: everybody knows everything after ceil(log2 R) rounds, with two ranks after one.
"""

from __future__ import annotations

import select
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pycobre.comm.tcp.call import CALL_BYTES, Call, mismatch
from pycobre.comm.tcp.flow import Channel, Driver, FrameIn, PeerFailed, rest_of_frame
from pycobre.comm.tcp.frame import HEADER_BYTES, Kind, ProtocolError, header
from pycobre.comm.tcp.verdict import Verdict

_LENGTH = struct.Struct("<I")
_HEAD_BYTES = _LENGTH.size + CALL_BYTES
_TOGETHER_BYTES = 64 << 10
_MEETING = int(Kind.MEETING)  # looked up once: it is in every call


def small_bytes(size: int) -> int:
    """The largest payload of one rank that travels with the calls of *size* ranks."""
    return _TOGETHER_BYTES // size


class CallsDiffer(Exception):
    """Ranks called different things; all of them find the same :attr:`verdict`."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(verdict.message)


class Agenda:
    """What a meeting is expected to bring, if all ranks call the same.

    Parameters
    ----------
    call
        What this rank calls.
    payload_bytes
        (R,) What each rank brings along.

    Attributes
    ----------
    operation
        Number of the operation.
    call
        The packed call.
    heads, block_bytes
        (R,) What each rank's block begins with, and how long it is.
    """

    def __init__(self, call: Call, payload_bytes: Sequence[int]) -> None:
        self.operation = int(call.operation)
        self.call = call.pack()
        self.heads = [_LENGTH.pack(length) + self.call for length in payload_bytes]
        self.block_bytes = [_HEAD_BYTES + length for length in payload_bytes]


@dataclass(frozen=True)
class _Round:
    to: Channel
    incoming: FrameIn
    poll: select.poll
    room: bytearray
    origins: tuple[int, ...]  # whose blocks come, in their order


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

    def hold(self, sequence: int, agenda: Agenda, payload: bytes) -> list[tuple[bytes | bytearray, int]]:
        """(R,) Where each rank's payload is: a buffer that is good until the next meeting, and its begin.

        Raises
        ------
        CallsDiffer
            Ranks called different things.
        PeerFailed, Overdue, Interrupted
            As :meth:`Driver.run` says.
        """
        heads, block_bytes = agenda.heads, agenda.block_bytes
        own = heads[self._rank] + payload
        places: list[tuple[bytes | bytearray, int]] = [(own, _HEAD_BYTES)] * self._size
        known = [memoryview(own)]  # blocks, from this rank's on
        odd: dict[int, bytes] = {}
        for turn in self._rounds:
            incoming, origins, room = turn.incoming, turn.origins, turn.room
            told = known[: len(origins)]
            length = expected = 0
            for block, origin in zip(told, origins, strict=True):
                length += block.nbytes
                expected += block_bytes[origin]
            head = header(_MEETING, length, sequence)
            told[0] = memoryview(head + own)
            hoped = head if expected == length else header(_MEETING, expected, sequence)
            incoming.expect(hoped, expected, sequence)
            rest = rest_of_frame(turn.to, told, HEADER_BYTES + length)
            if rest is None:
                self._driver.receive(incoming, turn.poll)
            else:
                self._driver.run((rest, incoming))
            at, view, before = HEADER_BYTES, memoryview(room), len(known)
            for origin in origins:
                end = at + block_bytes[origin]
                if room[at : at + _HEAD_BYTES] != heads[origin] or end > incoming.end:
                    break
                known.append(view[at:end])
                places[origin] = (room, at + _HEAD_BYTES)
                at = end
            if at != incoming.end:
                # Somebody calls something else. The others must still hear of it: the rounds go on.
                del known[before:]
                odd |= self._read_odd(turn, view, known, agenda)
        if odd:
            raise CallsDiffer(mismatch([odd.get(rank, agenda.call) for rank in range(self._size)]))
        return places

    def _read_odd(
        self, turn: _Round, view: memoryview, known: list[memoryview], agenda: Agenda
    ) -> dict[int, bytes]:
        odd: dict[int, bytes] = {}
        body = view[HEADER_BYTES : turn.incoming.end]
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
