"""Ranks as forks of the rig, which has loaded what they need: a cell then costs no start of interpreters."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

Program = Callable[..., int]


@contextlib.contextmanager
def instead_of_exec(program: Program) -> Iterator[None]:
    """Within it, a launch runs *program* with the arguments that follow ``-m module`` in its command."""

    def start(argv: Sequence[str], **options: Any) -> ForkedProcess:
        return ForkedProcess(lambda: program(*argv[3:]), **options)

    with mock.patch.object(subprocess, "Popen", start):
        yield


class ForkedProcess:
    """As much of :class:`subprocess.Popen` as a launch needs, and the same to the child but for the exec."""

    def __init__(
        self,
        work: Callable[[], int],
        *,
        env: Mapping[str, str],
        stdin: int,
        stdout: int | None,
        stderr: int,
        pass_fds: Sequence[int],
        process_group: int,
    ) -> None:
        assert (stdin, stdout) == (subprocess.DEVNULL, None)
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, process_group)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(stderr, 2)
            keep_alone({0, 1, 2, *pass_fds})
            os.environ.clear()
            os.environ.update(env)
            run_to_the_end(work)
        # Here too, as a signal to the group may be sent before the child has come so far.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(self.pid, self.pid)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def keep_alone(descriptors: set[int]) -> None:
    """Close what an exec would: the launcher's ends of pipes above all."""
    gc.freeze()  # objects of the launcher that own closed descriptors must not close them once more
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) not in descriptors:
            with contextlib.suppress(OSError):  # the one that the listing itself used
                os.close(int(entry.name))


def run_to_the_end(work: Callable[[], int]) -> NoReturn:
    """Work, and end as an interpreter does; nothing of what the parent was about to do is done."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = work()
    except BaseException:
        traceback.print_exc()
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
