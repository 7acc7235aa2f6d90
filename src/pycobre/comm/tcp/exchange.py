"""Large payloads, directly between the ranks, once a meeting has found that all call the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.arrays import as_bytes, fold
from pycobre.comm.base import ReduceOp
from pycobre.comm.tcp.driver import Driver
from pycobre.comm.tcp.flow import Channel, Incoming, Outgoing, Transfer, pieces

Array = npt.NDArray[Any]

_SCRATCH_BYTES = 8 << 20
"""Room of a reduction for what comes from the others, however large the arrays are."""
_DIRECT_BYTES = 1536 << 10
"""What a root sends by itself; a second step costs about as much as this."""


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

    def gathering(self, mine: Array, places: Sequence[Array]) -> Callable[[int], None]:
        """What sends *mine* to all, and lets what they have come straight into (R,) *places*.

        It takes the number of the operation.
        """
        given, own = as_bytes(mine), as_bytes(places[self._rank])
        sends = dict.fromkeys(self._channels, given)
        receives = {peer: as_bytes(places[peer]) for peer in self._channels}

        def gather(sequence: int) -> None:
            own[:] = given
            self._swap(sequence, sends, receives)

        return gather

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
                sequence,
                {peer: as_bytes(source[shares[peer]]) for peer in self._channels},
                {peer: as_bytes(parts[peer]) for peer in self._channels},
            )
            if length:
                parts[rank] = source[shares[rank]]
                fold(op, parts, folded)
            # What comes now may overwrite the source, which has been sent as far as it comes.
            self.gathering(folded, [target[share] for share in shares])(sequence)

    def spread(self, sequence: int, data: Array, root: int) -> None:
        """Give *data* of the root to all.

        Of more than a little the root sends each rank a share, which that passes on: no rank then sends more
        than the data once.
        """
        whole = as_bytes(data)
        if data.nbytes * (self._size - 1) <= _DIRECT_BYTES or self._size == 2:
            if self._rank == root:
                self._swap(sequence, dict.fromkeys(self._channels, whole), {})
            else:
                self._swap(sequence, {}, {root: whole})
            return
        others = [rank for rank in range(self._size) if rank != root]
        bounds = [data.size * turn // len(others) * data.itemsize for turn in range(len(others) + 1)]
        share = {peer: whole[bounds[turn] : bounds[turn + 1]] for turn, peer in enumerate(others)}
        if self._rank == root:
            self._swap(sequence, share, {})
            return
        mine = share.pop(self._rank)
        self._swap(sequence, {}, {root: mine})
        self._swap(sequence, dict.fromkeys(share, mine), share)

    def _swap(
        self, sequence: int, sends: Mapping[int, memoryview], receives: Mapping[int, memoryview]
    ) -> None:
        channels = self._channels
        # Sends come first: what others have sent at the same time is here once they are out.
        transfers: list[Transfer] = [
            Outgoing(channels[peer], pieces(channels[peer], sequence, data))
            for peer, data in sends.items()
            if data.nbytes
        ]
        transfers += [
            Incoming(channels[peer], sequence, place) for peer, place in receives.items() if place.nbytes
        ]
        if transfers:
            self._driver.run(transfers)
