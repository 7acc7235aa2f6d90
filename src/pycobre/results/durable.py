"""Files and directories that are there whole or not at all, also when the machine stops in between."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pycobre.errors import ResultsError


@contextmanager
def explained(doing: str, path: Path) -> Iterator[None]:
    """Turn what the system says about *path* (disk full, not permitted) into our own error.

    Raises
    ------
    ResultsError
        In place of any other :class:`OSError`, with its ``errno``.
    """
    try:
        yield
    except ResultsError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        ours = ResultsError(f"can't {doing} {path}: {reason}")
        ours.errno = error.errno
        raise ours from error


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Another name to write to, which becomes *path* at the end; on an error *path* stays what it was."""
    fresh = path.with_name(path.name + ".new")
    with explained("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield fresh
            sync_file(fresh)
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise


def write_text(path: Path, text: str) -> None:
    """Write *text* to *path*, whole or not at all."""
    with whole_file(path) as fresh:
        fresh.write_text(text, encoding="utf-8")


def replace_directory(fresh: Path, target: Path, aside: Path) -> None:
    """Give directory *fresh* the name *target*; what stood there is moved *aside* first, then removed.

    Fails with *target* as it was.
    """
    if not target.exists():
        fresh.rename(target)
        return
    target.rename(aside)
    try:
        fresh.rename(target)
    except OSError:
        aside.rename(target)
        raise
    sync_file(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def sync_tree(directory: Path) -> None:
    """Make everything below *directory*, and the names in it, survive a power cut."""
    for folder, _, names in os.walk(directory, topdown=False):
        for name in names:
            sync_file(Path(folder) / name)
        sync_file(Path(folder))


def sync_file(path: Path) -> None:
    """Make a file's content, or a directory's names, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
