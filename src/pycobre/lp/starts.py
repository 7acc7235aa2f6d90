"""The bases that HiGHS starts from, one a forward pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycobre.lp.solver import BASIC, BasisArray


class PassBases:
    """The last basis of every forward pass; of no length before there is any.

    A pass that has none of its own yet starts from the first that was kept.
    """

    def __init__(self) -> None:
        self._bases: BasisArray = np.empty((1, 0), dtype=np.int8)

    def __bool__(self) -> bool:
        return self._bases.size > 0

    def of(self, passes: NDArray[np.int64]) -> BasisArray:
        """The bases (M, L) of forward *passes* (M,)."""
        return np.ascontiguousarray(self._bases[np.where(passes < len(self._bases), passes, 0)])

    def keep(self, passes: Sequence[int] | NDArray[np.int64], fresh: BasisArray) -> None:
        """Take *fresh* bases (M, L), one for all *passes* or each."""
        count, length = max(len(self._bases), 1 + max(passes)), fresh.shape[1]
        # A cut younger than a basis is basic in it.
        bases = np.full((count, length), BASIC, dtype=np.int8)
        known, old = self._bases.shape
        if old:
            bases[:known, :old] = self._bases
            bases[known:] = bases[0]
        else:
            bases[:] = fresh[0]
        bases[list(passes)] = fresh
        self._bases = bases
