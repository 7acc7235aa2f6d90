"""Frames, seals, control messages and calls as bytes: what is taken, and what is refused."""

from __future__ import annotations

import pytest

from pycobre.comm.call import Call, Kind
from pycobre.comm.tcp.control import (
    CONTROL_BYTES,
    Ailment,
    ControlReader,
    Leave,
    Pending,
    Query,
    Status,
    Trouble,
    encode,
)
from pycobre.comm.tcp.frame import FrameKind, ProtocolError, Seal, body_length, header
from pycobre.comm.tcp.judge import Judge
from pycobre.comm.tcp.meeting import split_blocks
from pycobre.comm.tcp.verdict import Verdict, departed, gone, overdue

MESSAGES = [
    Leave(7, ended=False),
    Leave(8, ended=True),
    Trouble(9, Ailment.OVERDUE, Kind.BARRIER, 3, 0.5),
    Query(10),
    Status(10, 1 << 63),
    Pending(11),
    gone([2, 0]),
    departed([1], "barrier", 12),
    overdue([0], True, "allreduce", 1e-3),
    Verdict("aborted", tuple(range(1024)), "ü" * 5000),
]


def read_all(data: bytes, step: int, size: int = 1024, seal: Seal | None = None) -> list[object]:
    reader, found = ControlReader(size, seal), []
    for at in range(0, len(data), step):
        rest = memoryview(data)[at : at + step]
        while rest.nbytes:
            room = reader.room
            count = min(room.nbytes, rest.nbytes)
            room[:count] = rest[:count]
            found += reader.filled(count)
            rest = rest[count:]
    return found


@pytest.mark.parametrize("step", [1, 15, 17, 100_000])
def test_control_messages_come_out_as_they_went_in_however_they_are_cut(step):
    found = read_all(b"".join(map(encode, MESSAGES)), step)
    assert found[:-1] == MESSAGES[:-1]
    assert found[-1].ranks == MESSAGES[-1].ranks
    assert found[-1].message == "ü" * 500  # words are cut, ranks are not


def test_a_seal_refuses_what_was_changed_moved_or_repeated():
    key = b"k" * 32

    def sealed() -> list[bytes]:
        seal = Seal(key)
        return [encode(message) + seal.mark([encode(message)]) for message in MESSAGES[:3]]

    first, second, third = sealed()
    assert read_all(first + second + third, 50, seal=Seal(key)) == MESSAGES[:3]
    for data in (second + first, first + first, first + third):
        with pytest.raises(ProtocolError, match="seal"):
            read_all(data, 50, seal=Seal(key))
    for bit in range(8 * len(first)):
        changed = bytearray(first)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ProtocolError):
            # What follows fills a frame whose length was changed.
            read_all(bytes(changed) + b"\0" * 70_000, 1 << 20, seal=Seal(key))


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"GET / HTTP/1.1\r\n", "beginning of a frame"),
        (header(FrameKind.PIECE, 5, 3)[:2] + b"\x09" + header(FrameKind.PIECE, 5, 3)[3:], "version 9"),
        (header(FrameKind.PIECE, 101, 3), "100 is the most"),
        (header(FrameKind.MEETING, 5, 3), "kind 1 came"),
        (header(FrameKind.PIECE, 5, 4), "operation 4 came in operation 3"),
    ],
)
def test_a_header_that_is_not_the_expected_one_is_refused(head, words):
    assert body_length(header(FrameKind.PIECE, 5, 3), FrameKind.PIECE, 3, 100) == 5
    with pytest.raises(ProtocolError, match=words):
        body_length(head, FrameKind.PIECE, 3, 100)


@pytest.mark.parametrize(
    "data",
    [
        header(FrameKind.MEETING, 0, 0),
        header(FrameKind.VERDICT, 3, 0) + b"\x09\0\0",
        header(FrameKind.VERDICT, 3, 0) + b"\0\xff\xff",
        header(FrameKind.VERDICT, 7, 0) + b"\0\2\0" + b"\1\0\1\0",
        header(FrameKind.VERDICT, 5, 0) + b"\0\1\0" + b"\4\0",
        header(FrameKind.LEAVE, 1, 0) + b"\2",
        header(FrameKind.QUERY, 1, 0) + b"\0",
        header(FrameKind.PENDING, 1, 0) + b"\0",
        header(FrameKind.STATUS, 1, 0) + b"\0",
        header(FrameKind.TROUBLE, 2, 0) + b"\0\0",
        encode(Trouble(1, Ailment.ENDED, 1, 4)),
        encode(Trouble(1, Ailment.OVERDUE, 1, 0, float("nan"))),
        header(FrameKind.VERDICT, CONTROL_BYTES + 1, 0),
    ],
)
def test_what_is_no_message_to_a_group_of_four_is_refused(data):
    with pytest.raises(ProtocolError):
        read_all(data, 1 << 20, size=4)


def test_blocks_of_a_meeting_are_bounded_and_fill_it():
    call = Call(Kind.BARRIER).packed
    block = b"\3" + bytes(7) + call + b"abc"
    assert split_blocks(block * 2, 2, 3) == [(call, 80, 3), (call, 163, 3)]
    for body, count, most in (
        (block, 2, 3),
        (block * 2, 1, 3),
        (block, 1, 2),
        (block[:-1], 1, 3),
        (b"", 1, 3),
    ):
        with pytest.raises(ProtocolError):
            split_blocks(body, count, most)


def test_the_judge_blames_whoever_does_not_answer():
    judge = Judge(lambda rank: False, dict)
    late = Trouble(5, Ailment.OVERDUE, Kind.BARRIER, 1, 2.0)
    assert judge.hears(3, late, now=10.0) is None
    judge.asks([1, 2, 3], late=[])
    assert judge.answers(1, Status(5, 5), now=10.1) is None
    assert judge.answers(3, Status(5, 5), now=10.1) is None
    assert judge.deadline == pytest.approx(10.3)
    assert judge.conclude(now=10.3) == overdue([2], False, "barrier", 2.0)


def test_the_judge_finds_a_connection_that_ended_between_two_that_are_there():
    for reporter, peer, blamed in ((3, 1, 1), (3, 0, 3), (0, 2, 2)):
        judge = Judge(lambda rank: False, dict)
        assert judge.hears(reporter, Trouble(5, Ailment.ENDED, Kind.BARRIER, peer), now=0.0) is None
        verdict = judge.conclude(now=0.3)
        assert (verdict.reason, verdict.ranks) == ("lost", (blamed,))


def test_the_judge_misses_who_closed_only_in_what_came_after():
    judge = Judge(lambda rank: False, dict)
    assert judge.leaves(2, sequence=5) is None
    assert judge.hears(1, Trouble(5, Ailment.ENDED, Kind.BARRIER, 3), now=0.0) is None
    assert judge.hears(1, Trouble(6, Ailment.ENDED, Kind.BARRIER, 2), now=0.0) == departed([2], "barrier", 6)


@pytest.mark.parametrize("also", [set(), {2}])
def test_the_judge_counts_who_stays_silent_with_who_is_gone_and_blames_nobody_who_answers(also):
    silent = {1: 3.0, 2: 4.9}
    judge = Judge(lambda rank: False, lambda: silent)
    assert judge.loses([3], now=7.0) is None
    assert judge.conclude(now=judge.deadline) is None
    silent = dict.fromkeys(also, 5.0)
    assert judge.conclude(now=judge.deadline) == gone({3} | also)
    assert judge.deadline is None


def test_the_judge_counts_who_is_silent_with_the_end_of_a_connection_that_is_reported():
    silent: dict[int, float] = {}
    judge = Judge(lambda rank: False, lambda: silent)
    assert judge.hears(3, Trouble(5, Ailment.ENDED, Kind.BARRIER, 1), now=0.0) is None
    silent[2] = 3.5
    assert judge.conclude(now=0.3) is None
    assert judge.deadline == pytest.approx(0.4)
    silent[2] = 5.1
    assert judge.conclude(now=0.4) == gone([1, 2])


def test_the_judge_waits_for_nobody_where_none_is_silent():
    judge = Judge(lambda rank: False, dict)
    assert judge.loses([2], now=7.0) == gone([2])
