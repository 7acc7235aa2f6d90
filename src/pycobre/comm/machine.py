"""Which ranks share a machine, and with it its cores; and what the kernel says there of their processes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pycobre.comm.base import Communicator


def this_machine() -> str:
    """32 digits, the same in all processes that see each other and each other's abstract sockets."""
    try:
        boot = int(Path("/proc/sys/kernel/random/boot_id").read_text().replace("-", ""), 16)
        processes, network = (Path(f"/proc/self/ns/{kind}").stat().st_ino for kind in ("pid", "net"))
    except OSError:
        return os.urandom(16).hex()  # where it can't be told, every rank is on a machine of its own
    return f"{boot ^ processes ^ network << 64:032x}"


def process_seen(pid: int) -> tuple[str, int] | None:
    """The kernel's letter for a process's state, and when it was born; empty and 0 if there is none.

    ``None`` where that can't be told.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    except OSError:  # no file to be had, for one
        return None
    # The name in parentheses may hold anything, a parenthesis too: the third field follows the last one.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def ranks_here(comm: Communicator) -> int:
    """How many ranks of *comm* are on this rank's machine, whether or not they share memory. Collective."""
    mine = np.frombuffer(bytes.fromhex(this_machine()), dtype=np.uint8)
    everyone = np.empty((comm.size, len(mine)), dtype=np.uint8)
    counts = [len(mine)] * comm.size
    comm.allgatherv(mine, everyone.reshape(-1), counts, [rank * len(mine) for rank in range(comm.size)])
    return int((everyone == mine).all(axis=1).sum())
