"""A worker's exception as JSON, and back: nothing that comes from a worker is run or imported here."""

from __future__ import annotations

import builtins
import contextlib
import json
import traceback
from dataclasses import asdict
from typing import Any

from pycobre import errors
from pycobre.errors import CaseError, Problem, PycobreError, RemoteError

_LINKS_MAX = 16  # of causes and contexts; a longer chain tells no more


def to_record(error: BaseException) -> dict[str, Any]:
    """*error* with its attributes, its traceback and what it came from, in plain JSON values."""
    return _record(error, _LINKS_MAX)


def _record(error: BaseException, links: int) -> dict[str, Any]:
    kind = type(error)
    cause, context = error.__cause__, error.__context__
    if context is cause or error.__suppress_context__:
        context = None
    found = {
        "module": kind.__module__,
        "name": kind.__qualname__,
        "message": str(error),
        **_plain({"args": error.args}),
        "attributes": _attributes(error),
        "notes": [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)],
        "traceback": "".join(traceback.format_tb(error.__traceback__)),
    }
    if links:
        found["cause"] = None if cause is None else _record(cause, links - 1)
        found["context"] = None if context is None else _record(context, links - 1)
    return found


def _attributes(error: BaseException) -> dict[str, Any]:
    if isinstance(error, CaseError):
        return {"problems": [asdict(problem) for problem in error.problems]}
    found = {name: value for name, value in vars(error).items() if not name.startswith("_")}
    if isinstance(error, OSError) and not isinstance(error, PycobreError):
        # None is not the same as not set: it would be part of the message.
        names = {"filename": error.filename, "filename2": error.filename2}
        found |= {name: value for name, value in names.items() if value is not None}
    return _plain(found)


def _plain(values: dict[str, object]) -> dict[str, Any]:
    """Those of *values* that JSON can hold."""
    found = {}
    for name, value in values.items():
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            found[name] = json.loads(json.dumps(value))
    return found


def from_record(record: dict[str, Any], rank: int) -> BaseException:
    """The exception of :func:`to_record`, of its own type if that is pycobre's or built in.

    Its traceback, and that of each exception in its chain, is a note to it.
    """
    error = _bare(record)
    for note in record["notes"]:
        error.add_note(note)
    if record["traceback"]:
        error.add_note(f"Traceback on rank {rank}:\n{record['traceback'].rstrip()}")
    cause, context = record.get("cause"), record.get("context")
    if context is not None:
        error.__context__ = from_record(context, rank)
    if cause is not None:
        error.__cause__ = from_record(cause, rank)
    return error


def _bare(record: dict[str, Any]) -> BaseException:
    module, name, message = record["module"], record["name"], record["message"]
    error: BaseException | None = None
    if module == errors.__name__:
        error = _ours(getattr(errors, name, None), message)
    elif module == builtins.__name__:
        error = _built_in(getattr(builtins, name, None), record.get("args"), message)
    if error is None:
        return RemoteError(name if module == builtins.__name__ else f"{module}.{name}", message)
    for attribute, value in record["attributes"].items():
        if attribute == "problems":
            value = [Problem(**problem) for problem in value]
        setattr(error, attribute, tuple(value) if isinstance(value, list) else value)
    return error


def _ours(kind: object, message: str) -> BaseException | None:
    if not (isinstance(kind, type) and issubclass(kind, PycobreError)):
        return None
    # Their constructors put the message together from parts; here both are there already.
    error = kind.__new__(kind)
    error.args = (message,)
    return error


def _built_in(kind: object, args: list[Any] | None, message: str) -> BaseException | None:
    if not (isinstance(kind, type) and issubclass(kind, Exception)) or issubclass(kind, BaseExceptionGroup):
        return None
    try:
        return kind(*(args if args is not None else (message,)))
    except TypeError:  # such as UnicodeDecodeError, which wants bytes
        return None
