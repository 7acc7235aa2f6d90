"""Agendas of calls, kept for the next time."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycobre.comm.call import Call, Kind
from pycobre.comm.tcp.meeting import Agenda, Meeting, small_bytes

_MOST_KEPT = 64  # each has room for what this rank brings


class Agendas:
    """The agendas of the meetings of *size* ranks."""

    def __init__(self, meeting: Meeting, size: int) -> None:
        self._meeting = meeting
        self._size = size
        self._small = small_bytes(size)
        self._kept: dict[object, Agenda] = {}

    def of(
        self,
        kind: Kind,
        dtype: np.dtype[Any] | None = None,
        lengths: tuple[int, ...] = (),
        argument: int = 0,
    ) -> Agenda:
        """The agenda of a call; a loop makes the same few over and over."""
        key = (kind, dtype, lengths, argument)
        agenda = self._kept.get(key)
        if agenda is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            payload_bytes = self._payload_bytes(kind, dtype, lengths, argument)
            if max(payload_bytes) > self._small:
                payload_bytes = [0] * self._size
            call = Call(kind, dtype, lengths, argument)
            agenda = self._kept[key] = self._meeting.plan(call, payload_bytes)
        return agenda

    def _payload_bytes(
        self, kind: Kind, dtype: np.dtype[Any] | None, lengths: tuple[int, ...], argument: int
    ) -> list[int]:
        """(R,) What each rank brings to a call."""
        item = 0 if dtype is None else dtype.itemsize
        if kind is Kind.ALLGATHERV:
            return [length * item for length in lengths]
        bringing = kind is Kind.ALLREDUCE
        return [
            sum(lengths) * item * (bringing or (kind is Kind.BROADCAST and rank == argument))
            for rank in range(self._size)
        ]
