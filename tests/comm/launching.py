"""Launches as tests make them: a program as text, a watchdog over its ranks, and none of them left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pycobre.comm import Launch, launch

HEAD = """
import os, signal, sys, time
from pycobre.comm import create_communicator, launcher_pipe
comm = create_communicator()
pipe = launcher_pipe()
"""

_SCRIPT = """
import sys
from pycobre.comm import launch
BODY = '''{body}'''
with launch([sys.executable, "-c", BODY], {count}, grace_secs=1) as job:
    print(*job.pids, flush=True)
    for rank, line in job:
        print(line.decode(), flush=True)
print("done", flush=True)
"""


@contextlib.contextmanager
def ranks(body: str, count: int = 3, **options) -> Iterator[Launch]:
    """A launch of *body* that is killed, rank by rank, if it takes too long."""
    options.setdefault("on_stderr", lambda rank, line: None)
    with launch([sys.executable, "-c", HEAD + textwrap.dedent(body)], count, **options) as job:
        watchdog = threading.Timer(30, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            yield job
        finally:
            watchdog.cancel()
    assert not any(alive(pid) for pid in job.pids)


@contextlib.contextmanager
def script(body: str, count: int = 2) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A script without a guard that launches *body* and prints the ranks' lines, and the ranks' processes."""
    text = _SCRIPT.format(body=HEAD + textwrap.dedent(body), count=count)
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(30, process.kill)
    watchdog.start()
    pids = []
    try:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        yield process, pids
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    """Whether the process runs, and is not just waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def gone_within(pids: Iterable[int], seconds: float) -> bool:
    """Whether none of the processes runs any more before *seconds* are over."""
    until = time.monotonic() + seconds
    while any(alive(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(alive(pid) for pid in pids)


def open_descriptors() -> set[str]:
    """Descriptors of this process."""
    return {path.name for path in Path("/proc/self/fd").iterdir()}
