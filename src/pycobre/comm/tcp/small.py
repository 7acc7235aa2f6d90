"""Collectives so small that all they move travels with the meeting, ready to be repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.base import ReduceOp
from pycobre.comm.tcp.exchange import as_bytes, folding
from pycobre.comm.tcp.meeting import Agenda

Array = npt.NDArray[Any]
Meet = Callable[[Agenda], None]
"""Holds the next meeting."""


# Bytes to bytes is the shortest way that Python has to copy.


def reduction(
    meet: Meet, agenda: Agenda, rank: int, source: Array, target: Array, op: ReduceOp
) -> Callable[[], None]:
    """The allreduce of contiguous arrays that *agenda* is of."""
    mine, given = agenda.payloads[rank], as_bytes(source)
    parts = [np.frombuffer(payload, source.dtype) for payload in agenda.payloads]
    fold = folding(op, parts, target)

    def reduce() -> None:
        mine[:] = given
        meet(agenda)
        fold()

    return reduce


def gathering(
    meet: Meet, agenda: Agenda, rank: int, source: Array, places: Sequence[Array]
) -> Callable[[], None]:
    """The allgatherv of *source* to (R,) *places* that *agenda* is of."""
    mine, given = agenda.payloads[rank], as_bytes(source)
    moves = [
        (as_bytes(place), payload)
        for place, payload in zip(places, agenda.payloads, strict=True)
        if place.size
    ]

    def gather() -> None:
        mine[:] = given
        meet(agenda)
        for place, payload in moves:
            place[:] = payload

    return gather


def spreading(meet: Meet, agenda: Agenda, rank: int, root: int, target: Array) -> Callable[[], None]:
    """The broadcast that *agenda* is of."""
    data, payload = as_bytes(target), agenda.payloads[root]

    def give() -> None:
        payload[:] = data
        meet(agenda)

    def take() -> None:
        meet(agenda)
        data[:] = payload

    return give if rank == root else take
