"""Random programs of collectives on each MPI, as in ``tests/comm/test_programs.py``, a tenth as many."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from programs.campaign import PROGRAMS, lead
from programs.group import LIMIT_SECS, Group

if TYPE_CHECKING:
    from comm.mpi.installation import Installation

TESTS = Path(__file__).parents[2]


class Started:
    """Ranks of an MPI's launcher."""

    def __init__(self, mpi: Installation, size: int, arguments: list[str]) -> None:
        self._job = subprocess.Popen(
            [*mpi.launcher, "-n", str(size), sys.executable, *arguments],
            env={**os.environ, **mpi.environment, "COBRE_COMM_BACKEND": "mpi", "PYTHONPATH": str(TESTS)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def end(self) -> str:
        with self._job:
            with contextlib.suppress(subprocess.TimeoutExpired):
                said, _ = self._job.communicate(timeout=LIMIT_SECS)
                return "" if self._job.returncode == 0 else said
            os.killpg(self._job.pid, signal.SIGKILL)
            return f"no end within {LIMIT_SECS} s\n{self._job.communicate()[0]}"


@pytest.mark.parametrize("size", [2, 3])
def test_random_programs_give_the_bits_of_a_fold_in_rank_order(mpi: Installation, size: int):
    with Group(lambda arguments: Started(mpi, size, arguments), size) as group:
        lead(group, PROGRAMS // 20)
