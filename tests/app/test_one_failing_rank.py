"""An exception in one rank's stage problem ends every way of running with its reason; nobody waits for it.

Ways under MPI's launchers are in ``tests/comm/mpi/test_ending.py``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FALLING = {"PYTHONPATH": str(Path(__file__).parents[1] / "faults" / "falling_solver")}
MODULE = (sys.executable, "-m", "pycobre.app.cli")
SCRIPT = Path(sys.executable).with_name("pycobre")
PYTHON = (
    "import pycobre, sys; pycobre.train(sys.argv[1], num_workers=2, output=sys.argv[2], backend=sys.argv[3])"
)
WAYS = {
    "console script": lambda toy, out: [SCRIPT, "run", toy, "--out", out, "--ranks", 2],
    "module over tcp": lambda toy, out: [*MODULE, "run", toy, "--out", out, "--ranks", 2, "--backend", "tcp"],
    "Python function": lambda toy, out: [sys.executable, "-c", PYTHON, toy, out, "shm"],
    "Python function over tcp": lambda toy, out: [sys.executable, "-c", PYTHON, toy, out, "tcp"],
    "launch": lambda toy, out: [*MODULE, "launch", "-n", 2, *MODULE, "run", toy, "--out", out],
}


@pytest.mark.parametrize("way", WAYS)
def test_one_falling_rank_ends_the_run_with_its_reason(clean_environment, toy, tmp_path, way):
    process = subprocess.Popen(
        list(map(str, WAYS[way](toy, tmp_path / "out"))),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**clean_environment, **FALLING},
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1, errors
    assert "the solver has fallen" in errors
    assert "in fall" in errors  # rank 1's own traceback
    with pytest.raises(ProcessLookupError):  # nothing of it is left
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("launcher", ["shm", "torchrun"])
def test_one_falling_rank_of_another_launcher_ends_the_others(ranks_by_hand, toy, tmp_path, launcher):
    told, codes = ranks_by_hand(launcher, "run", toy, "--out", tmp_path / "out", **FALLING)
    assert codes == [5, 1], told
    assert "rank 1 aborted" in told[0][1]
    assert "the solver has fallen" in told[0][1]
    assert "in fall" in told[1][1]
