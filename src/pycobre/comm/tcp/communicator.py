"""The backend: checks, plans and failures around meetings and exchanges."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from pycobre.comm import small
from pycobre.comm.arguments import check_allgatherv, check_allreduce, check_broadcast, check_region
from pycobre.comm.base import Backend, Counts, ReduceOp
from pycobre.comm.call import Call, Kind
from pycobre.comm.heap import HeapRegion
from pycobre.comm.local import LocalCommunicator
from pycobre.comm.remembered import Remembered, lasts
from pycobre.comm.segment import usable_cpus
from pycobre.comm.tcp.agendas import Agendas
from pycobre.comm.tcp.config import TcpConfig
from pycobre.comm.tcp.control import Ailment, Trouble
from pycobre.comm.tcp.driver import Driver, Interrupted, Overdue
from pycobre.comm.tcp.duplicate import meet_again
from pycobre.comm.tcp.exchange import Exchange
from pycobre.comm.tcp.flow import Channel, PeerFailed
from pycobre.comm.tcp.frame import ProtocolError
from pycobre.comm.tcp.join import join
from pycobre.comm.tcp.judge import operation_name
from pycobre.comm.tcp.link import Joined
from pycobre.comm.tcp.meeting import Agenda, CallsDiffer, Meeting, small_bytes
from pycobre.comm.tcp.verdict import aborted, departed
from pycobre.comm.tcp.watch import Watch
from pycobre.errors import AllocationFailed, CollectiveFailed, InitializationFailed, InvalidCommunicator

Array = npt.NDArray[Any]
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_ANSWER_BYTES = 200  # of what troubles a rank, or what rank 0 offers


Method: TypeAlias = Callable[Concatenate["TcpCommunicator", Arguments], Result]


def _collective(kind: Kind) -> Callable[[Method[Arguments, Result]], Method[Arguments, Result]]:
    """Have a method run alone, and end with the group's failure if the group fails in it."""

    def guard(method: Method[Arguments, Result]) -> Method[Arguments, Result]:
        @wraps(method)
        def guarded(self: TcpCommunicator, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            if not self._use.acquire(False):
                raise InvalidCommunicator("another thread (or a signal's handler) is using this communicator")
            try:
                self._contributed = False
                if self._refusal or self._watch.failing:
                    self._refuse(kind)
                return method(self, *args, **kwargs)
            except BaseException as error:
                if self._contributed:
                    self._fail(kind, error)
                raise
            finally:
                self._use.release()

        return guarded

    return guard


class TcpCommunicator(Backend):
    """Ranks of any machines, every pair of them with a connection.

    Parameters
    ----------
    config
        Where to meet, and on which terms; by default what the environment says.

    Raises
    ------
    InitializationFailed, MissingConfiguration
        The ranks did not come together; nothing is left behind.
    """

    backend = "tcp"
    is_leader = True  # nobody else sees its memory

    def __init__(self, config: TcpConfig | None = None) -> None:
        found = TcpConfig.from_environment() if config is None else config
        self._config: TcpConfig | None = found
        self._begin(join(found, time.monotonic() + found.join_timeout_secs), found.timeout_secs)

    @classmethod
    def of_links(cls, joined: Joined, timeout_secs: float | None = None) -> Self:
        """The communicator of a group that has come together in another way; it can't be duplicated."""
        made = cls.__new__(cls)
        made._config = None
        made._begin(joined, timeout_secs)
        return made

    def _begin(self, joined: Joined, timeout_secs: float | None) -> None:
        self.rank = joined.rank
        self.size = len(joined.peers)
        self._timeout_secs = timeout_secs
        self._refusal = ""
        self._sequence = 0
        self._contributed = False
        self._use = threading.Lock()
        self._small = small_bytes(self.size)
        self._gathered: Remembered | None = None
        self._reduced: Remembered | None = None
        self._spread: Remembered | None = None
        self._watch = Watch(joined)
        self._channels = {peer: Channel(link) for peer, link in joined.data.items()}
        self._driver = Driver(self._watch.wake, self._watch.concerned)
        here = [peer.machine for peer in joined.peers].count(joined.peers[self.rank].machine)
        crowded = here > usable_cpus()
        self._meeting = Meeting(self.rank, self.size, self._channels, self._driver, crowded=crowded)
        self._agendas = Agendas(self._meeting, self.size)
        self._barrier = self._agendas.of(Kind.BARRIER)
        self._exchange = Exchange(self.rank, self.size, self._channels, self._driver)
        # Others learn of a rank that ends without close(), or forgets its communicator.
        self._end = weakref.finalize(self, _end_open, os.getpid(), self._use, self._watch, self._channels)
        _open_groups.add(self)

    @_collective(Kind.ALLGATHERV)
    def allgatherv(self, send: Array, recv: Array, counts: Counts, displs: Counts) -> None:
        """Every rank's *send* in every rank's *recv*; what lies between the parts stays as it is."""
        last = self._gathered
        if last is not None and last.fits(send, recv, counts, displs):
            return last.repeat()
        source, target, lengths, starts = check_allgatherv(send, recv, counts, displs, self.rank, self.size)
        flat, source = target.reshape(-1), source.reshape(-1)
        places = [flat[start : start + length] for start, length in zip(starts, lengths, strict=True)]
        most = max(lengths) * source.itemsize
        agenda = self._agendas.of(Kind.ALLGATHERV, source.dtype, lengths)
        if most > self._small:
            gather = self._large_gathering(agenda, source, places)
        else:
            mine, meet = agenda.payloads[self.rank], partial(self._meet, agenda)
            gather = small.gathering(meet, mine, agenda.payloads, source, places)
        if type(counts) is type(displs) is list and lasts(send, recv):
            self._gathered = Remembered(gather, send, recv, counts.copy(), displs.copy())
        gather()

    @_collective(Kind.ALLREDUCE)
    def allreduce(self, send: Array, recv: Array, op: ReduceOp) -> None:
        """The fold of all ranks' *send* in every rank's *recv*, element by element in rank order."""
        last = self._reduced
        if last is not None and last.fits(send, recv, op):
            return last.repeat()
        source, target, reduction = check_allreduce(send, recv, op)
        if source.size and source.nbytes <= self._small:
            reduce = self._small_reduction(source, target, reduction)
            if lasts(send, recv):
                self._reduced = Remembered(reduce, send, recv, op)
            return reduce()
        self._meet(self._agendas.of(Kind.ALLREDUCE, source.dtype, (source.size,), reduction))
        if source.size:
            self._exchange.reduce(self._sequence, source.reshape(-1), target.reshape(-1), reduction)

    def prepare_allreduce(self, send: Array, recv: Array, op: ReduceOp) -> Callable[[], None]:
        """A function that is ``allreduce(send, recv, op)`` on these very arrays."""
        source, target, reduction = check_allreduce(send, recv, op)
        if not source.size or source.nbytes > self._small or not np.shares_memory(source, send):
            return super().prepare_allreduce(send, recv, op)
        return partial(self._reduce, self._small_reduction(source, target, reduction))

    @_collective(Kind.ALLREDUCE)
    def _reduce(self, reduce: Callable[[], None]) -> None:
        reduce()

    @_collective(Kind.BROADCAST)
    def broadcast(self, buf: Array, root: int) -> None:
        """The root's *buf* in every rank's *buf*."""
        last = self._spread
        if last is not None and last.fits(buf, buf, root):
            return last.repeat()
        target, origin = check_broadcast(buf, root, self.size)
        agenda = self._agendas.of(Kind.BROADCAST, target.dtype, (target.size,), origin)
        if target.nbytes > self._small:
            self._meet(agenda)
            if self.size > 1:
                self._exchange.spread(self._sequence, target.reshape(-1), origin)
            return
        meet, payload = partial(self._meet, agenda), agenda.payloads[origin]
        spread = small.spreading(meet, payload, target, is_root=self.rank == origin)
        if lasts(buf):
            self._spread = Remembered(spread, buf, buf, root)
        spread()

    @_collective(Kind.BARRIER)
    def barrier(self) -> None:
        """Return once every rank has called it."""
        self._meet(self._barrier)

    @_collective(Kind.CREATE_SHARED_REGION)
    def create_shared_region(self, count: int, dtype: npt.DTypeLike) -> HeapRegion:
        """A region in each rank's own memory, since ranks of other machines could not see it."""
        length, found = check_region(count, dtype)
        call = Call(Kind.CREATE_SHARED_REGION, found, (length,))
        self._agree(call, "")  # before any memory is taken
        region, trouble = None, ""
        try:
            region = HeapRegion(length, found)
        except AllocationFailed as error:
            trouble = error.message or "no memory"
        failed = self._agree(call, trouble)
        if failed or region is None:
            raise AllocationFailed(length * found.itemsize, failed)
        return region

    @_collective(Kind.SPLIT_LOCAL)
    def split_local(self) -> LocalCommunicator:
        """A group of this rank alone: what it shares memory with is only itself."""
        self._meet(self._agendas.of(Kind.SPLIT_LOCAL))
        return LocalCommunicator()

    @_collective(Kind.DUPLICATE)
    def duplicate(self) -> TcpCommunicator:
        """A second communicator of the same ranks, over connections of its own."""
        if self._config is None:
            raise InitializationFailed("tcp", "a group that was made of links can't be duplicated")
        call = Call(Kind.DUPLICATE)
        agree, exchanged = partial(self._agree, call), partial(self._exchanged, call)
        return meet_again(self._config, self.rank, self.size, agree, exchanged, TcpCommunicator)

    def abort(self, reason: str) -> None:
        """Make every rank's pending and later call raise, with *reason*. From any thread, at any time."""
        if self._refusal == _FORKED:
            return
        if self._refusal == _CLOSED:
            raise InvalidCommunicator(_CLOSED)
        self._watch.settle(aborted(self.rank, f"aborted: {reason}"))

    def close(self) -> None:
        """Leave the group. Closing twice does nothing; a rank that ends without closing counts as lost."""
        if self._refusal in (_CLOSED, _FORKED):
            return
        if not self._use.acquire(False):
            raise InvalidCommunicator("another thread is in a collective: abort() it first")
        try:
            self._refusal = _CLOSED
            self._end.detach()
            _let_go(self._watch, self._channels, ended=False)
        finally:
            self._use.release()

    def _small_reduction(self, source: Array, target: Array, op: ReduceOp) -> Callable[[], None]:
        agenda = self._agendas.of(Kind.ALLREDUCE, source.dtype, (source.size,), op)
        mine, meet = agenda.payloads[self.rank], partial(self._meet, agenda)
        return small.reduction(meet, mine, agenda.payloads, source, target, op)

    def _large_gathering(self, agenda: Agenda, source: Array, places: Sequence[Array]) -> Callable[[], None]:
        exchange = self._exchange.gathering(source, places)

        def gather() -> None:
            self._meet(agenda)
            exchange(self._sequence)

        return gather

    def _meet(self, agenda: Agenda) -> None:
        """Hold the next meeting: all ranks bring what its payloads have room for."""
        self._contributed = True
        self._sequence = sequence = self._sequence + 1
        watch = self._watch
        watch.operation = agenda.operation
        watch.entered = sequence
        if sequence > watch.last_possible:  # rank 0 closed: the thread may have looked too early to see
            watch.settle(departed([0], operation_name(agenda.operation), sequence))
            raise Interrupted
        if self._timeout_secs is not None:
            self._driver.deadline = time.monotonic() + self._timeout_secs
        self._meeting.hold(sequence, agenda)

    def _exchanged(self, call: Call, payload: bytes) -> list[bytes]:
        """(R,) The few bytes that each rank brings along with *call*."""
        length = min(_ANSWER_BYTES, self._small)
        agenda = self._meeting.plan(call, [length] * self.size)
        agenda.payloads[self.rank][:] = payload[:length].ljust(length, b"\0")
        self._meet(agenda)
        return [bytes(found) for found in agenda.payloads]

    def _agree(self, call: Call, trouble: str) -> str:
        """What troubles any rank, the same on all; empty if nothing does."""
        answers = self._exchanged(call, trouble.encode(errors="replace"))
        told = enumerate(answer.rstrip(b"\0").decode(errors="replace") for answer in answers)
        return "; ".join(f"rank {rank}: {text}" for rank, text in told if text)

    def _refuse(self, kind: Kind) -> None:
        if not self._refusal:
            verdict = self._watch.verdict()
            self._refusal = f"this communicator failed before ({verdict.reason}): {verdict.message}"
            # Without what led to it here: the words tell what it was, the same on all ranks.
            raise CollectiveFailed(kind.title, verdict.reason, verdict.ranks, verdict.message) from None
        raise InvalidCommunicator(self._refusal)

    def _fail(self, kind: Kind, error: BaseException) -> None:
        """Raise what the group failed with; return if *error* is this rank's own and is to be raised."""
        match error:
            case Interrupted():
                pass
            case CallsDiffer():
                self._watch.settle(error.verdict)
            case Overdue():
                limit = self._timeout_secs or 0.0
                self._watch.report(Trouble(self._sequence, Ailment.OVERDUE, kind, error.peer, limit))
            case PeerFailed(cause=ProtocolError()):
                self._watch.settle(aborted(error.peer, f"sent what does not belong here: {error.cause}"))
            case PeerFailed():
                self._watch.report(Trouble(self._sequence, Ailment.ENDED, kind, error.peer))
            case AllocationFailed() | InitializationFailed():
                return  # on all ranks alike, and the group goes on
            case _:
                verdict = aborted(self.rank, f"was interrupted in {kind.title}: {type(error).__name__}")
                self._watch.settle(verdict)
                self._refusal = f"this communicator failed before ({verdict.reason}): {verdict.message}"
                return
        self._refuse(kind)

    def _disown(self) -> None:
        self._refusal = _FORKED
        self._use = threading.Lock()
        self._watch.disown()
        for channel in self._channels.values():
            channel.link.close()


_CLOSED = "this communicator is closed"
_FORKED = "this process was forked from a rank, it is not one itself"

_open_groups: weakref.WeakSet[TcpCommunicator] = weakref.WeakSet()


def _let_go(watch: Watch, channels: dict[int, Channel], *, ended: bool) -> None:
    watch.leave(ended=ended)
    for channel in channels.values():
        channel.link.close()


def _end_open(process: int, use: threading.Lock, watch: Watch, channels: dict[int, Channel]) -> None:
    if os.getpid() != process:
        return
    if use.acquire(False):
        _let_go(watch, channels, ended=True)
    else:  # a daemon thread waits in a call: what it waits with goes with the process, not before it
        watch.leave(ended=True, closing=False)


def _disown_all() -> None:
    # A copy of a rank would keep its connections open after its end, and nobody would notice that.
    for group in list(_open_groups):
        group._disown()


os.register_at_fork(after_in_child=_disown_all)
