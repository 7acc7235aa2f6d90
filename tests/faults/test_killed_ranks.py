"""Each rank killed and stopped in turn, amid every operation, in a namespace where leaks can be counted."""

from __future__ import annotations

import functools
import itertools
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

OPERATIONS = ("allgatherv", "allreduce", "broadcast", "barrier", "fence")
RANKS = (0, 1, 2)
ACTIONS = ("SIGKILL", "SIGSTOP")
TIMEOUT_SECS = 0.5  # as in rig.py
RIG = Path(__file__).with_name("rig.py")


def in_a_box(shm: str, *argv: str, limit_secs: float = 100) -> list[str]:
    """Output lines of a program that has processes, mounts and a /dev/shm of its own.

    When the box ends, the kernel ends what is in it: this bounds every test.
    """
    script = f'mount -t tmpfs -o size={shm},mode=1777 tmpfs /dev/shm && exec "$@"'
    box = [
        "unshare",
        *([] if os.geteuid() == 0 else ["-r"]),  # root is only needed inside the box
        "-m",
        "-p",
        "-i",
        "-n",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "bash",
        "-c",
        script,
        "_",
    ]
    done = subprocess.run([*box, *argv], capture_output=True, text=True, timeout=limit_secs, check=False)
    assert done.returncode == 0, f"no private namespace, or the program in it failed:\n{done.stderr}"
    return done.stdout.splitlines()


def outcomes(operation: str) -> dict[tuple[str, str], dict[str, Any]]:
    cases = itertools.chain.from_iterable(
        (operation, str(victim), action) for victim in RANKS for action in ACTIONS
    )
    records = [json.loads(line) for line in in_a_box("1m", sys.executable, str(RIG), *cases)]
    return {(record["case"][1], record["case"][2]): record for record in records}


@functools.cache
def boxes() -> dict[str, Future[dict[tuple[str, str], dict[str, Any]]]]:
    """All operations, two boxes at a time: most of it is waiting."""
    with ThreadPoolExecutor(2) as pool:
        return {operation: pool.submit(outcomes, operation) for operation in OPERATIONS}


def seen(operation: str) -> dict[tuple[str, str], dict[str, Any]]:
    return boxes()[operation].result()


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("victim", RANKS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_survivors_name_the_victim(operation: str, victim: int, action: str):
    record = seen(operation)[str(victim), action]
    killed = action == "SIGKILL"
    survivors = record["survivors"]
    assert sorted(survivors) == [str(rank) for rank in RANKS if rank != victim], record
    for told in survivors.values():
        assert told["ranks"] == [victim], told
        assert told["reason"] == ("lost" if killed else "stopped"), told
        assert told["operation"] == operation
        assert told["after"] <= (1.0 if killed else TIMEOUT_SECS + 1.0), told
    assert sorted(record["poisoned"]) == sorted(survivors)
    assert max(record["poisoned"].values()) < 0.1
    if killed:
        assert (record["error"]["rank"], record["error"]["code"]) == (victim, 128 + signal.SIGKILL)
    else:
        assert record["error"]["code"] == 5
        assert f"rank {victim} is stopped" in survivors[str((victim + 1) % 3)]["text"]
    assert record["processes"] == []
    assert record["files"] == []


def test_a_tiny_dev_shm_is_no_obstacle_for_launched_ranks_and_an_error_for_named_ones():
    program = """
import os, sys
from pycobre.comm import ShmCommunicator, ShmConfig, launch
from pycobre.errors import InitializationFailed
body = '''
from pycobre.comm import create_communicator
with create_communicator() as comm, comm.create_shared_region(1 << 20, "f8") as region:
    region.as_mut_slice()[comm.rank :: comm.size] = 1
    region.fence()
    assert region.as_slice().sum() == 1 << 20
'''
with launch([sys.executable, "-c", body], 3) as job:
    list(job)
print(job.exit_codes)
try:
    ShmCommunicator(ShmConfig(0, 1, name="small", join_timeout_secs=1))
except InitializationFailed as error:
    print(error)
print(os.listdir("/dev/shm"))
"""
    codes, error, files = in_a_box("64k", sys.executable, "-c", program)
    assert codes == "(0, 0, 0)"
    assert "No space left on device" in error
    assert files == "[]"
