"""Units of work of a backward pass: a trial point, and a part of the openings that are solved there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pycobre.sddp.work import block_of, block_sizes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNITS = 8
"""So many units of work keep some ranks and threads busy."""

SMALL_PART = 5
"""No need for parts of fewer openings than these."""


def openings_a_part(openings: int, points: int) -> int:
    """How many of a node's *openings* a unit of work has at most, unless told otherwise.

    All of them where *points* trial points alone make :data:`UNITS`: one opening's solve starts from what
    others came to. With fewer points a point's openings are parted, for more balance.
    """
    parts = min(-(-UNITS // points), -(-openings // SMALL_PART))
    return -(-openings // parts)


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
        Its openings, from the first to before the last, as :attr:`Parts.order` has them.
    """

    counts: list[int]
    point: IntArray
    part: tuple[NDArray[np.int32], NDArray[np.int32]]

    @cached_property
    def apart(
        self,
    ) -> tuple[IntArray, NDArray[np.int32], tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Openings of one unit after the other, how many each has, and its part if they are numbered so."""
        first, last = self.part
        rows = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
        ends = np.cumsum(last - first).astype(np.int32)
        return rows, last - first, (ends - (last - first), ends)


class Parts:
    """The parts that a node's openings are solved in, each a unit of work at a trial point.

    A function of numbers that are the same everywhere, so that no result depends on the ranks. Parts let
    ranks share a trial point: its difficulty is then shared as well, and more ranks than trial points find
    work. Openings of one part are near each other, as one's solve starts from what others came to.

    Parameters
    ----------
    noises : (W, D)
        The openings, each component scaled by what it counts.
    most
        Most of them in one part.

    Attributes
    ----------
    order : (W,)
        The openings part by part.
    part, place : (W,)
        Of each opening: its part, and its position there.
    longest
        Openings of the largest part.
    """

    def __init__(self, noises: FloatArray, most: int) -> None:
        openings = len(noises)
        count = -(-openings // most)
        self._spans = [block_of(openings, part, count) for part in range(count)]
        self.part = np.repeat(np.arange(count), [len(span) for span in self._spans])
        if count > 1:
            draw_together(self.part, distances(noises))
        self.order = np.argsort(self.part, kind="stable")
        self.place = np.empty(openings, dtype=np.int64)
        self.place[self.order] = np.concatenate([np.arange(len(span)) for span in self._spans])
        self.longest = max(len(span) for span in self._spans)
        self._dealt: dict[tuple[int, int, int], Units] = {}

    def __len__(self) -> int:
        return len(self._spans)

    def arranged(self, of_openings: FloatArray) -> FloatArray:
        """*of_openings* (W, ...) in :attr:`order`; the same array where there is one part."""
        return of_openings if len(self) == 1 else of_openings.take(self.order, axis=0)

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


def distances(noises: FloatArray) -> IntArray:
    """Between any two of *noises* (W, D), in thousandths of a millionth of the largest: (W, W).

    Sums of absolute differences; whole numbers, so that no sum of them hangs on its order.
    """
    apart = np.zeros((len(noises), len(noises)))
    for column in noises.T:  # added up one by one, for the same bits on every machine
        apart += np.abs(column[:, np.newaxis] - column)
    unit = max(float(apart.max()), np.finfo(float).tiny) / 1e9
    whole: IntArray = np.rint(apart / unit).astype(np.int64)
    return whole


def draw_together(part: IntArray, apart: IntArray) -> None:
    """Exchange members of parts until no exchange brings those of a part nearer to each other.

    Parameters
    ----------
    part : (W,)
        The part of each member; how many a part has stays the same.
    apart : (W, W)
        Distances of the members, without a sign.
    """
    to_part = np.stack([apart[:, part == one].sum(axis=1) for one in range(part.max() + 1)])
    members = np.arange(len(part))
    improved = True
    while improved:
        improved = False
        for member in members:
            here = part[member]
            others = part != here
            before = to_part[here, member] + to_part[part, members]
            after = to_part[part, member] + to_part[here] - 2 * apart[member]
            other = int(np.argmax(np.where(others, before - after, 0)))
            if not others[other] or before[other] <= after[other]:
                continue
            there, moved = part[other], apart[other] - apart[member]
            to_part[here] += moved
            to_part[there] -= moved
            part[member], part[other] = there, here
            improved = True
