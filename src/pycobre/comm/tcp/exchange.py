"""Large payloads, directly between the ranks, once a meeting has found that all call the same."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre._native import shm as native
from pycobre.comm.base import ReduceOp
from pycobre.comm.tcp.flow import Channel, Driver, Incoming, Outgoing, Transfer, pieces

Array = npt.NDArray[Any]

_SCRATCH_BYTES = 8 << 20
"""Room of a reduction for what comes from the others, however large the arrays are."""


def as_bytes(array: Array) -> memoryview:
    """The bytes of an array that is contiguous."""
    return array.reshape(-1).view(np.uint8).data


def fold(op: ReduceOp, parts: Sequence[Array], out: Array) -> None:
    """Put the fold of *parts*, in their order, in *out*, which none of them overlaps."""
    first = parts[: native.MAX_RANKS]
    native.fold(int(op), list(first), out)
    step = native.MAX_RANKS - 1
    for at in range(len(first), len(parts), step):
        native.fold(int(op), [out.copy(), *parts[at : at + step]], out)


class Exchange:
    """The links of a group as large payloads use them.

    Parameters
    ----------
    rank, size
        This rank and the number of ranks.
    channels
        To every other rank.
    driver
        What moves the bytes.
    """

    def __init__(self, rank: int, size: int, channels: Mapping[int, Channel], driver: Driver) -> None:
        self._rank = rank
        self._size = size
        self._channels = channels
        self._driver = driver

    def gather(self, sequence: int, mine: Array, places: Sequence[Array]) -> None:
        """Send *mine* to all, and let what they have come straight into (R,) *places*."""
        if places[self._rank].size:
            np.copyto(places[self._rank], mine)
        self._swap(sequence, dict.fromkeys(self._channels, mine), dict(enumerate(places)))

    def reduce(self, sequence: int, source: Array, target: Array, op: ReduceOp) -> None:
        """Put the fold of all ranks' *source* in *target*: every rank folds a share and sends it to all."""
        size, rank = self._size, self._rank
        step = max(1, _SCRATCH_BYTES // ((size + 1) * source.itemsize))
        bounds = [source.size * turn // size for turn in range(size + 1)]
        longest = -(-source.size // size)  # the longest share
        scratch = np.empty((size + 1, min(step, longest)), source.dtype)
        for at in range(0, longest, step):
            shares = [
                slice(min(begin + at, end), min(begin + at + step, end))
                for begin, end in itertools.pairwise(bounds)
            ]
            length = shares[rank].stop - shares[rank].start
            parts, folded = list(scratch[:size, :length]), scratch[size, :length]
            self._swap(
                sequence, {peer: source[shares[peer]] for peer in self._channels}, dict(enumerate(parts))
            )
            if length:
                parts[rank] = source[shares[rank]]
                fold(op, parts, folded)
            # What comes now may overwrite the source, which has been sent as far as it comes.
            self.gather(sequence, folded, [target[share] for share in shares])

    def spread(self, sequence: int, data: Array, root: int) -> None:
        """Give *data* of the root to all; of three ranks or more each passes a share of it on."""
        if self._size == 2:
            if self._rank == root:
                self._swap(sequence, {1 - root: data}, {})
            else:
                self._swap(sequence, {}, {root: data})
            return
        others = [rank for rank in range(self._size) if rank != root]
        bounds = [data.size * turn // len(others) for turn in range(len(others) + 1)]
        share = {peer: data[bounds[turn] : bounds[turn + 1]] for turn, peer in enumerate(others)}
        if self._rank == root:
            self._swap(sequence, share, {})
            return
        self._swap(sequence, {}, {root: share[self._rank]})
        self._swap(sequence, {peer: share[self._rank] for peer in others if peer != self._rank}, share)

    def _swap(self, sequence: int, sends: Mapping[int, Array], receives: Mapping[int, Array]) -> None:
        transfers: list[Transfer] = [
            Incoming(self._channels[peer], sequence, as_bytes(place))
            for peer, place in receives.items()
            if peer != self._rank and place.size
        ]
        for peer, data in sends.items():
            if peer != self._rank and data.size:
                channel = self._channels[peer]
                transfers.append(Outgoing(channel, pieces(channel, sequence, as_bytes(data))))
        if transfers:
            self._driver.run(transfers)
