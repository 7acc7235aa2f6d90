"""The contract that every backend keeps; :mod:`pycobre.comm.conformance` is the proof of it."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum, IntEnum
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pycobre.errors import InvalidCommunicator

Counts = Sequence[int] | npt.NDArray[np.integer[Any]]
"""One number of elements a rank."""


class ReduceOp(IntEnum):
    """How :meth:`Communicator.allreduce` joins two numbers.

    A NaN wins over every number, -0 is less than +0, integers wrap around. Of booleans the sum is *or*, the
    minimum *and*, the maximum *or*. Complex numbers have a sum only.
    """

    SUM = 0
    MIN = 1
    MAX = 2


class BackendKind(Enum):
    """Which backend :func:`create_communicator` makes."""

    AUTO = "auto"
    MPI = "mpi"
    TCP = "tcp"
    SHM = "shm"
    LOCAL = "local"


class Communicator(ABC):
    """What one rank holds of the group that it works in.

    Every collective is called by all ranks in the same order. Buffers are NumPy arrays of booleans,
    integers, floats or complex numbers of a fixed size, in C order and native byte order; what is only read
    may have any strides. Arguments are checked before any byte moves, alike on every backend and at size 1.

    When a rank is lost, stopped, late, or aborts, or when ranks call different things, every rank raises
    :class:`~pycobre.errors.CollectiveFailed` with the same reason and ranks, and the communicator is of no
    use any more: each later call raises :class:`~pycobre.errors.InvalidCommunicator`.

    Calls may come from any thread, but from one at a time. Leaving a ``with`` block by an exception aborts
    the group, so that no other rank waits for this one.

    Attributes
    ----------
    rank
        This rank, from 0.
    size
        Number of ranks.
    backend
        ``mpi``, ``tcp``, ``shm`` or ``local``.
    """

    rank: int
    size: int
    backend: str

    @abstractmethod
    def allgatherv(
        self, send: npt.NDArray[Any], recv: npt.NDArray[Any], counts: Counts, displs: Counts
    ) -> None:
        """Every rank's *send* in every rank's *recv*; what lies between the parts stays as it is.

        Parameters
        ----------
        send
            This rank's part, ``counts[rank]`` elements. It may be its own place in *recv*.
        recv
            Takes rank r's part at elements ``displs[r]`` to ``displs[r] + counts[r]``.
        counts, displs
            (R,) Elements of each rank and where they go; counts are the same on all ranks.

        Raises
        ------
        InvalidBufferSize
            The arguments do not fit each other.
        CollectiveFailed
            A rank is lost, stopped or late, or calls something else.
        """

    @abstractmethod
    def allreduce(self, send: npt.NDArray[Any], recv: npt.NDArray[Any], op: ReduceOp) -> None:
        """The fold of all ranks' *send* in every rank's *recv*, element by element in rank order.

        The order is the same on every backend, so sums have the same bits everywhere. *recv* may be *send*.

        Raises
        ------
        InvalidBufferSize
            The arrays differ in length or dtype, or the dtype has no such reduction.
        CollectiveFailed
            A rank is lost, stopped or late, or calls something else.
        """

    def prepare_allreduce(
        self, send: npt.NDArray[Any], recv: npt.NDArray[Any], op: ReduceOp
    ) -> Callable[[], None]:
        """A function that is ``allreduce(send, recv, op)`` on these very arrays, for loops that repeat it.

        Not collective: only calling what comes back is, and that may meet an ordinary allreduce of another
        rank. A backend may look at the arrays now and not again, so their memory must stay in place.

        Raises
        ------
        InvalidBufferSize
            What :meth:`allreduce` would complain of, here or when the function is called.
        """

        def prepared_allreduce() -> None:
            self.allreduce(send, recv, op)

        return prepared_allreduce

    @abstractmethod
    def broadcast(self, buf: npt.NDArray[Any], root: int) -> None:
        """The root's *buf* in every rank's *buf*.

        Raises
        ------
        InvalidRoot
            *root* is no rank.
        CollectiveFailed
            A rank is lost, stopped or late, or calls something else.
        """

    @abstractmethod
    def barrier(self) -> None:
        """Return once every rank has called it."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """Make every rank's pending and later call raise, with *reason*. From any thread, at any time."""

    @abstractmethod
    def close(self) -> None:
        """Leave the group. Closing twice does nothing; a rank that ends without closing counts as lost."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            # The others wait, or soon will, for a rank that no longer comes; unless it has left already.
            with contextlib.suppress(InvalidCommunicator):
                self.abort(f"{type(error).__name__}: {error}")
        self.close()


class SharedRegion(ABC):
    """An array that the ranks of one node have in common (or a copy each, where memory can't be shared)."""

    @abstractmethod
    def as_slice(self) -> npt.NDArray[Any]:
        """The whole array (count,), read-only, without a copy."""

    @abstractmethod
    def as_mut_slice(self) -> npt.NDArray[Any]:
        """The whole array (count,), writable, without a copy; ranks write disjoint parts between fences."""

    @abstractmethod
    def fence(self) -> None:
        """Make what any rank wrote before it visible to all after it. Collective."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the memory; arrays handed out before stay valid. Closing twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SharedMemoryProvider(ABC):
    """What makes regions. Apart from :class:`Communicator`: regions live long, messages do not.

    Attributes
    ----------
    is_leader
        Whether this rank is the one that fills what its node shares; without shared memory every rank is.
    """

    is_leader: bool

    @abstractmethod
    def create_shared_region(self, count: int, dtype: npt.DTypeLike) -> SharedRegion:
        """A region of *count* zeros of *dtype*. Collective; *count* and *dtype* are the same on all ranks.

        Raises
        ------
        AllocationFailed
            There is not enough memory, on whichever rank; every rank raises it and may go on.
        InvalidBufferSize
            *count* is negative, or *dtype* not one of the plain ones.
        """

    @abstractmethod
    def split_local(self) -> Communicator:
        """A new communicator of the ranks that share this node's memory. Collective.

        It fails and closes on its own, apart from this one.
        """


class Backend(Communicator, SharedMemoryProvider):
    """What :func:`create_communicator` returns: every backend is both halves of the contract."""

    @abstractmethod
    def duplicate(self) -> Backend:
        """A new communicator of the same ranks, as ``MPI.Comm.Dup`` makes one. Collective.

        It fails and closes on its own, apart from this one: a second thread, or a library, may have its own.
        """


PLAIN_DTYPES: frozenset[np.dtype[Any]] = frozenset(
    np.dtype(code) for code in ("?", *"bhilq", *"BHILQ", "e", "f", "d", "F", "D")
)
"""What buffers may hold: of one size and meaning on every machine, in native byte order."""
