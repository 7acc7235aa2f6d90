"""Ranks of one machine over shared memory; the collectives themselves are native."""

from __future__ import annotations

import atexit
import mmap
import os
import struct
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from pycobre._native import shm as native
from pycobre.comm.arguments import check_allgatherv, check_allreduce, check_broadcast, check_region
from pycobre.comm.base import Backend, Counts, ReduceOp, SharedRegion
from pycobre.comm.heap import read_only
from pycobre.comm.segment import available_bytes, group_segment, named_segment, nameless_memory
from pycobre.errors import AllocationFailed, InitializationFailed, InvalidCommunicator, MissingConfiguration

# The private half of what a launcher tells its ranks: the descriptor that they inherit, and its job.
DESCRIPTOR_VARIABLE = "_PYCOBRE_SHM_DESCRIPTOR"
JOB_VARIABLE = "_PYCOBRE_SHM_JOB"

Number = TypeVar("Number", int, float)
Attached = TypeVar("Attached")

_OFFER = struct.Struct("<iiq")  # the leader's process, its descriptor or -1, the bytes that were available


@dataclass(frozen=True)
class ShmConfig:
    """Where the group meets and how long it waits.

    Attributes
    ----------
    rank, size
        This rank and the number of ranks.
    name
        Of the segment that rank 0 makes in ``/dev/shm``; of no use with a descriptor.
    descriptor
        Of a segment that the launcher made, or ``None``.
    job
        The launch that the descriptor is of, 0 for any.
    timeout_secs
        Limit of one collective in seconds; ``None`` is none, since a forward pass may take minutes.
    join_timeout_secs
        How long to wait for the other ranks at the start, in seconds.
    direct
        Whether large arrays are read straight from the memory of the rank that has them, where the system
        lets all ranks do so, or are copied through the segment. With ``None`` both are tried in a group's
        first calls of each kind and size, and the quicker one stays. A ``False`` of any rank holds for all,
        else a ``True``.
    """

    rank: int
    size: int
    name: str | None = None
    descriptor: int | None = None
    job: int = 0
    timeout_secs: float | None = None
    join_timeout_secs: float = 60.0
    direct: bool | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.size <= native.MAX_RANKS:
            raise InitializationFailed("shm", f"a group has 1 to {native.MAX_RANKS} ranks, not {self.size}")
        if not 0 <= self.rank < self.size:
            raise InitializationFailed("shm", f"rank {self.rank} is not one of 0 to {self.size - 1}")
        for seconds in (self.timeout_secs, self.join_timeout_secs):
            if seconds is not None and not 0 < seconds < 1e9:
                raise InitializationFailed("shm", f"a time-out of {seconds} s makes no sense")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> ShmConfig:
        """The configuration in ``COBRE_SHM_NAME``, ``_RANK``, ``_SIZE`` and ``_TIMEOUT_SECS``.

        The time-out, when set, is the limit of the start and of each collective. ``COBRE_SHM_DIRECT``
        is 0 or 1 for *direct*.

        Raises
        ------
        MissingConfiguration
            A variable is not set.
        InitializationFailed
            A variable does not hold what it should.
        """
        source = os.environ if environment is None else environment
        name = _required(source, "COBRE_SHM_NAME", "the name of the segment in which all ranks meet")
        rank = _required(source, "COBRE_SHM_RANK", "the number of this rank, from 0")
        size = _required(source, "COBRE_SHM_SIZE", "the number of ranks")
        limit = source.get("COBRE_SHM_TIMEOUT_SECS", "").strip()
        timeout = _number(limit, "COBRE_SHM_TIMEOUT_SECS", float) if limit else None
        descriptor = source.get(DESCRIPTOR_VARIABLE)
        return cls(
            rank=_number(rank, "COBRE_SHM_RANK", int),
            size=_number(size, "COBRE_SHM_SIZE", int),
            name=name,
            descriptor=_number(descriptor, DESCRIPTOR_VARIABLE, int) if descriptor else None,
            job=_number(source.get(JOB_VARIABLE, "0"), JOB_VARIABLE, int),
            timeout_secs=timeout,
            join_timeout_secs=60.0 if timeout is None else timeout,
            direct=_switch(source, "COBRE_SHM_DIRECT"),
        )


def _required(source: Mapping[str, str], variable: str, purpose: str) -> str:
    value = source.get(variable, "").strip()
    if not value:
        raise MissingConfiguration("shm", variable, purpose)
    return value


def _switch(source: Mapping[str, str], variable: str) -> bool | None:
    value = source.get(variable, "").strip()
    if value not in ("", "0", "1"):
        raise InitializationFailed("shm", f"{variable}={value!r} is neither 0 nor 1")
    return value == "1" if value else None


def _number(text: str, variable: str, kind: Callable[[str], Number]) -> Number:
    try:
        return kind(text)
    except ValueError:
        raise InitializationFailed("shm", f"{variable}={text!r} is not a number") from None


class ShmCommunicator(native.Group, Backend):
    """The ranks of one machine, meeting in shared memory.

    Collectives come straight from the native type: a Python frame would cost more than a barrier does.

    Parameters
    ----------
    config
        Where to meet; by default what the environment says.

    Raises
    ------
    InitializationFailed
        The ranks did not come together; nothing is left behind.
    """

    backend = "shm"

    def __init__(self, config: ShmConfig | None = None) -> None:
        self.config = ShmConfig.from_environment() if config is None else config
        deadline = time.monotonic() + self.config.join_timeout_secs
        if self.config.descriptor is not None:
            self._join(self.config.descriptor)
        elif self.config.name is not None:
            with named_segment(self.config.name, self.config.rank, self.config.size, deadline) as descriptor:
                self._join(descriptor)
        else:
            raise MissingConfiguration(
                "shm", "COBRE_SHM_NAME", "the name of the segment in which all ranks meet"
            )

    def _join(self, descriptor: int) -> None:
        config = self.config
        super().__init__(
            descriptor,
            config.rank,
            config.size,
            config.job,
            -1.0 if config.timeout_secs is None else config.timeout_secs,
            config.join_timeout_secs,
            -1 if config.direct is None else int(config.direct),
        )
        self.is_leader = self.rank == 0
        _open_groups.add(self)

    def create_shared_region(self, count: int, dtype: npt.DTypeLike) -> ShmRegion:
        """A region that all ranks really share: *count* zeros of *dtype*, once for the whole group."""
        length, found = check_region(count, dtype)
        size = length * found.itemsize
        code = native.dtype_code(np.empty(0, found))

        def attach(descriptor: int) -> mmap.mmap | None:
            flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
            return mmap.mmap(descriptor, size, flags=flags) if size else None

        memory = self._share(native.KIND_REGION, (code, length), size, attach)
        return ShmRegion(self, memory, length, found)

    def split_local(self) -> ShmCommunicator:
        """A second communicator of the same ranks, since all of them share this machine."""
        return self.duplicate()

    def duplicate(self) -> ShmCommunicator:
        """A second communicator of the same ranks, in a segment of its own."""
        descriptor = self._share(native.KIND_SPLIT, (0, 0), native.segment_bytes(self.size), os.dup)
        try:
            config = replace(self.config, name=None, descriptor=descriptor, job=0)
            return ShmCommunicator(config)
        finally:
            os.close(descriptor)

    def _share(
        self, kind: int, call: tuple[int, int], size: int, attach: Callable[[int], Attached]
    ) -> Attached:
        """What *attach* makes of memory that the leader allots; if any rank fails, all raise."""
        descriptor, available, attached = -1, 0, None
        try:
            if self.is_leader:
                try:
                    if kind == native.KIND_SPLIT:
                        descriptor = group_segment(self.size, 0)
                    else:
                        descriptor = nameless_memory("pycobre-region", size)
                except (OSError, OverflowError):
                    available = available_bytes()
            offer = _OFFER.pack(os.getpid(), descriptor, available)
            leader, number, available = _OFFER.unpack(self._agree(kind, *call, offer)[0])
            if number < 0:
                raise AllocationFailed(size, f"{available} bytes are available")
            trouble = b""
            try:
                if not self.is_leader:
                    # The leader keeps its own open until all have answered.
                    descriptor = os.open(f"/proc/{leader}/fd/{number}", os.O_RDWR | os.O_CLOEXEC)
                attached = attach(descriptor)
            except OSError as error:
                trouble = (error.strerror or "unknown").encode()[: native.INLINE_BYTES]
            answers = self._agree(kind, *call, trouble.ljust(native.INLINE_BYTES, b"\0"))
            failed = {
                rank: answer.rstrip(b"\0").decode(errors="replace")
                for rank, answer in enumerate(answers)
                if answer.strip(b"\0")
            }
            if failed:
                if isinstance(attached, int):
                    os.close(attached)
                raise AllocationFailed(
                    size, "; ".join(f"rank {rank}: {text}" for rank, text in failed.items())
                )
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return cast(Attached, attached)

    # What the native calls turn to when arguments are not plainly right: these complain, or mend.

    def _checked_allgatherv(
        self, send: npt.NDArray[Any], recv: npt.NDArray[Any], counts: Counts, displs: Counts
    ) -> None:
        self._plain_allgatherv(*check_allgatherv(send, recv, counts, displs, self.rank, self.size))

    def _checked_allreduce(self, send: npt.NDArray[Any], recv: npt.NDArray[Any], op: ReduceOp) -> None:
        self._plain_allreduce(*check_allreduce(send, recv, op))

    def _checked_prepare_allreduce(
        self, send: npt.NDArray[Any], recv: npt.NDArray[Any], op: ReduceOp
    ) -> Callable[[], None]:
        check_allreduce(send, recv, op)
        return Backend.prepare_allreduce(self, send, recv, op)

    def _checked_broadcast(self, buf: npt.NDArray[Any], root: int) -> None:
        self._plain_broadcast(*check_broadcast(buf, root, self.size))


class ShmRegion(SharedRegion):
    """Memory that every rank of the group maps."""

    def __init__(
        self, group: ShmCommunicator, memory: mmap.mmap | None, count: int, dtype: np.dtype[Any]
    ) -> None:
        self._group: ShmCommunicator | None = group
        self._memory: mmap.mmap | bytearray | None = bytearray() if memory is None else memory
        self._count = count
        self._dtype = dtype

    def as_slice(self) -> npt.NDArray[Any]:
        """The array, read-only; it keeps the memory mapped as long as it lives."""
        return read_only(memoryview(self._open()), self._dtype)

    def as_mut_slice(self) -> npt.NDArray[Any]:
        """The array, writable; it keeps the memory mapped as long as it lives."""
        return np.ndarray((self._count,), self._dtype, buffer=self._open())

    def fence(self) -> None:
        """Wait for all ranks; what any of them wrote before is visible to all after."""
        self._open()
        if self._group is not None:
            self._group._fence()

    def close(self) -> None:
        """Let go of the memory; the kernel takes it back when no rank and no array has it."""
        self._group = None
        self._memory = None  # unmapped with the last view, never under it

    def _open(self) -> mmap.mmap | bytearray:
        if self._memory is None:
            raise InvalidCommunicator("this shared region is closed")
        return self._memory


_open_groups: weakref.WeakSet[ShmCommunicator] = weakref.WeakSet()


@atexit.register
def _end_open_groups() -> None:
    # Others learn at once, and not only from the kernel, that this rank ends without close().
    for group in list(_open_groups):
        group._end()
