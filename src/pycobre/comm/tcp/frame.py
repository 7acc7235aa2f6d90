"""What travels on a link: frames of bounded size, sealed where the link has keys. No input or output.

A frame is a header, a body, and on sealed links 32 bytes of HMAC-SHA256 over the frame's number on its link,
the header and the body. The receiver always knows which kind of frame comes next and how long it may be;
whatever else comes is a :class:`ProtocolError`, and nothing is ever allotted by a number that came.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from pycobre.comm.tcp.verdict import REASONS, Verdict

MAGIC = b"Cb"
VERSION = 1
HEADER = struct.Struct("<2sBBIQ")
"""Magic, version, kind, bytes of the body, number of the operation."""
HEADER_BYTES = HEADER.size
SEAL_BYTES = 32
PIECE_BYTES = 256 << 10
"""What one frame of a large payload holds."""
CONTROL_BYTES = 4096
"""The longest body of a control message."""

_MESSAGE_BYTES = 1000  # of a verdict's words; with 1,024 ranks to blame it still fits
_U64 = struct.Struct("<Q")
_TROUBLE = struct.Struct("<BBHd")
_VERDICT = struct.Struct("<BH")


class ProtocolError(Exception):
    """What came is not what could come here."""


class Kind(IntEnum):
    """Kinds of frames."""

    MEETING = 1
    PIECE = 2
    LEAVE = 3
    TROUBLE = 4
    QUERY = 5
    STATUS = 6
    VERDICT = 7


class Ailment(IntEnum):
    """What a rank may find wrong without knowing whose fault it is."""

    ENDED = 1
    OVERDUE = 2


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
    found_kind, length, number = _read_header(head, most)
    if found_kind != kind:
        raise ProtocolError(f"a frame of kind {found_kind} came in place of kind {kind}")
    if number != sequence:
        raise ProtocolError(f"a frame of operation {number} came in operation {sequence}")
    return length


def _read_header(head: bytes | bytearray | memoryview, most: int) -> tuple[int, int, int]:
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


@dataclass(frozen=True)
class Leave:
    """A rank goes after operation *sequence*; *ended* if it did not close."""

    sequence: int
    ended: bool


@dataclass(frozen=True)
class Trouble:
    """In operation *sequence* the link to *peer* ended, or it is overdue after *limit_secs*."""

    sequence: int
    ailment: Ailment
    operation: int
    peer: int
    limit_secs: float = 0.0


@dataclass(frozen=True)
class Query:
    """Rank 0 asks who has come to operation *sequence*."""

    sequence: int


@dataclass(frozen=True)
class Status:
    """The answer to the query about operation *sequence*: the last one that this rank has *entered*."""

    sequence: int
    entered: int


Control = Leave | Trouble | Query | Status | Verdict
"""What travels on control links."""


def encode(message: Control) -> bytes:
    """The frame of a control message, without a seal."""
    sequence, kind, body = 0, Kind.VERDICT, b""
    if isinstance(message, Verdict):
        sequence = message.sequence
        text = message.message.encode(errors="replace")[:_MESSAGE_BYTES]
        ranks = struct.pack(f"<{len(message.ranks)}H", *message.ranks)
        body = _VERDICT.pack(REASONS.index(message.reason), len(message.ranks)) + ranks + text
    else:
        sequence = message.sequence
        match message:
            case Leave():
                kind, body = Kind.LEAVE, bytes([message.ended])
            case Trouble():
                kind = Kind.TROUBLE
                body = _TROUBLE.pack(message.ailment, message.operation, message.peer, message.limit_secs)
            case Query():
                kind = Kind.QUERY
            case Status():
                kind, body = Kind.STATUS, _U64.pack(message.entered)
    return header(kind, len(body), sequence) + body


def decode(kind: int, sequence: int, body: bytes, size: int) -> Control:
    """The control message of a frame, in a group of *size* ranks.

    Raises
    ------
    ProtocolError
        There is no such message.
    """
    try:
        match kind:
            case Kind.LEAVE:
                if body not in (b"\0", b"\1"):
                    raise ProtocolError("a rank leaves in no known way")
                return Leave(sequence, body == b"\1")
            case Kind.TROUBLE:
                ailment, operation, peer, limit = _TROUBLE.unpack(body)
                if not 0 <= peer < size or not 0 <= limit < 1e9:
                    raise ProtocolError("a report about no rank of this group")
                return Trouble(sequence, Ailment(ailment), operation, peer, limit)
            case Kind.QUERY:
                if body:
                    raise ProtocolError("a query with a body")
                return Query(sequence)
            case Kind.STATUS:
                return Status(sequence, *_U64.unpack(body))
            case Kind.VERDICT:
                return _verdict(body, size, sequence)
    except (struct.error, ValueError, IndexError) as error:
        raise ProtocolError(f"a control message that can't be read: {error}") from None
    raise ProtocolError(f"a control frame of kind {kind}")


def _verdict(body: bytes, size: int, sequence: int) -> Verdict:
    reason, count = _VERDICT.unpack_from(body)
    if count > size:
        raise ProtocolError("a verdict on more ranks than there are")
    ranks = struct.unpack_from(f"<{count}H", body, _VERDICT.size)
    if list(ranks) != sorted(set(ranks)) or (ranks and ranks[-1] >= size):
        raise ProtocolError("a verdict on no ranks of this group")
    text = body[_VERDICT.size + 2 * count :].decode(errors="replace")
    return Verdict(REASONS[reason], tuple(ranks), text, sequence)


class ControlReader:
    """Control messages out of bytes as they come.

    Parameters
    ----------
    size
        Number of ranks.
    seal
        Of the direction that is read, or ``None``.
    """

    def __init__(self, size: int, seal: Seal | None = None) -> None:
        self._size = size
        self._seal = seal
        self._seal_bytes = SEAL_BYTES if seal else 0
        self._filled = 0
        self._buffer = memoryview(bytearray(HEADER_BYTES + CONTROL_BYTES + self._seal_bytes))

    @property
    def room(self) -> memoryview:
        """Where the next bytes go; never empty."""
        return self._buffer[self._filled :]

    def filled(self, count: int) -> list[Control]:
        """The messages that are complete with *count* more bytes in :attr:`room`.

        Raises
        ------
        ProtocolError
            They are not messages.
        """
        self._filled += count
        at, found, buffer = 0, [], self._buffer
        while self._filled - at >= HEADER_BYTES:
            head = buffer[at : at + HEADER_BYTES]
            kind, length, sequence = _read_header(head, CONTROL_BYTES)
            end = at + HEADER_BYTES + length
            if self._filled < end + self._seal_bytes:
                break
            body = bytes(buffer[at + HEADER_BYTES : end])
            if self._seal:
                self._seal.check((head, body), buffer[end : end + SEAL_BYTES])
            found.append(decode(kind, sequence, body, self._size))
            at = end + self._seal_bytes
        if at:
            rest = bytes(buffer[at : self._filled])
            buffer[: len(rest)] = rest
            self._filled = len(rest)
        return found
