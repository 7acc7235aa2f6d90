"""Every promise on every world. A world is opened once and runs all promises; each is a test of its own."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import threading

import pytest

from pycobre.comm import LocalCommunicator, launch
from pycobre.comm.conformance import PROMISES, keep
from pycobre.errors import WorkerError

WORLDS = {"local-1": 1, "shm-1": 1, "shm-2": 2, "shm-3": 3, "shm-4": 4}
LIMIT_SECS = 60


@functools.cache
def broken(world: str) -> dict[str, list[str]]:
    """What each rank found wrong with each promise that ran to its end."""
    found: dict[str, list[str]] = {}
    if world.startswith("local"):
        for name, trouble in keep(LocalCommunicator()):
            found[name] = [trouble]
        return found
    with launch([sys.executable, "-m", "pycobre.comm.conformance"], WORLDS[world], timeout_secs=15) as job:
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
    [pytest.param(world, name, id=f"{world}-{name}") for world in WORLDS for name in PROMISES],
)
def test_backend_keeps(world: str, promise: str):
    reports = broken(world).get(promise, [])
    assert len(reports) == WORLDS[world], f"only {len(reports)} ranks came to the end of it"
    assert not any(reports), next(report for report in reports if report)
