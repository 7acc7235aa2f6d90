"""What units of work start from, and the bases that HiGHS keeps for it, one a forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycobre.lp.basis import BASIC, BasisArray


@dataclass(eq=False, slots=True)  # not frozen: one is made at every visit, in a third of the time
class Starts:
    """What M units of work start from.

    Attributes
    ----------
    own : (M,)
        The position of each unit's basis among *bases*; without these the forward pass whose kept basis it
        starts from. A solver may choose another one.
    bases : (K, L)
        As :class:`~pycobre.lp.Expectation` has them; of length zero for none. ``None`` for those that the
        solver keeps.
    noises : (K, D)
        Those whose optima the *bases* are; ``None`` where that is not known.
    """

    own: NDArray[np.int64]
    bases: BasisArray | None = None
    noises: NDArray[np.float64] | None = None

    @classmethod
    def slacks(cls, units: int) -> Starts:
        """No basis: *units* that start from nothing."""
        return cls(np.zeros(units, dtype=np.int64), np.empty((1, 0), dtype=np.int8))

    @classmethod
    def each(cls, bases: BasisArray) -> Starts:
        """One basis a unit, the rows of *bases*."""
        return cls(np.arange(len(bases)), bases)

    def brought(self) -> BasisArray:
        """The basis (M, L) that each unit came with; of length zero if none did."""
        if self.bases is None:
            return np.empty((len(self.own), 0), dtype=np.int8)
        return np.ascontiguousarray(self.bases[self.own])

    def brought_noises(self) -> NDArray[np.float64]:
        """The noise (M, D) whose optimum each unit's basis is; of no rows where that is not known."""
        if self.noises is None:
            return np.empty((0, 0))
        return np.ascontiguousarray(self.noises[self.own])

    def some(self, units: NDArray[np.int64]) -> Starts:
        """Those of *units*, by position."""
        return Starts(self.own.take(units), self.bases, self.noises)


class Dispatched(NamedTuple):
    """What M dispatches of one node ended with."""

    bases: BasisArray
    """(M, L)"""
    noises: NDArray[np.float64]
    """(M, D), those that they met."""


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
