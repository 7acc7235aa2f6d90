"""The bases that a node's units of work start from, the same on every rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import BASIC, BasisArray, Starts

IntArray = NDArray[np.int64]


class NodeStarts:
    """Bases of one node: the last of every part of its openings and forward pass, and some before these.

    Parameters
    ----------
    parts, passes
        How many parts the node's openings have, and how many forward passes there are.
    """

    def __init__(self, parts: int, passes: int) -> None:
        self._bases: BasisArray = np.empty((1, 0), dtype=np.int8)  # newest first; one of no length: none yet
        self._own: IntArray = np.zeros((parts, passes), dtype=np.int64)  # which of them

    def of(self, units: Sequence[tuple[int, int]]) -> Starts:
        """Starts of *units*, each a part and a scenario; scenarios beyond the passes take these in turn."""
        places = np.array(units, dtype=np.int64).reshape(-1, 2)
        return Starts(self._bases, self._own[places[:, 0], places[:, 1] % self._own.shape[1]])

    def keep(self, scenarios: Sequence[int], fresh: BasisArray, most: int) -> None:
        """Take *fresh* bases (parts, M, L), one for all *scenarios* or each; keep *most* older ones too."""
        parts, count, length = fresh.shape
        added = parts * count
        own = self._own + added
        if self._bases.shape[1] == 0:  # a scenario that never came by starts from the first that did
            own[:] = np.arange(parts)[:, None] * count
        own[:, list(scenarios)] = np.arange(added).reshape(parts, count)
        kept = np.union1d(own[own >= added], added + np.arange(min(most, len(self._bases)))) - added
        if self._bases.shape[1] == 0:
            kept = kept[:0]
        # A cut younger than a basis is basic in it.
        bases = np.full((added + len(kept), length), BASIC, dtype=np.int8)
        bases[:added] = fresh.reshape(added, length)
        bases[added:, : self._bases.shape[1]] = self._bases[kept]
        old = own >= added
        own[old] = added + np.searchsorted(kept + added, own[old])
        self._bases, self._own = bases, own
