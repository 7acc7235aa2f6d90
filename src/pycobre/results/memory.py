"""What the C library keeps of memory that was given back to it."""

from __future__ import annotations

import ctypes


def give_memory_back() -> None:
    """Return free pages of the heap to the system, where the C library can (glibc).

    Between rounds of arrays of many sizes it would keep about as much as a round takes.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
