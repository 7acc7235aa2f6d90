"""A control link with what has yet to go out on it."""

from __future__ import annotations

from pycobre.comm.tcp.control import Control, ControlReader, encode
from pycobre.comm.tcp.frame import Seal
from pycobre.comm.tcp.link import Link, LinkEnded
from pycobre.comm.tcp.liveness import silence_secs


class Wire:
    """A control link to a rank of a group of *size*.

    Attributes
    ----------
    link
        The link.
    left
        Whether the rank has said that it goes.
    outbox
        What has yet to go out.
    """

    def __init__(self, link: Link, size: int) -> None:
        self.link = link
        self.left = False
        self.outbox = bytearray()
        self._sends = Seal(link.keys.sends) if link.keys else None
        self._reader = ControlReader(size, Seal(link.keys.receives) if link.keys else None)

    def post(self, message: Control) -> None:
        """Have *message* go out with the next :meth:`flush`."""
        frame = encode(message)
        self.outbox += frame + (self._sends.mark((frame,)) if self._sends else b"")

    def flush(self) -> None:
        """Send what there is room for."""
        try:
            while self.outbox and (sent := self.link.send_some([memoryview(bytes(self.outbox))])):
                del self.outbox[:sent]
        except LinkEnded:
            self.outbox.clear()  # nobody hears; what the other side said before can still be read

    def receive(self) -> list[Control]:
        """The messages that have come; raises as :meth:`Link.receive_some` and a reader do."""
        count = self.link.receive_some(self._reader.room)
        return self._reader.filled(count) if count else []

    def silence_secs(self) -> float:
        """For how long the rank has owed a sign of life, 0 if it does not or has left."""
        return 0.0 if self.left else silence_secs(self.link.socket)
