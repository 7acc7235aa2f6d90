"""The rounds of a meeting in native code: what they send and take, and what they leave to Python."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from pycobre._native import tcp as native

PATIENCE_NS = 2_000_000
NUMBER_AT = 4
NUMBER = 7
STAMP = NUMBER.to_bytes(8, "little")
HEAD = b"head" + STAMP


@dataclass
class Side:
    """One end of a connection: what it sends, *b"head"* and a number, and room for what it expects."""

    ours: socket.socket
    theirs: socket.socket
    frame: bytearray = field(default_factory=lambda: bytearray(b"ours" + bytes(8) + b"!"))
    room: bytearray = field(default_factory=lambda: bytearray(20))
    hoped: bytearray = field(default_factory=lambda: bytearray(b"head" + bytes(8)))

    def add_to(self, rounds: native.Rounds, expected: int = 16, copies=(), heads=()) -> None:
        descriptor = self.ours.fileno()
        rounds.add(
            descriptor, self.frame, descriptor, self.room, self.hoped, expected, list(copies), list(heads)
        )

    def meet(self, expected: int = 16) -> tuple[int, int, int] | None:
        rounds = native.Rounds(NUMBER_AT, native.Waiting(crowded=True))
        self.add_to(rounds, expected)
        return rounds.meet(0, NUMBER, PATIENCE_NS)


@pytest.fixture
def side() -> Iterator[Side]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Side(ours, theirs)


def test_a_frame_goes_out_with_its_number_and_no_more_than_is_expected_comes_in(side: Side) -> None:
    side.theirs.sendall(HEAD + b"body and the next")
    assert side.meet() is None
    assert side.room == HEAD + b"body" + bytes(4)
    assert side.theirs.recv(100) == b"ours" + STAMP + b"!"
    assert side.ours.recv(100) == b" and the next"


def test_what_has_come_when_patience_ends_is_told(side: Side) -> None:
    assert side.meet() == (0, 13, 0)
    side.theirs.sendall(HEAD[:3])
    assert side.meet() == (0, 13, 3)


@pytest.mark.parametrize("came", [b"tail" + STAMP + b"body", b"head" + bytes(8) + b"body"])
def test_another_call_or_another_number_is_left_as_it_came(side: Side, came: bytes) -> None:
    side.theirs.sendall(came)
    assert side.meet() == (0, 13, 16)
    assert side.room.startswith(came)


def test_a_round_passes_on_what_came_in_the_one_before_and_a_wrong_later_block_is_left(side: Side) -> None:
    near, far = socket.socketpair()
    with near, far:
        second = Side(near, far)
        passed = memoryview(second.frame)[12:13], memoryview(side.room)[15:16]
        rounds = native.Rounds(NUMBER_AT, native.Waiting(crowded=True))
        side.add_to(rounds)
        second.add_to(rounds, copies=[passed], heads=[(b"dy", 14)])
        for body in (b"body", b"bode"):
            side.theirs.sendall(HEAD + b"boat")
            far.sendall(HEAD + body)
            assert rounds.meet(0, NUMBER, PATIENCE_NS) == (None if body == b"body" else (1, 13, 16))
            assert far.recv(100) == b"ours" + STAMP + b"t"
        far.sendall(HEAD + b"body")
        assert rounds.meet(1, NUMBER, PATIENCE_NS) is None


def test_a_frame_without_room_goes_out_in_part_and_nothing_is_waited_for(side: Side) -> None:
    side.ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    side.theirs.sendall(HEAD + b"body")
    side.frame = bytearray(1 << 20)
    at, sent, came = side.meet() or (0, 0, 0)
    assert (at, came) == (0, 0)
    assert 0 < sent < 1 << 20


def test_an_end_and_an_error_are_left_to_be_found_again(side: Side) -> None:
    side.theirs.sendall(HEAD[:3])
    side.theirs.shutdown(socket.SHUT_WR)
    assert side.meet() == (0, 13, 3)
    side.theirs.close()
    assert side.meet() == (0, 0, 0)  # and no SIGPIPE


def test_a_connection_that_native_code_can_not_use_is_left_with_the_numbers_in_place(side: Side) -> None:
    rounds = native.Rounds(NUMBER_AT, native.Waiting(crowded=True))
    rounds.add(-1, side.frame, -1, side.room, side.hoped, 16, [], [])
    assert rounds.meet(0, NUMBER, PATIENCE_NS) == (0, 0, 0)
    assert (side.frame, side.hoped) == (b"ours" + STAMP + b"!", HEAD)


def test_nothing_is_written_beyond_the_room(side: Side) -> None:
    rounds = native.Rounds(NUMBER_AT, native.Waiting(crowded=True))
    with pytest.raises(ValueError, match="do not fit"):
        side.add_to(rounds, 21)
    with pytest.raises(ValueError, match="do not fit"):
        side.add_to(rounds, heads=[(b"dy", 15)])
    with pytest.raises(ValueError, match="do not fit"):
        side.add_to(rounds, copies=[(memoryview(side.frame), memoryview(b"?"))])
    assert rounds.meet(0, NUMBER, PATIENCE_NS) is None  # none of them was taken
    with pytest.raises(BufferError):
        Side(side.ours, side.theirs, frame=side.frame, room=bytes(20)).add_to(rounds)
    side.add_to(rounds)
    with pytest.raises(BufferError):
        side.room.clear()
