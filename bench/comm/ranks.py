"""What one rank measures, the same program for every contender: ``ranks.py CONTENDER JOBS OUTPUT``.

Needs nothing but NumPy and what the contender is. Rank 0 writes its figures to OUTPUT as JSON, and how far
apart two processors were before and after each row.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from distance import Distance

Call = Callable[[], object]
clock = time.perf_counter_ns

# Name of a row, operation, bytes (of each rank where there are parts), timed calls.
ROWS: tuple[tuple[str, str, int, int], ...] = (
    ("barrier", "barrier", 0, 3000),
    ("allreduce 32 B", "allreduce", 32, 3000),
    ("allreduce 1 KB", "allreduce", 1 << 10, 3000),
    ("allreduce 1 MB", "allreduce", 1 << 20, 150),
    ("broadcast 64 B", "broadcast", 64, 3000),
    ("broadcast 1 MB", "broadcast", 1 << 20, 200),
    ("broadcast 16 MB", "broadcast", 16 << 20, 20),
    ("allgatherv 1 KB", "allgatherv", 1 << 10, 3000),
    ("allgatherv 100 KB", "allgatherv", 100 << 10, 500),
    ("allgatherv 1 MB", "allgatherv", 1 << 20, 100),
    ("allgatherv 16 MB", "allgatherv", 16 << 20, 12),
    ("prepared allreduce 32 B", "prepared", 32, 3000),
    ("region 16 MB", "region", 16 << 20, 40),
)

# Calls before those that are timed: shm finds out meanwhile which way large arrays take.
WARM_UP = 40


class Pycobre:
    """One of ours, by the environment."""

    def __init__(self, backend: str) -> None:
        from pycobre.comm import ReduceOp, create_communicator

        self.comm, self.sum = create_communicator(backend), ReduceOp.SUM
        self.rank, self.size, self.barrier = self.comm.rank, self.comm.size, self.comm.barrier

    def allreduce(self, send: Any, recv: Any) -> Call:
        call, op = self.comm.allreduce, self.sum
        return lambda: call(send, recv, op)

    def prepared(self, send: Any, recv: Any) -> Call:
        return self.comm.prepare_allreduce(send, recv, self.sum)

    def broadcast(self, buffer: Any) -> Call:
        call = self.comm.broadcast
        return lambda: call(buffer, 0)

    def allgatherv(self, send: Any, recv: Any, counts: list[int], displs: list[int]) -> Call:
        call = self.comm.allgatherv
        return lambda: call(send, recv, counts, displs)

    def region(self, part: Any, count: int) -> Call:
        shared = self.comm.create_shared_region(count * self.size, part.dtype)
        own = shared.as_mut_slice()[count * self.rank : count * (self.rank + 1)]
        values = itertools.count()

        def write_and_fence() -> None:
            own.fill(next(values))
            shared.fence()

        return write_and_fence

    def close(self) -> None:
        self.comm.close()


class Mpi:
    """mpi4py on the MPI of the environment; buffers are described once, as its manual advises."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self.comm, self.double, self.sum = MPI.COMM_WORLD, MPI.DOUBLE, MPI.SUM
        self.rank, self.size, self.barrier = self.comm.rank, self.comm.size, self.comm.Barrier

    def allreduce(self, send: Any, recv: Any) -> Call:
        call, op, given, taken = self.comm.Allreduce, self.sum, [send, self.double], [recv, self.double]
        return lambda: call(given, taken, op)

    def prepared(self, send: Any, recv: Any) -> Call:
        try:
            request = self.comm.Allreduce_init([send, self.double], [recv, self.double], self.sum)
        except NotImplementedError:  # an MPI before version 4
            return self.allreduce(send, recv)

        def once() -> None:
            request.Start()
            request.Wait()

        return once

    def broadcast(self, buffer: Any) -> Call:
        call, given = self.comm.Bcast, [buffer, self.double]
        return lambda: call(given, 0)

    def allgatherv(self, send: Any, recv: Any, counts: list[int], displs: list[int]) -> Call:
        call = self.comm.Allgatherv
        given, taken = [send, self.double], [recv, counts, displs, self.double]
        return lambda: call(given, taken)

    def region(self, part: Any, count: int) -> Call:
        return _gathered(self, part, count)

    def close(self) -> None:
        pass


class Gloo:
    """torch.distributed with its only backend for CPUs."""

    def __init__(self) -> None:
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        self.torch, self.dist = torch, dist
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        dist.init_process_group("gloo")
        self.barrier = dist.barrier

    def allreduce(self, send: Any, recv: Any) -> Call:
        source, target = self.torch.from_numpy(send), self.torch.from_numpy(recv)

        def once() -> None:  # it folds in place only
            target.copy_(source)
            self.dist.all_reduce(target)

        return once

    prepared = allreduce

    def broadcast(self, buffer: Any) -> Call:
        tensor = self.torch.from_numpy(buffer)
        return lambda: self.dist.broadcast(tensor, 0)

    def allgatherv(self, send: Any, recv: Any, counts: list[int], displs: list[int]) -> Call:
        source, target = self.torch.from_numpy(send), self.torch.from_numpy(recv)
        return lambda: self.dist.all_gather_into_tensor(target, source)

    def region(self, part: Any, count: int) -> Call:
        return _gathered(self, part, count)

    def close(self) -> None:
        self.dist.destroy_process_group()


def _gathered(contender: Any, part: Any, count: int) -> Call:
    """Where memory is not shared, the same by an allgatherv."""
    size = contender.size
    recv = np.zeros(count * size)
    return contender.allgatherv(part, recv, [count] * size, [count * rank for rank in range(size)])


def prepare(contender: Any, operation: str, size: int) -> Call:
    """The operation on fresh buffers, every rank's part of *size* bytes (of a region: its share of them)."""
    ranks, rank, count = contender.size, contender.rank, size // 8
    if operation == "barrier":
        return contender.barrier
    if operation == "broadcast":
        return contender.broadcast(np.full(count, float(rank)))
    if operation == "region":
        return contender.region(np.full(count // ranks, float(rank)), count // ranks)
    send = np.arange(count) * 0.1 + rank
    if operation == "allgatherv":
        recv = np.zeros(count * ranks)
        return contender.allgatherv(send, recv, [count] * ranks, [count * r for r in range(ranks)])
    return getattr(contender, operation)(send, np.zeros(count))


def measured(contender: Any, operation: str, size: int, calls: int, distance: Distance) -> dict[str, Any]:
    """Microseconds with the ranks in step (median, mean, p99, mean of barrier and call) and back to back.

    Also how far apart two processors were at the beginning and at the end, in nanoseconds.
    """
    call, barrier = prepare(contender, operation, size), contender.barrier
    for _ in range(max(WARM_UP, calls // 2)):
        barrier()
        call()
    apart = [distance()]
    taken = np.zeros(calls)
    gc.disable()
    barrier()
    began = clock()
    for index in range(calls):
        barrier()
        start = clock()
        call()
        taken[index] = clock() - start
    with_barrier = (clock() - began) / calls
    barrier()
    start = clock()
    for _ in range(calls):
        call()
    barrier()
    back_to_back = (clock() - start) / calls
    gc.enable()
    us = taken / 1e3
    return {
        "median": float(np.median(us)),
        "mean": float(us.mean()),
        "p99": float(np.percentile(us, 99)),
        "cycle": with_barrier / 1e3,
        "back": back_to_back / 1e3,
        "apart": [*apart, distance()],
    }


def rate(contender: Any, seconds: float) -> float:
    """32-byte allreduces a second; rank 0 says by the sum itself when it is over."""
    send, recv = np.zeros(4), np.zeros(4)
    call = contender.allreduce(send, recv)
    contender.barrier()
    start, done = time.perf_counter(), 0
    while recv[0] == 0:
        for _ in range(20):
            call()
        done += 20
        if contender.rank == 0 and time.perf_counter() - start > seconds:
            send[0] = 1
        call()
        done += 1
    return done / (time.perf_counter() - start)


def rate_beside_threads(contender: Any, seconds: float) -> float:
    """The same with a Python thread at work in every rank."""
    over = threading.Event()

    def work() -> None:
        number = 0
        while not over.is_set():
            for _ in range(1000):
                number += 1

    thread = threading.Thread(target=work)
    thread.start()
    found = rate(contender, seconds)
    over.set()
    thread.join()
    return found


def waiting_cpu(contender: Any) -> float:
    """Percent of a core that rank 0 takes while the last rank is a second late."""
    contender.barrier()
    if contender.rank == contender.size - 1:
        time.sleep(1)
    before = time.process_time()
    contender.barrier()
    return 100 * (time.process_time() - before)


def main() -> None:
    name, jobs, output = sys.argv[1:]
    kind = {"mpi4py": Mpi, "gloo": Gloo}.get(name)
    contender = kind() if kind else Pycobre(name)
    contender.barrier()
    distance = Distance.told(contender.rank)
    found: dict[str, Any] = {"start": time.time() - float(os.environ["BENCH_STARTED"])}
    for job in jobs.split(","):
        if job == "waiting":
            found[job] = waiting_cpu(contender)
        elif job == "threads":
            found[job] = rate_beside_threads(contender, 2.0)
        elif job == "strangers":
            found[job] = rate(contender, 2.0)
        else:
            row, operation, size, calls = ROWS[int(job)]
            scale = 10 if name == "gloo" and contender.size > 2 else 1
            found[row] = measured(contender, operation, size, max(10, calls // scale), distance)
    if contender.rank == 0:
        Path(output).write_text(json.dumps(found))
    contender.barrier()
    contender.close()


if __name__ == "__main__":
    main()
