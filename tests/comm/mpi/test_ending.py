"""A process that does not leave its group in order ends the job, with its reason, however it was started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
SCRIPT = str(Path(sys.executable).with_name("pycobre"))


@pytest.mark.parametrize("entry", ["script", "-c", "-m"])
def test_an_exception_on_one_rank_ends_the_job_and_is_told_once(mpi, tmp_path, entry):
    program = (
        "from pycobre.comm.mpi import MpiCommunicator\n"
        "comm = MpiCommunicator()\n"
        "if comm.rank == 1: raise ValueError('no water')\n"
        "comm.barrier()\n"
    )
    (tmp_path / "program.py").write_text(program)
    argv = {"script": [str(tmp_path / "program.py")], "-c": ["-c", program], "-m": ["-m", "program"]}[entry]
    job = mpi.run(2, argv, limit_secs=20, PYTHONPATH=str(tmp_path))
    assert job.returncode == 1
    assert "rank 1 ends the MPI job: ended by ValueError\n" in job.stderr
    assert job.stderr.count("ValueError: no water") == 1


@pytest.mark.parametrize("entry", [["-m", "pycobre.app.cli"], [SCRIPT]], ids=["module", "console script"])
def test_a_falling_solver_on_one_rank_ends_the_run_with_its_reason(mpi, tmp_path, entry):
    toy = TESTS.parent / "examples" / "toy"
    falling = str(TESTS / "faults" / "falling_solver")
    argv = [*entry, "run", str(toy), "--out", str(tmp_path / "out"), "--backend", "mpi"]
    job = mpi.run(2, argv, limit_secs=30, PYTHONPATH=falling)
    assert job.returncode == 1
    assert "in fall" in job.stderr
    assert "ArithmeticError: the solver has fallen" in job.stderr


def test_an_exception_in_a_with_block_ends_the_job_with_its_exit_code(run_ranks):
    job = run_ranks(
        2,
        "import sys\n"
        "from pycobre.errors import PycobreError, StageProblemError\n"
        "try:\n"
        "    with MpiCommunicator() as comm:\n"
        "        if comm.rank == 1: raise StageProblemError(stage=3, status='infeasible')\n"
        "        comm.barrier()\n"
        "except PycobreError as error:\n"
        "    sys.exit(error.exit_code)\n",
        limit_secs=20,
    )
    assert job.returncode == 4
    assert "rank 1 aborted: StageProblemError: the problem of stage 3 is infeasible" in job.stderr


def test_a_rank_that_exits_without_close_ends_the_job(run_ranks):
    job = run_ranks(
        3,
        "import sys\ncomm = MpiCommunicator()\nif comm.rank == 2: sys.exit()\ncomm.barrier()\n",
        limit_secs=20,
    )
    assert job.returncode != 0
    assert "rank 2 ends the MPI job: ended without close()" in job.stderr


def test_an_orderly_end_waits_for_the_others_and_says_nothing(run_ranks):
    job = run_ranks(
        2,
        "import time\n"
        "for _ in range(2):\n"
        "    with MpiCommunicator() as comm:\n"
        "        comm.barrier()\n"
        "time.sleep(0.3 * comm.rank)\n",
        limit_secs=20,
    )
    assert (job.returncode, job.stdout, job.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("halt", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGSTOP)", "barrier failed (stopped): rank 1 stopped"),
        ("time.sleep(20)", "barrier failed (timeout): rank 1 did not come in time"),
    ],
)
def test_a_rank_that_does_not_come_in_time_is_named_by_all_others(run_ranks, halt, reason):
    # One write a line: a launcher mixes what comes in pieces.
    job = run_ranks(
        3,
        "import os, signal, sys, time\n"
        "from pycobre.errors import CollectiveFailed\n"
        "comm = MpiCommunicator()\n"
        "comm.barrier()\n"
        f"if comm.rank == 1: {halt}\n"
        "try:\n"
        "    comm.barrier()\n"
        "except CollectiveFailed as error:\n"
        "    sys.stdout.write(f'{error}; {error.ranks}\\n')\n"
        "    sys.stdout.flush()\n"
        "    time.sleep(1.0)\n",
        limit_secs=15,
        COBRE_MPI_TIMEOUT_SECS="1",
    )
    told = [line for line in job.stdout.splitlines() if reason in line and line.endswith("(1,)")]
    assert len(told) == 2, job.stdout + job.stderr
    assert job.returncode == 5


def test_a_rank_that_never_joins_ends_the_job_within_the_limit(run_ranks):
    job = run_ranks(
        2,
        "import time\n"
        "from mpi4py import MPI\n"
        "MPI.Init_thread(MPI.THREAD_MULTIPLE)\n"
        "if MPI.COMM_WORLD.rank == 1: time.sleep(20)\n"
        "comm = MpiCommunicator()\n",
        limit_secs=15,
        COBRE_MPI_TIMEOUT_SECS="1",
    )
    assert job.returncode == 5, job.stderr
    assert "not all 2 ranks of the job made a communicator within 1 s" in job.stderr
    assert "rank 0 ends the MPI job: ended by InitializationFailed\n" in job.stderr
