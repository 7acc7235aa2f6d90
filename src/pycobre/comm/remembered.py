"""The last call of a kind: a loop that repeats it pays neither for checks nor for views.

``Remembered(repeat, send, recv, *details)`` is a call that was checked, with its arguments as the caller
gave them; details never change. ``fits(send, recv, *details)`` says whether another call is the same, with
arrays that nobody has given another form or place since, and ``repeat()`` makes it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre._native import Remembered as Remembered

_MOST_KEPT_BYTES = 8 << 20  # of one array; the checks of a call with larger ones take no part of its time


def lasts(*arrays: npt.NDArray[Any]) -> bool:
    """Whether a call may be remembered: *arrays* are vectors that are not large, and no part of others.

    They live as long as the call is remembered.
    """
    return all(
        type(array) is np.ndarray
        and array.ndim == 1
        and array.flags.owndata
        and array.nbytes <= _MOST_KEPT_BYTES
        for array in arrays
    )
