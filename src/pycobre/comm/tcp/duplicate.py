"""How a group comes together a second time, over connections of its own."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from pycobre.comm.base import Backend
from pycobre.comm.tcp.config import TcpConfig
from pycobre.comm.tcp.sockets import listen_at
from pycobre.errors import InitializationFailed

MadeT = TypeVar("MadeT", bound=Backend)

_OFFER = struct.Struct("<H16s")  # where the ranks of a duplicate meet, and its job


def meet_again(
    config: TcpConfig,
    rank: int,
    size: int,
    agree: Callable[[str], str],
    exchanged: Callable[[bytes], list[bytes]],
    make: Callable[[TcpConfig], MadeT],
) -> MadeT:
    """What *make* makes of the terms on which the ranks of a group meet again, on all of them or on none.

    Parameters
    ----------
    config
        On which terms the group met first.
    rank, size
        This rank, and how many there are.
    agree
        What troubles any rank, the same on all, after telling what troubles this one.
    exchanged
        The few bytes of each rank, after giving this rank's.
    make
        Joins the others at the place that it is given.

    Raises
    ------
    InitializationFailed
        Some rank could not; nothing is left behind on any.
    """
    trouble, offer = "", b""
    listener: socket.socket | None = None
    made: MadeT | None = None
    try:
        if rank == 0 and size > 1:
            try:
                listener = listen_at(config.listening_address, 0, 4 * size + 64)
                offer = _OFFER.pack(listener.getsockname()[1], os.urandom(16))
            except InitializationFailed as error:
                trouble = error.message
        failed = agree(trouble)
        if not failed:
            port, job = _OFFER.unpack(exchanged(offer)[0][: _OFFER.size])
            terms = replace(
                config,
                port=port or config.port,
                job=job,
                listener=listener.detach() if listener else None,
            )
            try:
                made = make(terms)
            except InitializationFailed as error:
                trouble = error.message
            failed = agree(trouble)
    finally:
        if listener is not None:
            listener.close()
    if failed or made is None:
        if made is not None:
            made.close()
        raise InitializationFailed("tcp", failed)
    return made
