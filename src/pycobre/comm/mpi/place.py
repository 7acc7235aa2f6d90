"""Where the ranks of a group are: which node, which process."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from pycobre.comm.machine import process_seen, this_machine
from pycobre.comm.mpi.library import MPI

_PROCESS = struct.Struct("<qq16s")  # number, birth, -1 where that can't be told, and machine


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
        here, seen = bytes.fromhex(this_machine()), process_seen(os.getpid())
        mine = _PROCESS.pack(os.getpid(), -1 if seen is None else seen[1], here)
        everyone = bytearray(len(mine) * comm.Get_size())
        comm.Allgather([mine, MPI.BYTE], [everyone, len(mine), MPI.BYTE])
        # Number and birth by rank, of the others on this machine.
        self._processes = {
            rank: (pid, born)
            for rank, (pid, born, where) in enumerate(_PROCESS.iter_unpack(everyone))
            if where == here and rank != comm.Get_rank()
        }

    def stopped_among(self, ranks: Sequence[int]) -> list[int]:
        """Those of *ranks*, other ones of this machine, whose process is suspended."""
        return [rank for rank in ranks if self._state_of(rank) in ("T", "t")]

    def gone_among(self, ranks: Sequence[int]) -> list[int]:
        """Those of *ranks*, other ones of this machine, whose process has ended."""
        return [rank for rank in ranks if self._state_of(rank) in ("", "Z", "X")]

    def _state_of(self, rank: int) -> str | None:
        """The kernel's letter for another rank, empty if it has ended; ``None`` where that can't be told."""
        if rank not in self._processes:
            return None
        process, born = self._processes[rank]
        seen = process_seen(process)
        if seen is None or born < 0:
            return None
        return seen[0] if seen[1] == born else ""
