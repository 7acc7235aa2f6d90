"""MPICH and Open MPI as they come from PyPI, each in a folder of its own, and jobs under their launchers."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True, eq=False)
class Installation:
    """One MPI: its launcher, and how mpi4py finds its library."""

    name: str
    launcher: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def run(
        self, ranks: int, argv: list[str], *, limit_secs: float = 60, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """A job that has ended; one that does not end is killed, with all that it has started."""
        with subprocess.Popen(
            [*self.launcher, "-n", str(ranks), sys.executable, *argv],
            env={**os.environ, **self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as job:
            try:
                output, errors = job.communicate(timeout=limit_secs)
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                output, errors = job.communicate()
                pytest.fail(f"no end within {limit_secs} s\n{output}\n{errors}")
        return subprocess.CompletedProcess(job.args, job.returncode, output, errors)


def _install(name: str, library: str) -> Path:
    """The folder of the package, installed once for all checkouts of this user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pycobre-tests"
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--prefix", str(place)]
            done = subprocess.run([*command, name], capture_output=True, text=True, timeout=300)
            if done.returncode or not (place / "lib" / library).exists():
                pytest.fail(f"the MPI tests need `pip install {name}` once, which failed:\n{done.stderr}")
            (place / "complete").touch()
    return place


@pytest.fixture(
    scope="session",
    params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("mpich", "openmpi")],
)
def mpi(request: pytest.FixtureRequest) -> Iterator[Installation]:
    """Each of the two."""
    if request.param == "mpich":
        before = set(SHARED_MEMORY.glob("mpich_shm_*"))
        place = _install("mpich", "libmpi.so.12")
        yield Installation(
            "mpich",
            (str(place / "bin" / "mpiexec"),),
            {"MPI4PY_LIBMPI": str(place / "lib" / "libmpi.so.12")},
        )
        # It leaves one behind of every job that is aborted; ours are gone by now.
        for segment in set(SHARED_MEMORY.glob("mpich_shm_*")) - before:
            segment.unlink(missing_ok=True)
    else:
        place = _install("openmpi", "libmpi.so.40")
        yield Installation(
            "openmpi",
            (str(place / "bin" / "mpiexec"), "--oversubscribe"),
            {
                "MPI4PY_LIBMPI": str(place / "lib" / "libmpi.so.40"),
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_osc": "sm",  # the wheel's other one complains at every window
            },
        )


@pytest.fixture
def run_ranks(mpi: Installation, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program of a few lines on some ranks; it finds ``MpiCommunicator`` imported."""

    def run(ranks: int, program: str, **options: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "program.py"
        script.write_text("from pycobre.comm.mpi import MpiCommunicator\n" + program)
        return mpi.run(ranks, [str(script)], **options)

    return run
