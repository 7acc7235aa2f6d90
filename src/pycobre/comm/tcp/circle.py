"""All ranks around rank 0, while the group comes together: each says something, and all hear everything."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from pycobre.comm.tcp.card import CARD_MAX_BYTES, packed, unpacked
from pycobre.comm.tcp.config import TcpConfig, is_loopback
from pycobre.comm.tcp.door import Door, Guest
from pycobre.comm.tcp.handshake import ABI, Hello, JobKeys, LinkSecret, Outcome, ServerHandshake
from pycobre.comm.tcp.link import Link, LinkEnded
from pycobre.comm.tcp.notes import SAYS, Notes
from pycobre.errors import InitializationFailed

_ROOM_BEYOND_RANKS = 32
_LAST_WORDS_SECS = 0.5
_GRACE_SECS = 0.7  # for rank 0, whose deadline may be the same, to say who is missing
_TURN_SECS = 1.0


class Circle:
    """The links of this rank so far, and the door by which more come.

    Attributes
    ----------
    door
        Of this rank.
    control
        The control links so far.
    data
        The data links so far.
    """

    def __init__(self, config: TcpConfig, keys: JobKeys, deadline: float) -> None:
        self._config = config
        self._keys = keys
        self._deadline = deadline
        self._complete = False  # whether all have come; from then on nobody may leave
        self._heard: dict[int, bytes] = {}
        tls = None
        if config.tls:
            from pycobre.comm.tcp.tls import tls_context  # it takes a while to load, and few ask for it

            tls = tls_context(config.tls, is_server=True)
        self.door = Door(self._handshake, config.size + _ROOM_BEYOND_RANKS, tls)
        self.control: dict[int, Notes] = {}
        self.data: dict[int, Link] = {}

    def hello(self, target: int, *, data: bool) -> Hello:
        """How this rank greets *target*."""
        config = self._config
        return Hello(config.rank, target, config.size, data, config.seal_frames, config.tls is not None)

    def add(self, hello: Hello, link: Link, secret: LinkSecret, peer: int) -> None:
        """Take in an open link to *peer*."""
        link.peer = peer
        link.keys = secret.keys(b"frames") if self._config.seal_frames else None
        if hello.data:
            self.data[peer] = link
            return
        limit = CARD_MAX_BYTES if self._config.rank == 0 else self._config.size * (CARD_MAX_BYTES + 2)
        notes = self.control[peer] = Notes(link, secret.keys(b"notes"), limit)
        self.door.watch(notes)

    def share(self, own: bytes) -> list[bytes]:
        """What every rank says, in rank order; *own* is what this rank says. All ranks call it.

        Raises
        ------
        InitializationFailed
            The group does not come together.
        """
        config = self._config
        if config.rank > 0:
            try:
                self.control[0].send(SAYS, own, self._deadline)
            except LinkEnded as error:
                self._read(0)  # it may have said why
                raise self._left(0, error) from error
            while 0 not in self._heard:
                self.turn(self._deadline + _GRACE_SECS, {0})
            self._complete = True
            return unpacked(self._heard.pop(0), config.size)
        while len(self._heard) < config.size - 1:
            self.turn(self._deadline, set(range(1, config.size)) - set(self._heard))
        self._complete = True
        said = [own, *(self._heard.pop(rank) for rank in range(1, config.size))]
        everything = packed(said)
        for rank, notes in self.control.items():
            try:
                notes.send(SAYS, everything, self._deadline + _GRACE_SECS)
            except LinkEnded as error:
                raise self._left(rank, error) from error
        return said

    def turn(self, deadline: float, missing: Iterable[int]) -> None:
        """Wait until something has happened, for a second at most, and take it in.

        Raises
        ------
        InitializationFailed
            The group does not come together; at *deadline* it says that *missing* did not come.
        """
        left = deadline - time.monotonic()
        if left <= 0:
            raise InitializationFailed("tcp", self._missing(missing))
        guests, readable = self.door.serve(min(left, _TURN_SECS))
        for guest in guests:
            self._let_in(guest)
        for source in readable:
            assert isinstance(source, Notes)
            self._read(source.link.peer)

    def fail(self, why: str) -> None:
        """Tell all that this rank can reach why the group does not come together."""
        until = time.monotonic() + _LAST_WORDS_SECS
        if self._config.rank > 0:
            why = f"rank {self._config.rank}: {why}"
        for notes in self.control.values():
            with contextlib.suppress(LinkEnded, InitializationFailed):
                notes.send_failure(why, until)
                notes.receive()  # what is left unread makes the system reset the connection, and this note

    def close(self) -> None:
        """Close every link."""
        for link in (*(notes.link for notes in self.control.values()), *self.data.values()):
            link.close()

    def check(self) -> None:
        """Raise ``InitializationFailed`` if rank 0 says that the group does not come together."""
        self._read(0)

    def fileno(self) -> int:
        """Descriptor of what :meth:`check` looks at."""
        return self.control[0].fileno()

    # ---- the door

    def _handshake(self) -> ServerHandshake:
        return ServerHandshake(self._keys, self._admit)

    def _admit(self, hello: Hello) -> tuple[Outcome, int]:
        config = self._config
        if hello.size != config.size:
            return Outcome.OTHER_SIZE, config.size
        if hello.rank >= config.size:
            return Outcome.NO_SUCH_RANK, config.size
        if hello.abi != ABI:
            return Outcome.OTHER_ABI, ABI
        if (hello.sealed, hello.encrypted) != (config.seal_frames, config.tls is not None):
            return Outcome.OTHER_SETTINGS, 0
        if hello.target != config.rank:
            return Outcome.WRONG_DOOR, config.rank
        if hello.rank in (self.data if hello.data else self.control) or hello.rank == config.rank:
            return Outcome.DUPLICATE, 0
        if hello.data and (hello.rank < config.rank or not self._complete):
            return Outcome.WRONG_DOOR, config.rank
        if not hello.data and (config.rank != 0 or self._complete):
            return Outcome.WRONG_DOOR, config.rank
        return Outcome.IN, 0

    def _let_in(self, guest: Guest) -> None:
        rank = guest.hello.rank
        if rank in (self.data if guest.hello.data else self.control):
            guest.link.close()  # two of one rank came through in one turn
            return
        self.add(guest.hello, guest.link, guest.secret, rank)

    # ---- notes

    def _read(self, rank: int) -> None:
        notes = self.control[rank]
        try:
            body = notes.receive()
        except LinkEnded as error:
            self.door.forget(notes)
            if self._config.rank != 0 or self._complete:
                raise self._left(rank, error) from error
            # It may be started again and come back; at the deadline it is missing like any other.
            notes.link.close()
            del self.control[rank]
            self._heard.pop(rank, None)
            return
        if body is None:
            return
        if rank in self._heard:
            raise InitializationFailed("tcp", f"rank {rank} speaks out of turn")
        self._heard[rank] = body

    def _left(self, rank: int, error: LinkEnded) -> InitializationFailed:
        why = error.strerror or "it left"
        return InitializationFailed("tcp", f"rank {rank} went away while the group came together: {why}")

    def _missing(self, ranks: Iterable[int]) -> str:
        numbers = sorted(ranks)
        shown = ", ".join(map(str, numbers[:16])) + (", …" if len(numbers) > 16 else "")
        limit = f"{self._config.join_timeout_secs:g} s"
        if self._config.rank > 0 and numbers == [0]:
            return f"rank 0 has not gathered all {self._config.size} ranks within {limit}"
        ranks_word = "rank" if len(numbers) == 1 else "ranks"
        refused = f"; turned away {self.door.refused}" if self.door.refused else ""
        told = f"{ranks_word} {shown} of {self._config.size} did not come within {limit}"
        return told + refused + self._where_it_listens()

    def _where_it_listens(self) -> str:
        """What to do where rank 0 listens and ranks of other machines can't come, or an empty text."""
        place = self._config.listening_address
        if self._config.rank > 0 or self._config.listener is not None or not is_loopback(place):
            return ""
        return (
            f"; rank 0 listens on {place} alone: ranks of other machines need COBRE_TCP_BIND_ADDR set there"
        )
