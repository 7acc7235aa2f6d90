"""An allreduce so small that it travels with the meeting, ready to be repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.base import ReduceOp
from pycobre.comm.call import Kind, call_of
from pycobre.comm.mpi.exchange import fold
from pycobre.comm.mpi.group import Group

Array = npt.NDArray[Any]


class Small:
    """One reduction of contiguous arrays; a loop that repeats it pays neither for checks nor for views."""

    def __init__(self, group: Group, source: Array, target: Array, op: ReduceOp) -> None:
        mine, everyone = group.meeting.payloads(source.dtype)
        size = source.size
        self._meet = group.meet
        self._call = call_of(Kind.ALLREDUCE, source.dtype, (size,), op)
        # Bytes to bytes: the shortest way that Python has to copy.
        self._given = source.reshape(-1).view(np.uint8).data
        self._mine = mine[:size].view(np.uint8).data
        self._parts, self._target = [theirs[:size] for theirs in everyone], target
        self._op = int(op)

    def reduce(self) -> None:
        """Do it, in a call of the group."""
        self._mine[:] = self._given
        self._meet(self._call)
        fold(self._op, self._parts, self._target)
