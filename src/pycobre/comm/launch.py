"""Ranks as fresh interpreters: started by exec, watched together, ended together.

Nothing is forked, so a script needs no ``__main__`` guard and a notebook works. All ranks stay in this
process's session: in sessions of their own the scheduler would not let them give way to each other.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, Self

from pycobre.errors import InitializationFailed, WorkerError

if TYPE_CHECKING:
    from pycobre.comm.process import RankProcess

_OUR_CODES = (128 + signal.SIGTERM, 128 + signal.SIGKILL)
_LAST_WORDS_SECS = 1.0  # for the others to notice a failure and say what they saw
_UNKILLABLE_SECS = 5.0  # a process in uninterruptible sleep is left, not waited for without end

# Ranks share the processors among them already. The idle threads of a BLAS, one a processor and rank, take
# as long to start and settle as all else that a rank needs before its first collective.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Launch:
    """A group of running ranks, and the lines that they send.

    Iterating yields ``(rank, line)`` until all ranks have ended, and raises
    :class:`~pycobre.errors.WorkerError` if one has failed, once no process is left. Leaving the ``with``
    block ends whatever still runs. While iterating in the main thread, SIGINT and SIGTERM go to the ranks;
    when these have ended, the signal takes the effect here that it had before. A second one kills the ranks.
    """

    def __init__(
        self,
        argv: Sequence[str],
        ranks: int,
        *,
        backend: str,
        environment: Mapping[str, str] | None,
        timeout_secs: float | None,
        grace_secs: float,
        stdout: int | IO[Any] | None,
        on_stderr: Callable[[int, bytes], None] | None,
        descriptors: Sequence[int],
    ) -> None:
        # Imported when something is started: a rank has this module too, and starts nothing.
        from pycobre.comm.handout import handout, without_group
        from pycobre.comm.process import RankProcess

        self._grace_secs = grace_secs
        self._on_stderr = on_stderr or _to_stderr
        self._signals: list[int] = []
        self._handlers: dict[int, Any] = {}
        self._failed: list[RankProcess] = []  # not by our doing, in the order of their ends
        self._killed_by_us: set[int] = set()
        self._escalation: Iterator[float] | None = None
        self._next_step = 0.0
        self._closed = False
        self._ranks: list[RankProcess] = []
        self._handout = handout(backend, ranks, timeout_secs)
        try:
            rank_end, self._life = os.pipe()
        except BaseException:
            self._handout.close()
            raise
        base = {**_ONE_THREAD, **without_group(os.environ if environment is None else environment)}
        try:
            for rank in range(ranks):
                self._ranks.append(
                    RankProcess(
                        rank,
                        argv,
                        {**base, **self._handout.variables(rank)},
                        life=rank_end,
                        stdout=stdout,
                        descriptors=(*self._handout.descriptors(rank), *descriptors),
                    )
                )
        except OSError as error:
            self.close()
            raise InitializationFailed(backend, f"{argv[0]} can't be started: {error.strerror}") from error
        except BaseException:
            self.close()
            raise
        finally:
            os.close(rank_end)
        self._handout.started()

    @property
    def pids(self) -> tuple[int, ...]:
        """Process of every rank."""
        return tuple(rank.pid for rank in self._ranks)

    @property
    def exit_codes(self) -> tuple[int | None, ...]:
        """How every rank ended, 128 + n for signal n; ``None`` for what still runs."""
        return tuple(rank.code for rank in self._ranks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        self._take_signals()
        try:
            yield from self._watch()
        finally:
            self._give_signals_back()
        self.close()
        if self._signals:
            signal.raise_signal(self._signals[0])
        if self._failed:
            raise self._error()

    def close(self) -> None:
        """End what still runs: SIGTERM, then SIGKILL after the grace. Closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._running():
                self._escalate(last_words=0.0)
                for _ in self._watch():
                    pass  # nobody reads these lines any more
        finally:
            for rank in self._ranks:
                if rank.code is None:
                    left = f"process {rank.pid} can't be killed and is left in state {rank.state}"
                    self._on_stderr(rank.rank, left.encode())
                rank.close()
            self._handout.close()
            os.close(self._life)

    # ---- watching

    def _running(self) -> list[RankProcess]:
        return [rank for rank in self._ranks if rank.code is None]

    def _watch(self) -> Iterator[tuple[int, bytes]]:
        with selectors.DefaultSelector() as selector:
            for rank in self._running():
                for descriptor in rank.descriptors:
                    if descriptor not in rank.at_end:
                        selector.register(descriptor, selectors.EVENT_READ, rank)
            while self._running():
                wait = self._step()
                if wait is not None and wait < 0:
                    return  # what still runs can't be killed
                for key, _ in selector.select(wait):
                    rank = key.data
                    if rank.code is not None:
                        continue  # it ended by an event of this very round
                    sources = [key.fd]
                    if key.fd == rank.pidfd:
                        self._note_end(rank)
                        for descriptor in set(rank.descriptors) - rank.at_end:
                            selector.unregister(descriptor)
                        sources = [rank.errors, rank.messages]
                    for source in sources:
                        lines = rank.lines(source)
                        if rank.code is None and source in rank.at_end:
                            selector.unregister(source)
                        for line in lines:
                            if source == rank.errors:
                                self._on_stderr(rank.rank, line)
                            else:
                                yield rank.rank, line

    def _note_end(self, rank: RankProcess) -> None:
        code = rank.reap()
        # One that was about to end by itself when our signal came is not our victim: its code says so.
        ours = rank.rank in self._killed_by_us and code in _OUR_CODES
        if code != 0 and not ours:
            self._failed.append(rank)
            if self._escalation is None:
                self._escalate(self._grace_secs if self._signals else _LAST_WORDS_SECS)

    # ---- ending

    def _escalate(self, last_words: float) -> None:
        def steps() -> Iterator[float]:
            yield last_words
            self._send(signal.SIGTERM)
            self._send(signal.SIGCONT)  # a stopped process takes no SIGTERM
            yield self._grace_secs
            self._send(signal.SIGKILL)
            yield _UNKILLABLE_SECS

        self._escalation = steps()
        self._next_step = time.monotonic()

    def _step(self) -> float | None:
        """Seconds to the next step against what runs, once those due are taken; < 0 when none is left."""
        if self._escalation is None:
            return None
        while (wait := self._next_step - time.monotonic()) <= 0:
            pause = next(self._escalation, None)
            if pause is None:
                return -1.0
            self._next_step = time.monotonic() + pause
        return wait

    def _send(self, number: int) -> None:
        for rank in self._running():
            self._killed_by_us.add(rank.rank)
            rank.signal_group(number)

    # ---- signals

    def _take_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (None, signal.SIG_IGN):
                self._handlers[number] = signal.signal(number, self._forward)

    def _give_signals_back(self) -> None:
        while self._handlers:
            number, handler = self._handlers.popitem()
            signal.signal(number, handler)

    def _forward(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)
        for rank in self._running():
            rank.signal(number if len(self._signals) == 1 else signal.SIGKILL)

    # ---- the report

    def _error(self) -> WorkerError:
        rank = self._handout.culprit(self._failed)
        code = rank.code or 0
        how = f"ended with code {code}"
        if code > 128:
            with contextlib.suppress(ValueError):
                how = f"was killed by signal {code - 128} ({signal.Signals(code - 128).name})"
                if code - 128 == signal.SIGKILL:
                    how += ", as the kernel does when memory runs out"
        return WorkerError(rank.rank, code, how, rank.last_words)


def launch(
    argv: Sequence[str],
    ranks: int,
    *,
    backend: Literal["shm", "tcp"] = "shm",
    environment: Mapping[str, str] | None = None,
    timeout_secs: float | None = None,
    grace_secs: float = 5.0,
    stdout: int | IO[Any] | None = None,
    on_stderr: Callable[[int, bytes], None] | None = None,
    descriptors: Sequence[int] = (),
) -> Launch:
    """A started group of processes, each of which finds the others by ``create_communicator()``.

    Parameters
    ----------
    argv
        Program and arguments, such as ``[sys.executable, "-m", "package.worker"]``.
    ranks
        How many to start on this machine.
    backend
        How they talk: ``shm``, or ``tcp`` over this machine's loopback and Unix sockets.
    environment
        Of the ranks, by default this process's; the ``COBRE_…`` variables of the group are added, and
        replace those of a group that this process is in. Its limits, and over tcp its Unix sockets, seals and
        TLS files, stay as they are set. Where it does not say how many threads OpenMP, OpenBLAS and MKL have
        (``OMP_NUM_THREADS``, …), a rank has one of each.
    timeout_secs
        Limit of the start and of each collective in seconds.
    grace_secs
        From SIGTERM to SIGKILL, for what still runs after a failure.
    stdout
        Of all ranks: ``None`` is ours, otherwise as for :class:`subprocess.Popen`.
    on_stderr
        Called with rank and line for what ranks write there; by default it goes to our ``sys.stderr``.
    descriptors
        Further descriptors that the ranks inherit, under the same numbers.

    Raises
    ------
    InitializationFailed
        A process can't be started; none is left.
    """
    return Launch(
        argv,
        ranks,
        backend=backend,
        environment=environment,
        timeout_secs=timeout_secs,
        grace_secs=grace_secs,
        stdout=stdout,
        on_stderr=on_stderr,
        descriptors=descriptors,
    )


def _to_stderr(rank: int, line: bytes) -> None:
    sys.stderr.write(f"[rank {rank}] {line.decode(errors='replace')}\n")
