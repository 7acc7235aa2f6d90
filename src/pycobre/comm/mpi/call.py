"""What a rank calls, in one line of bytes, and what to say when the ranks' lines differ. No MPI in here."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from pycobre.comm.base import PLAIN_DTYPES, ReduceOp

INLINE_BYTES = 48
"""What travels with the call itself."""

SHOWN_COUNTS = 7
"""Counts that a report of a mismatch can show of each rank."""

_LINE = struct.Struct(f"<Q{INLINE_BYTES}xQ{SHOWN_COUNTS}Q8x")
LINE_BYTES = _LINE.size
PAYLOAD_AT = 8

_CODES = {
    dtype: number for number, dtype in enumerate(sorted(PLAIN_DTYPES, key=lambda dtype: dtype.name), start=1)
}
_NAMES = {number: dtype.name for dtype, number in _CODES.items()}
_MOST = (1 << 64) - 1


class Kind(IntEnum):
    """Which collective."""

    BARRIER = 1
    ALLGATHERV = 2
    ALLREDUCE = 3
    BROADCAST = 4
    FENCE = 5
    CREATE_SHARED_REGION = 6
    SPLIT_LOCAL = 7
    DUPLICATE = 8


class Call:
    """One rank's call, ready to be sent.

    Attributes
    ----------
    fingerprint
        64 bits that are the same where ranks call the same thing.
    """

    def __init__(
        self,
        kind: Kind,
        dtype: np.dtype[Any] | None = None,
        lengths: Sequence[int] = (),
        argument: int = 0,
    ) -> None:
        code = 0 if dtype is None else _CODES[dtype]
        digest = zlib.crc32(repr(tuple(lengths)).encode())
        # An argument is a root (there may be more ranks than 16 bits hold) or a reduction.
        self.fingerprint = kind | code << 8 | (argument & 0xFFFF) << 16 | (digest ^ argument >> 16) << 32
        self._argument = argument
        self._shown = [min(length, _MOST) for length in lengths[:SHOWN_COUNTS]]

    def write(self, line: bytearray) -> None:
        """Put the call into *line*, around the payload, which stays as it is."""
        payload = line[PAYLOAD_AT : PAYLOAD_AT + INLINE_BYTES]
        shown = self._shown + [0] * (SHOWN_COUNTS - len(self._shown))
        _LINE.pack_into(line, 0, self.fingerprint, self._argument, *shown)
        line[PAYLOAD_AT : PAYLOAD_AT + INLINE_BYTES] = payload


@lru_cache(64)
def call_of(kind: Kind, dtype: np.dtype[Any] | None, lengths: tuple[int, ...], argument: int = 0) -> Call:
    """The call with these arguments; a loop makes the same few over and over."""
    return Call(kind, dtype, lengths, argument)


def _described(line: bytes, size: int) -> str:
    fingerprint, argument, *counts = _LINE.unpack(line)
    try:
        kind = Kind(fingerprint & 0xFF)
    except ValueError:
        return "?"
    name, dtype = kind.name.lower(), _NAMES.get(fingerprint >> 8 & 0xFF, "?")
    if kind is Kind.BROADCAST:
        return f"{name}(root {argument}, {dtype}[{counts[0]}])"
    if kind is Kind.ALLREDUCE:
        return f"{name}({ReduceOp(argument % len(ReduceOp)).name}, {dtype}[{counts[0]}])"
    if kind is Kind.ALLGATHERV:
        more = ", ..." if size > SHOWN_COUNTS else ""
        return f"{name}({dtype}, counts [{', '.join(map(str, counts[:size]))}{more}])"
    if kind is Kind.CREATE_SHARED_REGION:
        return f"{name}({dtype}[{counts[0]}])"
    return name


def ranks_text(ranks: Sequence[int]) -> str:
    """``rank 3``, or ``ranks 1, 2``."""
    return f"rank{'s' * (len(ranks) != 1)} {', '.join(map(str, ranks))}"


def mismatch_of(lines: Sequence[bytes]) -> tuple[list[int], str]:
    """Ranks to blame and what each rank calls; every rank has the same lines and comes to the same words."""
    callers: dict[bytes, list[int]] = {}
    for rank, line in enumerate(lines):
        callers.setdefault(line[:PAYLOAD_AT], []).append(rank)
    size = len(lines)
    usual = next((ranks for ranks in callers.values() if 2 * len(ranks) > size), [])
    # Without a majority nobody can tell who is wrong.
    blamed = [rank for rank in range(size) if rank not in usual]
    told = "; ".join(f"{ranks_text(ranks)} {_described(lines[ranks[0]], size)}" for ranks in callers.values())
    return blamed, f"ranks called different things: {told}"
