"""TLS around a connection: both sides show a certificate of the job's authority.

Certificates name no ranks, so no name is checked; who a rank is, the handshake inside proves.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Sequence

from pycobre.comm.tcp.config import TlsFiles
from pycobre.comm.tcp.link import Link, LinkEnded, TlsRefused
from pycobre.errors import InitializationFailed


def tls_context(files: TlsFiles, *, is_server: bool) -> ssl.SSLContext:
    """What wraps connections: TLS 1.3 or later, with certificates on both sides.

    Raises
    ------
    InitializationFailed
        A file can't be read, or does not hold what it should.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    if is_server:
        context.num_tickets = 0  # nobody comes back
    try:
        # An encrypted key would otherwise ask for its password on the terminal, and wait.
        context.load_cert_chain(files.certificate, files.key, password=lambda: b"")
        context.load_verify_locations(files.ca)
    except (OSError, ValueError) as error:
        raise InitializationFailed(
            "tcp",
            f"TLS with certificate {files.certificate}, key {files.key} and authority {files.ca} can't be set"
            f" up: {error}",
        ) from error
    return context


class TlsLink(Link):
    """A connection inside TLS, whose greeting is still to be done."""

    bare = False

    def __init__(
        self, connection: socket.socket, peer: int, context: ssl.SSLContext, *, is_server: bool
    ) -> None:
        connection.setblocking(False)
        try:
            wrapped = context.wrap_socket(connection, server_side=is_server, do_handshake_on_connect=False)
        except OSError as error:
            connection.close()
            raise LinkEnded(error.errno, error.strerror) from error
        super().__init__(wrapped, peer)
        self._inside = wrapped

    @property
    def buffered(self) -> bool:
        """Whether bytes have come that the descriptor does not show: wait on it only if not."""
        return self._inside.pending() > 0

    def greet_some(self) -> int:
        """What to wait for before the greeting can go on (``POLLIN``, ``POLLOUT``), 0 once it is done.

        Raises
        ------
        LinkEnded
            The other side is gone, does not speak TLS, or shows no certificate of ours.
        """
        try:
            self._inside.do_handshake()
        except ssl.SSLWantReadError:
            return select.POLLIN
        except ssl.SSLWantWriteError:
            return select.POLLOUT
        except (OSError, ValueError) as error:
            raise _ended(error) from error
        return 0

    def send_some(self, parts: Sequence[memoryview]) -> int:
        """Bytes of *parts* that went out just now, 0 when there is no room.

        What could not go out must be given again, unchanged, before anything else: part of it may lie
        encrypted already.

        Raises
        ------
        LinkEnded
            The other side is gone.
        """
        total = 0
        try:
            for part in parts:
                rest = part.cast("B") if part.nbytes else part[:0]
                while rest.nbytes:
                    count = self._inside.send(rest)
                    total += count
                    rest = rest[count:]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError as error:
            raise _ended(error) from error
        return total

    def receive_some(self, room: memoryview) -> int:
        """Bytes that came into *room* just now, 0 when there are none yet.

        Raises
        ------
        LinkEnded
            The other side is gone.
        """
        try:
            count = self._inside.recv_into(room)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0
        except OSError as error:
            raise _ended(error) from error
        if count == 0 and room.nbytes:
            raise LinkEnded(0, "it closed the connection")
        return count

    def receive_parts(self, rooms: Sequence[memoryview]) -> int:
        """Bytes that came into *rooms*, one after another, just now; 0 when there are none yet.

        Raises
        ------
        LinkEnded
            The other side is gone.
        """
        total = 0
        for room in rooms:
            at = 0
            while at < room.nbytes:  # a record at a time
                count = self.receive_some(room[at:])
                if not count:
                    return total
                at += count
                total += count
        return total


def _ended(error: Exception) -> LinkEnded:
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return LinkEnded(0, "it closed the connection within TLS")
    if isinstance(error, ssl.SSLError):
        return TlsRefused(0, f"TLS: {error.reason or error}")
    return LinkEnded(getattr(error, "errno", 0), str(error))
