"""Dealing work to ranks: contiguous blocks of items, gathered back in their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import Communicator

Scalar = TypeVar("Scalar", bound=np.generic)

Places = slice | NDArray[np.int64]
"""Positions in an array: as a slice where they follow each other, by which a view is had at once."""


def places(positions: NDArray[np.int64]) -> Places:
    """*positions* (n,), at least one, as :data:`Places`."""
    first = int(positions[0])
    if np.array_equal(positions, np.arange(first, first + len(positions))):
        return slice(first, first + len(positions))
    return positions


def shifted(positions: Places, by: int) -> Places:
    """Each of *positions*, *by* higher."""
    if isinstance(positions, slice):
        return slice(positions.start + by, positions.stop + by)
    return positions + by


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
) -> Sequence[NDArray[Any]]:
    """What :func:`gather` makes of each array of *mine*, by one message."""
    if comm.size == 1:
        return mine
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
