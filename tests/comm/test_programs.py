"""Random programs of collectives on 1 to 4 ranks, against the same programs in plain NumPy, to the last bit.

``PYCOBRE_PROGRAMS`` is the number of programs on each backend (10,000), ``PYCOBRE_PROGRAMS_SEED`` where they
start. How much the campaign sees is measured by mutants: each must be found, by the kind of step beside it.

===============================  ============
mutant                           found by
===============================  ============
displacements ignored            Allgatherv
broadcast always from rank 0     Broadcast
gather order reversed            Allgatherv
counts assumed equal             Allgatherv
reduction order reversed         Allreduce
sums in float32                  Allreduce
fmin instead of minimum          Allreduce
NaN wins or loses by its order   Allreduce
barrier does nothing             Barrier
operations are not compared      Disagreement
dtypes are not compared          Disagreement
===============================  ============
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from comm.programs.campaign import PROGRAMS, SEED, first_mistake
from comm.programs.steps import Disagreement, Step, program
from comm.programs.toy import MUTANTS, Board, ToyCommunicator
from pycobre.comm import LocalCommunicator, launch

SHARES = {1: 1, 2: 3, 3: 3, 4: 3}  # tenths of the programs that run at each number of ranks
BACKENDS = ("shm", "tcp")
TESTS = Path(__file__).parents[1]


def on_ranks(backend: str, size: int, first: int, last: int, batch: int) -> list[tuple[int, list[str]]]:
    argv = [sys.executable, "-m", "comm.programs.rank", *map(str, (SEED, first, last, batch))]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with launch(argv, size, backend=backend, environment=environment, timeout_secs=20) as job:
        limit_secs = 60 + (last - first) / 50
        watchdog = threading.Timer(limit_secs, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            return [(rank, line.decode().split()) for rank, line in job]
        finally:
            watchdog.cancel()


def test_random_programs_on_a_local_group_give_the_bits_of_the_oracle():
    with LocalCommunicator() as comm:
        for number in range(PROGRAMS):
            for place, step in enumerate(program(SEED, number, 1)):
                where = f"program {number} of seed {SEED}, step {place}: {step}"
                assert step.run(comm) == step.expected(0, 1), where


@pytest.mark.parametrize("size", SHARES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_random_programs_give_the_bits_of_a_fold_in_rank_order(backend: str, size: int):
    run = functools.partial(on_ranks, backend, size)
    assert first_mistake(run, size, PROGRAMS * SHARES[size] // 10) == ""


# ---- how much the campaign sees


def in_threads(steps: list[Step], size: int, wrong: str) -> list[list[bytes]]:
    """What each step gave on each rank of a toy group; an error counts as what it says."""
    board, found = Board(size), [[b""] * len(steps) for _ in range(size)]

    def work(rank: int) -> None:
        comm = ToyCommunicator(rank, board, wrong)
        for place, step in enumerate(steps):
            try:
                found[rank][place] = step.run(comm)
            except threading.BrokenBarrierError:
                board.gate.abort()  # the ranks are apart for good
                return
            except Exception as error:
                found[rank][place] = repr(error).encode()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def killers(wrong: str, size: int) -> Counter[str]:
    """How many steps of each kind the toy gets wrong."""
    steps: list[Step] = [step for number in range(60) for step in program(SEED, number, size)]
    if size > 1:
        steps += [Disagreement(kind, odd) for kind in Disagreement.KINDS for odd in range(size)]
    found = in_threads(steps, size, wrong)
    return Counter(
        type(step).__name__
        for place, step in enumerate(steps)
        if any(found[rank][place] != step.expected(rank, size) for rank in range(size))
    )


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_campaign_lets_a_right_communicator_pass(size: int):
    assert killers("", size) == Counter()


@pytest.mark.parametrize("wrong", MUTANTS)
def test_the_campaign_finds_the_mutant(wrong: str, record_property):
    found = killers(wrong, 3)
    record_property("killed by", dict(found))
    assert found[MUTANTS[wrong]] > 0, found
