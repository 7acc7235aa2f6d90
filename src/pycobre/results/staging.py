"""The directory beside the output where results grow until they are whole.

Its name is ``.<output>.partial-<host>-<pid>-<random>``. The process holds a lock on it as long as it
lives: one that nobody holds was left behind by a process that was killed, and the next run of the same
output on that host removes it. (A process number alone does not tell: in a container it is always the same.)
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
import socket
from pathlib import Path

from pycobre.errors import ResultsError
from pycobre.results.durable import explained, replace_directory, sync_file, sync_tree
from pycobre.results.manifest import MANIFEST, manifest_of


class Staging:
    """A place to write to that becomes *target* all at once.

    Parameters
    ----------
    target
        The output directory; its parents are made.
    force
        Whether results of ours may stand there already.

    Raises
    ------
    ResultsError
        The target can't be written to, or holds something that may not be replaced.
    """

    def __init__(self, target: Path, *, force: bool) -> None:
        self.target = target.resolve()
        self.force = force
        if not self.target.name or self.target.is_mount():
            raise ResultsError(f"{target} can't be replaced as a whole: name a directory inside it")
        self._refuse_what_must_stay()
        with explained("create", self.target):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self._clear_leftovers()
            self.path, self._lock = self._create()

    def deliver(self, *, beside_whole: bool = False) -> Path:
        """Make the directory the target, and return where it is now.

        Parameters
        ----------
        beside_whole
            What was written is not whole: if the target is, leave it, and deliver as ``<output>.failed``.

        Raises
        ------
        ResultsError
            Something was put in the target's place meanwhile, or the system refuses. What was written
            stays, as ``<output>.undelivered-…``.
        """
        target = self.target
        if beside_whole and (manifest_of(target) or {}).get("status") == "complete":
            target = target.with_name(target.name + ".failed")
        try:
            with explained("deliver", target):
                sync_tree(self.path)
                self._refuse_what_must_stay(target)
                replace_directory(self.path, target, self._sibling("replaced"))
                sync_file(target.parent)
        except ResultsError as error:
            error.add_note(f"the results are in {self.keep()}")
            raise
        os.close(self._lock)
        return target

    def keep(self) -> Path:
        """Give up delivery, but leave what was written where the next run won't remove it; that place."""
        kept = self.target.with_name(f"{self.target.name}.undelivered-{secrets.token_hex(4)}")
        try:
            with explained("rename", self.path):
                self.path.rename(kept)
        finally:
            os.close(self._lock)
        return kept

    def abandon(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def _refuse_what_must_stay(self, target: Path | None = None) -> None:
        target, beside = target or self.target, target is not None and target != self.target
        with explained("read", target):
            if not target.exists() or (target.is_dir() and not any(target.iterdir())):
                return
        if not target.is_dir():
            raise ResultsError(f"{target} is a file: name a directory for the results")
        if manifest_of(target) is None:
            raise ResultsError(
                f"{target} is not empty and holds no results of pycobre (no {MANIFEST} of ours):"
                " it is left alone, also by force; name another directory"
            )
        if not (self.force or beside):
            raise ResultsError(f"{target} already holds results: name another directory, or use force")

    def _sibling(self, kind: str) -> Path:
        name = f".{self.target.name}.{kind}-{_host()}-{os.getpid()}-{secrets.token_hex(4)}"
        return self.target.with_name(name)

    def _create(self) -> tuple[Path, int]:
        while True:
            path = self._sibling("partial")
            path.mkdir()
            lock = os.open(path, os.O_RDONLY)
            # Between the two lines above another run could have taken the directory for a leftover.
            if _locked(lock) and path.exists():
                return path, lock
            os.close(lock)

    def _clear_leftovers(self) -> None:
        kinds, host = "(partial|replaced)", re.escape(_host())
        own = re.compile(re.escape(f".{self.target.name}.") + rf"{kinds}-{host}-(\d+)-[0-9a-f]{{8}}")
        for path in sorted(self.target.parent.iterdir()):
            match = own.fullmatch(path.name)
            if match and match[1] == "replaced" and not self.target.exists():
                path.rename(self.target)  # killed between the two renames of a replacement
                self._refuse_what_must_stay()
            elif match:
                _remove_if_left(path, int(match[2]))


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9.]", "-", socket.gethostname())


def _locked(descriptor: int) -> bool:
    """Whether the lock on a directory is ours now; also where the file system has no such locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN)
    return True


def _remove_if_left(path: Path, pid: int) -> None:
    """Remove *path* unless a living process holds it; locked meanwhile, so that nobody moves in."""
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        left = True
    except OSError as error:
        # Held, so alive; or no locks on this file system, and the process number has to do.
        left = error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN) and not Path(f"/proc/{pid}").exists()
    try:
        if left:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
