"""How a group comes together: everyone with rank 0, then everyone with everyone.

Every rank has a control link to rank 0. On it all tell who they are, then where they wait, and in the end
that they have a data link to every other rank; only when all have, the group stands. Of two ranks the higher
connects to the lower, so nobody waits in a ring.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from pycobre.comm.machine import this_machine
from pycobre.comm.tcp.card import Card, Whereabouts
from pycobre.comm.tcp.circle import Circle
from pycobre.comm.tcp.config import TcpConfig
from pycobre.comm.tcp.handshake import ClientHandshake, JobKeys
from pycobre.comm.tcp.knock import knock
from pycobre.comm.tcp.link import Joined, Peer
from pycobre.comm.tcp.sockets import (
    Place,
    adopted,
    listen_at,
    listen_nearby,
    place_nearby,
    place_of,
    resolved,
)
from pycobre.errors import InitializationFailed

if TYPE_CHECKING:
    import ssl


def join(config: TcpConfig, deadline: float) -> Joined:
    """The group that *config* describes, once all its ranks are there. All ranks call it.

    It succeeds on all ranks or on none. No socket listens afterwards.

    Parameters
    ----------
    config
        What this rank knows.
    deadline
        Until when the others must have come, on the monotonic clock.

    Raises
    ------
    InitializationFailed
        The group did not come together; this rank has closed everything, its listener included.
    """
    if config.size == 1:
        if config.listener is not None:
            adopted(config.listener).close()
        return Joined(0, (Peer(0, os.getpid(), this_machine(), "this process"),), {}, {})
    with contextlib.ExitStack() as closing:
        try:
            listener = closing.enter_context(_listener(config)) if config.rank == 0 else None
            keys = JobKeys(config.secret or b"", config.job_id)
            circle = Circle(config, keys, deadline)
            closing.callback(circle.close)
            with contextlib.closing(circle.door):
                joined = _gathered(_Joining(config, keys, circle, deadline), circle, listener)
        except OSError as error:  # such as no descriptor left, or a link that broke while it was looked at
            raise InitializationFailed("tcp", f"the system refuses a socket: {error}") from error
        closing.pop_all()
        return joined


def _gathered(joining: _Joining, circle: Circle, listener: socket.socket | None) -> Joined:
    """The group; or, where it does not come together, the error that all ranks get to know."""
    try:
        return joining.run(listener)
    except InitializationFailed as error:
        circle.fail(error.message)
        raise


def _listener(config: TcpConfig) -> socket.socket:
    if config.listener is not None:
        listener = adopted(config.listener)
    else:
        listener = listen_at(config.listening_address, config.port, 4 * config.size + 64)
    place = place_of(listener)
    if config.insecure and not place.is_loopback:
        listener.close()
        raise InitializationFailed(
            "tcp", f"without a secret rank 0 may listen on loopback only, not at {place}"
        )
    return listener


class _Joining:
    """One rank's way into the group."""

    def __init__(self, config: TcpConfig, keys: JobKeys, circle: Circle, deadline: float) -> None:
        self._config = config
        self._keys = keys
        self._circle = circle
        self._deadline = deadline
        self._tls: ssl.SSLContext | None = None
        if config.tls:
            from pycobre.comm.tcp.tls import tls_context  # it takes a while to load, and few ask for it

            self._tls = tls_context(config.tls, is_server=False)

    def run(self, listener: socket.socket | None) -> Joined:
        config, circle = self._config, self._circle
        if listener is not None:
            circle.door.listen(listener)
            seen = str(place_of(listener))
        else:
            seen = self._meet_rank_0()
        nearby = config.unix_sockets and sys.platform == "linux"
        own = Card(os.getpid(), this_machine(), nearby, seen)
        cards = [Card.decode(card, rank) for rank, card in enumerate(circle.share(own.encode()))]
        waits = [
            Whereabouts.decode(place, rank)
            for rank, place in enumerate(circle.share(self._wait_for_data(cards).encode()))
        ]
        for peer in range(config.rank):
            self._reach(peer, cards[peer], waits[peer])
        higher = set(range(config.rank + 1, config.size))
        while missing := higher - set(circle.data):
            circle.turn(self._deadline, missing)
        circle.share(b"")
        peers = tuple(Peer(rank, card.pid, card.machine, card.address) for rank, card in enumerate(cards))
        control = {rank: notes.link for rank, notes in circle.control.items()}
        return Joined(config.rank, peers, control, dict(circle.data))

    def _meet_rank_0(self) -> str:
        config = self._config
        host = config.coordinator
        assert host is not None

        def places() -> list[Place]:
            found = resolved(host, config.port)
            if config.insecure and not all(place.is_loopback for place in found):
                raise InitializationFailed(
                    "tcp", f"without a secret all ranks must be on one machine, and {host} is not loopback"
                )
            return found

        self._connect(f"rank 0 ({host}, port {config.port})", 0, places, data=False)
        return str(place_of(self._circle.control[0].link.socket))

    def _wait_for_data(self, cards: list[Card]) -> Whereabouts:
        """Where this rank now waits for those of higher number."""
        rank = self._config.rank
        higher = range(rank + 1, self._config.size)
        near = [peer for peer in higher if cards[rank].is_near(cards[peer])]
        name, host, port = "", "", 0
        if near:
            name = os.urandom(16).hex()
            self._circle.door.listen(listen_nearby(name, len(near) + 32))
        if len(near) < len(higher) and rank > 0:  # to rank 0 they know the way
            here = place_of(self._circle.control[0].link.socket)
            listener = listen_at(_spelt(here), 0, len(higher) + 32)
            self._circle.door.listen(listener)
            host, port = listener.getsockname()[:2]
        return Whereabouts(name, host.partition("%")[0], port)

    def _reach(self, peer: int, card: Card, waits: Whereabouts) -> None:
        control = self._circle.control[0].link.socket
        if waits.unix and self._config.unix_sockets and card.machine == this_machine():
            place = place_nearby(waits.unix)
        elif peer == 0:
            place = Place(control.family, control.getpeername())
        elif waits.host:
            version = ipaddress.ip_address(waits.host).version
            if version == 4:
                place = Place(socket.AF_INET, (waits.host, waits.port))
            else:
                # A link-local address holds on this machine's side of the same link only.
                scope = control.getsockname()[3] if control.family == socket.AF_INET6 else 0
                place = Place(socket.AF_INET6, (waits.host, waits.port, 0, scope))
        else:
            raise InitializationFailed("tcp", f"rank {peer} does not tell where it waits")
        whom = f"rank {peer}"
        if place.is_loopback and card.machine != this_machine():
            whom += (
                ", which found rank 0 over loopback (does its COBRE_TCP_COORDINATOR hold on every machine?)"
            )
        self._connect(whom, peer, lambda: [place], data=True)

    def _connect(self, whom: str, peer: int, places: Callable[[], list[Place]], *, data: bool) -> None:
        hello = self._circle.hello(peer, data=data)
        link, secret = knock(
            whom,
            places,
            lambda: ClientHandshake(self._keys, hello),
            tls=self._tls,
            deadline=self._deadline,
            told=self._circle if data else None,
        )
        self._circle.add(hello, link, secret, peer)


def _spelt(place: Place) -> str:
    """The host of *place* as it is written, with the zone of a link-local address."""
    host: str = place.address[0]
    if place.family == socket.AF_INET6 and place.address[3] and "%" not in host:
        return f"{host}%{place.address[3]}"
    return host
