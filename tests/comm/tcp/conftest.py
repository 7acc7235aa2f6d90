"""Groups over tcp whose ranks are threads of the test, or wait for the test to be the missing one."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from pycobre.comm.tcp import TcpConfig
from pycobre.comm.tcp.join import join
from pycobre.comm.tcp.link import Joined
from pycobre.comm.tcp.sockets import listen_at

SECRET = b"only the ranks of this job know"


class Party:
    """A group that comes together, rank by rank, when the test says so."""

    def __init__(self, size: int, host: str = "127.0.0.1", limit: float = 20.0, **settings) -> None:
        self.size, self.host, self.limit = size, host, limit
        self.settings = {"secret": SECRET, **settings}
        self.results: dict[int, Joined | Exception] = {}
        self.took: dict[int, float] = {}
        self._threads: list[threading.Thread] = []
        self._listener = listen_at(host, 0, 128)
        self.port: int = self._listener.getsockname()[1]

    def config(self, rank: int, **changes) -> TcpConfig:
        told = {"coordinator": self.host, "port": self.port, "join_timeout_secs": self.limit, **self.settings}
        return TcpConfig(**{"rank": rank, "size": self.size, **told, **changes})

    def start(self, *ranks: int, **changes) -> None:
        """Let *ranks* join in threads; the group's listener goes to rank 0."""
        for rank in ranks:
            own = dict(changes)
            if rank == 0 and "listener" not in own:
                own["listener"] = self._listener.detach()
            config = self.config(rank, **own)
            self._threads.append(threading.Thread(target=self._join, args=(rank, config), daemon=True))
            self._threads[-1].start()

    def _join(self, rank: int, config: TcpConfig) -> None:
        started = time.monotonic()
        try:
            self.results[rank] = join(config, started + config.join_timeout_secs)
        except Exception as error:
            self.results[rank] = error
        self.took[rank] = time.monotonic() - started

    def end(self) -> dict[int, Joined | Exception]:
        """What became of every rank that was started."""
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a rank neither joined nor gave up"
        return self.results

    def whole(self) -> list[Joined]:
        """The group, after every rank has said its name to every other on every link."""
        self.end()
        for result in self.results.values():
            if isinstance(result, Exception):
                raise result
        joined = [self.results[rank] for rank in range(self.size)]
        for own in joined:
            assert [peer.rank for peer in own.peers] == list(range(self.size))
            assert set(own.data) == set(range(self.size)) - {own.rank}
            assert set(own.control) == (set(own.data) if own.rank == 0 else {0})
        for kind in ("control", "data"):
            for own in joined:
                for link in getattr(own, kind).values():
                    assert link.send_some([memoryview(bytes([own.rank, link.peer]))]) == 2
            for own in joined:
                for peer, link in getattr(own, kind).items():
                    assert received(link, 2) == bytes([peer, own.rank])
        return joined

    def close(self) -> None:
        self.end()
        self._listener.close()
        for result in self.results.values():
            if isinstance(result, Joined):
                for link in (*result.control.values(), *result.data.values()):
                    link.close()


def received(link, count: int) -> bytes:
    """The next *count* bytes on *link*."""
    room = bytearray(count)
    got = 0
    until = time.monotonic() + 10
    while got < count:
        just = link.receive_some(memoryview(room)[got:])
        got += just
        if not just:
            assert time.monotonic() < until, "nothing comes"
            time.sleep(0.001)
    return bytes(room)


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the listing is itself a descriptor


@pytest.fixture
def party():
    """Makes groups; afterwards no descriptor is left over."""
    before = len(open_descriptors())
    with contextlib.ExitStack() as closing:

        def make(size: int, **settings) -> Party:
            made = Party(size, **settings)
            closing.callback(made.close)
            return made

        yield make
    assert len(open_descriptors()) == before


@pytest.fixture
def listening():
    """Tells the TCP addresses at which this process listens now."""

    def tell() -> set[str]:
        own = set()
        for number in open_descriptors():
            with contextlib.suppress(OSError):
                own.add(str(Path(f"/proc/self/fd/{number}").readlink()))
        found = set()
        for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
            for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                if state == "0A" and f"socket:[{rest[5]}]" in own:
                    digits, port = local.split(":")
                    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
                    found.add(f"{socket.inet_ntop(family, b''.join(words))} {int(port, 16)}")
        return found

    return tell
