"""What ranks tell each other besides collectives, on control links. No input or output."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from pycobre.comm.tcp.frame import (
    HEADER_BYTES,
    SEAL_BYTES,
    FrameKind,
    ProtocolError,
    Seal,
    header,
    read_header,
)
from pycobre.comm.tcp.verdict import REASONS, Verdict

CONTROL_BYTES = 4096
"""The longest body of a control message."""

_MESSAGE_BYTES = 1000  # of a verdict's words; with 1,024 ranks to blame it still fits
_U64 = struct.Struct("<Q")
_TROUBLE = struct.Struct("<BBHd")
_VERDICT = struct.Struct("<BH")


class Ailment(IntEnum):
    """What a rank may find wrong without knowing whose fault it is."""

    ENDED = 1
    OVERDUE = 2


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


@dataclass(frozen=True)
class Pending:
    """Rank 0, which has come to operation *sequence*, knows of a failure and will give its verdict."""

    sequence: int


Control = Leave | Trouble | Query | Status | Pending | Verdict
"""What travels on control links."""


def encode(message: Control) -> bytes:
    """The frame of a control message, without a seal."""
    sequence, kind, body = 0, FrameKind.VERDICT, b""
    if isinstance(message, Verdict):
        sequence = message.sequence
        text = message.message.encode(errors="replace")[:_MESSAGE_BYTES]
        ranks = struct.pack(f"<{len(message.ranks)}H", *message.ranks)
        body = _VERDICT.pack(REASONS.index(message.reason), len(message.ranks)) + ranks + text
    else:
        sequence = message.sequence
        match message:
            case Leave():
                kind, body = FrameKind.LEAVE, bytes([message.ended])
            case Trouble():
                kind = FrameKind.TROUBLE
                body = _TROUBLE.pack(message.ailment, message.operation, message.peer, message.limit_secs)
            case Query():
                kind = FrameKind.QUERY
            case Pending():
                kind = FrameKind.PENDING
            case Status():
                kind, body = FrameKind.STATUS, _U64.pack(message.entered)
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
            case FrameKind.LEAVE:
                if body not in (b"\0", b"\1"):
                    raise ProtocolError("a rank leaves in no known way")
                return Leave(sequence, body == b"\1")
            case FrameKind.TROUBLE:
                ailment, operation, peer, limit = _TROUBLE.unpack(body)
                if not 0 <= peer < size or not 0 <= limit < 1e9:
                    raise ProtocolError("a report about no rank of this group")
                return Trouble(sequence, Ailment(ailment), operation, peer, limit)
            case FrameKind.QUERY | FrameKind.PENDING:
                if body:
                    raise ProtocolError("a body where there is none")
                return Query(sequence) if kind == FrameKind.QUERY else Pending(sequence)
            case FrameKind.STATUS:
                return Status(sequence, *_U64.unpack(body))
            case FrameKind.VERDICT:
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
            kind, length, sequence = read_header(head, CONTROL_BYTES)
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
