"""One connection to one peer: bytes in, bytes out, never waiting."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from dataclasses import dataclass


class LinkEnded(ConnectionError):
    """The other side is gone: its end of the stream, a reset, or no sign of life in time."""


class TlsRefused(LinkEnded):
    """The other side does not speak TLS, or one side does not take the other's certificate."""


@dataclass(frozen=True)
class FrameKeys:
    """What seals the frames of one link in each direction, where frames are sealed.

    Attributes
    ----------
    sends, receives
        32 bytes each, different for every direction of every link of every job.
    """

    sends: bytes
    receives: bytes


class Link:
    """An authenticated, non-blocking connection.

    Attributes
    ----------
    bare
        Whether bytes pass the socket as they are.
    peer
        Rank of the other side.
    keys
        What frames are sealed with, or ``None``.
    """

    bare = True

    def __init__(self, connection: socket.socket, peer: int, keys: FrameKeys | None = None) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.peer = peer
        self.keys = keys

    @property
    def buffered(self) -> bool:
        """Whether bytes have come that the descriptor does not show: wait on it only if not."""
        return False

    def fileno(self) -> int:
        """Descriptor to wait on."""
        return self.socket.fileno()

    def greet_some(self) -> int:
        """What to wait for before the greeting can go on, 0 when bytes may pass.

        Raises
        ------
        LinkEnded
            The other side is gone, or does not greet as it should.
        """
        return 0

    def send_some(self, parts: Sequence[memoryview]) -> int:
        """Bytes of *parts* that went out just now, 0 when there is no room.

        Raises
        ------
        LinkEnded
            The other side is gone.
        """
        try:
            return self.socket.sendmsg(parts)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise LinkEnded(error.errno, error.strerror) from error

    def receive_some(self, room: memoryview) -> int:
        """Bytes that came into *room* just now, 0 when there are none yet.

        Raises
        ------
        LinkEnded
            The other side is gone.
        """
        return self.receive_parts((room,))

    def receive_parts(self, rooms: Sequence[memoryview]) -> int:
        """Bytes that came into *rooms*, one after another, just now; 0 when there are none yet.

        Raises
        ------
        LinkEnded
            The other side is gone.
        """
        try:
            count = self.socket.recvmsg_into(rooms)[0]
        except BlockingIOError:
            return 0
        except OSError as error:
            raise LinkEnded(error.errno, error.strerror) from error
        if count == 0 and any(room.nbytes for room in rooms):
            raise LinkEnded(0, "it closed the connection")
        return count

    def close(self) -> None:
        """Close the connection. Closing twice does nothing."""
        with contextlib.suppress(OSError):
            self.socket.close()


@dataclass(frozen=True)
class Peer:
    """A rank, as the others know it.

    Attributes
    ----------
    rank, pid
        Its number, and its process on its own machine.
    machine
        Equal for ranks that see each other's processes and abstract sockets (boot, pid and network
        namespace), in hexadecimal.
    address
        Where it was seen, for messages.
    """

    rank: int
    pid: int
    machine: str
    address: str


@dataclass(frozen=True)
class Joined:
    """A group that has come together: who it is, and the open links of this rank.

    Attributes
    ----------
    rank
        This rank.
    peers
        (R,) All ranks, this one included.
    control
        On rank 0 a link to every other rank; elsewhere one to rank 0. They carry what is not part of a
        collective and are silent in normal operation.
    data
        A link to every other rank.
    """

    rank: int
    peers: tuple[Peer, ...]
    control: dict[int, Link]
    data: dict[int, Link]
