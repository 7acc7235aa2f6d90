"""Sparse matrices as triplets in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse matrix as (row, column, value) triplets, sorted by row and column.

    The order is fixed because sums run in it.
    """

    row: IntArray
    column: IntArray
    value: FloatArray
    shape: tuple[int, int]

    @classmethod
    def of(cls, entries: Iterable[tuple[int, int, float]], shape: tuple[int, int]) -> Sparse:
        """Matrix of the given (row, column, value) *entries*; zeros are left out.

        Raises
        ------
        ValueError
            Two entries share a place, or one lies outside *shape*.
        """
        kept = [entry for entry in entries if entry[2] != 0.0]
        row = np.array([entry[0] for entry in kept], dtype=np.int32)
        column = np.array([entry[1] for entry in kept], dtype=np.int32)
        value = np.array([entry[2] for entry in kept], dtype=np.float64)
        order = np.lexsort((column, row))
        row, column = row[order], column[order]
        if ((row[1:] == row[:-1]) & (column[1:] == column[:-1])).any():
            raise ValueError("two entries of a sparse matrix share a place")
        inside = (row >= 0) & (row < shape[0]) & (column >= 0) & (column < shape[1])
        if not inside.all():
            raise ValueError(f"an entry of a sparse matrix lies outside {shape}")
        return cls(row, column, value[order], shape)

    def toarray(self) -> FloatArray:
        """The matrix, dense."""
        dense = np.zeros(self.shape)
        dense[self.row, self.column] = self.value
        return dense
