"""How far apart two processors are: the round trip of a cache line between them.

Needs nothing but the standard library, as whoever is measured runs it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import time
from pathlib import Path

SOURCE = Path(__file__).with_name("pingpong.cpp")
LIBRARY, ROOM = "BENCH_PINGPONG", "BENCH_LINES"
"""Variables: where the compiled source is, and a file of zeros that the two share."""
BYTES = 256
"""Of the two lines of one measurement."""
MEASUREMENTS = 64
_ENOUGH_SECS = 0.01


def compiled(cache: Path) -> Path:
    """The source as a library, compiled again if it has changed."""
    library = cache / "pingpong.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        cache.mkdir(parents=True, exist_ok=True)
        command = ["c++", "-O2", "-std=c++17", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
        subprocess.run(command, check=True)
    return library


class Distance:
    """Measures it from two sides, ranks 0 and 1, while the others keep off the processors."""

    def __init__(self, library: Path, room: Path, rank: int) -> None:
        with room.open("r+b") as file:
            self._room = mmap.mmap(file.fileno(), BYTES * MEASUREMENTS)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._room))
        self._trip = ctypes.CDLL(str(library)).round_trip_ns
        self._trip.restype, self._trip.argtypes = ctypes.c_double, (ctypes.c_void_p, ctypes.c_int)
        self._rank, self._done = rank, 0

    @classmethod
    def told(cls, rank: int) -> Distance:
        """By the environment."""
        return cls(Path(os.environ[LIBRARY]), Path(os.environ[ROOM]), rank)

    def __call__(self) -> float:
        """Nanoseconds there and back; every rank calls it as often."""
        if self._rank > 1:
            time.sleep(_ENOUGH_SECS)
            return 0.0
        time.sleep(_ENOUGH_SECS / 3)  # until the others do
        usable = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {sorted(usable)[self._rank % len(usable)]})
        place = self._address + BYTES * self._done
        self._done += 1
        found = float(self._trip(place, self._rank == 0))
        os.sched_setaffinity(0, usable)
        return found
