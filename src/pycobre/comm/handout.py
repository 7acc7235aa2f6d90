"""What a launcher hands to the ranks of a group so that they meet, and what the group leaves behind."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from pycobre._native import shm as native
from pycobre.comm.process import RankProcess
from pycobre.comm.segment import group_segment
from pycobre.comm.shm import DESCRIPTOR_VARIABLE, JOB_VARIABLE
from pycobre.comm.tcp.config import LISTENER_VARIABLE, SECRET_VARIABLE
from pycobre.comm.tcp.secret import LAUNCHED_SECRET_BYTES
from pycobre.errors import CollectiveFailed, InitializationFailed

_JOB_ID_BYTES = 16

_OURS = ("COBRE_TCP_", "COBRE_SHM_", "_PYCOBRE_")
# How ranks work, not where they meet: an inner group keeps what the user has set.
_KEPT = ("_TIMEOUT_SECS", "_DIRECT", "_UNIX_SOCKETS", "_SEAL_FRAMES", "_TLS_CERT", "_TLS_KEY", "_TLS_CA")

# What a rank prints of an error that tells of another rank.
_BYSTANDER = re.compile(
    rf"^({re.escape(CollectiveFailed.__module__)}\.)?{CollectiveFailed.__name__}: \w+ failed"
    r" \((lost|stopped|timeout|aborted)\)",
    re.MULTILINE,
)


class Handout(ABC):
    """Descriptors and variables of a group that is about to start.

    Attributes
    ----------
    backend
        ``shm`` or ``tcp``.
    """

    backend: str

    @abstractmethod
    def variables(self, rank: int) -> dict[str, str]:
        """What *rank* finds set."""

    @abstractmethod
    def descriptors(self, rank: int) -> tuple[int, ...]:
        """What *rank* inherits, under the same numbers."""

    @abstractmethod
    def started(self) -> None:
        """Let go of what the ranks alone should have, now that they have it."""

    @abstractmethod
    def culprit(self, failed: Sequence[RankProcess]) -> RankProcess:
        """Who of *failed*, in the order of their ends, is to blame. Asked after all have ended."""

    @abstractmethod
    def close(self) -> None:
        """Close what is left. Closing twice does nothing."""


def handout(backend: str, ranks: int, timeout_secs: float | None) -> Handout:
    """What a group of *ranks* over *backend* needs.

    Raises
    ------
    InitializationFailed
        There is no such group, or not enough memory or descriptors for it.
    """
    kinds: dict[str, type[ShmHandout | TcpHandout]] = {"shm": ShmHandout, "tcp": TcpHandout}
    if backend not in kinds:
        raise InitializationFailed(backend, f"a launcher starts groups over {' or '.join(kinds)}")
    if not 1 <= ranks <= native.MAX_RANKS:
        raise InitializationFailed(backend, f"a group has 1 to {native.MAX_RANKS} ranks, not {ranks}")
    try:
        return kinds[backend](ranks, timeout_secs)
    except OSError as error:
        raise InitializationFailed(
            backend, f"nothing for {ranks} ranks to meet in: {error.strerror}"
        ) from error


def without_group(environment: Mapping[str, str]) -> dict[str, str]:
    """*environment* without the coordinates of the group of ours that this process itself belongs to."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(_OURS) or name.endswith(_KEPT)
    }


class ShmHandout(Handout):
    """A sealed segment without a name."""

    backend = "shm"

    def __init__(self, ranks: int, timeout_secs: float | None) -> None:
        job = secrets.randbits(62) + 1
        self._segment = group_segment(ranks, job)
        self._blamed: list[int] = []
        self._ranks = ranks
        self._closed = False
        self._variables = {
            "COBRE_COMM_BACKEND": "shm",
            "COBRE_SHM_NAME": f"launch-{job:x}",
            "COBRE_SHM_SIZE": str(ranks),
            DESCRIPTOR_VARIABLE: str(self._segment),
            JOB_VARIABLE: str(job),
        }
        if timeout_secs is not None:
            self._variables["COBRE_SHM_TIMEOUT_SECS"] = str(timeout_secs)

    def variables(self, rank: int) -> dict[str, str]:
        """The segment, and who *rank* is in it."""
        return {**self._variables, "COBRE_SHM_RANK": str(rank)}

    def descriptors(self, rank: int) -> tuple[int, ...]:
        """The segment."""
        return (self._segment,)

    def started(self) -> None:
        """Keep the segment: the verdict will be in it."""

    def culprit(self, failed: Sequence[RankProcess]) -> RankProcess:
        """Whom the ranks' own verdict blames; it knows better than the order of their ends."""
        if len(self._blamed) < self._ranks:
            for number in self._blamed:
                for rank in failed:
                    if rank.rank == number:
                        return rank
        return failed[0]

    def close(self) -> None:
        """Read the verdict and let the segment go."""
        if self._closed:
            return
        self._closed = True
        verdict = native.verdict_of(self._segment)
        self._blamed = verdict[1] if verdict is not None else []
        os.close(self._segment)


class TcpHandout(Handout):
    """A socket that listens already, and a secret; neither is in an argument or a variable."""

    backend = "tcp"

    def __init__(self, ranks: int, timeout_secs: float | None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=ranks)
        try:
            self._secret = _sealed(secrets.token_bytes(LAUNCHED_SECRET_BYTES + _JOB_ID_BYTES))
        except BaseException:
            self._listener.close()
            raise
        self._closed = False
        self._variables = {
            "COBRE_COMM_BACKEND": "tcp",
            "COBRE_TCP_SIZE": str(ranks),
            "COBRE_TCP_COORDINATOR": "127.0.0.1",
            "COBRE_TCP_PORT": str(self._listener.getsockname()[1]),
            SECRET_VARIABLE: str(self._secret),
        }
        if timeout_secs is not None:
            self._variables["COBRE_TCP_TIMEOUT_SECS"] = str(timeout_secs)

    def variables(self, rank: int) -> dict[str, str]:
        """Where rank 0 is, and who *rank* is."""
        own = {"COBRE_TCP_RANK": str(rank)}
        if rank == 0:
            own[LISTENER_VARIABLE] = str(self._listener.fileno())
        return {**self._variables, **own}

    def descriptors(self, rank: int) -> tuple[int, ...]:
        """The secret, and for rank 0 the socket."""
        return (self._secret, self._listener.fileno()) if rank == 0 else (self._secret,)

    def started(self) -> None:
        """Close the socket: connections to it would not be refused when rank 0 is gone."""
        self._listener.close()

    def culprit(self, failed: Sequence[RankProcess]) -> RankProcess:
        """The first that a signal killed, else the first that does not just tell of another's loss."""
        for rank in failed:
            if (rank.code or 0) > 128:
                return rank
        for rank in failed:
            if not _BYSTANDER.search(rank.last_words):
                return rank
        return failed[0]

    def close(self) -> None:
        """Close socket and secret."""
        if self._closed:
            return
        self._closed = True
        self._listener.close()
        os.close(self._secret)


def _sealed(content: bytes) -> int:
    """Descriptor of a nameless file with *content*, which nobody can change."""
    descriptor = os.memfd_create("pycobre-secret", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.write(descriptor, content)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
