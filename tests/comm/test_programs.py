"""Random programs of collectives on three ranks, against the same programs in plain NumPy, to the last bit.

Started as a script this file is one of the ranks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import threading
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pycobre.comm import ReduceOp, create_communicator, launch, launcher_pipe
from pycobre.comm.conformance.reductions import folded

RANKS = 3
EXAMPLES = 200
DTYPES = ("?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "c16")

lengths = st.one_of(st.integers(0, 40), st.sampled_from([1_000, 16_384, 16_385, 33_000, 70_001]))
steps = st.one_of(
    st.fixed_dictionaries({"do": st.just("barrier")}),
    st.fixed_dictionaries(
        {
            "do": st.just("broadcast"),
            "root": st.integers(0, RANKS - 1),
            "length": lengths,
            "dtype": st.sampled_from(DTYPES),
        }
    ),
    st.fixed_dictionaries(
        {
            "do": st.just("allreduce"),
            "op": st.integers(0, 2),
            "length": lengths,
            "dtype": st.sampled_from(DTYPES),
            "in_place": st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {
            "do": st.just("allgatherv"),
            "counts": st.lists(lengths, min_size=RANKS, max_size=RANKS),
            "gaps": st.lists(st.integers(0, 3), min_size=RANKS, max_size=RANKS),
            "order": st.permutations(range(RANKS)),
            "dtype": st.sampled_from(DTYPES),
        }
    ),
)
programs = st.fixed_dictionaries(
    {"seed": st.integers(0, 1 << 30), "steps": st.lists(steps, min_size=1, max_size=6)}
)


def data(seed: int, step: int, rank: int, length: int, dtype: str) -> np.ndarray[Any, Any]:
    """Any bits at all, with zeros, infinities and NaNs more often than chance would have them."""
    random = np.random.default_rng([seed, step, rank])
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return random.integers(0, 2, length).astype(bool)
    numbers = np.frombuffer(random.bytes(length * kind.itemsize), kind).copy()
    if kind.kind in "fc":
        special = random.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan]), length).astype(kind)
        numbers = np.where(random.random(length) < 0.3, special, numbers)
    return numbers


def places(step: dict[str, Any]) -> tuple[list[int], int]:
    displs, at = [0] * RANKS, 0
    for rank in step["order"]:
        displs[rank] = at + step["gaps"][rank]
        at = displs[rank] + step["counts"][rank]
    return displs, at + 1


def reduction(step: dict[str, Any]) -> ReduceOp:
    return ReduceOp.SUM if step["dtype"] in ("c8", "c16") else ReduceOp(step["op"])


def expected(step: dict[str, Any], seed: int, number: int) -> np.ndarray[Any, Any]:
    if step["do"] == "barrier":
        return np.zeros(0)
    if step["do"] == "broadcast":
        return data(seed, number, step["root"], step["length"], step["dtype"])
    if step["do"] == "allreduce":
        parts = [data(seed, number, rank, step["length"], step["dtype"]) for rank in range(RANKS)]
        return folded(np.stack(parts), reduction(step))
    displs, total = places(step)
    recv = np.full(total, 1, step["dtype"])
    for rank in range(RANKS):
        part = data(seed, number, rank, step["counts"][rank], step["dtype"])
        recv[displs[rank] : displs[rank] + part.size] = part
    return recv


def done(comm: Any, step: dict[str, Any], seed: int, number: int) -> np.ndarray[Any, Any]:
    if step["do"] == "barrier":
        comm.barrier()
        return np.zeros(0)
    if step["do"] == "allgatherv":
        displs, total = places(step)
        recv = np.full(total, 1, step["dtype"])
        comm.allgatherv(
            data(seed, number, comm.rank, step["counts"][comm.rank], step["dtype"]),
            recv,
            step["counts"],
            displs,
        )
        return recv
    mine = data(seed, number, comm.rank, step["length"], step["dtype"])
    if step["do"] == "broadcast":
        comm.broadcast(mine, step["root"])
        return mine
    out = mine if step["in_place"] else np.empty_like(mine)
    comm.allreduce(mine, out, reduction(step))
    return out


def bits(array: np.ndarray[Any, Any]) -> bytes:
    """The array's bytes; all NaNs count as one."""
    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.tobytes()


def rank_main(descriptor: int) -> None:
    """Takes programs, a JSON line each, from rank 0's pipe, and answers each with a digest."""
    pipe = launcher_pipe()
    with create_communicator() as comm, os.fdopen(descriptor, "rb") as source:
        while True:
            line = source.readline() if comm.rank == 0 else b""
            length = np.array([len(line)])
            comm.broadcast(length, 0)
            text = np.frombuffer(line, np.uint8).copy() if comm.rank == 0 else np.empty(length[0], np.uint8)
            comm.broadcast(text, 0)
            if text.size == 0:
                return
            program = json.loads(text.tobytes())
            digest = hashlib.sha256()
            for number, step in enumerate(program["steps"]):
                digest.update(bits(done(comm, step, program["seed"], number)))
            pipe.send(digest.hexdigest().encode())


def test_random_programs_give_the_bits_of_a_fold_in_rank_order():
    source, sink = os.pipe()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, source)
        close_sink = stack.enter_context(os.fdopen(sink, "wb", buffering=0))
        job = stack.enter_context(
            launch([sys.executable, __file__, str(source)], RANKS, timeout_secs=20, descriptors=[source])
        )
        watchdog = threading.Timer(60, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        stack.callback(watchdog.cancel)
        lines = iter(job)

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(programs)
        def agree(program):
            close_sink.write(json.dumps(program).encode() + b"\n")
            found = dict(next(lines) for _ in range(RANKS))
            digest = hashlib.sha256()
            for number, step in enumerate(program["steps"]):
                digest.update(bits(expected(step, program["seed"], number)))
            assert found == dict.fromkeys(range(RANKS), digest.hexdigest().encode())

        agree()
        close_sink.close()
        assert list(lines) == []


if __name__ == "__main__":
    rank_main(int(sys.argv[1]))
