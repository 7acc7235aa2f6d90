"""Noise that is raised where it would carry a quantity below zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pycobre.lp import Sparse

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NoiseFloor:
    """R quantities, each affine in the incoming state and in one noise term, that must not be negative.

    A noise term that would make its quantity negative is raised until it is zero. What the noise then is
    depends on the state, and a cut takes it as it is at its trial point: with states in a quantity the cuts
    are no longer bounds everywhere. Without, they are.

    Attributes
    ----------
    constant : (R,)
    state : (R, X)
    term : (R,)
        Position of the noise term.
    scale : (R,)
        What a unit of it adds, above zero.
    certain
        Terms among them that carry no noise: zero but for what they are raised by.
    """

    constant: FloatArray
    state: Sparse
    term: IntArray
    scale: FloatArray
    certain: IntArray

    @cached_property
    def _rounds(self) -> list[tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]]:
        """Entries of *state*, row, column and value: the first of every row, then the second, and so on."""
        row = self.state.row
        number = np.array([np.count_nonzero(row[:k] == row[k]) for k in range(len(row))], dtype=np.int64)
        each = [np.flatnonzero(number == n) for n in range(int(number.max(initial=-1)) + 1)]
        return [(row[some], self.state.column[some], self.state.value[some]) for some in each]

    def raised(self, states: FloatArray, noises: FloatArray) -> FloatArray:
        """Noise (M, D) raised where *noises* (M, D) are too low at *states* (M, X)."""
        level = np.repeat(self.constant[None], len(states), axis=0)
        for row, column, value in self._rounds:
            level[:, row] += value * states[:, column]
        result = noises.copy()
        result[:, self.certain] = 0.0
        result[:, self.term] = np.maximum(result[:, self.term], -level / self.scale)
        return result
