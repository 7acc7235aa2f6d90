"""The first attempt of a meeting: what it sends and takes, and what it leaves to later ones."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from pycobre._native import tcp as native

Pair = tuple[socket.socket, socket.socket]

PATIENCE_NS = 2_000_000


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def swap(ours: socket.socket, frame: bytes, room: bytearray, expected: int) -> tuple[int, int]:
    descriptor = ours.fileno()
    return native.swap(descriptor, bytearray(frame), descriptor, room, expected, PATIENCE_NS)


def test_a_frame_goes_out_and_no_more_than_is_expected_comes_in(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(b"theirs and the next")
    room = bytearray(20)
    assert swap(ours, b"ours", room, 6) == (4, 6)
    assert room == b"theirs" + bytes(14)
    assert theirs.recv(100) == b"ours"
    assert ours.recv(100) == b" and the next"


def test_what_has_come_when_patience_ends_is_told(pair: Pair) -> None:
    ours, theirs = pair
    assert swap(ours, b"ours", bytearray(6), 6) == (4, 0)
    theirs.sendall(b"the")
    assert swap(ours, b"ours", bytearray(6), 6) == (4, 3)


def test_a_frame_without_room_goes_out_in_part_and_nothing_is_waited_for(pair: Pair) -> None:
    ours, theirs = pair
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    theirs.sendall(b"theirs")
    sent, came = swap(ours, bytes(1 << 20), bytearray(6), 6)
    assert sent < 1 << 20
    assert came == 0


def test_an_end_and_an_error_are_left_to_be_found_again(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(b"the")
    theirs.shutdown(socket.SHUT_WR)
    assert swap(ours, b"ours", bytearray(6), 6) == (4, 3)
    theirs.close()
    assert swap(ours, b"ours", bytearray(6), 6) == (0, 0)  # and no SIGPIPE
    ours.close()
    assert swap(ours, b"ours", bytearray(6), 6) == (0, 0)


def test_nothing_is_written_beyond_the_room(pair: Pair) -> None:
    with pytest.raises(ValueError, match="no room"):
        swap(pair[0], b"ours", bytearray(5), 6)
