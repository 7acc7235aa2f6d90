"""What a rank calls, so that all ranks can compare it before any of them uses data. No transport in here."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from pycobre.comm.base import PLAIN_DTYPES, ReduceOp

SHOWN_COUNTS = 7
"""Counts that a report of a mismatch can show of each rank."""

_FORM = struct.Struct(f"<BB6sQ{SHOWN_COUNTS}Q")
_FINGERPRINT = struct.Struct("<Q")

CALL_BYTES = _FORM.size
"""A packed call."""
PAYLOAD_AT = CALL_BYTES
"""Where the payload begins in a line, which is a call with room for what it brings."""
INLINE_BYTES = 48
"""The payload of a line."""
LINE_BYTES = 128

_CODES = {
    dtype: number for number, dtype in enumerate(sorted(PLAIN_DTYPES, key=lambda dtype: dtype.name), start=1)
}
_NAMES = {number: dtype.name for dtype, number in _CODES.items()}
_MOST = (1 << 64) - 1


class Kind(IntEnum):
    """Which collective, by its number on the wire."""

    BARRIER = 1
    ALLGATHERV = 2
    ALLREDUCE = 3
    BROADCAST = 4
    FENCE = 5
    CREATE_SHARED_REGION = 6
    SPLIT_LOCAL = 7
    DUPLICATE = 8

    @property
    def title(self) -> str:
        """What errors call it, which is the name of its method."""
        return self.name.lower()


class Call:
    """A collective and what all ranks must agree on.

    Parameters
    ----------
    kind
        Which collective.
    dtype
        What its arrays hold, where it has any.
    lengths
        Elements: one number, or one a rank.
    argument
        The root or the reduction, 0 for none.

    Attributes
    ----------
    kind
        As above.
    packed
        (CALL_BYTES,) The call as it travels: equal bytes are equal calls.
    fingerprint
        The first 64 bits of that, which tell calls apart too.
    """

    def __init__(
        self,
        kind: Kind,
        dtype: np.dtype[Any] | None = None,
        lengths: Sequence[int] = (),
        argument: int = 0,
    ) -> None:
        code = 0 if dtype is None else _CODES[dtype]
        digest = hashlib.blake2b(repr((tuple(lengths), int(argument))).encode(), digest_size=6).digest()
        shown = [min(length, _MOST) for length in lengths[:SHOWN_COUNTS]]
        shown += [0] * (SHOWN_COUNTS - len(shown))
        self.kind = kind
        self.packed = _FORM.pack(kind, code, digest, argument, *shown)
        (self.fingerprint,) = _FINGERPRINT.unpack_from(self.packed)

    def write(self, line: bytearray) -> None:
        """Put the call into *line*, whose payload stays as it is."""
        line[:CALL_BYTES] = self.packed


@lru_cache(64)
def call_of(kind: Kind, dtype: np.dtype[Any] | None, lengths: tuple[int, ...], argument: int = 0) -> Call:
    """The call with these arguments; a loop makes the same few over and over."""
    return Call(kind, dtype, lengths, argument)


def ranks_text(ranks: Iterable[int]) -> str:
    """``rank 3``, or ``ranks 1, 2``."""
    found = list(ranks)
    return f"rank{'s' * (len(found) != 1)} {', '.join(map(str, found))}"


def mismatch_of(lines: Sequence[bytes]) -> tuple[list[int], str]:
    """Ranks to blame for *lines* that differ, and what each rank calls.

    A line begins with a packed call, whoever packed it. Every rank has the same lines and comes to the same
    words.
    """
    callers: dict[bytes, list[int]] = {}
    for rank, line in enumerate(lines):
        callers.setdefault(line[:CALL_BYTES], []).append(rank)
    size = len(lines)
    usual = next((ranks for ranks in callers.values() if 2 * len(ranks) > size), [])
    # Without a majority nobody can tell who is wrong.
    blamed = [rank for rank in range(size) if rank not in usual]
    told = "; ".join(f"{ranks_text(ranks)} {_described(call, size)}" for call, ranks in callers.items())
    return blamed, f"ranks called different things: {told}"


def _described(packed: bytes, size: int) -> str:
    number, code, _, argument, *counts = _FORM.unpack(packed)
    try:
        kind = Kind(number)
    except ValueError:
        return "?"
    dtype = _NAMES.get(code, "?")
    if kind is Kind.BROADCAST:
        return f"{kind.title}(root {argument}, {dtype}[{counts[0]}])"
    if kind is Kind.ALLREDUCE:
        return f"{kind.title}({ReduceOp(argument % len(ReduceOp)).name}, {dtype}[{counts[0]}])"
    if kind is Kind.ALLGATHERV:
        more = ", ..." if size > SHOWN_COUNTS else ""
        return f"{kind.title}({dtype}, counts [{', '.join(map(str, counts[:size]))}{more}])"
    if kind is Kind.CREATE_SHARED_REGION:
        return f"{kind.title}({dtype}[{counts[0]}])"
    return kind.title
