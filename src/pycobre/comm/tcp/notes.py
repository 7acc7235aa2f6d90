"""Short sealed messages on a control link while a group comes together."""

from __future__ import annotations

import hmac
import select
import struct
import time

from pycobre.comm.tcp.link import FrameKeys, Link, LinkEnded
from pycobre.errors import InitializationFailed

SAYS = 1
"""What a rank says in this round; from rank 0, what all have said."""
FAILED = 2
"""Why the group does not come together."""

_HEADER = struct.Struct("!B3xI")  # kind, bytes of the body
_NUMBER = struct.Struct("!Q")
_CODE_BYTES = 32
_FAILED_MAX_BYTES = 1000
_PIECE_BYTES = 1 << 16


class Notes:
    """The notes on one link, in both directions.

    Parameters
    ----------
    link
        On which nothing else travels meanwhile. No byte beyond the last note is taken from it.
    keys
        Of this link, used for nothing else.
    limit
        Longest body that the other side may send.
    """

    def __init__(self, link: Link, keys: FrameKeys, limit: int) -> None:
        self.link = link
        self._keys = keys
        self._limit = max(limit, _FAILED_MAX_BYTES)
        self._sent = 0
        self._received = 0
        self._kind = 0
        self._parts = bytearray()
        self._due = _HEADER.size

    def fileno(self) -> int:
        """Descriptor to wait on."""
        return self.link.fileno()

    def send(self, kind: int, body: bytes, deadline: float) -> None:
        """Send a note, waiting for room until *deadline*.

        Raises
        ------
        LinkEnded
            The other side is gone, or takes nothing.
        """
        start = _HEADER.pack(kind, len(body)) + body
        code = hmac.digest(self._keys.sends, _NUMBER.pack(self._sent) + start, "sha256")
        self._sent += 1
        rest = memoryview(start + code)
        poll = select.poll()
        poll.register(self.link, select.POLLOUT)
        while rest:
            count = self.link.send_some([rest])
            rest = rest[count:]
            left = deadline - time.monotonic()
            if not count and (left <= 0 or not poll.poll(left * 1000)):
                raise LinkEnded(0, "it takes nothing any more")

    def send_failure(self, why: str, deadline: float) -> None:
        """Tell the other side why the group does not come together."""
        self.send(FAILED, why.encode()[:_FAILED_MAX_BYTES], deadline)

    def receive(self) -> bytes | None:
        """What the other side says, ``None`` while it has not said all.

        Raises
        ------
        InitializationFailed
            It says that the group does not come together, or sends what is no note.
        LinkEnded
            The other side is gone.
        """
        while len(self._parts) < self._due:
            # Not all at once: the length is only a promise until the bytes have come.
            room = bytearray(min(self._due - len(self._parts), _PIECE_BYTES))
            count = self.link.receive_some(memoryview(room))
            if not count:
                return None
            self._parts += room[:count]
            if len(self._parts) == _HEADER.size:
                self._kind, length = _HEADER.unpack(self._parts)
                if self._kind not in (SAYS, FAILED) or length > self._limit:
                    raise InitializationFailed("tcp", f"{self._who} sends what is no note of ours")
                self._due = _HEADER.size + length + _CODE_BYTES
        code = hmac.digest(
            self._keys.receives, _NUMBER.pack(self._received) + self._parts[:-_CODE_BYTES], "sha256"
        )
        if not hmac.compare_digest(code, self._parts[-_CODE_BYTES:]):
            raise InitializationFailed("tcp", f"a note of {self._who} was changed on its way")
        body = bytes(self._parts[_HEADER.size : -_CODE_BYTES])
        self._received += 1
        self._parts, self._due = bytearray(), _HEADER.size
        if self._kind == FAILED:
            raise InitializationFailed("tcp", body.decode(errors="replace"))
        return body

    @property
    def _who(self) -> str:
        return f"rank {self.link.peer}"
