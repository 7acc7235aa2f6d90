"""Every promise under each MPI. A world is opened once and runs all promises; each is a test.

Started as a script this file is one of the ranks.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pycobre.comm.conformance import PROMISES, keep

RANKS = (1, 2, 3, 4)


@functools.cache
def broken(mpi: Any, ranks: int) -> tuple[str, dict[str, list[str]]]:
    """How the job ended, and what each rank found wrong with each promise."""
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        job = mpi.run(ranks, [__file__, folder])
        for rank in range(ranks):
            path = Path(folder) / f"{rank}.jsonl"
            for line in path.read_text().splitlines() if path.exists() else ():
                record = json.loads(line)
                found.setdefault(record["promise"], []).append(record["trouble"])
    return f"exit code {job.returncode}\n{job.stdout}{job.stderr}", found


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("promise", PROMISES)
def test_mpi_keeps(mpi: Any, ranks: int, promise: str):
    end, found = broken(mpi, ranks)
    reports = found.get(promise, [])
    assert len(reports) == ranks, f"only {len(reports)} ranks came to the end of it; {end}"
    assert not any(reports), next(report for report in reports if report)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_job_that_kept_its_promises_ends_quietly(mpi: Any, ranks: int):
    end, _ = broken(mpi, ranks)
    assert end == "exit code 0\n"


def rank_main(folder: str) -> None:
    from pycobre.comm.mpi import MpiCommunicator

    with MpiCommunicator() as comm, (Path(folder) / f"{comm.rank}.jsonl").open("w") as report:
        for name, trouble in keep(comm):
            report.write(json.dumps({"promise": name, "trouble": trouble}) + "\n")
            report.flush()


if __name__ == "__main__":
    rank_main(sys.argv[1])
