"""How a process ends that has not left its group in order: with a word why, and not waiting for anybody.

MPI's own end waits for all ranks. A rank that ended by an exception would wait there for ranks that wait for
it, for ever.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from typing import Protocol

from pycobre.comm.mpi.group import close_all
from pycobre.comm.mpi.library import MPI
from pycobre.comm.mpi.notices import Finding
from pycobre.comm.mpi.window import end_all
from pycobre.errors import CommError

_FLUSH_SECS = 0.1  # a launcher that is told to end the job may drop what it has not read
_GRACE_SECS = 0.4  # whoever is to blame may say so alone, and end the job with its own exit code


class Group(Protocol):
    """What is asked of a group at the end of its process."""

    rank: int
    exit_code: int | None

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""

    @property
    def outcome(self) -> Finding | None:
        """Why it failed, ``None`` if it did not."""


_groups: list[Group] = []


def watch(group: Group) -> None:
    """Hold this process to closing *group* in order: otherwise its end is the end of the job."""
    if not _groups:
        atexit.register(_end, os.getpid())
    _groups.append(group)


def exit_code_of(error: BaseException) -> int:
    """What the process ends with when *error* ends it."""
    if isinstance(error, KeyboardInterrupt):
        return 130
    code = getattr(error, "code" if isinstance(error, SystemExit) else "exit_code", 1)
    return code if isinstance(code, int) and code > 0 else 1


def _end(process: int) -> None:
    if os.getpid() != process or MPI.Is_finalized():
        return
    for group in _groups:
        if group.outcome is not None or group.is_open:
            _abort(group)
    # MPI's own end waits for all ranks too, but burns a processor while it does.
    close_all()
    end_all()


def _abort(group: Group) -> None:
    # Set by whoever has told of the exception that ended the program: the interpreter, or our command line.
    error = getattr(sys, "last_value", None)
    outcome = group.outcome
    code = group.exit_code if error is None else exit_code_of(error)
    if code is None:
        code = 1 if outcome is None else CommError.exit_code
    if error is not None:
        reason = f"ended by {type(error).__name__}"
    elif outcome is not None:
        reason = f"{outcome.reason}: {outcome.message}"
    else:
        reason = "ended without close()"
    if outcome is not None and group.rank not in outcome.ranks:
        time.sleep(_GRACE_SECS)
    sys.stdout.flush()
    sys.stderr.write(f"pycobre: rank {group.rank} ends the MPI job: {reason}\n")
    sys.stderr.flush()
    time.sleep(_FLUSH_SECS)
    MPI.COMM_WORLD.Abort(code)
