"""mpi4py's own tests of the collectives that we have, on our communicators.

They are unpacked from the source distribution of the installed version, fetched once into the user's cache.
Its datatype handles need some MPI library; no MPI launcher takes part.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from importlib.metadata import version
from pathlib import Path

import pytest

from pycobre.comm import launch

BACKENDS = ("shm", "tcp")
RANKS = (1, 2, 3, 4)
LIMIT_SECS = 60
ROOM = Path(__file__).parents[1]  # a package named comm may be installed too
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pycobre-tests"


def fetched(name: str, *command: str) -> Path:
    """The folder that *command* of pip fills once for all checkouts of this user; ``{}`` stands for it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    place = CACHE / name
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            argv = [sys.executable, "-m", "pip", *(word.format(place) for word in command)]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                pytest.fail(f"needs the network once, for `{' '.join(argv)}`, which failed:\n{done.stderr}")
            (place / "complete").touch()
    return place


@pytest.fixture(scope="module")
def mpi_library() -> str:
    place = fetched("mpich", "install", "--quiet", "--no-deps", "--prefix", "{}", "mpich")
    return str(place / "lib" / "libmpi.so.12")


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of mpi4py's tests, of the version that is installed: others call what that lacks."""
    name = f"mpi4py-{version('mpi4py')}"
    requirement = name.replace("-", "==")
    archives = fetched(
        name, "download", "--quiet", "--no-deps", "--no-binary=mpi4py", "-d", "{}", requirement
    )
    folder = tmp_path_factory.mktemp("mpi4py")
    with tarfile.open(archives / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / name / "test"


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_tests_of_mpi4py_pass(backend: str, ranks: int, suite: Path, mpi_library: str):
    environment = {**os.environ, "PYTHONPATH": str(ROOM), "MPI4PY_LIBMPI": mpi_library}
    argv = [sys.executable, "-m", "mpi4py_suite.rank", str(suite)]
    with launch(argv, ranks, backend=backend, environment=environment, timeout_secs=20) as job:
        # A rank that raises leaves the others in a collective that it never joins.
        watchdog = threading.Timer(LIMIT_SECS, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            told = {rank: json.loads(line) for rank, line in job}
        finally:
            watchdog.cancel()
    assert told == {rank: {"ran": 9, "skipped": 0, "bad": []} for rank in range(ranks)}
