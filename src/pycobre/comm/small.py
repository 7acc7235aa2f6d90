"""Collectives so small that all they move travels with the meeting, ready to be repeated.

A meeting takes what this rank has put in its own payload, and leaves what each brought in (R,) *payloads*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.arrays import as_bytes, folding
from pycobre.comm.base import ReduceOp

Array = npt.NDArray[Any]
Meet = Callable[[], None]
"""Holds the meeting of the call at hand."""


# Bytes to bytes is the shortest way that Python has to copy.


def reduction(
    meet: Meet, mine: memoryview, payloads: Sequence[memoryview], source: Array, target: Array, op: ReduceOp
) -> Callable[[], None]:
    """The allreduce of contiguous arrays."""
    given = as_bytes(source)
    fold = folding(op, [np.frombuffer(payload, source.dtype) for payload in payloads], target)

    def reduce() -> None:
        mine[:] = given
        meet()
        fold()

    return reduce


def gathering(
    meet: Meet, mine: memoryview, payloads: Sequence[memoryview], source: Array, places: Sequence[Array]
) -> Callable[[], None]:
    """The allgatherv of *source* to (R,) *places*."""
    given = as_bytes(source)
    moves = [
        (as_bytes(place), payload) for place, payload in zip(places, payloads, strict=True) if place.size
    ]

    def gather() -> None:
        mine[:] = given
        meet()
        for place, payload in moves:
            place[:] = payload

    return gather


def spreading(meet: Meet, payload: memoryview, target: Array, *, is_root: bool) -> Callable[[], None]:
    """The broadcast of *target*, by the *payload* of the root."""
    data = as_bytes(target)

    def give() -> None:
        payload[:] = data
        meet()

    def take() -> None:
        meet()
        data[:] = payload

    return give if is_root else take
