"""Random programs of collectives on 1 to 4 ranks, against the same programs in plain NumPy, to the last bit.

``PYCOBRE_PROGRAMS`` is the number of programs on each backend (10,000; of a million a test takes most of
an hour, and needs ``-o faulthandler_timeout=0``), ``PYCOBRE_PROGRAMS_SEED`` what hypothesis draws them from
(``programs/campaign.py`` says how); one that fails is shrunk. How much the campaign sees is measured by
mutants: each must be found, by the kind of step beside it.

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

import random
import re
import threading
from collections import Counter
from collections.abc import Sequence
from functools import partial

import pytest

from programs.campaign import PROGRAMS, SEED, lead
from programs.group import Group, Launched, digest
from programs.steps import RECORD_BYTES, Disagreement, Step, read
from programs.toy import MUTANTS, Board, ToyCommunicator
from pycobre.comm import LocalCommunicator

SHARES = {1: 1, 2: 3, 3: 3, 4: 3}  # tenths of the programs that run at each number of ranks
BACKENDS = ("shm", "tcp")


class OneRank:
    """A group that is this process."""

    size = 1

    def ask(self, records: Sequence[bytes]) -> None:
        with LocalCommunicator() as comm:
            self._outcomes = [digest(read(record, 1).run(comm)) for record in records]

    def answers(self) -> list[list[bytes]]:
        return [self._outcomes]

    def end(self) -> str:
        return ""


def test_random_programs_on_a_local_group_give_the_bits_of_the_oracle():
    lead(OneRank(), PROGRAMS)


@pytest.mark.parametrize("size", SHARES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_random_programs_give_the_bits_of_a_fold_in_rank_order(backend: str, size: int):
    with Group(partial(Launched, backend, size), size) as group:
        lead(group, PROGRAMS * SHARES[size] // 10)


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
    draw = random.Random(SEED)
    steps: list[Step] = [read(draw.randbytes(RECORD_BYTES), size) for _ in range(200)]
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


class ToyRanks:
    """A toy group of three as a campaign meets it."""

    size = 3

    def __init__(self, wrong: str) -> None:
        self.wrong = wrong

    def ask(self, records: Sequence[bytes]) -> None:
        self._steps = [read(record, self.size) for record in records]

    def answers(self) -> list[list[bytes]]:
        found = in_threads(self._steps, self.size, self.wrong)
        return [[digest(outcome) for outcome in each] for each in found]

    def end(self) -> str:
        return ""


@pytest.mark.parametrize(
    "wrong", [wrong for wrong, kind in MUTANTS.items() if kind not in ("Barrier", "Disagreement")]
)
def test_a_failing_program_is_shrunk_to_one_small_step(wrong: str):
    with pytest.raises(AssertionError, match="is wrong in") as caught:
        lead(ToyRanks(wrong), 2_000)
    steps = str(caught.value).split(", a step of ")[1]
    assert steps.count("parts=(") == 1, steps
    assert steps.startswith(f"[{MUTANTS[wrong]}(")
    assert max(map(int, re.findall(r"length=(\d+)", steps))) <= 40, steps
