"""Groups that fail in every way, several ranks at once: all raise the same, and none waits for ever.

Started as a script this file is one of the ranks.
"""

from __future__ import annotations

import random
import threading
import time

import numpy as np

from pycobre.comm import ReduceOp
from pycobre.errors import CollectiveFailed, InvalidCommunicator

GROUPS = 40
WAYS = ("two abort", "two threads abort", "one aborts, another closes", "one closes", "one differs")


def test_all_ranks_raise_the_same(mpi):
    job = mpi.run(3, [__file__], limit_secs=60)
    assert (job.returncode, job.stdout, job.stderr) == (0, "", "")


def fail(group, way, culprits, moment):
    """This rank's part; the culprits act at moments that differ by up to 3 ms."""
    if group.rank not in culprits:
        return
    first = group.rank == culprits[0]
    if way == "two threads abort":
        threading.Timer(moment, group.abort, ["from a thread"]).start()
    elif way == "two abort" or (way == "one aborts, another closes" and first):
        time.sleep(moment)
        group.abort("on purpose")
    elif way == "one aborts, another closes" or (way == "one closes" and first):
        group.close()
    elif way == "one differs" and first:
        group.barrier()


def outcome(group, way, culprits, array, moment):
    """(reason, ranks) as numbers, (-1, 0) for a rank that had closed."""
    try:
        for _ in range(random.Random(array.size).randrange(5)):
            group.allreduce(array, array, ReduceOp.SUM)
        fail(group, way, culprits, moment)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            group.allreduce(array, array, ReduceOp.SUM)
        raise AssertionError(f"rank {group.rank} never heard of it: {way}")
    except CollectiveFailed as error:
        reasons = ("lost", "mismatch", "aborted")
        return reasons.index(error.reason), sum(1 << rank for rank in error.ranks)
    except InvalidCommunicator:
        return -1, 0
    finally:
        group.close()


def rank_main():
    from pycobre.comm.mpi import MpiCommunicator

    with MpiCommunicator() as comm:
        alike, own = random.Random(5), random.Random(comm.rank)
        for number in range(GROUPS):
            way, culprits = WAYS[number % len(WAYS)], alike.sample(range(comm.size), 2)
            array = np.zeros(alike.choice([3, 300, 60_000]))
            mine = np.array(outcome(comm.duplicate(), way, culprits, array, own.random() * 0.003))
            everyone = np.empty((comm.size, 2), mine.dtype)
            comm.allgatherv(mine, everyone, [2] * comm.size, range(0, 2 * comm.size, 2))
            told = {tuple(pair) for pair in everyone.tolist() if pair[0] >= 0}
            assert len(told) == 1, (way, culprits, told)


if __name__ == "__main__":
    rank_main()
