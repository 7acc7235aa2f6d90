"""One rank of a fault cell: ``python -m faults.rank PHASE OPERATION VICTIM ACTION``.

The victim brings itself to the phase and strikes itself there; the others work on, check what they get, and
tell how it ended. VICTIM ``launcher`` leaves all ranks in the phase for the rig to strike their launcher.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np

from faults.patient import patiently_joined
from pycobre.comm import Backend, ReduceOp, create_communicator, launcher_pipe
from pycobre.errors import CollectiveFailed, InitializationFailed, InvalidCommunicator

SHORT, LONG = 3, 200_000
LENGTHS = {"large": LONG, "direct": LONG}
LATE_SECS = 0.4  # how long a victim that waits has to wait
FOREVER_SECS = 60.0


class Struck(Exception):
    """What the victim of an exception raises."""


class Work:
    """The operation of this cell, called again and again; every result is looked at."""

    def __init__(self, comm: Backend, operation: str) -> None:
        self.comm = comm
        self.operation = operation
        self.turn = 0
        self.entered = 0.0
        self.region = comm.create_shared_region(10, "f8")
        self.whole = np.empty(LONG * comm.size)

    def call(self, length: int) -> None:
        comm, size = self.comm, self.comm.size
        self.turn += 1
        mine = np.full(length, float(self.turn + comm.rank))
        everyone = [float(self.turn + rank) for rank in range(size)]
        self.entered = time.monotonic()
        if self.operation == "allgatherv":
            recv = self.whole[: length * size]
            comm.allgatherv(mine, recv, [length] * size, [length * rank for rank in range(size)])
            right = (recv.reshape(size, length) == np.array(everyone)[:, None]).all()
        elif self.operation == "allreduce":
            comm.allreduce(mine, mine, ReduceOp.SUM)
            right = (mine == sum(everyone)).all()
        elif self.operation.startswith("broadcast"):
            root = 0 if self.operation == "broadcast-first" else size - 1
            comm.broadcast(mine, root)
            right = (mine == everyone[root]).all()
        elif self.operation == "barrier":
            comm.barrier()
            right = True
        else:
            self.region.as_mut_slice()[comm.rank] = self.turn
            self.region.fence()
            right = self.region.as_slice()[comm.rank] == self.turn
        if not right:
            tell(wrong=f"rank {comm.rank}, turn {self.turn}")


def tell(**record: Any) -> None:
    pipe = launcher_pipe()
    assert pipe is not None
    pipe.send(json.dumps(record).encode())


def strike(action: str) -> None:
    """What befalls the victim, from whichever thread."""
    tell(struck=time.monotonic())
    if action == "exit":
        os._exit(3)
    if action != "exception":
        os.kill(os.getpid(), signal.Signals[action])
    elif threading.current_thread() is threading.main_thread():
        raise Struck("the reservoir is dry")
    else:
        os.kill(os.getpid(), signal.SIGUSR1)


def struck_amid_a_call(number: int, frame: object) -> None:
    raise Struck("the reservoir is dry")


def victim(work: Work, phase: str, action: str) -> None:
    if phase == "idle":
        time.sleep(0.05)
        strike(action)
    elif phase == "entering":
        for _ in range(5):
            work.call(SHORT)
        strike(action)
    elif phase == "waiting":
        threading.Timer(LATE_SECS / 2, strike, [action]).start()
        work.call(SHORT)
    elif phase == "closing":
        work.call(SHORT)
        threading.Thread(target=strike, args=[action]).start()
        time.sleep(random.random() * 0.0003)
        work.comm.close()
    else:
        signal.signal(signal.SIGUSR1, struck_amid_a_call)
        threading.Timer(0.02 + random.random() * 0.01, strike, [action]).start()
        while True:
            work.call(LENGTHS.get(phase, SHORT))
    time.sleep(FOREVER_SECS)


def survivor(work: Work, phase: str, last: bool) -> None:
    if phase == "waiting" and last:
        time.sleep(LATE_SECS)  # by then the victim has been struck in its wait
    while True:
        work.call(LENGTHS.get(phase, SHORT))


def without_launcher(work: Work, phase: str) -> None:
    """Bring all ranks to *phase* and stay there."""
    if phase == "waiting" and work.comm.rank == 0:
        time.sleep(FOREVER_SECS)
    if phase == "closing":
        work.comm.close()
    while phase in ("waiting", "small", *LENGTHS):
        work.call(LENGTHS.get(phase, SHORT))
    time.sleep(FOREVER_SECS)


def main(phase: str, operation: str, who: str, action: str) -> int:
    rank = int(os.environ[f"COBRE_{os.environ['COBRE_COMM_BACKEND'].upper()}_RANK"])
    signal.signal(signal.SIGUSR1, struck_amid_a_call)
    if phase == "joining":
        if who == "launcher" and rank == 0:
            tell(ready=True)
            time.sleep(FOREVER_SECS)
        if str(rank) == who:
            time.sleep(0.2)
            strike(action)
            time.sleep(FOREVER_SECS)
    if phase == "joining" and who == "launcher":
        tell(ready=True)
    try:
        comm = create_communicator() if phase == "joining" else patiently_joined()
    except InitializationFailed as error:
        tell(when=time.monotonic(), reason="not joined", text=str(error))
        traceback.print_exc()
        return 5
    work = Work(comm, operation)
    try:
        with comm:
            comm.barrier()
            if who == "launcher":
                tell(ready=True)
                without_launcher(work, phase)
            elif str(rank) == who:
                victim(work, phase, action)
            else:
                others = [number for number in range(comm.size) if str(number) != who]
                survivor(work, phase, last=rank == others[-1])
    except CollectiveFailed as error:
        when, entered = time.monotonic(), work.entered
        about = {"operation": error.operation, "reason": error.reason, "ranks": error.ranks}
        tell(when=when, entered=entered, text=error.message, **about)
        try:
            comm.barrier()
        except InvalidCommunicator:
            tell(poisoned=True)
        traceback.print_exc()
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
