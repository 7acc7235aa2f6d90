"""What backends in Python do with arrays: their bytes, and folds in rank order by the native code of shm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre._native import shm as native
from pycobre.comm.base import ReduceOp

Array = npt.NDArray[Any]


def as_bytes(array: Array) -> memoryview:
    """The bytes of an array that is contiguous."""
    return array.reshape(-1).view(np.uint8).data


def fold(op: ReduceOp, parts: list[Array], out: Array) -> None:
    """Put the fold of *parts*, in their order, in *out*, which none of them overlaps."""
    folding(op, parts, out)()


def folding(op: ReduceOp, parts: list[Array], out: Array) -> Callable[[], None]:
    """What does ``fold(op, parts, out)``, ready to be repeated."""
    most = native.MAX_RANKS  # that native code takes at once
    if len(parts) <= most:
        return native.folding(op, parts, out)

    def fold_in_turns() -> None:
        native.folding(op, parts[:most], out)()
        for at in range(most, len(parts), most - 1):
            native.folding(op, [out.copy(), *parts[at : at + most - 1]], out)()

    return fold_in_turns
