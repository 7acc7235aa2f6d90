"""What a rank calls, so that all ranks can compare it before any of them uses data."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from pycobre.comm.base import ReduceOp
from pycobre.comm.tcp.verdict import Verdict, named

DTYPES = (
    *("nothing", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
"""Names of dtypes by their numbers on the wire."""

DTYPE_CODES = {
    np.dtype(letter).num: DTYPES.index(np.dtype(letter).name) for letter in (*"?bhilqBHILQefd", "F", "D")
}
"""Their numbers by NumPy's, which has several for one dtype."""

SHOWN_COUNTS = 7
_FORM = struct.Struct(f"<BBHQ8s{SHOWN_COUNTS}Q")
CALL_BYTES = _FORM.size
_NO_COUNTS = (0,) * SHOWN_COUNTS


class Operation(IntEnum):
    """What is collective, by its number on the wire; the name is what errors call it."""

    barrier = 1
    allgatherv = 2
    allreduce = 3
    broadcast = 4
    create_shared_region = 6
    split_local = 7
    duplicate = 8


@dataclass(frozen=True)
class Call:
    """A collective and what all ranks must agree on.

    Attributes
    ----------
    operation
        Which collective.
    dtype
        Number of the dtype in :data:`DTYPES`, 0 for none.
    argument
        The root or the reduction, 0 for none.
    length
        Elements; of an allgatherv 0.
    counts
        Those of an allgatherv; as read from the wire the first few.
    """

    operation: int
    dtype: int = 0
    argument: int = 0
    length: int = 0
    counts: Sequence[int] = ()

    def pack(self) -> bytes:
        """(CALL_BYTES,) The call as it travels: equal bytes are equal calls."""
        digest = b"\0" * 8
        if self.counts:
            digest = hashlib.blake2b(
                struct.pack(f"<{len(self.counts)}Q", *self.counts), digest_size=8
            ).digest()
        shown = (*self.counts[:SHOWN_COUNTS], *_NO_COUNTS[len(self.counts) :])
        return _FORM.pack(self.operation, self.dtype, self.argument, self.length, digest, *shown)

    @staticmethod
    def describe(packed: bytes, size: int) -> str:
        """What the words of a mismatch say of a packed call, whoever packed it."""
        operation, dtype, argument, length, _, *counts = _FORM.unpack(packed)
        name = Operation(operation).name if operation in _KNOWN else "?"
        kind = DTYPES[dtype] if dtype < len(DTYPES) else "?"
        match operation:
            case Operation.broadcast:
                return f"{name}(root {argument}, {kind}[{length}])"
            case Operation.allreduce:
                return f"{name}({ReduceOp(argument % 3).name}, {kind}[{length}])"
            case Operation.allgatherv:
                shown = ", ".join(map(str, counts[:size])) + (", ..." if size > SHOWN_COUNTS else "")
                return f"{name}({kind}, counts [{shown}])"
            case Operation.create_shared_region:
                return f"{name}({kind}[{length}])"
        return name


_KNOWN = frozenset(Operation)


def mismatch(calls: Sequence[bytes]) -> Verdict:
    """The verdict on the packed *calls* of all ranks, which differ; every rank comes to the same."""
    size = len(calls)
    holders = {call: [rank for rank in range(size) if calls[rank] == call] for call in dict.fromkeys(calls)}
    told = "; ".join(f"{named(ranks)} {Call.describe(call, size)}" for call, ranks in holders.items())
    # Those who stand against a majority are wrong; without one nobody can tell who is.
    usual = next((ranks for ranks in holders.values() if 2 * len(ranks) > size), [])
    blamed = tuple(rank for rank in range(size) if rank not in usual)
    return Verdict("mismatch", blamed, f"ranks called different things: {told}")
