"""Regions for backends without shared memory: each rank its own copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.arguments import check_region
from pycobre.comm.base import SharedRegion
from pycobre.errors import AllocationFailed, InvalidCommunicator


def read_only(memory: memoryview, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """(n,) *memory* as an array that can't be made writable: the flag of a plain view could be set back."""
    if memory.nbytes == 0:
        return np.zeros(0, dtype)
    return np.frombuffer(memory.toreadonly(), dtype)  # np.ndarray(buffer=...) would look behind the view


class HeapRegion(SharedRegion):
    """A region in this rank's own memory; every rank fills its own, and a fence has nothing to do.

    Parameters
    ----------
    count
        Elements.
    dtype
        Of one element.
    """

    def __init__(self, count: int, dtype: npt.DTypeLike) -> None:
        length, found = check_region(count, dtype)
        try:
            self._array: npt.NDArray[Any] | None = np.zeros(length, found)
        except (MemoryError, ValueError) as error:
            raise AllocationFailed(length * found.itemsize, str(error)) from None

    def as_slice(self) -> npt.NDArray[Any]:
        """The array, read-only."""
        return read_only(self._open().data, self._open().dtype)

    def as_mut_slice(self) -> npt.NDArray[Any]:
        """The array, writable."""
        return self._open().view()

    def fence(self) -> None:
        """Nothing: nobody else sees this copy."""
        self._open()

    def close(self) -> None:
        """Let go of the array."""
        self._array = None

    def _open(self) -> npt.NDArray[Any]:
        if self._array is None:
            raise InvalidCommunicator("this shared region is closed")
        return self._array
