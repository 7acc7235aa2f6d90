"""How a rank waits while bytes go in both directions over many links at once."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from pycobre.comm.tcp.flow import FrameIn, PeerFailed, Transfer
from pycobre.comm.tcp.frame import ProtocolError
from pycobre.comm.tcp.link import LinkEnded

PATIENCE_NS = 50_000  # before a wait sleeps: a rank that is nearly here costs less than that and being woken
_LAST_BYTES_SECS = 1.0  # for what ranks sent before they left
_BOTH = select.POLLIN | select.POLLOUT
Result = TypeVar("Result")

_give_way = getattr(os, "sched_yield", lambda: time.sleep(0))  # not every system has it


class Overdue(Exception):
    """The limit of one collective has passed, in a wait for *peer* among others."""

    def __init__(self, peer: int) -> None:
        self.peer = peer
        super().__init__(f"rank {peer}")


class Interrupted(Exception):
    """The group has failed, as the wake descriptor tells."""


class Driver:
    """Moves transfers until they are done: tries, gives way for a moment, then sleeps.

    Parameters
    ----------
    wake
        A descriptor that is readable once the group has failed.
    concerned
        Whether it then failed in this collective, and not only for those that come after.

    Attributes
    ----------
    deadline
        When the collective is overdue, on the monotonic clock; ``None`` for never.
    """

    def __init__(self, wake: int, concerned: Callable[[], bool]) -> None:
        self._wake = wake
        self._concerned = concerned
        self.deadline: float | None = None

    def poll_for(self, transfers: Iterable[Transfer]) -> select.poll:
        """What to wait with until one of *transfers* can go on, or the group has failed."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        events: dict[int, int] = {}
        for transfer in transfers:
            descriptor = transfer.channel.link.fileno()
            events[descriptor] = events.get(descriptor, 0) | transfer.events
        for descriptor, wanted in events.items():
            poll.register(descriptor, wanted)
        return poll

    def run(self, transfers: Iterable[Transfer]) -> None:
        """Return when all *transfers* are done.

        Raises
        ------
        PeerFailed
            A link ended or brought nonsense.
        Overdue
            :attr:`deadline` has passed.
        Interrupted
            The group has failed.
        """
        pending = ready = [transfer for transfer in transfers if not transfer.done]
        count = -1
        while pending:
            while ready:
                ready = [transfer for transfer in ready if step(transfer) and not transfer.done]
            pending = [transfer for transfer in pending if not transfer.done]
            if pending:
                if len(pending) != count:
                    poll, count = self.poll_for(pending), len(pending)
                # Who stays awake takes a large payload in crumbs, as they drop in, with a call for each.
                events = dict(self._sleep(poll, pending[0]))
                # An end or an error counts as both: the attempt then says what it is.
                ready = [
                    transfer
                    for transfer in pending
                    if events.get(transfer.channel.link.fileno(), 0) & ~(_BOTH ^ transfer.events)
                ]

    def receive(self, frame: FrameIn, poll: select.poll, *, at_once: bool) -> None:
        """Return when *frame* is here; *poll* is what to sleep with until then, perhaps *at_once*.

        Raises
        ------
        PeerFailed, Overdue, Interrupted
            As in :meth:`run`.
        """
        link = frame.channel.link
        while not frame.done:
            # To look first costs less than an attempt in vain: that is an exception.
            if not link.buffered:
                ready = [] if at_once else _given_way(poll)
                if ready:
                    self._unless_failed(poll, ready)
                else:
                    self._sleep(poll, frame)
            step(frame)

    def _sleep(self, poll: select.poll, transfer: Transfer) -> list[tuple[int, int]]:
        left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        # Days of patience are none to speak of, and more milliseconds than poll can take.
        ready = poll.poll(None if left is None or left > 1e6 else left * 1e3)
        if not ready:
            raise Overdue(transfer.channel.link.peer)
        return self._unless_failed(poll, ready)

    def _unless_failed(self, poll: select.poll, ready: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if len(ready) == 1 and ready[0][0] == self._wake:
            return self._last_bytes(poll)
        return ready

    def _last_bytes(self, poll: select.poll) -> list[tuple[int, int]]:
        """What becomes ready although the group has failed."""
        if not self._concerned():
            poll.unregister(self._wake)
            ready = poll.poll(_LAST_BYTES_SECS * 1e3)
            poll.register(self._wake, select.POLLIN)
            if ready:
                return ready
        raise Interrupted


def _given_way(poll: select.poll) -> list[tuple[int, int]]:
    """What *poll* finds ready before patience ends."""
    ready = poll.poll(0)
    give_up = time.monotonic_ns() + PATIENCE_NS
    while not ready and time.monotonic_ns() < give_up:
        _give_way()
        ready = poll.poll(0)
    return ready


def step(transfer: Transfer) -> bool:
    """Move *transfer* as far as it goes just now, and say whether more is worth an attempt."""
    return attempt(transfer, transfer.step)


def attempt(transfer: Transfer, act: Callable[[], Result]) -> Result:
    """What *act* returns; if it fails, the peer of *transfer* is to blame."""
    try:
        return act()
    except (LinkEnded, ProtocolError) as error:
        raise PeerFailed(transfer.channel.link.peer, error) from error
