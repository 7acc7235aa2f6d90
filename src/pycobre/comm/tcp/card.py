"""What ranks tell of themselves when they meet. No sockets."""

from __future__ import annotations

import ipaddress
import json
import re
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from pycobre.errors import InitializationFailed

CARD_MAX_BYTES = 1024
_LENGTH = struct.Struct("!H")
_HEX = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class _Told:
    """A record that travels as JSON."""

    def encode(self) -> bytes:
        """The record in bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes, rank: int) -> Self:
        """The record in *data*, which rank *rank* has sent.

        Raises
        ------
        InitializationFailed
            It is none.
        """
        try:
            told: dict[str, Any] = json.loads(data)
            if not isinstance(told, dict) or set(told) != {entry.name for entry in fields(cls)}:
                raise ValueError
            record = cls(**told)
            record.check()
        except (ValueError, RecursionError):
            raise InitializationFailed("tcp", f"rank {rank} tells of itself what can't be read") from None
        return record

    def check(self) -> None:
        """Raise ``ValueError`` unless every field holds what it should."""


@dataclass(frozen=True)
class Card(_Told):
    """Who a rank is.

    Attributes
    ----------
    pid
        Its process.
    machine
        Where it runs, as :func:`~pycobre.comm.machine.this_machine` tells.
    unix
        Whether it uses Unix sockets to ranks of its machine.
    address
        Its side of the control link, for messages.
    """

    pid: int
    machine: str
    unix: bool
    address: str

    def check(self) -> None:
        """Raise ``ValueError`` unless every field holds what it should."""
        if type(self.pid) is not int or not 0 < self.pid < 2**31 or type(self.unix) is not bool:
            raise ValueError
        if (
            not _is_text(self.machine, 32)
            or not _HEX.fullmatch(self.machine)
            or not _is_text(self.address, 128)
        ):
            raise ValueError

    def is_near(self, other: Card) -> bool:
        """Whether the two exchange data over Unix sockets."""
        return self.unix and other.unix and self.machine == other.machine


@dataclass(frozen=True)
class Whereabouts(_Told):
    """Where a rank waits for the data links of those of higher number.

    Attributes
    ----------
    unix
        Name of its Unix socket, or empty.
    host, port
        Of its TCP socket; empty and 0 where there is none. Rank 0 is found where it was found first.
    """

    unix: str = ""
    host: str = ""
    port: int = 0

    def check(self) -> None:
        """Raise ``ValueError`` unless every field holds what it should."""
        if not _is_text(self.unix, 32) or not _is_text(self.host, 64):
            raise ValueError
        if type(self.port) is not int or not 0 <= self.port < 65536:
            raise ValueError
        if self.unix and not _HEX.fullmatch(self.unix):
            raise ValueError
        if self.host:
            ipaddress.ip_address(self.host)  # never a name, which would have to be looked up


def packed(parts: Sequence[bytes]) -> bytes:
    """*parts* in one piece."""
    return b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def unpacked(whole: bytes, count: int) -> list[bytes]:
    """The *count* parts of *whole*.

    Raises
    ------
    InitializationFailed
        It is not so many.
    """
    parts = []
    place = 0
    for _ in range(count):
        if place + _LENGTH.size > len(whole):
            break
        (length,) = _LENGTH.unpack_from(whole, place)
        place += _LENGTH.size
        parts.append(whole[place : place + length])
        place += length
    if len(parts) != count or place != len(whole):
        raise InitializationFailed("tcp", "rank 0 passes on what can't be read")
    return parts


def _is_text(value: object, limit: int) -> bool:
    return isinstance(value, str) and len(value) <= limit
