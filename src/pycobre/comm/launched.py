"""The rank's side of a launch: it ends with its launcher, and can tell it things."""

from __future__ import annotations

import os
import threading

from pycobre._native import shm as native

LAUNCHER_VARIABLE = "_PYCOBRE_LAUNCHER"
"""``process:descriptor:inode:descriptor:inode``: the launcher, the pipe that ends with it, that for lines."""

_lock = threading.Lock()
_pipe: LauncherPipe | None = None
_asked = False


class LauncherPipe:
    """Lines to the launcher, from any thread; each arrives whole."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, line: bytes) -> None:
        """Send one line, without an end of line within; waits while the launcher is behind.

        Raises
        ------
        BrokenPipeError
            The launcher is gone, and this rank soon will be.
        """
        # Natively: a signal's handler that runs amid a write in Python may send too, or raise.
        native.send_whole(self._descriptor, line.rstrip(b"\n") + b"\n")


def follow_launcher() -> bool:
    """Whether a launcher of ours started this process; if so, this process ends when the launcher does.

    A rank calls it first thing (:func:`~pycobre.comm.create_communicator` does too). The watch is a native
    thread: it works while the interpreter is busy in a solver. It sends SIGTERM, and a second later SIGKILL.
    """
    return launcher_pipe() is not None


def launcher_pipe() -> LauncherPipe | None:
    """Where this rank's lines to its launcher go, ``None`` when no launcher of ours started it."""
    global _asked, _pipe
    with _lock:
        if not _asked:
            _asked = True
            _pipe = _adopt(os.environ.get(LAUNCHER_VARIABLE, ""))
        return _pipe


def _adopt(value: str) -> LauncherPipe | None:
    try:
        launcher, watch, watch_inode, messages, messages_inode = map(int, value.split(":"))
        # A process that a rank has started inherits the variable, but not the pipes.
        if os.fstat(watch).st_ino != watch_inode or os.fstat(messages).st_ino != messages_inode:
            return None
        os.set_inheritable(watch, False)
        os.set_inheritable(messages, False)
    except (ValueError, OSError):
        return None
    native.watch_launcher(watch, launcher)
    return LauncherPipe(messages)
