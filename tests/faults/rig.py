"""Runs in a namespace of its own: kills or stops one of three ranks and writes down what the others saw.

``python rig.py OPERATION VICTIM ACTION ...`` prints a JSON line a case; all processes it can see are its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from pycobre.comm import launch
from pycobre.errors import WorkerError

RANKS = 3
TIMEOUT_SECS = 0.5

RANK = """
import json, sys, time
import numpy as np
from pycobre.comm import ReduceOp, create_communicator, launcher_pipe
from pycobre.errors import CollectiveFailed, InvalidCommunicator

comm, pipe, operation = create_communicator(), launcher_pipe(), sys.argv[1]
region = comm.create_shared_region(10, "f8")
short, long = np.ones(3), np.ones(200_000)
whole = np.empty(200_000 * comm.size)

def call(data):
    if operation == "allgatherv":
        size = data.size
        comm.allgatherv(data, whole, [size] * comm.size, [size * rank for rank in range(comm.size)])
    elif operation == "allreduce":
        comm.allreduce(data, whole[: data.size], ReduceOp.SUM)
    elif operation == "broadcast":
        comm.broadcast(data, int(data[0]) % comm.size)
    elif operation == "barrier":
        comm.barrier()
    else:
        region.fence()

def tell(**record):
    pipe.send(json.dumps(record).encode())

turn = 0
try:
    while True:
        for data in (short, long):
            data[0] = turn
            if operation == "broadcast":
                root = turn % comm.size
                comm.broadcast(data, root)
                turn += 1
            else:
                call(data)
                turn += 1
        if turn == 20:
            tell(running=True)
except CollectiveFailed as error:
    when, text = time.monotonic(), str(error)
    tell(when=when, operation=error.operation, reason=error.reason, ranks=error.ranks, text=text)
    began = time.monotonic()
    try:
        comm.barrier()
    except InvalidCommunicator:
        tell(poisoned=time.monotonic() - began)
    sys.exit(5)
"""


def run(operation: str, victim: int, number: signal.Signals) -> dict[str, object]:
    """What happened when rank *victim* got signal *number* amid *operation*."""
    record: dict[str, object] = {"survivors": {}, "poisoned": {}}
    running: set[int] = set()
    struck = 0.0
    with launch(
        [sys.executable, "-c", RANK, operation],
        RANKS,
        timeout_secs=TIMEOUT_SECS if number == signal.SIGSTOP else None,
        grace_secs=1,
        on_stderr=lambda rank, line: None,
    ) as job:
        watchdog = threading.Timer(15, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            for rank, line in job:
                told = json.loads(line)
                if "running" in told:
                    running.add(rank)
                    if len(running) == RANKS:
                        time.sleep(0.003 * (1 + os.getpid() % 7))
                        os.kill(job.pids[victim], number)
                        struck = time.monotonic()
                elif "when" in told:
                    told["after"] = told["when"] - struck
                    record["survivors"][rank] = told
                else:
                    record["poisoned"][rank] = told["poisoned"]
        except WorkerError as error:
            record["error"] = {"rank": error.rank, "code": error.exit_code, "text": str(error)}
        finally:
            watchdog.cancel()
    record["codes"] = job.exit_codes
    everyone = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    record["processes"] = [pid for pid in everyone if pid != os.getpid()]
    record["files"] = [entry.name for entry in Path("/dev/shm").iterdir()]
    return record


def main(cases: list[str]) -> None:
    while cases:
        operation, victim, action, *cases = cases
        record = run(operation, int(victim), signal.Signals[action])
        sys.stdout.write(json.dumps({"case": [operation, victim, action], **record}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
