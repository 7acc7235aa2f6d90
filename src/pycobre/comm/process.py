"""One rank's process as its launcher sees it: how it starts, what comes from it, how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, Any

from pycobre.comm.launched import LAUNCHER_VARIABLE
from pycobre.comm.machine import process_seen

_TAIL_BYTES = 16 << 10


class RankProcess:
    """A started process; it has pipes of its own for lines and for standard error.

    Attributes
    ----------
    pidfd, messages, errors
        Descriptors to wait on: readable at its end, when lines have come, when it wrote to standard error.
    at_end
        Those of its pipes that have nothing more to come.
    code
        How it ended, 128 + n for signal n; ``None`` as long as it runs.
    """

    def __init__(
        self,
        rank: int,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        life: int,
        stdout: int | IO[Any] | None,
        descriptors: Sequence[int],
    ) -> None:
        self.rank = rank
        self.code: int | None = None
        self.at_end: set[int] = set()
        self._tail = b""
        self.messages, message_end = os.pipe()
        self.errors, error_end = os.pipe()
        self._partial: dict[int, list[bytes]] = {self.messages: [], self.errors: []}
        try:
            # With their inodes: what the rank starts in turn inherits the variable, but not the pipes.
            ends = [(end, os.fstat(end).st_ino) for end in (life, message_end)]
            told = (os.getpid(), *ends[0], *ends[1])
            self._process = subprocess.Popen(
                list(argv),
                env={**environment, LAUNCHER_VARIABLE: ":".join(map(str, told))},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=error_end,
                pass_fds=(life, message_end, *descriptors),
                # A terminal's Ctrl-C reaches the launcher alone, which forwards it once; and what a rank has
                # started in turn can be ended with it.
                process_group=0,
            )
            self.pidfd = os.pidfd_open(self._process.pid)
        except BaseException:
            os.close(self.messages)
            os.close(self.errors)
            raise
        finally:
            os.close(message_end)
            os.close(error_end)
        os.set_blocking(self.messages, False)
        os.set_blocking(self.errors, False)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def descriptors(self) -> tuple[int, int, int]:
        """What to wait on."""
        return self.pidfd, self.messages, self.errors

    @property
    def state(self) -> str:
        """What the kernel says of the process, such as ``D`` for a sleep that no signal ends."""
        seen = process_seen(self.pid)
        return seen[0] if seen and seen[0] else "unknown"

    @property
    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        return self._tail.decode(errors="replace")

    def lines(self, descriptor: int) -> list[bytes]:
        """The lines that have come by now, without their ends; after its end an open one too. Never waits."""
        lines: list[bytes] = []
        partial = self._partial[descriptor]
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(descriptor, 1 << 16):
                first, *others = chunk.split(b"\n")
                partial.append(first)
                for other in others:
                    lines.append(b"".join(partial))
                    partial[:] = [other]
            self.at_end.add(descriptor)
        if self.code is not None and any(partial):
            lines.append(b"".join(partial))
            partial.clear()
        if descriptor == self.errors:
            for line in lines:
                self._tail = (self._tail + line + b"\n")[-_TAIL_BYTES:]
        return lines

    def reap(self) -> int:
        """Take note of the end that the pidfd has told; its code."""
        # Before it is reaped its number still names its group, and what it has left running in that.
        self.signal_group(signal.SIGKILL)
        code = self._process.wait()
        self.code = code if code >= 0 else 128 - code
        return self.code

    def signal(self, number: int) -> None:
        """Send a signal to the process alone."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and what it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        """Close the descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)
