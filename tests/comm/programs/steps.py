"""Steps of random programs: what a rank does, and what NumPy alone says must come of it.

A program is a function of (seed, number, ranks), so every rank and the oracle draw the same one and nothing
has to be sent. The oracle shares no code with the library.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pycobre.comm import Communicator, ReduceOp
from pycobre.errors import CollectiveFailed

Array = np.ndarray[Any, Any]

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
VIEWS = ("plain", "plain", "strided", "reversed", "transposed", "repeated")
LONG = (1_000, 16_384, 16_385, 33_000, 70_001)
_POOL = 1 << 18
_FILL = 1  # what lies between the parts of a gather, before and after


class Step(Protocol):
    """One thing that all ranks do together; both methods give the bytes that the digest is made of."""

    def run(self, comm: Communicator) -> bytes: ...

    def expected(self, rank: int, size: int) -> bytes: ...


# ---- numbers


@functools.cache
def pool(dtype: str) -> Array:
    """Read-only numbers of any bits, every special value often, magnitudes near and far."""
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
    def draw(cls, draw: random.Random, dtype: str, length: int) -> Part:
        return cls(dtype, draw.randrange(_POOL - 3 * length - 1), length, draw.choice(VIEWS))

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


def draw_length(draw: random.Random) -> int:
    chance = draw.random()
    return 0 if chance < 0.08 else draw.randint(1, 40) if chance < 0.96 else draw.choice(LONG)


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
    def draw(cls, draw: random.Random, size: int) -> Allreduce:
        dtype, length = draw.choice(DTYPES), draw_length(draw)
        op = ReduceOp.SUM if dtype in ("c8", "c16") else draw.choice(list(ReduceOp))
        return cls(tuple(Part.draw(draw, dtype, length) for _ in range(size)), op, draw.random() < 0.3)

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
    def draw(cls, draw: random.Random, size: int) -> Allgatherv:
        dtype = draw.choice(DTYPES)
        parts = tuple(Part.draw(draw, dtype, draw_length(draw)) for _ in range(size))
        order, displs, at = list(range(size)), [0] * size, 0
        if draw.random() < 0.5:
            draw.shuffle(order)
        for rank in order:
            displs[rank] = at + (draw.randint(0, 3) if draw.random() < 0.5 else 0)
            at = displs[rank] + parts[rank].length
        return cls(parts, tuple(displs), at + draw.randint(0, 2), draw.random() < 0.3)

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
    def draw(cls, draw: random.Random, size: int) -> Broadcast:
        dtype, length = draw.choice(DTYPES), draw_length(draw)
        return cls(tuple(Part.draw(draw, dtype, length) for _ in range(size)), draw.randrange(size))

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
    def draw(cls, draw: random.Random, size: int) -> Barrier:
        return cls(draw.randrange(size), 0.002 if draw.random() < 0.1 else 0.0)

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
    def draw(cls, draw: random.Random, size: int) -> Disagreement:
        return cls(draw.choice(cls.KINDS), draw.randrange(size))

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


def program(seed: int, number: int, size: int) -> Iterator[Step]:
    """The steps of one program."""
    draw = random.Random(f"{seed}/{number}/{size}")
    for _ in range(draw.randint(1, 6)):
        kind = draw.choices((Allgatherv, Allreduce, Broadcast, Barrier), (4, 4, 2, 1))[0]
        yield kind.draw(draw, size)
    if size > 1 and draw.random() < 0.01:
        yield Disagreement.draw(draw, size)
