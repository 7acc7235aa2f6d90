"""Memory that processes share: sealed and nameless where a launcher or leader hands it on, or named."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from pycobre._native import shm as native
from pycobre.errors import InitializationFailed

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_FOLDER = Path("/dev/shm")


def usable_cpus() -> int:
    """Processors that this process may keep busy: its affinity, cut by the quotas of its control groups."""
    count = len(os.sched_getaffinity(0))
    for folder in _control_groups("cpu"):
        with contextlib.suppress(OSError, ValueError):
            if (folder / "cpu.max").exists():
                quota, period = (folder / "cpu.max").read_text().split()  # the quota may be the word "max"
            else:
                quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
            if int(quota) > 0:
                count = min(count, max(1, int(quota) // int(period)))
    return max(1, count)


def available_bytes() -> int:
    """Memory that can still be had: the machine's, cut by the limits of this process's control groups."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    for folder in _control_groups("memory"):
        for limit, usage in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            with contextlib.suppress(OSError, ValueError):  # not this kind of group, or the word "max"
                most = int(_text(folder / limit))
                statistics = dict(line.split() for line in _text(folder / "memory.stat").splitlines())
                # Cached files count as used but give way.
                used = int(_text(folder / usage)) - int(statistics.get("inactive_file", 0))
                found.append(max(0, most - used))
    return min(found, default=1 << 62)


def _control_groups(controller: str) -> list[Path]:
    """Folders of the groups that hold this process, of either version, the outermost included."""
    folders = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, place = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            root = Path("/sys/fs/cgroup") / (controller if controllers else "")
            inner = root / place.lstrip("/")
            folders += [inner, *(outer for outer in inner.parents if outer.is_relative_to(root))]
    return folders


def _text(path: Path) -> str:
    return path.read_text().strip()


def nameless_memory(label: str, size: int) -> int:
    """A descriptor of *size* zero bytes that has no name, can't be resized, and ends with its last user.

    Raises
    ------
    OSError
        The memory can't be had. It is all allocated here: a page that is missing later would be SIGBUS.
    """
    descriptor = os.memfd_create(label, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        if size:
            # Asking for too much would not fail here but have the kernel kill some process.
            if size > available_bytes():
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            os.posix_fallocate(descriptor, 0, size)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def group_segment(size: int, job: int) -> int:
    """A descriptor of the nameless segment of a group of *size* ranks, ready to be joined."""
    descriptor = nameless_memory("pycobre-group", native.segment_bytes(size))
    native.format_segment(descriptor, size, job, size > usable_cpus())
    return descriptor


@contextlib.contextmanager
def named_segment(name: str, rank: int, size: int, deadline: float) -> Iterator[int]:
    """The descriptor of the segment *name*: made by rank 0, found by the others until *deadline*.

    The name goes as soon as the block of any rank has ended well: by then all have joined. It also goes when
    rank 0 fails, or is found dead.
    """
    path = _FOLDER / name.removeprefix("/")
    if "/" in path.name or path.parent != _FOLDER or path.name in ("", ".", ".."):
        raise InitializationFailed("shm", f"COBRE_SHM_NAME={name!r} is not a plain name")
    if len(os.fsencode(path.name)) > 200:
        raise InitializationFailed("shm", "COBRE_SHM_NAME is longer than 200 bytes")
    descriptor = _make(path, size) if rank == 0 else _find(path, size, deadline)
    try:
        yield descriptor
    except BaseException:
        # A rank that was refused must not take the name from those that are still to come.
        if rank == 0 or not _owner_alive(descriptor):
            _unlink(path, descriptor)
        raise
    else:
        _unlink(path, descriptor)
    finally:
        os.close(descriptor)


def _make(path: Path, size: int) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError:
        raise InitializationFailed("shm", _who_has(path)) from None
    except OSError as error:
        raise InitializationFailed("shm", f"{path} can't be made: {error.strerror}") from None
    try:
        # Held as long as this process lives: whoever gets it knows that the segment is left over.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.fchmod(descriptor, 0o600)
        os.posix_fallocate(descriptor, 0, native.segment_bytes(size))
        native.format_segment(descriptor, size, 0, size > usable_cpus())
    except OSError as error:
        _unlink(path, descriptor)
        os.close(descriptor)
        wanted = native.segment_bytes(size)
        raise InitializationFailed(
            "shm", f"{path} of {wanted} bytes can't be had: {error.strerror}"
        ) from None
    return descriptor


def _who_has(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return f"{path} exists already and is not ours; choose another COBRE_SHM_NAME"
    try:
        if not _owner_alive(descriptor):
            return f"{path} is a stale segment of a job that died; remove it or choose another COBRE_SHM_NAME"
        return f"{path} is in use by another job, or by a second rank 0; choose another COBRE_SHM_NAME"
    finally:
        os.close(descriptor)


def _owner_alive(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _find(path: Path, size: int, deadline: float) -> int:
    while True:
        problem = f"rank 0 has not made {path}"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise InitializationFailed("shm", f"{path} can't be opened: {error.strerror}") from None
        else:
            try:
                _check_owner(path, descriptor)
                problem = f"rank 0 has not finished making {path}"
                if _is_ready(descriptor):
                    if not _owner_alive(descriptor):
                        raise InitializationFailed("shm", f"{path} is a stale segment: its rank 0 is gone")
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        if time.monotonic() > deadline:
            raise InitializationFailed("shm", f"{problem} in time")
        time.sleep(0.005)


def _check_owner(path: Path, descriptor: int) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise InitializationFailed("shm", f"{path} is not a file")
    if status.st_uid != os.geteuid():
        raise InitializationFailed("shm", f"{path} belongs to user {status.st_uid}, not to us")
    if status.st_mode & 0o077 or status.st_nlink > 1:
        raise InitializationFailed("shm", f"{path} is open to others (mode {status.st_mode & 0o777:o})")


def _is_ready(descriptor: int) -> bool:
    # Only what is allocated may be looked at; the header is complete once its ready word says so.
    if os.fstat(descriptor).st_size < native.segment_bytes(1):
        return False
    with mmap.mmap(descriptor, native.segment_bytes(1)) as memory, memoryview(memory) as header:
        return native.segment_ready(header)


def _unlink(path: Path, descriptor: int) -> None:
    # By now another job may use the name: only our own file is removed, by whichever rank comes first.
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False)):
            path.unlink()
