"""A tracer of one thread, as little of strace as a sweep over system calls needs; for x86-64 alone."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

from faults.forked import keep_alone

INTERRUPTIBLE = {
    "read": 0,
    "write": 1,
    "poll": 7,
    "sendto": 44,
    "recvfrom": 45,
    "sendmsg": 46,
    "recvmsg": 47,
    "futex": 202,
    "epoll_wait": 232,
    "ppoll": 271,
    "epoll_pwait": 281,
}
"""System calls that a signal may interrupt, by their numbers."""

READ_OF_A_PEER = 310
"""``process_vm_readv``."""

_GETREGS, _SETREGS, _DETACH, _SYSCALL, _SEIZE, _INTERRUPT, _INFO = 12, 13, 17, 24, 0x4206, 0x4207, 0x420E
_SYSCALLS_MARKED, _KILL_WITH_TRACER = 1, 0x100000
_ENTRY, _EXIT = 1, 2  # first byte of what the kernel tells of a call; the call's number is from byte 24 on
_AX, _CALL, _REGISTERS = 10, 15, 27  # where the registers stand that hold result and call, of how many
_ANY_THREAD = 0x40000000
_MARK = 110  # getppid, which nothing else calls: before and after what is swept

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class Strike:
    """Something that befalls this thread at the *number*-th system call of a block of code.

    The *action* ``kill`` ends the process as it enters the call. With ``interrupt`` the call fails by EINTR;
    then calls that no signal interrupts do not count. With ``hold`` only reads of a peer's memory count, and
    the call begins when the file *until* is there.
    """

    def __init__(self, action: str, number: int, until: str = "") -> None:
        self._action = action
        self._number = number
        self._until = until
        self.happened = False

    def __enter__(self) -> Strike:
        self._told, tell = os.pipe()
        target = os.getpid()
        self._tracer = os.fork()
        if self._tracer == 0:
            _trace(target, tell, self._action, self._number, self._until)
        os.close(tell)
        told = os.read(self._told, 100)
        assert told == b"ready", f"this process can't be traced: {told.decode()}"
        os.getppid()
        return self

    def __exit__(self, *error: object) -> None:
        os.getppid()
        os.waitpid(self._tracer, 0)
        self.happened = os.read(self._told, 100) == b"struck"
        os.close(self._told)


def _trace(target: int, tell: int, action: str, number: int, until: str) -> NoReturn:
    try:
        keep_alone({0, 1, 2, tell})  # an end of this process's sockets here would hide its end from others
        _ptrace(_SEIZE, target, None, _SYSCALLS_MARKED | _KILL_WITH_TRACER)
        _ptrace(_INTERRUPT, target)
        os.waitpid(target, _ANY_THREAD)
        os.write(tell, b"ready")
        if _follow(target, action, number, until):
            os.write(tell, b"struck")
    except OSError as error:
        os.write(tell, str(error).encode())
    finally:
        os._exit(0)


def _follow(target: int, action: str, number: int, until: str) -> bool:
    """Whether the call came, before the mark at the end."""
    info = (ctypes.c_ubyte * 88)()
    registers = (ctypes.c_ulonglong * _REGISTERS)()
    marks, count, to_deliver, interrupted = 0, 0, 0, False
    while True:
        _ptrace(_SYSCALL, target, None, to_deliver)
        _, status = os.waitpid(target, _ANY_THREAD)
        if not os.WIFSTOPPED(status):
            return True  # a kill that came from elsewhere
        to_deliver = 0
        if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
            to_deliver = os.WSTOPSIG(status) if status >> 16 == 0 else 0
            continue
        _ptrace(_INFO, target, ctypes.sizeof(info), info)
        call = int.from_bytes(bytes(info[24:32]), "little")
        if info[0] == _EXIT:
            if interrupted:
                _ptrace(_GETREGS, target, None, registers)
                registers[_AX] = -errno.EINTR % 2**64
                _ptrace(_SETREGS, target, None, registers)
                _ptrace(_DETACH, target)
                return True
        elif call == _MARK:
            marks += 1
            if marks == 2:
                _ptrace(_DETACH, target)
                return False
        elif marks == 1 and call in _counted(action, call):
            count += 1
            if count == number and action == "hold":
                while not Path(until).exists():
                    time.sleep(0.001)
                _ptrace(_DETACH, target)
                return True
            if count == number and action == "kill":
                os.kill(target, signal.SIGKILL)
                os.waitpid(target, _ANY_THREAD)
                return True
            if count == number:
                _ptrace(_GETREGS, target, None, registers)
                registers[_CALL] = 2**64 - 1  # no such call: it does nothing
                _ptrace(_SETREGS, target, None, registers)
                interrupted = True


def _counted(action: str, call: int) -> Collection[int]:
    if action == "hold":
        return (READ_OF_A_PEER,)
    return (call,) if action == "kill" else INTERRUPTIBLE.values()


def _ptrace(request: int, target: int, address: int | None = None, data: object = None) -> None:
    if _libc.ptrace(request, target, address, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace {request:#x}: {os.strerror(number)}")
