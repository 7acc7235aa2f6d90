"""Steps of random programs: what a rank does, and what NumPy alone says must come of it.

A step is read from a record of bytes (:func:`read`), by every rank and by the oracle alike, so that records
are all that has to be sent. Lesser numbers in a record make a simpler step: this is what shrinking goes by.
The oracle shares no code with the library.
"""

from __future__ import annotations

import functools
import itertools
import math
import struct
import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pycobre.comm import Communicator, ReduceOp
from pycobre.errors import CollectiveFailed

Array = np.ndarray[Any, Any]

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
VIEWS = ("plain", "plain", "strided", "reversed", "transposed", "repeated")
LONG = (1_000, 16_384, 16_385, 33_000, 70_001)
RECORD_BYTES = 64
_POOL = 1 << 18
_SIMPLE = 100  # numbers at the beginning of a pool
_UNIT = 1 << 16
_FILL = 1  # what lies between the parts of a gather, before and after


class Step(Protocol):
    """One thing that all ranks do together; both methods give the bytes that are compared."""

    def run(self, comm: Communicator) -> bytes: ...

    def expected(self, rank: int, size: int) -> bytes: ...


class Record:
    """The numbers of a step, one after the other."""

    def __init__(self, record: bytes) -> None:
        self._numbers = iter(struct.unpack(f"<{RECORD_BYTES // 2}H", record))

    def share(self) -> float:
        """From 0 to below 1."""
        return next(self._numbers) / _UNIT

    def below(self, bound: int) -> int:
        return next(self._numbers) * bound // _UNIT

    def chance(self, share: float) -> bool:
        return self.share() >= 1 - share


# ---- numbers


@functools.cache
def pool(dtype: str) -> Array:
    """Read-only numbers: a few simple ones, then any bits, every special value often, near and far."""
    source = np.random.default_rng([20, DTYPES.index(dtype)])
    kind = np.dtype(dtype)
    if kind.kind == "b":
        numbers = source.integers(0, 2, _POOL).astype(bool)
    else:
        numbers = np.frombuffer(source.bytes(_POOL * kind.itemsize), kind).copy()
    if kind.kind in "fc":
        part = numbers.view(numbers.real.dtype)
        about = np.finfo(part.dtype)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, about.smallest_subnormal, about.max, 1 / 3])
        part[:] = np.where(source.random(part.size) < 0.3, source.choice(special, part.size), part)
        # Numbers of one magnitude: their sums lose bits, and so tell the order and the precision.
        plain = source.random(part.size) < 0.4
        part[plain] = source.standard_normal(part.size)[plain]
    numbers[:_SIMPLE] = np.arange(_SIMPLE)
    numbers.flags.writeable = False
    return numbers


def bits(array: Array) -> bytes:
    """The array's bytes; all NaNs count as one."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if flat.dtype.kind == "f":
        flat = np.where(np.isnan(flat), np.array(np.nan, flat.dtype), flat)
    return flat.tobytes()


@dataclass(frozen=True)
class Part:
    """*length* numbers of the pool, read in one of the ways that an array may lie in memory."""

    dtype: str
    start: int
    length: int
    view: str

    @classmethod
    def read(cls, record: Record, dtype: str, length: int) -> Part:
        return cls(dtype, record.below(_POOL - 3 * length - 1), length, VIEWS[record.below(len(VIEWS))])

    def array(self) -> Array:
        numbers, n = pool(self.dtype)[self.start :], self.length
        if self.view == "strided":
            return numbers[: 3 * n : 3]
        if self.view == "reversed":
            return numbers[:n][::-1]
        if self.view == "transposed" and n and n % 2 == 0:
            return numbers[:n].reshape(2, n // 2).T
        if self.view == "repeated":
            return np.broadcast_to(numbers[:1], (n,))
        return numbers[:n]

    def flat(self) -> Array:
        return self.array().reshape(-1)


def read_length(record: Record) -> int:
    share = record.share()
    if share < 0.08:
        return 0
    if share < 0.96:
        return 1 + int((share - 0.08) / 0.88 * 40)
    return LONG[int((share - 0.96) / 0.04 * len(LONG))]


# ---- the oracle


def fold(parts: list[Array], op: ReduceOp) -> Array:
    """The reduction in rank order, one part after the other."""
    out = parts[0].copy()
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            if op is ReduceOp.SUM:
                out = out + part
                continue
            choose = np.minimum if op is ReduceOp.MIN else np.maximum
            chosen = choose(out, part)
            if out.dtype.kind == "f":
                zeros = (out == 0) & (part == 0)
                minus = np.signbit(out), np.signbit(part)
                negative = minus[0] | minus[1] if op is ReduceOp.MIN else minus[0] & minus[1]
                chosen = np.where(zeros, np.where(negative, -0.0, 0.0), chosen).astype(out.dtype)
            out = chosen
    return out


# ---- steps


@dataclass(frozen=True)
class Allreduce:
    parts: tuple[Part, ...]
    op: ReduceOp
    in_place: bool

    @classmethod
    def read(cls, record: Record, size: int) -> Allreduce:
        dtype, length = DTYPES[record.below(len(DTYPES))], read_length(record)
        op, in_place = ReduceOp(record.below(len(ReduceOp))), record.chance(0.3)
        op = ReduceOp.SUM if dtype in ("c8", "c16") else op
        return cls(tuple(Part.read(record, dtype, length) for _ in range(size)), op, in_place)

    def run(self, comm: Communicator) -> bytes:
        send = self.parts[comm.rank].array()
        if self.in_place:
            recv = send = send.reshape(-1).copy()
        else:
            recv = np.empty(send.size, send.dtype)
        comm.allreduce(send, recv, self.op)
        return bits(recv)

    def expected(self, rank: int, size: int) -> bytes:
        return bits(fold([part.flat() for part in self.parts], self.op))


@dataclass(frozen=True)
class Allgatherv:
    parts: tuple[Part, ...]
    displs: tuple[int, ...]
    total: int
    in_place: bool

    @classmethod
    def read(cls, record: Record, size: int) -> Allgatherv:
        dtype, in_place = DTYPES[record.below(len(DTYPES))], record.chance(0.3)
        parts = tuple(Part.read(record, dtype, read_length(record)) for _ in range(size))
        order = record.below(2 * math.factorial(size)) - math.factorial(size)
        displs, at = [0] * size, 0
        for rank in tuple(itertools.permutations(range(size)))[max(order, 0)]:
            displs[rank] = at + max(record.below(8) - 4, 0)
            at = displs[rank] + parts[rank].length
        return cls(parts, tuple(displs), at + record.below(3), in_place)

    def place(self, rank: int) -> slice:
        return slice(self.displs[rank], self.displs[rank] + self.parts[rank].length)

    def run(self, comm: Communicator) -> bytes:
        send = self.parts[comm.rank].array()
        recv = np.full(self.total, _FILL, send.dtype)
        if self.in_place:
            recv[self.place(comm.rank)] = send.reshape(-1)
            send = recv[self.place(comm.rank)]
        comm.allgatherv(send, recv, [part.length for part in self.parts], self.displs)
        return bits(recv)

    def expected(self, rank: int, size: int) -> bytes:
        recv = np.full(self.total, _FILL, self.parts[0].dtype)
        for other, part in enumerate(self.parts):
            recv[self.place(other)] = part.flat()
        return bits(recv)


@dataclass(frozen=True)
class Broadcast:
    parts: tuple[Part, ...]
    root: int

    @classmethod
    def read(cls, record: Record, size: int) -> Broadcast:
        dtype, length, root = DTYPES[record.below(len(DTYPES))], read_length(record), record.below(size)
        return cls(tuple(Part.read(record, dtype, length) for _ in range(size)), root)

    def run(self, comm: Communicator) -> bytes:
        buf = self.parts[comm.rank].flat().copy()
        comm.broadcast(buf, self.root)
        return bits(buf)

    def expected(self, rank: int, size: int) -> bytes:
        return bits(self.parts[self.root].flat())


@dataclass(frozen=True)
class Barrier:
    """A barrier that one rank may come late to. Every rank tells when it came and went."""

    late: int
    delay_secs: float

    @classmethod
    def read(cls, record: Record, size: int) -> Barrier:
        return cls(record.below(size), 0.002 if record.chance(0.1) else 0.0)

    def run(self, comm: Communicator) -> bytes:
        if self.delay_secs and comm.rank == self.late:
            time.sleep(self.delay_secs)
        times = np.array([time.monotonic_ns(), 0])
        comm.barrier()
        times[1] = time.monotonic_ns()
        if not self.delay_secs:
            return b"passed"
        everyone = np.empty(2 * comm.size, times.dtype)
        comm.allgatherv(times, everyone, [2] * comm.size, list(range(0, 2 * comm.size, 2)))
        return b"passed" if everyone[::2].max() <= everyone[1::2].min() else b"somebody left before all came"

    def expected(self, rank: int, size: int) -> bytes:
        return b"passed"


@dataclass(frozen=True)
class Disagreement:
    """One rank calls something else, in a group of their own: everyone must hear who."""

    kind: str
    odd: int

    KINDS = ("dtype", "length", "operation", "order", "root", "reduction", "counts")

    @classmethod
    def read(cls, record: Record, size: int) -> Disagreement:
        return cls(cls.KINDS[record.below(len(cls.KINDS))], record.below(size))

    def run(self, comm: Communicator) -> bytes:
        group = comm.duplicate()  # type: ignore[attr-defined]
        try:
            self._call(group, odd=comm.rank == self.odd)
            return b"nobody noticed"
        except CollectiveFailed as error:
            return f"{error.reason} {error.ranks}".encode()
        finally:
            group.close()

    def _call(self, comm: Communicator, *, odd: bool) -> None:
        ten = np.zeros(10)
        if self.kind == "dtype":  # the same bytes
            comm.broadcast(np.zeros(20, "f4") if odd else ten, 0)
        elif self.kind == "length":
            comm.broadcast(np.zeros(11) if odd else ten, 0)
        elif self.kind == "operation":
            comm.broadcast(ten, 0) if odd else comm.allreduce(ten, ten, ReduceOp.SUM)
        elif self.kind == "order":
            calls = [comm.barrier, lambda: comm.broadcast(ten, 0)]
            for call in reversed(calls) if odd else calls:
                call()
        elif self.kind == "root":
            comm.broadcast(ten, comm.size - 1 if odd else 0)
        elif self.kind == "reduction":
            comm.allreduce(ten, ten, ReduceOp.MAX if odd else ReduceOp.MIN)
        else:
            counts = [1] * comm.size
            if odd:  # the same total, and the same part here
                counts[(comm.rank + 1) % comm.size] += 1
            recv = np.zeros(2 * comm.size)
            comm.allgatherv(np.zeros(1), recv, counts, [2 * rank for rank in range(comm.size)])

    def expected(self, rank: int, size: int) -> bytes:
        # Of two nobody knows which is wrong; of more it is the one that stands alone.
        return f"mismatch {(0, 1) if size == 2 else (self.odd,)}".encode()


def read(record: bytes, size: int) -> Step:
    """The step that *record* means to a group of *size* ranks."""
    numbers = Record(record)
    kind = numbers.share()
    if kind < 0.09:
        return Barrier.read(numbers, size)
    if kind < 0.27:
        return Broadcast.read(numbers, size)
    if kind < 0.63:
        return Allreduce.read(numbers, size)
    if kind < 0.997 or size == 1:
        return Allgatherv.read(numbers, size)
    return Disagreement.read(numbers, size)
