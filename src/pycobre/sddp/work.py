"""Dealing work to ranks: contiguous blocks of scenarios or units, gathered back in their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import Communicator

OPENINGS_A_PART = 20
"""At most, unless told otherwise. Fewer make better balance; more make use of each other, one solve starting
from the last."""

Scalar = TypeVar("Scalar", bound=np.generic)


def block_of(count: int, rank: int, size: int) -> range:
    """Items of 0 .. *count* - 1 that *rank* of *size* works on: contiguous, the first ranks one more."""
    share, extra = divmod(count, size)
    start = rank * share + min(rank, extra)
    return range(start, start + share + (rank < extra))


def block_sizes(count: int, size: int) -> list[int]:
    """How many items every rank works on."""
    return [len(block_of(count, rank, size)) for rank in range(size)]


def rank_in_group(comm: Communicator) -> int | None:
    """The rank that errors name, ``None`` where there is one alone."""
    return comm.rank if comm.size > 1 else None


def parts_of(openings: int, most: int = OPENINGS_A_PART) -> list[range]:
    """The parts that a node's openings are solved in, each a unit of work at a trial point.

    Parts have at most *most* openings. A function of numbers that are the same everywhere, so that no result
    depends on the ranks. Parts let ranks share a trial point: its difficulty is then shared as well, and more
    ranks than trial points find work.
    """
    count = -(-openings // most)
    return [block_of(openings, part, count) for part in range(count)]


@dataclass(frozen=True, eq=False)
class Units:
    """Units of work of M trial points, each a part of the openings at one of them, part by part.

    Attributes
    ----------
    counts
        How many every rank works on.
    point : (U,)
        Trial point of each unit of this rank.
    first, last : (U,)
        Its openings, from the first to before the last.
    """

    counts: list[int]
    point: NDArray[np.int64]
    first: NDArray[np.int32]
    last: NDArray[np.int32]


@cache
def units_of(parts: tuple[range, ...], points: int, rank: int, size: int) -> Units:
    """Those that *rank* of *size* works on."""
    block = block_of(len(parts) * points, rank, size)
    mine = [divmod(unit, points) for unit in block]
    return Units(
        block_sizes(len(parts) * points, size),
        np.array([point for _, point in mine], dtype=np.int64),
        np.array([parts[part].start for part, _ in mine], dtype=np.int32),
        np.array([parts[part].stop for part, _ in mine], dtype=np.int32),
    )


def gather(comm: Communicator, mine: NDArray[Scalar], counts: Sequence[int]) -> NDArray[Scalar]:
    """Items of all ranks in rank order, from each rank's own.

    Parameters
    ----------
    mine : (counts[rank], ...)
        This rank's items; what comes back where there is one rank alone.
    counts
        How many items every rank has; the same on all.
    """
    if comm.size == 1:
        return mine
    width = math.prod(mine.shape[1:])
    sizes = [count * width for count in counts]
    starts = [0, *accumulate(sizes)][:-1]
    whole = np.empty((sum(counts), *mine.shape[1:]), dtype=mine.dtype)
    comm.allgatherv(np.ascontiguousarray(mine).reshape(-1), whole.reshape(-1), sizes, starts)
    return whole


def gather_together(
    comm: Communicator, mine: Sequence[NDArray[Any]], counts: Sequence[int]
) -> list[NDArray[Any]]:
    """What :func:`gather` makes of each array of *mine*, by one message."""
    if comm.size == 1:
        return list(mine)
    widths = [math.prod(array.shape[1:]) * array.itemsize for array in mine]
    raw = [
        np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(len(array), width)
        for array, width in zip(mine, widths, strict=True)
    ]
    whole = gather(comm, np.concatenate(raw, axis=1), counts)
    parts = np.split(whole, [*accumulate(widths)][:-1], axis=1)
    return [
        np.ascontiguousarray(part).reshape(-1).view(array.dtype).reshape(len(whole), *array.shape[1:])
        for array, part in zip(mine, parts, strict=True)
    ]
