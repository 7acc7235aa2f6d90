"""The last call of a kind: a loop that repeats it pays neither for checks nor for views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_MOST_KEPT_BYTES = 8 << 20  # of one array; the checks of a call with larger ones take no part of its time


class Remembered:
    """A call that was checked, and its arguments as the caller gave them.

    Parameters
    ----------
    repeat
        The call itself.
    send, recv
        Its arrays, of which :meth:`lasts` is true.
    details
        Its other arguments, which never change.

    Attributes
    ----------
    repeat
        As above.
    """

    def __init__(self, repeat: Callable[[], None], send: Array, recv: Array, *details: object) -> None:
        self.repeat = repeat
        self._send, self._recv, self._details = send, recv, details
        self._dtype, self._send_size, self._recv_size = send.dtype, send.size, recv.size

    @staticmethod
    def lasts(*arrays: Array) -> bool:
        """Whether a call may be remembered: vectors that are not large, and no part of others.

        They live as long as the call is remembered.
        """
        return all(
            type(array) is np.ndarray
            and array.ndim == 1
            and array.flags.owndata
            and array.nbytes <= _MOST_KEPT_BYTES
            for array in arrays
        )

    def fits(self, send: Array, recv: Array, *details: object) -> bool:
        """Whether this is the call, with arrays that nobody has given another form since."""
        return (
            send is self._send
            and recv is self._recv
            and send.dtype is self._dtype
            and recv.dtype is self._dtype
            and send.size == self._send_size
            and recv.size == self._recv_size
            and recv.flags.writeable
            and details == self._details
        )
