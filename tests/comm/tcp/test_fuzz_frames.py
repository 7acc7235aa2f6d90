"""Half a million changed frames: each is taken or refused in one way, and none makes memory grow."""

from __future__ import annotations

import random
import struct
import tracemalloc

import numpy as np

from pycobre.comm.call import Call, Kind
from pycobre.comm.tcp.control import Ailment, ControlReader, Leave, Pending, Query, Status, Trouble, encode
from pycobre.comm.tcp.frame import HEADER_BYTES, FrameKind, ProtocolError, body_length, header
from pycobre.comm.tcp.meeting import split_blocks
from pycobre.comm.tcp.verdict import departed, gone, mismatch

CHANGED = 500_000
MOST = 64
NUMBERS = [struct.pack(form, value) for form, value in (("<I", 1 << 31), ("<Q", (1 << 64) - 1), ("<H", 1024))]

CONTROL = [
    encode(message)
    for message in (
        Leave(3, ended=True),
        Trouble(4, Ailment.ENDED, Kind.ALLREDUCE, 2),
        Query(5),
        Status(5, 4),
        Pending(5),
        gone([1, 3]),
        departed([0], "barrier", 9),
    )
]
_BLOCK = struct.pack("<Q", 8) + Call(Kind.ALLREDUCE, np.dtype(float), (1,)).packed + b"payload!"
MEETINGS = [header(FrameKind.MEETING, count * len(_BLOCK), 7) + _BLOCK * count for count in (1, 2)]


def changed(frame: bytes, source: random.Random) -> bytes:
    data = bytearray(frame)
    for _ in range(source.randrange(1, 4)):
        match source.randrange(5):
            case 0:
                data[source.randrange(len(data))] ^= 1 << source.randrange(8)
            case 1:
                number = source.choice(NUMBERS)
                at = source.randrange(len(data))
                data[at : at + len(number)] = number
            case 2:
                del data[source.randrange(1, len(data) + 1) :]
            case 3:
                data += source.randbytes(source.randrange(1, 100))
            case _:
                data[source.randrange(len(data))] = source.randrange(256)
    return bytes(data)


def take_control(data: bytes) -> None:
    reader = ControlReader(4)
    reader.room[: len(data)] = data
    reader.filled(len(data))


def take_meeting(data: bytes) -> None:
    if len(data) < HEADER_BYTES:
        return  # not yet a header: the receiver waits
    length = body_length(data[:HEADER_BYTES], FrameKind.MEETING, 7, 2 * (80 + MOST))
    body = data[HEADER_BYTES : HEADER_BYTES + length]
    for count in (1, 2):
        try:
            calls = [call for call, _, _ in split_blocks(body, count, MOST)]
        except ProtocolError:
            continue
        mismatch([*calls, calls[0][::-1]])  # whatever came can be put in words


def test_changed_frames_are_taken_or_refused_and_cost_no_memory():
    source = random.Random(20)
    refused = 0
    for frames, take in ((CONTROL, take_control), (MEETINGS, take_meeting)):
        for number in range(CHANGED // 2):
            if number == 1000:
                tracemalloc.start()
            try:
                take(changed(frames[number % len(frames)], source))
            except ProtocolError:
                refused += 1
            if number == 2000:
                _, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                assert peak < 100_000, "a frame took memory by a number that it holds"
    assert refused > CHANGED // 4
