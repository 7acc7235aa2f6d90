"""How far apart two processors are: the round trip of a cache line between them.

Needs nothing but the standard library, as whoever is measured runs it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("pingpong.cpp")
LIBRARY, ROOM = "BENCH_PINGPONG", "BENCH_LINES"
"""Variables: where the compiled source is, and a file of zeros that the two share."""
BYTES = 256
"""Of the two lines of one measurement."""
MEASUREMENTS = 64


def compiled(cache: Path) -> Path:
    """The source as a library, compiled again if it has changed."""
    library = cache / "pingpong.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        cache.mkdir(parents=True, exist_ok=True)
        command = ["c++", "-O2", "-std=c++17", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
        subprocess.run(command, check=True)
    return library


class Distance:
    """Measures it from two sides, each of which has one of these and calls it as often as the other."""

    def __init__(self, library: Path, room: Path, *, first: bool) -> None:
        with room.open("r+b") as file:
            self._room = mmap.mmap(file.fileno(), BYTES * MEASUREMENTS)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._room))
        self._trip = ctypes.CDLL(str(library)).round_trip_ns
        self._trip.restype, self._trip.argtypes = ctypes.c_double, (ctypes.c_void_p, ctypes.c_int)
        self._first, self._done = first, 0

    @classmethod
    def told(cls, *, first: bool) -> Distance | None:
        """By the environment; none if it does not say."""
        if LIBRARY not in os.environ:
            return None
        return cls(Path(os.environ[LIBRARY]), Path(os.environ[ROOM]), first=first)

    def __call__(self) -> float:
        """Nanoseconds there and back."""
        place = self._address + BYTES * self._done
        self._done += 1
        return float(self._trip(place, self._first))
