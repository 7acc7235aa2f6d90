"""The loop that completes a request."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_TESTS = 24  # before a clock is read: a rank that is nearly here costs no more than MPI itself
# Then give way between tests: the rank that is to come may be on this very processor, though others be idle.
_YIELD_SECS = 400e-6
_EXCHANGE_YIELD_SECS = 5e-3  # when all are known to be here, MPI wants to be called to move the bytes
# A sleep costs some 50 us of processor time, however short it is.
_PAUSE_SECS = 2e-3
_PAUSE_PART = 1 / 25  # of the wait so far, that whoever waits for long may lose more
_LONGEST_PAUSE_SECS = 50e-3  # within which bad news is heard
_EXCHANGE_PAUSE_SECS = 50e-6


def complete(test: Callable[[], bool], look: Callable[[], None], met: bool = False) -> None:
    """Return once *test* is true; *look* is asked from time to time and raises to end the wait.

    Python runs the handlers of signals between two tests. MPI's own wait would burn a whole core until the
    last rank comes, and hear of nothing.

    Parameters
    ----------
    test, look
        Whether the request is complete; what else has happened.
    met
        All ranks are in this collective, and only bytes are under way.
    """
    for _ in range(_TESTS):
        if test():
            return
    began = time.perf_counter()
    yielding = _EXCHANGE_YIELD_SECS if met else _YIELD_SECS
    while not test():
        waited = time.perf_counter() - began
        if waited < yielding:
            os.sched_yield()
        elif met:
            time.sleep(_EXCHANGE_PAUSE_SECS)
        else:
            time.sleep(min(waited / 8, max(_PAUSE_SECS, waited * _PAUSE_PART), _LONGEST_PAUSE_SECS))
        look()
