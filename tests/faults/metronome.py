"""How long the machine lets a process wait that is due: what a limit of time has to allow for."""

from __future__ import annotations

import threading
import time
from typing import Self

_BEAT_SECS = 0.002


class Metronome:
    """A thread that wakes again and again, and notes when it comes late.

    On a machine with more to do than cores, what a chain of processes does one after the other takes longer
    by about as much as this thread waits meanwhile. Where the machine is idle, that is nothing.
    """

    def __init__(self) -> None:
        self._over = threading.Event()
        self._waits: list[tuple[float, float]] = []
        self._thread = threading.Thread(target=self._beat)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.is_set():
            due = time.monotonic() + _BEAT_SECS
            time.sleep(_BEAT_SECS)
            now = time.monotonic()
            if now > due + _BEAT_SECS:
                self._waits.append((due, now))

    def waited_secs(self, begin: float, end: float) -> float:
        """How long it waited in all between two times of ``time.monotonic()``, one clock of all processes."""
        return sum(max(0.0, min(end, now) - max(begin, due)) for due, now in list(self._waits))
