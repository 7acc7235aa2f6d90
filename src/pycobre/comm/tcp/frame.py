"""What travels on a link: frames of bounded size, sealed where the link has keys. No input or output.

A frame is a header, a body, and on sealed links 32 bytes of HMAC-SHA256 over the frame's number on its link,
the header and the body. The receiver always knows which kind of frame comes next and how long it may be;
whatever else comes is a :class:`ProtocolError`, and nothing is ever allotted by a number that came.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterable
from enum import IntEnum

MAGIC = b"Cb"
VERSION = 1
HEADER = struct.Struct("<2sBBIQ")
"""Magic, version, kind, bytes of the body, number of the operation."""
HEADER_BYTES = HEADER.size
NUMBER_AT = 8
"""Where the number is in a header."""
SEAL_BYTES = 32
PIECE_BYTES = 1 << 20
"""What one frame of a large payload holds."""
SEALED_PIECE_BYTES = 256 << 10
"""The same where frames are sealed: the other side checks one while the next is sealed."""

_U64 = struct.Struct("<Q")


class ProtocolError(Exception):
    """What came is not what could come here."""


class FrameKind(IntEnum):
    """Kinds of frames."""

    MEETING = 1
    PIECE = 2
    LEAVE = 3
    TROUBLE = 4
    QUERY = 5
    STATUS = 6
    VERDICT = 7
    PENDING = 8


def header(kind: int, length: int, sequence: int) -> bytes:
    """(HEADER_BYTES,) The header of a frame with *length* bytes of body."""
    return HEADER.pack(MAGIC, VERSION, kind, length, sequence)


def body_length(head: bytes | bytearray | memoryview, kind: int, sequence: int, most: int) -> int:
    """Length of the body that follows *head*.

    Raises
    ------
    ProtocolError
        It is not the header of a frame of *kind* in operation *sequence* with at most *most* bytes.
    """
    found_kind, length, number = read_header(head, most)
    if found_kind != kind:
        raise ProtocolError(f"a frame of kind {found_kind} came in place of kind {kind}")
    if number != sequence:
        raise ProtocolError(f"a frame of operation {number} came in operation {sequence}")
    return length


def read_header(head: bytes | bytearray | memoryview, most: int) -> tuple[int, int, int]:
    """FrameKind, length of the body and number of the operation.

    Raises
    ------
    ProtocolError
        It is not the header of a frame with at most *most* bytes.
    """
    magic, version, kind, length, sequence = HEADER.unpack(head)
    if magic != MAGIC:
        raise ProtocolError(f"{magic!r} is not the beginning of a frame")
    if version != VERSION:
        raise ProtocolError(f"a frame of version {version} came, this is version {VERSION}")
    if length > most:
        raise ProtocolError(f"a frame of {length} bytes came where {most} is the most")
    return kind, length, sequence


class Seal:
    """The marks of one direction of one link: each frame has its number, so none can be moved or repeated."""

    def __init__(self, key: bytes) -> None:
        self._keyed = hmac.new(key, digestmod="sha256")
        self._number = 0

    def mark(self, parts: Iterable[bytes | bytearray | memoryview]) -> bytes:
        """(SEAL_BYTES,) What follows the next frame, whose header and body *parts* are."""
        state = self._keyed.copy()
        state.update(_U64.pack(self._number))
        self._number += 1
        for part in parts:
            state.update(part)
        return state.digest()

    def check(
        self, parts: Iterable[bytes | bytearray | memoryview], found: bytes | bytearray | memoryview
    ) -> None:
        """Compare the mark of the next frame with the one that came.

        Raises
        ------
        ProtocolError
            They differ.
        """
        if not hmac.compare_digest(self.mark(parts), bytes(found)):
            raise ProtocolError("a frame came with a wrong seal: it was changed on its way")
