"""What only the ranks of one job know: where it comes from, and when it is refused."""

from __future__ import annotations

import os
import stat

from pycobre.errors import InitializationFailed

SECRET_MIN_BYTES = 16
LAUNCHED_SECRET_BYTES = 32
_LAUNCHED_BYTES = LAUNCHED_SECRET_BYTES + 16
_FILE_MAX_BYTES = 4096


def launched_secret(descriptor: int) -> bytes:
    """The secret and the job id that our launcher left in the memory file *descriptor*, which is closed.

    Raises
    ------
    InitializationFailed
        It is something else: the variable was inherited without the descriptor.
    """
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size != _LAUNCHED_BYTES:
            raise OSError
        # At a position of its own, since all ranks share the file's.
        whole = os.pread(descriptor, _LAUNCHED_BYTES, 0)
        os.close(descriptor)
    except OSError:
        raise InitializationFailed(
            "tcp",
            f"descriptor {descriptor} is not the secret of a launch; a process that a rank starts can't join"
            " as that rank",
        ) from None
    return whole


def secret_of_file(path: str) -> bytes:
    """What the file at *path* holds, without the end of its last line.

    Raises
    ------
    InitializationFailed
        It can't be read, or others could have read or written it.
    """
    try:
        # Without O_NONBLOCK, opening a FIFO that somebody has put there would never end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _refused(path, f"can't be opened without following links: {error.strerror}") from error
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise _refused(path, "is no regular file")
        if state.st_uid != os.geteuid():
            raise _refused(path, f"belongs to user {state.st_uid}, not to you; make one of your own")
        if state.st_mode & 0o077:
            mode = stat.S_IMODE(state.st_mode)
            raise _refused(path, f"has mode {mode:04o}, so others can get at it: chmod 600, and a new secret")
        content = os.read(descriptor, _FILE_MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > _FILE_MAX_BYTES:
        raise _refused(path, f"has more than {_FILE_MAX_BYTES} bytes; is it the right file?")
    content = content.rstrip(b"\r\n")
    if len(content) < SECRET_MIN_BYTES:
        raise _refused(
            path, f"holds {len(content)} bytes; with fewer than {SECRET_MIN_BYTES} it can be guessed"
        )
    return content


def _refused(path: str, why: str) -> InitializationFailed:
    return InitializationFailed("tcp", f"the secret file {path} {why}")
