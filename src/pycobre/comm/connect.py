"""Which backend a rank uses: what it was told, what it finds set, what is installed; in that order."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence

from pycobre.comm.base import Backend, BackendKind
from pycobre.comm.launched import follow_launcher
from pycobre.comm.local import LocalCommunicator
from pycobre.errors import BackendNotAvailable, InitializationFailed, InvalidBackend

# Any of them, not all: a rank that lacks one is told so, instead of doing the whole work alone while the
# others wait for it. Rank 0 needs no coordinator.
_TCP_COORDINATES = ("COBRE_TCP_COORDINATOR", "COBRE_TCP_RANK", "COBRE_TCP_SIZE")
_SHM_COORDINATES = ("COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE")

# An MPI launcher sets one of these in every rank that it starts ...
_MPI_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID", "PMIX_RANK")
# ... and says by these how many there are.
_MPI_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")

# Only all of them are torchrun: the first two are names that anything may use.
_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")


def available_backends() -> tuple[str, ...]:
    """Names of the backends that can be had here, the plainest last.

    ``mpi`` is among them when mpi4py is installed; whether that finds an MPI library shows only when it is
    used, since looking for it would load one.
    """
    return tuple(kind.value for kind in BackendKind if kind is not BackendKind.AUTO and not _obstacle(kind))


def create_communicator(kind: BackendKind | str | None = None) -> Backend:
    """The communicator of this process, of the concrete class of its backend.

    Without *kind* the variable ``COBRE_COMM_BACKEND`` decides, and without that what the environment shows,
    the first of these that is set:

    ====================================================================================  =========
    any of ``COBRE_TCP_COORDINATOR``, ``_RANK``, ``_SIZE``                                ``tcp``
    any of ``COBRE_SHM_NAME``, ``_RANK``, ``_SIZE``                                       ``shm``
    all of ``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR``, ``MASTER_PORT``,
    ``TORCHELASTIC_RUN_ID``                                                               ``tcp``
    any of ``PMI_RANK``, ``PMI_SIZE``, ``OMPI_COMM_WORLD_RANK``,
    ``OMPI_COMM_WORLD_SIZE``, ``MPI_LOCALRANKID``, ``MPI_LOCALNRANKS``, ``PMIX_RANK``;
    ``SLURM_PROCID`` with ``SLURM_STEP_NUM_TASKS``, which a plain batch script lacks      ``mpi``
    nothing                                                                               ``local``
    ====================================================================================  =========

    The innermost wins: a group of ours, or torchrun's, started within a rank of another launcher is its own.

    Raises
    ------
    InvalidBackend
        No backend has that name.
    BackendNotAvailable
        It is not installed or not for this system; also when a launcher has started several ranks that no
        backend here can join: each of them would do the whole work alone.
    MissingConfiguration, InitializationFailed
        The backend can't start; also when a launcher has started several ranks and MPI knows of one.
    """
    chosen = _named(kind if kind is not None else os.environ.get("COBRE_COMM_BACKEND", ""))
    if chosen is BackendKind.AUTO:
        chosen = _detected(os.environ)
    obstacle = _obstacle(chosen)
    if obstacle:
        raise BackendNotAvailable(chosen.value, available_backends(), obstacle)
    follow_launcher()
    # Imported when chosen: shm loads native code, and mpi a library that may not even be there.
    if chosen is BackendKind.SHM:
        from pycobre.comm.shm import ShmCommunicator

        return ShmCommunicator()
    if chosen is BackendKind.TCP:
        from pycobre.comm.tcp.communicator import TcpCommunicator

        return TcpCommunicator()
    if chosen is BackendKind.MPI:
        from pycobre.comm.mpi import MpiCommunicator

        return _not_alone(MpiCommunicator(), os.environ)
    return LocalCommunicator()


def _named(name: BackendKind | str) -> BackendKind:
    if isinstance(name, BackendKind):
        return name
    try:
        return BackendKind(name.strip().lower() or "auto")
    except ValueError:
        names = [kind.value for kind in BackendKind if kind is not BackendKind.AUTO]
        raise InvalidBackend(name, names) from None


def _detected(environment: Mapping[str, str]) -> BackendKind:
    if _count_set(environment, _TCP_COORDINATES):
        return BackendKind.TCP
    if _count_set(environment, _SHM_COORDINATES):
        return BackendKind.SHM
    if _count_set(environment, _TORCHRUN) == len(_TORCHRUN):
        return BackendKind.TCP
    ranks = _launched_ranks(environment)
    if ranks is not None:
        obstacle = _obstacle(BackendKind.MPI) or _obstacle_to_loading_mpi()
        if not obstacle:
            return BackendKind.MPI
        if ranks != 1:
            raise BackendNotAvailable(
                "mpi",
                available_backends(),
                f"a launcher has started {ranks or 'several'} ranks, which only mpi can join, and {obstacle};"
                " or have them meet over tcp by COBRE_TCP_COORDINATOR, the host of rank 0; or set"
                " COBRE_COMM_BACKEND=local to run each of them alone",
            )
    return BackendKind.LOCAL


def _launched_ranks(environment: Mapping[str, str]) -> int | None:
    """How many ranks an MPI launcher has started: 0 where it does not say, ``None`` without one."""
    # A plain batch script has SLURM_PROCID too, and is no rank; only a job step counts its tasks.
    tasks = environment.get("SLURM_STEP_NUM_TASKS") if environment.get("SLURM_PROCID") else None
    if not tasks and not _count_set(environment, (*_MPI_RANKS, *_MPI_SIZES)):
        return None
    sizes = [tasks, *(environment.get(variable) for variable in _MPI_SIZES)]
    return max((int(size) for size in sizes if size and size.isdecimal()), default=0)


def _count_set(environment: Mapping[str, str], variables: Sequence[str]) -> int:
    """How many of *variables* have a value."""
    return sum(bool(environment.get(variable, "").strip()) for variable in variables)


def _not_alone(comm: Backend, environment: Mapping[str, str]) -> Backend:
    """*comm*, unless it is alone where a launcher has started several: MPI and launcher are no pair then."""
    ranks = _launched_ranks(environment) or 0
    if comm.size == 1 and ranks > 1:
        comm.close()
        raise InitializationFailed(
            "mpi",
            f"a launcher has started {ranks} ranks, but MPI knows of this one alone: the launcher belongs to"
            " another MPI than mpi4py has loaded. Use the mpiexec of that one, which `python -m mpi4py"
            " --mpi-lib-version` names, or with Slurm srun --mpi=pmix or --mpi=pmi2; or have them meet over"
            " tcp by COBRE_TCP_COORDINATOR, the host of rank 0; or set COBRE_COMM_BACKEND=local to run each"
            " of them alone",
        )
    return comm


def _obstacle(kind: BackendKind) -> str:
    """Why *kind* can't be had here, or an empty text."""
    if kind is BackendKind.MPI and importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed: `pip install 'pycobre[mpi]'`, and an MPI such as `pip install mpich`"
    if kind is BackendKind.SHM and not sys.platform.startswith("linux"):
        return f"shared memory works on Linux, this is {sys.platform}; use tcp"
    return ""


def _obstacle_to_loading_mpi() -> str:
    """Why mpi4py, which is there, can't be used, or an empty text; it is loaded, MPI does not begin."""
    try:
        importlib.import_module("pycobre.comm.mpi")
    except BackendNotAvailable as error:
        return error.reason
    return ""
