"""The other side of a door: connect, prove to be of the group, and try again until a deadline."""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pycobre.comm.tcp.handshake import ClientHandshake, HandshakeFailed, LinkSecret, Refused
from pycobre.comm.tcp.link import Link, LinkEnded, TlsRefused
from pycobre.comm.tcp.sockets import Place, prepare
from pycobre.errors import InitializationFailed

if TYPE_CHECKING:
    import ssl

_ATTEMPT_SECS = 5.0
_FIRST_PAUSE_SECS, _LAST_PAUSE_SECS = 0.005, 0.25
_DOUBT_SECS = 0.5  # so long somebody else may sit where the other side soon will


class Told(Protocol):
    """A link by which this rank may hear meanwhile that the group does not come together."""

    def fileno(self) -> int:
        """Descriptor to wait on."""

    def check(self) -> None:
        """Raise if it is so."""


def knock(
    whom: str,
    places: Callable[[], list[Place]],
    handshake: Callable[[], ClientHandshake],
    *,
    tls: ssl.SSLContext | None,
    deadline: float,
    told: Told | None = None,
) -> tuple[Link, LinkSecret]:
    """A link to *whom* at the first of *places* that lets this rank in.

    Parameters
    ----------
    whom
        For messages.
    places
        Where to try; asked again in every round, since names may come to resolve.
    handshake
        Makes the client's side of one handshake.
    tls
        What wraps TCP, or ``None``.
    deadline
        On the monotonic clock.
    told
        What to listen to meanwhile.

    Raises
    ------
    InitializationFailed
        Nobody lets this rank in before the deadline; sooner when it will never be.
    """
    started = time.monotonic()
    failures: dict[str, str] = {}
    doubted = None
    pause = _FIRST_PAUSE_SECS
    while True:
        failed = None
        try:
            around = places()
        except OSError as error:
            around = []
            failures["its name"] = f"{error.strerror}"
        for left, place in zip(range(len(around), 0, -1), around, strict=True):
            until = min(deadline, time.monotonic() + min(_ATTEMPT_SECS, (deadline - time.monotonic()) / left))
            try:
                return _attempt(place, handshake(), tls, until, told)
            except Refused as error:
                raise InitializationFailed("tcp", f"{whom} at {place} refuses this rank: {error}") from error
            except (HandshakeFailed, TlsRefused) as error:
                failures[str(place)] = _spelt(error)
                failed = f"{whom} does not answer at {place}: {_spelt(error)}"
            except OSError as error:
                if time.monotonic() < deadline:
                    failures[str(place)] = _spelt(error)
                else:  # what is cut short by the deadline says less than what was tried before
                    failures.setdefault(str(place), _spelt(error))
        now = time.monotonic()
        if failed is None:
            doubted = None
        elif doubted is None:
            doubted = now
        elif now - doubted > _DOUBT_SECS:
            raise InitializationFailed("tcp", failed)
        # Not all at once: the ranks that are refused together would come back together.
        _sleep(min(pause * _half_to_one(), deadline - now), told)
        if time.monotonic() >= deadline:
            seen = "; ".join(f"{where}: {why}" for where, why in failures.items())
            raise InitializationFailed(
                "tcp", f"{whom} could not be reached within {round(deadline - started, 1):g} s ({seen})"
            )
        pause = min(2 * pause, _LAST_PAUSE_SECS)


def _attempt(
    place: Place, handshake: ClientHandshake, tls: ssl.SSLContext | None, until: float, told: Told | None
) -> tuple[Link, LinkSecret]:
    connection = socket.socket(place.family, socket.SOCK_STREAM)
    link = Link(connection, -1)
    try:
        prepare(connection, place.address)
        code = connection.connect_ex(place.address)
        if code in (errno.EINPROGRESS, errno.EAGAIN):
            if code == errno.EAGAIN:
                raise ConnectionRefusedError(code, "too many wait there")  # of a Unix socket
            _wait(link, select.POLLOUT, until, told)
            code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, errno.errorcode.get(code, str(code)))
        if tls is not None and place.family != socket.AF_UNIX:
            from pycobre.comm.tcp.tls import TlsLink

            link = TlsLink(connection, -1, tls, is_server=False)
        while event := link.greet_some():
            _wait(link, event, until, told)
        _send(link, handshake.opening)
        while handshake.wanted:
            answer = handshake.take(_receive(link, handshake.wanted, until, told))
            if answer:
                _send(link, answer)
        assert handshake.link is not None
    except BaseException as error:
        link.close()
        if isinstance(error, LinkEnded) and tls is None and not handshake.proved:
            raise LinkEnded(0, f"{_spelt(error)}, as one does that wants TLS or is overrun") from error
        raise
    return link, handshake.link


def _send(link: Link, data: bytes) -> None:
    if link.send_some([memoryview(data)]) < len(data):
        raise LinkEnded(0, "it does not listen")  # a fresh connection has room for a handshake


def _receive(link: Link, count: int, until: float, told: Told | None) -> bytes:
    room = memoryview(bytearray(count))
    got = 0
    while got < count:
        just = link.receive_some(room[got:])
        got += just
        if not just:
            _wait(link, select.POLLIN, until, told)
    return bytes(room)


def _wait(link: Link, event: int, until: float, told: Told | None) -> None:
    poll = select.poll()
    poll.register(link, event)
    if told is not None:
        poll.register(told, select.POLLIN)
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError(errno.ETIMEDOUT, "ETIMEDOUT")
        ready = {descriptor for descriptor, _ in poll.poll(left * 1000 + 1)}
        if told is not None and told.fileno() in ready:
            told.check()
        if link.fileno() in ready:
            return


def _half_to_one() -> float:
    return 0.5 + int.from_bytes(os.urandom(2), "little") / (1 << 17)


def _sleep(seconds: float, told: Told | None) -> None:
    until = time.monotonic() + seconds
    poll = select.poll()
    if told is not None:
        poll.register(told, select.POLLIN)
    while (left := until - time.monotonic()) > 0:
        if poll.poll(left * 1000 + 1) and told is not None:
            told.check()


def _spelt(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    name = errno.errorcode.get(error.errno or 0)
    if isinstance(error, LinkEnded) and name is None:
        return error.strerror or "it left"
    return f"{name}" if name else str(error)
