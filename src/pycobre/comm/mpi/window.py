"""Shared regions: one window of MPI's on each node, allotted by the node's first rank."""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.base import SharedRegion
from pycobre.comm.call import INLINE_BYTES, Call
from pycobre.comm.heap import read_only
from pycobre.comm.mpi.group import Group
from pycobre.comm.mpi.library import MPI
from pycobre.comm.mpi.place import node_of
from pycobre.comm.segment import available_bytes
from pycobre.errors import AllocationFailed, InvalidCommunicator

_ROOM = struct.Struct("<?7xq")  # whether it is enough, the bytes that are available


class Windows:
    """The windows of one group, in the order in which all its ranks made them."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._node: MPI.Intracomm | None = None
        self._made: list[Memory] = []

    def allot(self, call: Call, size: int) -> Memory | None:
        """A window of *size* zeros, ``None`` for an empty one; if any rank fails, all raise. In a call."""
        self._free_unused(call)
        # Asked first: not every MPI answers a wish that can't be granted by an error.
        free = _available_bytes()
        enough = size <= free or not self._group.place.is_leader
        for rank, answer in enumerate(self._agree(call, _ROOM.pack(enough, free))):
            fits, available = _ROOM.unpack_from(answer)
            if not fits:
                raise AllocationFailed(size, f"{available} bytes are available to rank {rank}")
        if size == 0:
            return None
        memory, trouble = None, b""
        try:
            if self._node is None:
                self._node = node_of(self._group.comm)
                _all.append(self)
            memory = Memory(self._node, size)
        except MPI.Exception as error:
            trouble = error.Get_error_string().encode()[:INLINE_BYTES]
        answers = [answer.rstrip(b"\0").decode(errors="replace") for answer in self._agree(call, trouble)]
        if any(answers):  # what some have made stays with them: to free it would take all
            told = "; ".join(f"rank {rank}: {text}" for rank, text in enumerate(answers) if text)
            raise AllocationFailed(size, told)
        if memory is not None:
            memory.publish()
            self._made.append(memory)
        return memory

    def end(self) -> None:
        """Free all windows, whatever is left of their arrays. Collective over the node."""
        if self._node is None or not self._group.freed or self._group.outcome is not None:
            return  # ranks need not have made the same windows
        for memory in self._made:
            memory.free()
        self._node.Free()

    def _free_unused(self, call: Call) -> None:
        mine = sum(memory.unused << number for number, memory in enumerate(self._made[: 8 * INLINE_BYTES]))
        unused = (1 << 8 * INLINE_BYTES) - 1
        for theirs in self._agree(call, mine.to_bytes(INLINE_BYTES, "little")):
            unused &= int.from_bytes(theirs, "little")
        for number, memory in enumerate(self._made):
            if unused >> number & 1:
                memory.free()
        self._made = [memory for number, memory in enumerate(self._made) if not unused >> number & 1]

    def _agree(self, call: Call, payload: bytes) -> list[bytes]:
        meeting = self._group.meeting
        meeting.payload(INLINE_BYTES)[:] = payload.ljust(INLINE_BYTES, b"\0")
        self._group.meet(call)
        return [theirs.tobytes() for theirs in meeting.payloads([INLINE_BYTES] * self._group.size)]


_all: list[Windows] = []


def end_all() -> None:
    """At the end of this process, when all groups were left: free windows; MPICH 4.0 to 4.2 fail else."""
    for windows in _all:
        windows.end()


class Memory:
    """One window, as long as anybody on the node uses it.

    To free a window is collective and takes the memory from under every array. So it is freed when a later
    collective finds that no rank has a region or an array of it left, or at the end of the process, not when
    a region is closed.
    """

    def __init__(self, node: MPI.Intracomm, size: int) -> None:
        leads = node.Get_rank() == 0
        self._window = MPI.Win.Allocate_shared(size if leads else 0, 1, MPI.INFO_NULL, node)
        self._window.Lock_all(MPI.MODE_NOCHECK)  # an epoch without end: ranks read and write as they like
        address = self._window.Shared_query(0)[0].address
        block = (ctypes.c_byte * size).from_address(address)
        if leads:
            ctypes.memset(address, 0, size)
            self.publish()
        self._block: ctypes.Array[ctypes.c_byte] | None = block
        self._alive = weakref.ref(block)

    def hand_out(self) -> ctypes.Array[ctypes.c_byte]:
        """The memory; it is in use as long as somebody holds what is returned here. Once only."""
        block, self._block = self._block, None
        if block is None:
            raise RuntimeError("a window belongs to one region")
        return block

    @property
    def unused(self) -> bool:
        """Whether no region and no array of this rank is left."""
        return self._alive() is None

    def publish(self) -> None:
        """Make this rank's writes visible, and see those that others have published. Not collective."""
        self._window.Sync()

    def free(self) -> None:
        """Give the memory back. Collective over the node."""
        self._window.Unlock_all()
        self._window.Free()


Fence = Callable[[Callable[[], None]], None]
"""The group's part in a fence: it meets, and publishes before and after."""


class MpiRegion(SharedRegion):
    """Memory that the ranks of a node have in common."""

    def __init__(self, memory: Memory | None, count: int, dtype: np.dtype[Any], fence: Fence) -> None:
        self._memory = memory
        self._block: ctypes.Array[ctypes.c_byte] | bytearray | None = (
            bytearray() if memory is None else memory.hand_out()
        )
        self._count = count
        self._dtype = dtype
        self._fence = fence

    def as_slice(self) -> npt.NDArray[Any]:
        """The array, read-only; it keeps the memory as long as it lives."""
        return read_only(memoryview(self._open()).cast("B"), self._dtype)

    def as_mut_slice(self) -> npt.NDArray[Any]:
        """The array, writable; it keeps the memory as long as it lives."""
        return np.ndarray((self._count,), self._dtype, buffer=memoryview(self._open()))

    def fence(self) -> None:
        """Wait for all ranks; what any rank of this node wrote before is visible to all of it after."""
        self._open()
        self._fence(_nothing if self._memory is None else self._memory.publish)

    def close(self) -> None:
        """Let go of the memory; a later collective frees it when no rank and no array has it."""
        self._block = None
        self._memory = None

    def _open(self) -> ctypes.Array[ctypes.c_byte] | bytearray:
        if self._block is None:
            raise InvalidCommunicator("this shared region is closed")
        return self._block


def _nothing() -> None:
    """What an empty region has to publish."""


def _available_bytes() -> int:
    """What a window may take: memory, and room where MPI's libraries keep it; past that they are killed."""
    free = available_bytes()
    try:
        place = os.statvfs("/dev/shm")
    except OSError:
        return free
    return min(free, place.f_bavail * place.f_frsize)
