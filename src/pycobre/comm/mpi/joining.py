"""The first meeting of a job's ranks: with a limit, and asleep, neither of which MPI's own calls offer."""

from __future__ import annotations

from time import monotonic

from pycobre.comm.mpi import ending
from pycobre.comm.mpi.library import MPI
from pycobre.comm.mpi.notices import Finding
from pycobre.comm.mpi.waiting import complete
from pycobre.errors import InitializationFailed

JOIN_SECS = 60.0
"""As over shm and tcp, where no limit is set."""


def await_all(limit: float | None) -> None:
    """Return once all ranks of the job make a communicator; after a failure this process ends the job.

    Raises
    ------
    InitializationFailed
        Not all of them came in time.
    """
    world = MPI.COMM_WORLD
    seconds = JOIN_SECS if limit is None else limit
    until = monotonic() + seconds

    def look() -> None:
        if monotonic() > until:
            raise InitializationFailed(
                "mpi", f"not all {world.Get_size()} ranks of the job made a communicator within {seconds:g} s"
            )

    request = world.Ibarrier()
    try:
        complete(request.Test, look)
    except BaseException as error:
        ending.watch(_Alone(world.Get_rank(), request, error))
        raise


class _Alone:
    """What a rank has of a group that did not come to be, with the request that MPI still holds."""

    is_open = True

    def __init__(self, rank: int, request: MPI.Request, error: BaseException) -> None:
        self.rank = rank
        self.exit_code: int | None = ending.exit_code_of(error)
        self.outcome: Finding | None = Finding(0, "timeout", (rank,), str(error))
        self._request = request
