"""The bases that a node's units of work start from, the same on every rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import BASIC, BasisArray, Starts

IntArray = NDArray[np.int64]


class NodeStarts:
    """Bases of one node: the last of every part of its openings and forward pass, then older ones.

    Parameters
    ----------
    parts, passes
        How many parts the node's openings have, and how many forward passes there are.
    """

    def __init__(self, parts: int, passes: int) -> None:
        self._parts, self._passes = parts, passes
        self._bases: BasisArray = np.empty((parts * passes, 0), dtype=np.int8)  # of no length: none yet

    def of(self, parts: IntArray, scenarios: IntArray) -> Starts:
        """Starts of units of work (M,), each a part and a scenario; those beyond the passes take turns."""
        return Starts(self._bases, parts * self._passes + scenarios % self._passes)

    def keep(self, scenarios: Sequence[int], fresh: BasisArray, most: int) -> None:
        """Take *fresh* bases (parts, M, L), one for all *scenarios* or each, and keep *most* older ones."""
        places, length, known = self._parts * self._passes, fresh.shape[2], self._bases.shape[1]
        is_first = known == 0
        older = 0 if is_first else min(most, len(self._bases) - places + fresh.shape[0] * fresh.shape[1])
        # A cut younger than a basis is basic in it.
        bases = np.full((places + older, length), BASIC, dtype=np.int8)
        grid = bases[:places].reshape(self._parts, self._passes, length)
        if is_first:  # a scenario that never came by starts from the first that did
            grid[:] = fresh[:, :1]
        else:
            bases[:places, :known] = self._bases[:places]
            replaced = grid[:, list(scenarios[: fresh.shape[1]])].reshape(-1, length)[:older]
            bases[places : places + len(replaced)] = replaced
            bases[places + len(replaced) :, :known] = self._bases[places : places + older - len(replaced)]
        grid[:, list(scenarios)] = fresh
        self._bases = bases
