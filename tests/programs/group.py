"""Ranks that live long and run the steps that they are sent, whoever has started them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from pycobre.comm import launch
from pycobre.errors import WorkerError

LIMIT_SECS = 40.0  # of the slowest answer on a busy machine
_DIGEST_BYTES = 8
_LENGTH = struct.Struct("<I")
_TESTS = Path(__file__).parents[1]


class Job(Protocol):
    """Started ranks."""

    def end(self) -> str:
        """What they said of a failure, once all have ended; those that don't are killed."""
        ...


class Group:
    """The ranks of *start*, which takes the arguments for Python; anew once one of them has failed."""

    def __init__(self, start: Callable[[list[str]], Job], size: int) -> None:
        self.size = size
        self._start = start
        self._job: Job | None = None
        self._ranks: dict[int, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        said = self.end()
        assert error is not None or not said, said

    def ask(self, records: Sequence[bytes]) -> None:
        """Have all ranks run these steps."""
        if self._job is None:
            self._begin()
        for rank in self._ranks.values():
            with contextlib.suppress(OSError):  # its end is noticed where its answer is missed
                send(rank, b"".join(records))

    def answers(self) -> list[list[bytes]]:
        """What each step has given on each rank, as digests.

        Raises
        ------
        AssertionError
            A rank has failed, or says nothing; with what the job said of it.
        """
        try:
            said = [receive(self._ranks[rank]) for rank in range(self.size)]
        except (OSError, EOFError) as error:
            raise AssertionError(f"a rank has failed, {error!r}: {self.end()}") from error
        return [
            [answer[at : at + _DIGEST_BYTES] for at in range(0, len(answer), _DIGEST_BYTES)]
            for answer in said
        ]

    def end(self) -> str:
        """End the ranks, as the next question starts others; what they said of a failure."""
        for rank in self._ranks.values():
            rank.close()  # a rank ends when nobody asks any more
        self._ranks.clear()
        job, self._job = self._job, None
        return job.end() if job is not None else ""

    def _begin(self) -> None:
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            place = str(Path(folder) / "campaign")
            listener.bind(place)
            listener.listen(self.size)
            listener.settimeout(LIMIT_SECS)
            self._job = self._start(["-m", "programs.rank", place])
            try:
                for _ in range(self.size):
                    rank, _ = listener.accept()
                    rank.settimeout(LIMIT_SECS)
                    self._ranks[receive(rank)[0]] = rank
            except OSError as error:
                raise AssertionError(f"not all ranks have come, {error!r}: {self.end()}") from error


class Launched:
    """Ranks of our launcher."""

    def __init__(self, backend: str, size: int, arguments: list[str]) -> None:
        self._job = launch(
            [sys.executable, *arguments],
            size,
            backend=backend,  # type: ignore[arg-type]
            environment={**os.environ, "PYTHONPATH": str(_TESTS)},
            timeout_secs=20,
            on_stderr=lambda rank, line: None,  # the error has it
        )

    def end(self) -> str:
        watchdog = threading.Timer(
            LIMIT_SECS, lambda: [os.kill(pid, signal.SIGKILL) for pid in self._job.pids]
        )
        watchdog.start()
        try:
            with self._job as job:
                list(job)
        except WorkerError as error:
            return str(error)
        finally:
            watchdog.cancel()
        return ""


# ---- messages


def digest(outcome: bytes) -> bytes:
    return hashlib.blake2b(outcome, digest_size=_DIGEST_BYTES).digest()


def send(peer: socket.socket, message: bytes) -> None:
    peer.sendall(_LENGTH.pack(len(message)) + message)


def receive(peer: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(peer, _LENGTH.size))
    return _exactly(peer, length)


def _exactly(peer: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        more = peer.recv(count - len(got))
        if not more:
            raise EOFError("it has closed its socket")
        got += more
    return got
