"""The list of promises, and how a group is held to them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from pycobre.comm.base import Backend, Communicator
from pycobre.errors import PycobreError

Promise = Callable[[Communicator], None]
Found = TypeVar("Found", bound=BaseException)

PROMISES: dict[str, Promise] = {}
"""Every promise by its name."""


def promise(function: Promise) -> Promise:
    """The function itself, now in the list."""
    PROMISES[function.__name__] = function
    return function


def keep(comm: Communicator, names: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Names of promises and what this rank found wrong, an empty text where it is kept.

    All ranks of *comm* call it alike. Each promise has a group of its own where *comm* can be duplicated, so
    that a broken one does not break the rest.
    """
    for name in names or PROMISES:
        group, apart = _own_group(comm)
        try:
            PROMISES[name](group)
        except Exception as error:
            trouble = traceback.format_exc()
            if apart:
                group.abort(f"{name}: {error!r}")
        else:
            trouble = ""
        if apart:
            group.close()
        yield name, trouble


def _own_group(comm: Communicator) -> tuple[Communicator, bool]:
    return (comm.duplicate(), True) if isinstance(comm, Backend) else (comm, False)


def raised(kind: type[Found], call: Callable[[], object]) -> Found:
    """The error of *kind* that *call* raises; anything else breaks the promise."""
    try:
        call()
    except kind as error:
        return error
    except PycobreError as error:
        raise AssertionError(f"expected {kind.__name__}, got {error!r}") from error
    raise AssertionError(f"expected {kind.__name__}, but the call returned")
