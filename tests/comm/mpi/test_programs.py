"""Random programs of collectives on each MPI, as in ``tests/comm/test_programs.py``, a tenth as many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from comm.programs.campaign import PROGRAMS, SEED, first_mistake

if TYPE_CHECKING:
    from comm.mpi.installation import Installation

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize("size", [2, 3])
def test_random_programs_give_the_bits_of_a_fold_in_rank_order(mpi: Installation, size: int):
    def run(first: int, last: int, batch: int) -> list[tuple[int, list[str]]]:
        argv = ["-m", "comm.programs.rank", *map(str, (SEED, first, last, batch))]
        limit_secs = 120 + (last - first) / 5
        done = mpi.run(size, argv, limit_secs=limit_secs, COBRE_COMM_BACKEND="mpi", PYTHONPATH=str(TESTS))
        assert done.returncode == 0, done.stderr
        return [(int(rank), words) for rank, *words in map(str.split, done.stdout.splitlines())]

    assert first_mistake(run, size, PROGRAMS // 20) == ""
