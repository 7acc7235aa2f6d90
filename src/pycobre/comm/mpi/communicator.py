"""The MPI backend: what each call of the contract does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from pycobre.comm import small
from pycobre.comm.arguments import check_allgatherv, check_allreduce, check_broadcast, check_region
from pycobre.comm.base import Backend, Counts, ReduceOp
from pycobre.comm.call import INLINE_BYTES, Call, Kind, call_of
from pycobre.comm.mpi import ending, exchange
from pycobre.comm.mpi.group import Group
from pycobre.comm.mpi.joining import await_all
from pycobre.comm.mpi.library import MPI, start, time_limit
from pycobre.comm.mpi.notices import Finding
from pycobre.comm.mpi.place import node_of
from pycobre.comm.mpi.window import MpiRegion, Windows
from pycobre.comm.remembered import Remembered, lasts

Array = npt.NDArray[Any]
Given = ParamSpec("Given")
Result = TypeVar("Result")

_BARRIER, _FENCE = Call(Kind.BARRIER), Call(Kind.FENCE)
_SPLIT_LOCAL, _DUPLICATE = Call(Kind.SPLIT_LOCAL), Call(Kind.DUPLICATE)


def _collective(
    kind: Kind,
) -> Callable[
    [Callable[Concatenate[MpiCommunicator, Given], Result]],
    Callable[Concatenate[MpiCommunicator, Given], Result],
]:
    """A method as one call of its group: alone in it, and failing as all ranks do."""

    def wrap(
        method: Callable[Concatenate[MpiCommunicator, Given], Result],
    ) -> Callable[Concatenate[MpiCommunicator, Given], Result]:
        @functools.wraps(method)
        def call(self: MpiCommunicator, /, *args: Given.args, **keywords: Given.kwargs) -> Result:
            group = self._group
            group.enter(kind)
            try:
                return method(self, *args, **keywords)
            except BaseException as error:
                group.fail(kind, error)
            finally:
                group.leave()

        return call

    return wrap


class MpiCommunicator(Backend):
    """The ranks that an MPI launcher has started, over private duplicates of ``MPI.COMM_WORLD``.

    Reductions gather and fold in rank order, since MPI's own promise no order. The contract holds but for
    this: when a rank's process *dies*, MPI's launcher may end the whole job before a survivor has raised, and
    who is alone on its machine is seen by the launcher only.
    A process that ends without having closed its communicator in order (by an exception, by ``sys.exit``,
    after a failure) says why on standard error and ends the job, since MPI's own end would wait for ever.

    ``COBRE_MPI_TIMEOUT_SECS`` is the limit of one collective; without it there is none. To make a
    communicator is collective over all ranks of the job, and waits for them: as long, or for 60 s.

    Raises
    ------
    InitializationFailed
        MPI is over in this process, or was begun without support for several threads; or not all ranks
        came in time.
    """

    backend = "mpi"

    def __init__(self) -> None:
        start()
        limit = time_limit()
        await_all(limit)
        self._hold(Group(MPI.COMM_WORLD, None, limit))
        ending.watch(self)

    def _hold(self, group: Group) -> None:
        self.rank, self.size = group.rank, group.size
        self.is_leader = group.place.is_leader
        self.exit_code: int | None = None  # of what ended its block, should this process end the job
        self._group = group
        self._windows = Windows(group)
        self._gathered: Remembered | None = None
        self._reduced: Remembered | None = None
        self._spread: Remembered | None = None

    @classmethod
    def _of(cls, group: Group) -> MpiCommunicator:
        made = cls.__new__(cls)
        made._hold(group)
        return made

    @_collective(Kind.ALLGATHERV)
    def allgatherv(self, send: Array, recv: Array, counts: Counts, displs: Counts) -> None:
        """Every rank's *send* in every rank's *recv*."""
        last = self._gathered
        if last is not None and last.fits(send, recv, counts, displs):
            return last.repeat()
        source, target, lengths, starts = check_allgatherv(send, recv, counts, displs, self.rank, self.size)
        group, dtype = self._group, target.dtype
        meet = functools.partial(group.meet, call_of(Kind.ALLGATHERV, dtype, lengths))
        if max(lengths) * dtype.itemsize > INLINE_BYTES:
            exchanged = exchange.gathering(group.comm, group.finish, source, target, lengths, starts)
            gather = _one_after_another(meet, exchanged)
        else:
            flat = target.reshape(-1)
            places = [flat[start : start + length] for start, length in zip(starts, lengths, strict=True)]
            payloads = group.meeting.payloads([place.nbytes for place in places])
            gather = small.gathering(meet, group.meeting.payload(source.nbytes), payloads, source, places)
        if type(counts) is type(displs) is list and lasts(send, recv):
            self._gathered = Remembered(gather, send, recv, counts.copy(), displs.copy())
        gather()

    @_collective(Kind.ALLREDUCE)
    def allreduce(self, send: Array, recv: Array, op: ReduceOp) -> None:
        """The fold of all ranks' *send* in every rank's *recv*, in rank order."""
        last = self._reduced
        if last is not None and last.fits(send, recv, op):
            return last.repeat()
        source, target, reduction = check_allreduce(send, recv, op)
        if source.size and source.nbytes <= INLINE_BYTES:
            reduce = self._small_reduction(source, target, reduction)
            if lasts(send, recv):
                self._reduced = Remembered(reduce, send, recv, op)
            return reduce()
        group = self._group
        group.meet(call_of(Kind.ALLREDUCE, source.dtype, (source.size,), reduction))
        if source.size:
            exchange.allreduce(group.comm, group.finish, source, target, reduction)

    def prepare_allreduce(self, send: Array, recv: Array, op: ReduceOp) -> Callable[[], None]:
        """A function that is ``allreduce(send, recv, op)`` on these very arrays."""
        source, target, reduction = check_allreduce(send, recv, op)
        if not source.size or source.nbytes > INLINE_BYTES or not np.shares_memory(source, send):
            return super().prepare_allreduce(send, recv, op)
        return functools.partial(self._reduce, self._small_reduction(source, target, reduction))

    @_collective(Kind.ALLREDUCE)
    def _reduce(self, reduce: Callable[[], None]) -> None:
        reduce()

    def _small_reduction(self, source: Array, target: Array, op: ReduceOp) -> Callable[[], None]:
        group = self._group
        meet = functools.partial(group.meet, call_of(Kind.ALLREDUCE, source.dtype, (source.size,), op))
        mine = group.meeting.payload(source.nbytes)
        payloads = group.meeting.payloads([source.nbytes] * self.size)
        return small.reduction(meet, mine, payloads, source, target, op)

    @_collective(Kind.BROADCAST)
    def broadcast(self, buf: Array, root: int) -> None:
        """The root's *buf* in every rank's *buf*."""
        last = self._spread
        if last is not None and last.fits(buf, buf, root):
            return last.repeat()
        target, origin = check_broadcast(buf, root, self.size)
        group = self._group
        meet = functools.partial(group.meet, call_of(Kind.BROADCAST, target.dtype, (target.size,), origin))
        if target.nbytes > INLINE_BYTES:
            exchanged = functools.partial(exchange.broadcast, group.comm, group.finish, target, origin)
            spread = _one_after_another(meet, exchanged)
        else:
            payloads = group.meeting.payloads([target.nbytes] * self.size)
            is_root = self.rank == origin
            payload = group.meeting.payload(target.nbytes) if is_root else payloads[origin]
            spread = small.spreading(meet, payload, target, is_root=is_root)
        if lasts(buf):
            self._spread = Remembered(spread, buf, buf, root)
        spread()

    @_collective(Kind.BARRIER)
    def barrier(self) -> None:
        """Return once every rank has called it."""
        self._group.meet(_BARRIER)

    def abort(self, reason: str) -> None:
        """Make every rank's pending and later call raise, with *reason*. From any thread, at any time."""
        self._group.abort(reason)

    def close(self) -> None:
        """Leave the group; what MPI keeps of it is given back when all ranks have left."""
        self._group.close()
        self._gathered = self._reduced = self._spread = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.exit_code = ending.exit_code_of(error)
        super().__exit__(kind, error, trace)

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""
        return not self._group.closed

    @property
    def outcome(self) -> Finding | None:
        """Why the group failed, ``None`` if it did not."""
        return self._group.outcome

    @_collective(Kind.CREATE_SHARED_REGION)
    def create_shared_region(self, count: int, dtype: npt.DTypeLike) -> MpiRegion:
        """A region that the ranks of each node really share: *count* zeros of *dtype*, once a node."""
        length, found = check_region(count, dtype)
        call = call_of(Kind.CREATE_SHARED_REGION, found, (length,))
        memory = self._windows.allot(call, length * found.itemsize)
        return MpiRegion(memory, length, found, self._fence)

    @_collective(Kind.FENCE)
    def _fence(self, publish: Callable[[], None]) -> None:
        publish()
        self._group.meet(_FENCE)
        publish()

    @_collective(Kind.SPLIT_LOCAL)
    def split_local(self) -> MpiCommunicator:
        """A new communicator of the ranks of this node."""
        group = self._group
        group.meet(_SPLIT_LOCAL)
        node = node_of(group.comm)
        try:
            return self._of(Group(node, None, group.limit))
        finally:
            node.Free()

    @_collective(Kind.DUPLICATE)
    def duplicate(self) -> MpiCommunicator:
        """A new communicator of the same ranks."""
        group = self._group
        group.meet(_DUPLICATE)
        return self._of(Group(group.comm, group.place, group.limit))


def _one_after_another(meet: Callable[[], None], exchanged: Callable[[], None]) -> Callable[[], None]:
    """Both: what moves larger payloads comes after the meeting that has found all to agree on them."""

    def call() -> None:
        meet()
        exchanged()

    return call
