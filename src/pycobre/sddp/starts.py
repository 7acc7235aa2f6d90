"""The bases that a node's units of work start from, the same on every rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import BASIC, BasisArray, Starts

IntArray = NDArray[np.int64]


class NodeStarts:
    """Bases of one node: the last of every forward pass, then others for a solver that chooses among them.

    Parameters
    ----------
    passes
        How many forward passes there are.
    """

    def __init__(self, passes: int) -> None:
        self._passes = passes
        self._bases: BasisArray = np.empty((passes, 0), dtype=np.int8)  # of no length: none yet

    def of(self, scenarios: IntArray) -> Starts:
        """Starts of units of work, each of a scenario (M,); scenarios beyond the passes take turns."""
        return Starts(self._bases, scenarios % self._passes)

    def keep(self, scenarios: Sequence[int], fresh: BasisArray, most: int) -> None:
        """Take *fresh* bases (parts, M, L), one for all *scenarios* or each.

        The first part's are the forward passes' own. Of the other parts, and of what was own before, the
        *most* latest are kept as well.
        """
        passes, length, known = self._passes, fresh.shape[2], self._bases.shape[1]
        chosen = list(scenarios)
        # A cut younger than a basis is basic in it.
        own = np.full((passes, length), BASIC, dtype=np.int8)
        if known:
            own[:, :known] = self._bases[:passes]
        else:
            own[:] = fresh[0, 0]  # a scenario that never came by starts from the first that did
        others = [fresh[1:].reshape(-1, length), own[chosen[: fresh.shape[1]]] if known else own[:0]]
        older = self._bases[passes:]
        if len(older):
            padded = np.full((len(older), length), BASIC, dtype=np.int8)
            padded[:, :known] = older
            others.append(padded)
        own[chosen] = fresh[0]
        self._bases = np.concatenate([own, np.concatenate(others)[:most]])
