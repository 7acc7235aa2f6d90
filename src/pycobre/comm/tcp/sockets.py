"""Sockets as a group uses them: where they listen, and how connections are set up."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass
from typing import Any

from pycobre.comm.tcp.config import is_loopback
from pycobre.comm.tcp.liveness import end_when_silent
from pycobre.errors import InitializationFailed

_UNIX_BUFFER_BYTES = 4 << 20
_WILDCARDS = ("0.0.0.0", "::")


@dataclass(frozen=True)
class Place:
    """Where a socket listens, or another one of it is reached.

    Attributes
    ----------
    family
        ``AF_INET``, ``AF_INET6`` or ``AF_UNIX``.
    address
        In the form that sockets of that family take.
    """

    family: int
    address: Any

    def __str__(self) -> str:
        if self.family == socket.AF_UNIX:
            return "a Unix socket"
        host, port = self.address[:2]
        return f"[{host}]:{port}" if self.family == socket.AF_INET6 else f"{host}:{port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is reached from this machine alone."""
        return self.family == socket.AF_UNIX or is_loopback(self.address[0])


def place_of(listener: socket.socket) -> Place:
    """Where *listener*, or this side of a connection, is."""
    return Place(listener.family, listener.getsockname())


def resolved(host: str, port: int) -> list[Place]:
    """Every place that *host* stands for; raises ``OSError`` when there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(Place(family, address) for family, _, _, _, address in found))


def listen_at(host: str, port: int, backlog: int) -> socket.socket:
    """A listening, non-blocking TCP socket; *port* 0 is any that is free.

    Parameters
    ----------
    host
        Name or address of this machine. Only ``0.0.0.0`` and ``::``, so written, are all of its addresses.
    port
        From 0.
    backlog
        How many connections may wait to be accepted.

    Raises
    ------
    InitializationFailed
        The address is not one of this machine, or the port is taken.
    """
    try:
        places = resolved(host, port)
    except OSError as error:
        raise InitializationFailed("tcp", f"can't listen at {host}: {error.strerror}") from error
    place = places[0]
    if place.address[0] in _WILDCARDS and host not in _WILDCARDS:
        raise InitializationFailed(
            "tcp", f"{host!r} would be every address of this machine; write 0.0.0.0 or :: if that is meant"
        )
    listener = socket.socket(place.family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the last job's sockets may linger
        if place.family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != "::")
        listener.bind(place.address)
        listener.listen(backlog)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise InitializationFailed(
            "tcp",
            f"can't listen at {place}: {error.strerror}; another place is"
            " chosen by COBRE_TCP_PORT and COBRE_TCP_BIND_ADDR",
        ) from error
    return listener


def listen_nearby(name: str, backlog: int) -> socket.socket:
    """A listening, non-blocking Unix socket of the abstract name *name*: it leaves no file behind."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(_nearby(name))
        listener.listen(backlog)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise InitializationFailed("tcp", f"can't listen on a Unix socket: {error.strerror}") from error
    return listener


def place_nearby(name: str) -> Place:
    """Where the Unix socket of the abstract name *name* is reached."""
    return Place(socket.AF_UNIX, _nearby(name))


def _nearby(name: str) -> bytes:
    return b"\0pycobre-" + name.encode()


def adopted(descriptor: int) -> socket.socket:
    """The listening socket that *descriptor* is; it belongs to this process alone from now on.

    Raises
    ------
    InitializationFailed
        It is no such socket.
    """
    listener = None
    try:
        listener = socket.socket(fileno=descriptor)
        if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise OSError(0, "it does not listen")
        listener.set_inheritable(False)
        listener.setblocking(False)
    except OSError as error:
        if listener is not None:
            listener.detach()  # a number that something else has now: not ours to close
        raise InitializationFailed(
            "tcp", f"descriptor {descriptor} is not a listening socket: {error.strerror}"
        ) from error
    return listener


def prepare(connection: socket.socket, peer: tuple[Any, ...] | str) -> None:
    """Make *connection* send at once, and notice within five seconds that the machine at *peer* is gone."""
    connection.setblocking(False)
    if connection.family == socket.AF_UNIX:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, option, _UNIX_BUFFER_BYTES)  # the system's limit holds
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    end_when_silent(connection)
    if is_loopback(peer[0]) and hasattr(socket, "TCP_CONGESTION"):
        # Nothing is congested there, and pacing, as BBR does, may double the time of a megabyte.
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
