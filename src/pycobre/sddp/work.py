"""Dealing work to ranks: contiguous blocks of scenarios or units, gathered back in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pycobre.comm import Communicator

OPENINGS_A_PART = 5
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


def gather(comm: Communicator, mine: NDArray[Scalar], counts: Sequence[int]) -> NDArray[Scalar]:
    """Items of all ranks in rank order, from each rank's own.

    Parameters
    ----------
    mine : (counts[rank], ...)
        This rank's items.
    counts
        How many items every rank has; the same on all.
    """
    width = int(np.prod(mine.shape[1:], dtype=np.int64))
    sizes = [count * width for count in counts]
    starts = [sum(sizes[:rank]) for rank in range(len(sizes))]
    whole = np.empty((sum(counts), *mine.shape[1:]), dtype=mine.dtype)
    comm.allgatherv(np.ascontiguousarray(mine).reshape(-1), whole.reshape(-1), sizes, starts)
    return whole
