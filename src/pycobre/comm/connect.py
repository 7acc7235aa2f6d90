"""Which backend a rank uses: what it was told, what it finds set, what is installed; in that order."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pycobre.comm.base import Backend, BackendKind
from pycobre.comm.local import LocalCommunicator
from pycobre.errors import BackendNotAvailable, InvalidBackend

# A launcher sets one of these in every rank that it starts ...
_MPI_RANKS = ("PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALRANKID")
# ... and says by these how many there are.
_MPI_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")


def available_backends() -> tuple[str, ...]:
    """Names of the backends that can be had here, the plainest last."""
    return tuple(kind.value for kind in BackendKind if kind is not BackendKind.AUTO and not _obstacle(kind))


def create_communicator(kind: BackendKind | str | None = None) -> Backend:
    """The communicator of this process, of the concrete class of its backend.

    Without *kind* the variable ``COBRE_COMM_BACKEND`` decides, and without that what the environment shows:
    coordinates of ours (``COBRE_TCP_COORDINATOR``, ``COBRE_SHM_NAME``) before a launcher's variables, and
    ``local`` when there is neither.

    Raises
    ------
    InvalidBackend
        No backend has that name.
    BackendNotAvailable
        It is not installed or not for this system; also when a launcher has started several ranks that no
        backend here can join: each of them would do the whole work alone.
    MissingConfiguration, InitializationFailed
        The backend can't start.
    """
    chosen = _named(kind if kind is not None else os.environ.get("COBRE_COMM_BACKEND", "").strip() or "auto")
    if chosen is BackendKind.AUTO:
        chosen = _detected(os.environ)
    obstacle = _obstacle(chosen)
    if obstacle:
        raise BackendNotAvailable(chosen.value, available_backends(), obstacle)
    if chosen is BackendKind.SHM:
        from pycobre.comm.launched import follow_launcher
        from pycobre.comm.shm import ShmCommunicator

        follow_launcher()
        return ShmCommunicator()
    return LocalCommunicator()


def _named(name: BackendKind | str) -> BackendKind:
    if isinstance(name, BackendKind):
        return name
    try:
        return BackendKind(name.lower())
    except ValueError:
        names = [kind.value for kind in BackendKind if kind is not BackendKind.AUTO]
        raise InvalidBackend(name, names) from None


def _detected(environment: Mapping[str, str]) -> BackendKind:
    if environment.get("COBRE_TCP_COORDINATOR"):
        return BackendKind.TCP
    if environment.get("COBRE_SHM_NAME"):
        return BackendKind.SHM
    ranks = _launched_ranks(environment)
    if ranks is None:
        return BackendKind.LOCAL
    obstacle = _obstacle(BackendKind.MPI)
    if not obstacle:
        return BackendKind.MPI
    if ranks > 1:
        raise BackendNotAvailable(
            "mpi",
            available_backends(),
            f"{ranks} ranks were started by a launcher, which only mpi can join, and {obstacle}; set"
            " COBRE_COMM_BACKEND=local to run each of them alone",
        )
    return BackendKind.LOCAL


def _launched_ranks(environment: Mapping[str, str]) -> int | None:
    """How many ranks an MPI launcher has started, ``None`` without one, 1 where it does not say."""
    # A plain batch script has SLURM_PROCID too, and would not be a rank; only a job step counts its tasks.
    tasks = environment.get("SLURM_STEP_NUM_TASKS") if "SLURM_PROCID" in environment else None
    if tasks is None and not any(variable in environment for variable in _MPI_RANKS):
        return None
    sizes = [tasks, *(environment.get(variable) for variable in _MPI_SIZES)]
    return max((int(size) for size in sizes if size and size.isdecimal()), default=1)


def _obstacle(kind: BackendKind) -> str:
    """Why *kind* can't be had here, or an empty text."""
    if kind is BackendKind.MPI:
        return "it is not part of this version"
    if kind is BackendKind.TCP:
        return "it is not part of this version"
    if kind is BackendKind.SHM and not sys.platform.startswith("linux"):
        return f"shared memory works on Linux, this is {sys.platform}; use tcp"
    return ""
