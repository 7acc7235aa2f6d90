"""How ranks talk that the command line and Python start."""

from __future__ import annotations

from typing import Literal

from pycobre.comm import BackendKind, available_backends
from pycobre.errors import BackendNotAvailable, InitializationFailed, InvalidBackend


def backend_of(name: str, ranks: int) -> Literal["shm", "tcp"]:
    """How *ranks* that are started here talk when *name* is asked for.

    Raises
    ------
    BackendError
        There is no such backend here, or it starts no ranks.
    """
    try:
        kind = BackendKind(name.strip().lower())
    except ValueError:
        names = [kind.value for kind in BackendKind if kind is not BackendKind.AUTO]
        raise InvalidBackend(name, names) from None
    if kind is BackendKind.MPI:
        raise InitializationFailed(
            "mpi",
            f"its own launcher starts the ranks: `mpiexec -n {ranks} pycobre run CASE`, without --ranks",
        )
    if kind is BackendKind.LOCAL and ranks > 1:
        raise InitializationFailed("local", f"it has one rank, not {ranks}; use shm or tcp")
    here = available_backends()
    if kind is BackendKind.SHM and "shm" not in here:
        raise BackendNotAvailable("shm", here, "shared memory works on Linux; use tcp")
    return "shm" if kind is not BackendKind.TCP and "shm" in here else "tcp"
