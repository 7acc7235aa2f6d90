"""Large arrays over shared memory go through the segment or are read where they lie: who says which way."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest

from comm.launching import ranks
from pycobre._native.shm import Trial
from pycobre.comm import ShmConfig
from pycobre.errors import InitializationFailed, WorkerError

LENGTH = 20_000  # 160 KB
ROW = 16  # calls by which each way is tried, of arrays of this size
CALLS = 2 * ROW + 8
LEAST, ENOUGH = 4, 8  # calls after which a way may be found hopeless, and much the slower one

# Which calls every rank found to read, kind by kind. A rank that took another way would wait for ever.
COUNT = f"""
import json, random
from dataclasses import replace
import numpy as np
from pycobre.comm import ReduceOp

comm.config = replace(comm.config, direct=(WANTED or [comm.config.direct] * comm.size)[comm.rank])
comm = comm.duplicate()
comm.barrier()  # what the ranks ask for holds from the first meeting on
LENGTH = {LENGTH}
mine, whole = np.full(LENGTH, 1.0 + comm.rank), np.empty(LENGTH * comm.size)
kinds = [
    lambda: comm.allgatherv(
        mine, whole, [LENGTH] * comm.size, [LENGTH * rank for rank in range(comm.size)]
    ),
    lambda: comm.allreduce(mine, whole[:LENGTH], ReduceOp.SUM),
    lambda: comm.broadcast(mine.copy(), comm.size - 1),
    comm.prepare_allreduce(mine, whole[:LENGTH], ReduceOp.SUM),
]
found = []
for call in kinds:
    found.append([])
    for _ in range({CALLS}):
        if random.random() < 0.2:
            time.sleep(random.random() * 0.002)
        before = comm._direct_calls
        call()
        found[-1].append(comm._direct_calls - before)
pipe.send(json.dumps(found).encode())
"""


def readings(count: int, wanted: list[bool | None] | None = None, **variables: str) -> list[list[int]]:
    body, environment = f"WANTED = {wanted}\n{COUNT}", {**os.environ, **variables}
    with ranks(body, count, environment=environment) as job:
        found = [json.loads(line) for _, line in job]
    assert len(found) == count
    assert all(told == found[0] for told in found), found
    return found[0]


@pytest.mark.parametrize("count", [2, 3])
def test_ranks_try_both_ways_and_agree_on_one_whoever_is_late(count):
    gather, reduce, broadcast, _ = readings(count)
    for direct in (gather, reduce, broadcast):
        assert direct[:ROW] == [0] * ROW
        assert direct[ROW : ROW + LEAST] == [1] * LEAST


def ways(calls: int, through_ns: int, reading_ns: int, trial: Trial | None = None) -> str:
    trial, way, done = trial or Trial(), "", 0
    trial.row = ROW
    for _ in range(calls):
        direct = trial.direct()
        trial.learn(done)
        done = reading_ns if direct else through_ns
        way += "r" if direct else "t"
    return way


@pytest.mark.parametrize(("through", "reading", "better"), [(70, 100, "t"), (100, 70, "r")])
def test_each_way_has_a_row_of_calls_then_the_quicker_one_is_taken_and_the_other_tried_ever_more_rarely(
    through, reading, better
):
    worse = "r" if better == "t" else "t"
    rows = "t" if better == "r" else "tr"
    rows += "".join(better * (1 + rests) + worse for rests in (1, 2, 4, 8, 16, 32, 32))
    assert ways(len(rows) * ROW, through, reading) == "".join(way * ROW for way in rows)


@pytest.mark.parametrize(
    ("reading", "calls", "rests"), [(150, ENOUGH, (2, 8, 32, 32)), (300, LEAST, (2, 8, 32, 32))]
)
def test_a_way_that_is_slower_by_far_is_tried_by_fewer_calls_and_sooner_more_rarely(reading, calls, rests):
    tried = "t" * ROW + "".join("r" * calls + "t" * ROW * (1 + rows) for rows in rests)
    assert ways(len(tried), 70, reading) == tried


def test_first_calls_that_find_all_cold_do_not_count_for_long():
    trial = Trial()
    assert ways(2 * ROW, 400, 150, trial) == "t" * ROW + "r" * ROW
    assert ways(3 * ROW, 70, 150, trial) == "r" * ROW + "t" * 2 * ROW


@pytest.mark.parametrize(("slower", "left_after"), [(200, ROW), (300, LEAST)])
def test_a_way_that_has_become_the_slower_one_is_left_when_its_row_ends_or_it_is_clear(slower, left_after):
    trial = Trial()
    assert ways(2 * ROW + ENOUGH, 70, 150, trial).endswith("t" * ROW)
    assert ways(ROW + 5, slower, 150, trial) == "t" * left_after + "r" * (ROW + 5 - left_after)


@pytest.mark.parametrize(("value", "direct"), [("0", 0), ("1", 1)])
def test_a_way_that_is_asked_for_is_taken_by_every_large_call(value, direct):
    assert readings(3, COBRE_SHM_DIRECT=value) == [[direct] * CALLS] * 4


@pytest.mark.parametrize(("asked", "direct"), [([True, None, None], 1), ([None, False, True], 0)])
def test_what_one_rank_asks_for_holds_for_all_and_copying_first(asked, direct):
    assert readings(3, asked) == [[direct] * CALLS] * 4


def test_any_other_value_is_refused():
    environment = {
        "COBRE_SHM_NAME": "n",
        "COBRE_SHM_RANK": "0",
        "COBRE_SHM_SIZE": "2",
        "COBRE_SHM_DIRECT": "yes",
    }
    with pytest.raises(InitializationFailed, match="COBRE_SHM_DIRECT='yes' is neither 0 nor 1"):
        ShmConfig.from_environment(environment)
    assert ShmConfig.from_environment({**environment, "COBRE_SHM_DIRECT": " "}).direct is None


# Rank 2 begins to read when the root, whose call rank 1's end has ended, uses its array anew.
LATE = """
from contextlib import nullcontext
from pathlib import Path
import numpy as np
from faults.tracer import Strike
from pycobre.errors import CollectiveFailed

array = np.full(20_000, 7.0 if comm.rank == 0 else 0.0)
comm.barrier()
held = Strike("hold", 1, until=MARK) if comm.rank == 2 else nullcontext()
try:
    with held:
        comm.broadcast(array, 0)
    told = "right" if (array == 7.0).all() else "wrong"
except CollectiveFailed as error:
    told = error.reason
if comm.rank == 0:
    array[:] = -1.0
    Path(MARK).touch()
if comm.rank == 1:
    raise ValueError("the reservoir is dry")
pipe.send(f"{comm.rank} {told}".encode())
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the tracer knows the registers of x86-64 alone")
def test_who_reads_after_the_group_has_failed_does_not_take_what_is_there_for_the_message(tmp_path: Path):
    variables = {"COBRE_SHM_DIRECT": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    body = f"MARK = {str(tmp_path / 'anew')!r}\n{LATE}"
    told: list[str] = []
    with (
        pytest.raises(WorkerError, match="the reservoir is dry"),
        ranks(body, 3, environment={**os.environ, **variables}) as job,
    ):
        told.extend(line.decode() for _, line in job)
    assert sorted(told) == ["0 lost", "2 lost"]
