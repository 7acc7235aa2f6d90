"""Where the ranks of a group are: which node, which process."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pycobre.comm.mpi.library import MPI


def node_of(comm: MPI.Intracomm) -> MPI.Intracomm:
    """The ranks of *comm* that share this one's memory. Collective."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.Get_rank())
    if not isinstance(node, MPI.Intracomm):
        raise TypeError("MPI made something else than a group of ranks")
    node.Set_errhandler(MPI.ERRORS_RETURN)
    return node


class Place:
    """A rank's node, and everyone's process. To make one is collective.

    Attributes
    ----------
    is_leader
        Whether this rank is the first of its node.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        node = node_of(comm)
        self.is_leader = node.Get_rank() == 0
        node.Free()
        born = (_seen(os.getpid()) or ("", -1))[1]
        mine = np.array([os.getpid(), born, _processes_known_by()], np.int64)
        everyone = np.empty((comm.Get_size(), len(mine)), np.int64)
        comm.Allgather([mine, MPI.BYTE], [everyone, mine.nbytes, MPI.BYTE])
        # Number and birth of those on this machine, by rank.
        here = np.flatnonzero(everyone[:, 2] == mine[2]).tolist()
        self._processes: dict[int, tuple[int, int]] = {
            rank: tuple(everyone[rank, :2].tolist()) for rank in here
        }

    def stopped_among(self, ranks: Sequence[int]) -> list[int]:
        """Those of *ranks* on this machine whose process is suspended."""
        return [rank for rank in ranks if self._state_of(rank) in ("T", "t")]

    def gone_among(self, ranks: Sequence[int]) -> list[int]:
        """Those of *ranks* on this machine whose process has ended."""
        return [rank for rank in ranks if self._state_of(rank) in ("", "Z", "X")]

    def _state_of(self, rank: int) -> str | None:
        """The kernel's letter for it, empty if it has ended; ``None`` where that can't be told."""
        if rank not in self._processes:
            return None
        process, born = self._processes[rank]
        seen = _seen(process)
        if seen is None or born < 0:
            return None
        return seen[0] if seen[1] == born else ""


def _processes_known_by() -> int:
    """A number that is the same where a process number means the same process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return zlib.crc32((boot + str(Path("/proc/self/ns/pid").readlink())).encode())
    except OSError:
        return -os.getpid()  # nobody else's


def _seen(process: int) -> tuple[str, int] | None:
    """The kernel's letter for a process, and when it was born; empty and 0 if there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    except OSError:  # no file to be had, for one
        return None
    fields = text.rpartition(")")[2].split()  # from the third on: a name may hold anything
    return fields[0], int(fields[19])
