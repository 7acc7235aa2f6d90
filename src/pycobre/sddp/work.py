"""Dealing work to ranks: contiguous blocks of scenarios or units, gathered back in their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import Communicator

UNITS = 8
"""So many units of work keep some ranks and threads busy."""

SMALL_PART = 5
"""No need for parts of fewer openings than these."""

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


def openings_a_part(openings: int, points: int) -> int:
    """How many of a node's *openings* a unit of work has at most, unless told otherwise.

    All of them where *points* trial points alone make :data:`UNITS`: one opening's solve starts from what
    others came to. With fewer points a point's openings are parted, for more balance.
    """
    parts = min(-(-UNITS // points), -(-openings // SMALL_PART))
    return -(-openings // parts)


def rank_in_group(comm: Communicator) -> int | None:
    """The rank that errors name, ``None`` where there is one alone."""
    return comm.rank if comm.size > 1 else None


@dataclass(frozen=True, eq=False)
class Units:
    """Units of work of M trial points, each a part of the openings at one of them, part by part.

    Attributes
    ----------
    counts
        How many every rank works on.
    point : (U,)
        Trial point of each unit of this rank.
    part : (U,), (U,)
        Its openings, from the first to before the last.
    """

    counts: list[int]
    point: NDArray[np.int64]
    part: tuple[NDArray[np.int32], NDArray[np.int32]]

    @cached_property
    def apart(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Openings of one unit after the other, how many each has, and its part if they are numbered so."""
        first, last = self.part
        rows = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
        ends = np.cumsum(last - first).astype(np.int32)
        return rows, last - first, (ends - (last - first), ends)


class Parts:
    """The parts that a node's openings are solved in, each a unit of work at a trial point.

    A function of numbers that are the same everywhere, so that no result depends on the ranks. Parts let
    ranks share a trial point: its difficulty is then shared as well, and more ranks than trial points find
    work.

    Parameters
    ----------
    openings
        How many openings there are.
    most
        Most of them in one part.

    Attributes
    ----------
    part, place : (W,)
        Of each opening: its part, and its position there.
    longest
        Openings of the largest part.
    """

    def __init__(self, openings: int, most: int) -> None:
        count = -(-openings // most)
        self._spans = [block_of(openings, part, count) for part in range(count)]
        self.part = np.repeat(np.arange(len(self)), [len(span) for span in self._spans])
        self.place = np.concatenate([np.arange(len(span)) for span in self._spans])
        self.longest = max(len(span) for span in self._spans)
        self._dealt: dict[tuple[int, int, int], Units] = {}

    def __len__(self) -> int:
        return len(self._spans)

    def units(self, points: int, rank: int, size: int) -> Units:
        """Those of *points* trial points that *rank* of *size* works on."""
        units = self._dealt.get((points, rank, size))
        if units is None:
            units = self._dealt[points, rank, size] = self._deal(points, rank, size)
        return units

    def _deal(self, points: int, rank: int, size: int) -> Units:
        part, point = np.divmod(np.array(block_of(len(self) * points, rank, size), dtype=np.int64), points)
        return Units(
            block_sizes(len(self) * points, size),
            point,
            (
                np.array([span.start for span in self._spans], dtype=np.int32)[part],
                np.array([span.stop for span in self._spans], dtype=np.int32)[part],
            ),
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
