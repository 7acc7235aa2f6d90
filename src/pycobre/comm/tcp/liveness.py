"""How a connection notices that the other side has fallen silent, and for how long it has been so.

The kernel asks after the other side of an idle connection and ends a connection that is not answered. It does
so for each by itself: of connections that one failure cuts, those that were idle at the time end up to two
seconds apart.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys

LIVENESS_SECS = 5.0
"""For how long the other side may owe an answer before it counts as gone."""
SUSPECT_SECS = 2.5
"""A silence that is longer than any of a sound connection, since the kernel asks after two seconds."""

_OPTIONS = (
    ("KEEPIDLE", 2),
    ("KEEPINTVL", 1),
    ("KEEPCNT", 3),
    ("USER_TIMEOUT", round(1000 * LIVENESS_SECS)),
)
# Of Linux's struct tcp_info: state, probes and segments out, milliseconds since data and an answer came.
_INFO = struct.Struct("=B2xB20xI24xII")
_CLOSED = 7


def end_when_silent(connection: socket.socket) -> None:
    """Have *connection* end once the other side owes an answer for :data:`LIVENESS_SECS`."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Not every system has all of them.
    for name, value in _OPTIONS:
        number: int | None = getattr(socket, f"TCP_{name}", None)
        if number is not None:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, number, value)


def silence_secs(connection: socket.socket) -> float:
    """For how long nothing has come from the other side, if it owes an answer; else 0.

    It is 0 too where the system does not tell, and for Unix sockets, whose other side can't fall silent.
    """
    if sys.platform != "linux" or connection.family == socket.AF_UNIX:
        return 0.0
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
        state, probes, unanswered, since_data, since_answer = _INFO.unpack(info)
    except (OSError, struct.error):
        return 0.0
    owes = probes or unanswered or state == _CLOSED
    return min(since_data, since_answer) / 1e3 if owes else 0.0
