"""A listening socket that lets in nobody else.

Whoever connects has five seconds, 72 bytes and silence until it has proved that it knows the secret. All
handshakes go on at once, so that a silent or slow stranger holds up nobody; when there are too many, the
oldest goes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pycobre.comm.tcp.handshake import (
    HandshakeFailed,
    Hello,
    LinkSecret,
    OtherVersion,
    Refused,
    ServerHandshake,
)
from pycobre.comm.tcp.link import Link, LinkEnded
from pycobre.comm.tcp.sockets import Place, prepare

if TYPE_CHECKING:
    import ssl

_PATIENCE_SECS = 5.0
_ACCEPTED_AT_ONCE = 16  # then those inside come first: a flood must not keep a proof from being read
_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_OUT_OF_DESCRIPTORS_SECS = 0.02
_READ_BEFORE_CLOSING_BYTES = 256


@dataclass(frozen=True)
class Guest:
    """Who was let in."""

    hello: Hello
    link: Link
    secret: LinkSecret


class Watched(Protocol):
    """Anything with a descriptor."""

    def fileno(self) -> int:
        """Descriptor to wait on."""


class _Visitor:
    """Somebody who has yet to prove anything."""

    def __init__(self, link: Link, handshake: ServerHandshake, address: str) -> None:
        self.link = link
        self.handshake = handshake
        self.address = address
        self.until = time.monotonic() + _PATIENCE_SECS
        self.said = bytearray()
        self.greeting = True
        self.waits_for = 0  # events that the selector has it for


class Door:
    """Listening sockets, and whoever stands before them.

    Parameters
    ----------
    handshake
        Makes the server's side of one handshake.
    room
        How many may stand there at once.
    tls
        What wraps what comes over TCP, or ``None``.

    Attributes
    ----------
    refused
        Who was the last to be refused although it spoke like one of ours, and why; or empty.
    """

    def __init__(
        self, handshake: Callable[[], ServerHandshake], room: int, tls: ssl.SSLContext | None = None
    ) -> None:
        self._handshake = handshake
        self._room = room
        self._tls = tls
        self._selector = selectors.DefaultSelector()
        self._listeners: list[socket.socket] = []
        self._visitors: dict[_Visitor, None] = {}  # the oldest first
        self.refused = ""
        self._turned_away = 0
        self._logged_at = -float("inf")

    def listen(self, listener: socket.socket) -> None:
        """Let in by *listener* too, and close it with the door."""
        self._listeners.append(listener)
        self._selector.register(listener, selectors.EVENT_READ, listener)

    def watch(self, source: Watched) -> None:
        """Let :meth:`serve` return when something can be read from *source*."""
        self._selector.register(source, selectors.EVENT_READ, None)

    def forget(self, source: Watched) -> None:
        """No longer watch *source*, which is still open."""
        self._selector.unregister(source)

    def serve(self, timeout: float) -> tuple[list[Guest], list[Watched]]:
        """Who was let in, and which watched sources can be read, after at most *timeout* seconds."""
        now = time.monotonic()
        self._dismiss_the_slow(now)
        oldest = next(iter(self._visitors), None)
        if oldest is not None:
            timeout = min(timeout, oldest.until - now)
        guests: list[Guest] = []
        readable: list[Watched] = []
        knocked: list[socket.socket] = []
        for key, _ in self._selector.select(max(0.0, timeout)):
            if key.data is None:
                assert not isinstance(key.fileobj, int)
                readable.append(key.fileobj)
            elif isinstance(key.data, _Visitor):
                self._hear(key.data, guests)
            else:
                knocked.append(key.data)
        for listener in knocked:
            self._accept(listener, guests)
        return guests, readable

    def close(self) -> None:
        """Close every listening socket, and send away whoever stands there. Closing twice does nothing."""
        for visitor in list(self._visitors):
            self._dismiss(visitor, "the group is complete")
        while self._listeners:
            self._listeners.pop().close()
        self._selector.close()

    def _accept(self, listener: socket.socket, guests: list[Guest]) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, address = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    return
                if self._visitors:
                    self._dismiss(next(iter(self._visitors)), "there is no descriptor left")
                    continue
                time.sleep(_OUT_OF_DESCRIPTORS_SECS)  # the listener stays readable: not at full speed
                return
            if len(self._visitors) >= self._room:
                self._dismiss(next(iter(self._visitors)), "too many wait")
            self._receive(connection, str(Place(listener.family, address)), guests)

    def _receive(self, connection: socket.socket, address: str, guests: list[Guest]) -> None:
        try:
            prepare(connection, connection.getpeername())
            if self._tls is not None and connection.family != socket.AF_UNIX:
                from pycobre.comm.tcp.tls import TlsLink

                link: Link = TlsLink(connection, -1, self._tls, is_server=True)
            else:
                link = Link(connection, -1)
        except OSError as error:
            connection.close()
            self._note(address, str(error))
            return
        visitor = _Visitor(link, self._handshake(), address)
        self._visitors[visitor] = None
        self._hear(visitor, guests)

    def _hear(self, visitor: _Visitor, guests: list[Guest]) -> None:
        """Go on with one handshake as far as it goes."""
        try:
            awaited = self._talk(visitor)
        except HandshakeFailed as error:
            if isinstance(error, Refused | OtherVersion):
                self.refused = f"{visitor.address}: {error}"
            self._dismiss(visitor, str(error), error.answer)
        except LinkEnded as error:
            self._dismiss(visitor, error.strerror or "it left")
        else:
            self._wait_for(visitor, awaited)
            if not awaited:
                del self._visitors[visitor]
                hello, secret = visitor.handshake.hello, visitor.handshake.link
                assert hello is not None
                assert secret is not None
                visitor.link.peer = hello.rank
                guests.append(Guest(hello, visitor.link, secret))

    def _talk(self, visitor: _Visitor) -> int:
        """What to wait for before the talk can go on, 0 when it is done."""
        if visitor.greeting:
            awaited = visitor.link.greet_some()
            if awaited:
                return awaited
            visitor.greeting = False
        handshake = visitor.handshake
        while handshake.wanted:
            room = bytearray(handshake.wanted - len(visitor.said))
            count = visitor.link.receive_some(memoryview(room))
            if not count:
                return select.POLLIN
            visitor.said += room[:count]
            if len(visitor.said) == handshake.wanted:
                said, visitor.said = bytes(visitor.said), bytearray()
                answer = handshake.take(said)
                # A fresh connection has room for all that is ever answered.
                if answer and visitor.link.send_some([memoryview(answer)]) < len(answer):
                    raise LinkEnded(0, "it does not listen")
        return 0

    def _wait_for(self, visitor: _Visitor, awaited: int) -> None:
        if awaited == visitor.waits_for:
            return
        if visitor.waits_for:
            self._selector.unregister(visitor.link)
        if awaited:
            events = selectors.EVENT_WRITE if awaited == select.POLLOUT else selectors.EVENT_READ
            self._selector.register(visitor.link, events, visitor)
        visitor.waits_for = awaited

    def _dismiss_the_slow(self, now: float) -> None:
        for visitor in list(self._visitors):
            if visitor.until > now:
                return
            self._dismiss(visitor, f"it has proved nothing in {_PATIENCE_SECS:g} s")

    def _dismiss(self, visitor: _Visitor, why: str, answer: bytes = b"") -> None:
        del self._visitors[visitor]
        self._wait_for(visitor, 0)
        with contextlib.suppress(OSError):
            if answer:
                visitor.link.send_some([memoryview(answer)])
            # Bytes left unread would make the system reset the connection, and an answer, or what TLS has
            # to say, with it.
            os.read(visitor.link.fileno(), _READ_BEFORE_CLOSING_BYTES)
        visitor.link.close()
        self._note(visitor.address, why)

    def _note(self, address: str, why: str) -> None:
        """Write of those turned away, in at most one line a second."""
        self._turned_away += 1
        now = time.monotonic()
        if now - self._logged_at >= 1:
            self._logged_at = now
            import logging  # it takes a while to load, and most doors turn nobody away

            log = logging.getLogger("pycobre.comm.tcp")
            log.warning("turned away %d connections; the last from %s: %s", self._turned_away, address, why)
            self._turned_away = 0
