"""The page's command lines on a real Slurm, whose two machines are in a box."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from comm.slurm.cluster import DAEMONS
from faults.box import in_a_box

if TYPE_CHECKING:
    from comm.mpi.installation import Installation

REPOSITORY = Path(__file__).parents[3]
TOY = REPOSITORY / "examples" / "toy"
PAGE = (REPOSITORY / "docs" / "launching.md").read_text()
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin:/sbin"
CONFORMANCE = f"{sys.executable} -m pycobre.comm.conformance"
# How Slurm tells the ranks of each MPI who they are.
PROTOCOLS = {"mpich": "pmi2", "openmpi": "pmix", "impi": "pmi2"}
MAKE_SECRET = "(umask 077; head -c 32 /dev/urandom | base64 > job.secret)"
OVER_TCP = f"""
    {MAKE_SECRET}
    export COBRE_TCP_SECRET_FILE=$PWD/job.secret COBRE_TCP_COORDINATOR=a COBRE_TCP_BIND_ADDR=0.0.0.0
"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(shutil.which(daemon, path=PATH) for daemon in DAEMONS),
    reason="needs root, and Slurm (Debian: apt-get install slurmctld slurmd slurm-client munge libpmix2)",
)

Run = Callable[..., list[str]]


@pytest.fixture
def on_the_cluster(tmp_path: Path) -> Run:
    """Runs a script on the first machine, at home in ``tmp_path``; the lines that it prints."""

    def run(script: str, **variables: str) -> list[str]:
        cluster = ["unshare", "-u", sys.executable, "-m", "comm.slurm.cluster", f"cd {tmp_path}\n{script}"]
        environment = {"PATH": PATH, "HOME": str(tmp_path), **variables}
        return in_a_box("1g", *cluster, limit_secs=150, environment=environment)

    return run


def test_the_pages_batch_script_gives_the_bits_of_a_plain_one(on_the_cluster: Run, tmp_path: Path):
    section = PAGE.split("\n### Slurm without MPI\n")[1].split("\n### ")[0]
    page = "\n".join(re.findall(r"^\$ (.*)$", section, re.MULTILINE)).replace("CASE", f"{TOY} --out together")
    assert "srun" in page
    (tmp_path / "together.sh").write_text(f"#!/bin/bash -e\n{page}\n")
    (tmp_path / "alone.sh").write_text(f"#!/bin/bash -e\npycobre run {TOY} --out alone\n")
    told = on_the_cluster(f"""
        {MAKE_SECRET}
        for job in together alone; do sbatch -W -N 2 -n 4 -o $job.txt $job.sh || cat $job.txt; done
        grep -h ' thread' together.txt alone.txt
        diff -r -x manifest.json -x timing.parquet alone together && echo the same
    """)
    ranks = [line.strip() for line in told if "thread" in line]
    assert ranks[0].startswith("4 ranks (tcp)")
    assert ranks[1].startswith("1 rank ")
    assert told[-1] == "the same"


def test_tcp_keeps_its_promises_between_machines(on_the_cluster: Run):
    assert_kept(on_the_cluster(f"{OVER_TCP} srun -N 2 -n 4 {CONFORMANCE}"))


def test_mpi_keeps_its_promises_between_machines(on_the_cluster: Run, mpi: Installation):
    srun = f"srun -N 2 -n 4 --mpi={PROTOCOLS[mpi.name]}"
    assert_kept(on_the_cluster(f"{srun} {CONFORMANCE}", **mpi.environment))


def assert_kept(lines: list[str]) -> None:
    reports = [json.loads(line) for line in lines]
    assert {report["rank"] for report in reports} == {0, 1, 2, 3}
    assert not [report for report in reports if report["trouble"]]


def test_a_step_of_one_needs_no_mpi_and_a_larger_one_hears_what_it_needs(on_the_cluster: Run):
    told = on_the_cluster(
        """
        code='import pycobre.comm as c; print(c.create_communicator().backend)'
        srun -n 1 python -c "$code"
        srun -n 2 python -c "$code" 2>&1 | grep -c 'has started 2 ranks.*COBRE_TCP_COORDINATOR'
        """,
        MPI4PY_LIBMPI="/nowhere/libmpi.so",
    )
    assert told == ["local", "2"]


# What becomes of the others when one of them is killed.
FALL = """
import os, signal
from pycobre.comm import create_communicator
from pycobre.errors import CollectiveFailed

with create_communicator() as comm:
    comm.barrier()
    if comm.rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        comm.barrier()
    except CollectiveFailed as error:
        print(comm.rank, error.reason, *error.ranks, flush=True)
        raise
"""


def test_a_rank_killed_on_the_other_machine_is_lost_to_all(on_the_cluster: Run, tmp_path: Path):
    (tmp_path / "fall.py").write_text(FALL)
    told = on_the_cluster(f"{OVER_TCP} srun -N 2 -n 4 python fall.py || echo code $?")
    assert sorted(told) == ["0 lost 2", "1 lost 2", "3 lost 2", "code 137"]


def test_a_rank_of_mpi_that_is_killed_ends_the_job(on_the_cluster: Run, mpi: Installation, tmp_path: Path):
    (tmp_path / "fall.py").write_text(FALL)
    srun = f"srun -N 2 -n 4 --mpi={PROTOCOLS[mpi.name]}"
    *told, code = on_the_cluster(f"{srun} python fall.py || echo code $?", **mpi.environment)
    assert code.startswith("code ")
    assert set(told) <= {"0 lost 2", "1 lost 2", "3 lost 2"}
    # With Open MPI Slurm may end the job before. Else a neighbour tells, and the first to raise ends the job.
    assert told or mpi.name == "openmpi"


def test_a_step_that_is_cancelled_ends_in_order_and_keeps_its_policy(on_the_cluster: Run, tmp_path: Path):
    endless = 'training.stopping_rules=[{"type":"iteration_limit","limit":1000000}]'
    told = on_the_cluster(f"""
        {OVER_TCP}
        srun -J study -N 2 -n 4 pycobre run {TOY} --out out --set '{endless}' > told.txt 2>&1 &
        until grep -q '^ *20 ' told.txt; do sleep 0.1; done
        scancel -n study
        wait $! || echo code $?
    """)
    assert told == ["code 130"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["status"] == "interrupted"
    assert manifest["policy"]["iterations"] >= 20
