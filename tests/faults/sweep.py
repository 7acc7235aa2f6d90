"""One rank of two struck at each system call of a small program: ``python -m faults.sweep BACKEND ACTION``.

It runs in a box and writes a JSON line a call, until the program has no further one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from faults.forked import instead_of_exec
from faults.patient import patiently_joined
from faults.rig import OUTER_LIMIT_SECS, leftovers, others
from faults.tracer import Strike
from pycobre.comm import Backend, ReduceOp, launch, launcher_pipe
from pycobre.errors import CollectiveFailed, WorkerError

VICTIM = 1
LENGTH = 20_000  # more than goes at once
TRIES = 3  # of a call that does not come: a victim that needs to wait for nobody makes fewer


def work(comm: Backend) -> None:
    """Three operations and a region; every number is looked at."""
    mine, both = np.full(LENGTH, 1.0 + comm.rank), np.empty(2 * LENGTH)
    let_the_victim_wait(comm)
    comm.allgatherv(mine, both, [LENGTH] * 2, [0, LENGTH])
    assert (both[:LENGTH] == 1).all()
    assert (both[LENGTH:] == 2).all()
    comm.allreduce(mine, mine, ReduceOp.SUM)
    assert (mine == 3).all()
    let_the_victim_wait(comm)
    few = np.full(3, float(comm.rank))
    comm.broadcast(few, VICTIM)
    assert (few == VICTIM).all()
    let_the_victim_wait(comm)
    with comm.create_shared_region(2, "f8") as region:
        region.fence()
    comm.barrier()


def let_the_victim_wait(comm: Backend) -> None:
    if comm.rank != VICTIM:
        time.sleep(0.005)


def rank(action: str, number: str) -> int:
    tell: dict[str, Any] = {}
    try:
        with patiently_joined() as comm:
            comm.barrier()
            if comm.rank == VICTIM:
                with Strike(action, int(number)) as strike:
                    work(comm)
                tell["happened"] = strike.happened
            else:
                work(comm)
            comm.barrier()  # who is killed at the very end is missed here
    except CollectiveFailed as error:
        tell["error"] = [error.reason, error.ranks]
    except Exception:
        tell["wrong"] = traceback.format_exc()
    pipe = launcher_pipe()
    assert pipe is not None
    pipe.send(json.dumps(tell).encode())
    return 0


def struck(backend: Any, action: str, number: int) -> dict[int, Any]:
    """What each rank told of the strike at one call."""
    told = {}
    with (
        instead_of_exec(rank),
        launch(
            [sys.executable, "-m", "faults.sweep", action, str(number)],
            2,
            backend=backend,
            environment={**os.environ, "COBRE_SHM_DIRECT": "1"},  # its system calls are the ones to strike
            on_stderr=lambda rank, line: None,
        ) as job,
    ):
        watchdog = threading.Timer(
            OUTER_LIMIT_SECS, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids]
        )
        watchdog.start()
        try:
            for number_of_rank, line in job:
                told[number_of_rank] = json.loads(line)
        except WorkerError as error:
            told[error.rank] = {"code": error.exit_code}
        finally:
            watchdog.cancel()
            watchdog.join()
    return told


def main(backend: str, action: str) -> None:
    number, missed = 1, 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        while missed < TRIES:
            told = struck(backend, action, number)
            if told.get(VICTIM, {}).get("happened") is False:
                missed += 1
                continue
            until = time.monotonic() + 1.0
            while others() and time.monotonic() < until:  # the tracer ends after whom it has traced
                time.sleep(0.01)
            record = {"call": number, "told": told, "left": leftovers(Path(folder))}
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()
            number, missed = number + 1, 0


if __name__ == "__main__":
    main(*sys.argv[1:])
