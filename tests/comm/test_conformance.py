"""Every promise on every world. A world is opened once and runs all promises; each is a test of its own."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import threading
from unittest import mock

import pytest

from pycobre.comm import LocalCommunicator, launch
from pycobre.comm.conformance import PROMISES, keep
from pycobre.errors import WorkerError

# Backend, ranks, and what is set besides.
WORLDS: dict[str, tuple[str, int, dict[str, str]]] = {
    "local-1": ("local", 1, {}),
    **{f"shm-{ranks}": ("shm", ranks, {}) for ranks in (1, 2, 3, 4)},
    "shm-copied-2": ("shm", 2, {"COBRE_SHM_DIRECT": "0"}),
    **{f"shm-direct-{ranks}": ("shm", ranks, {"COBRE_SHM_DIRECT": "1"}) for ranks in (2, 3)},
    "shm-roomy-3": ("shm", 3, {}),  # as on a machine with a processor for each
    **{f"tcp-{ranks}": ("tcp", ranks, {}) for ranks in (1, 2, 3, 4)},
    **{f"tcp-loopback-{ranks}": ("tcp", ranks, {"COBRE_TCP_UNIX_SOCKETS": "0"}) for ranks in (2, 3)},
    "tcp-sealed-2": ("tcp", 2, {"COBRE_TCP_SEAL_FRAMES": "1"}),
}
LIMIT_SECS = 60


@functools.cache
def broken(world: str) -> dict[str, list[str]]:
    """What each rank found wrong with each promise that ran to its end."""
    found: dict[str, list[str]] = {}
    backend, ranks, variables = WORLDS[world]
    if backend == "local":
        for name, trouble in keep(LocalCommunicator()):
            found[name] = [trouble]
        return found
    if world.startswith("shm-roomy"):
        with mock.patch("pycobre.comm.segment.usable_cpus", return_value=ranks):
            return told(backend, ranks, variables)
    return told(backend, ranks, variables)


def told(backend: str, ranks: int, variables: dict[str, str]) -> dict[str, list[str]]:
    """What the ranks of a launched group say of each promise."""
    found: dict[str, list[str]] = {}
    program = [sys.executable, "-m", "pycobre.comm.conformance"]
    environment = {**os.environ, **variables}
    with launch(program, ranks, backend=backend, environment=environment, timeout_secs=15) as job:
        watchdog = threading.Timer(LIMIT_SECS, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            for _, line in job:
                record = json.loads(line)
                found.setdefault(record["promise"], []).append(record["trouble"])
        except WorkerError:
            pass  # a rank ends with 1 when it found something; what it found is in its lines
        finally:
            watchdog.cancel()
    return found


@pytest.mark.parametrize(
    ("world", "promise"),
    [
        pytest.param(world, name, id=f"{world}-{name}", marks=pytest.mark.xdist_group(world))
        for world in WORLDS
        for name in PROMISES
    ],
)
def test_backend_keeps(world: str, promise: str):
    reports = broken(world).get(promise, [])
    assert len(reports) == WORLDS[world][1], f"only {len(reports)} ranks came to the end of it"
    assert not any(reports), next(report for report in reports if report)


def test_a_promise_that_there_is_not_is_told_with_those_that_there_are():
    program = [sys.executable, "-m", "pycobre.comm.conformance", "allreduce"]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "no promise is called allreduce; there are " in ran.stderr
    assert "sums_fold_in_rank_order" in ran.stderr
