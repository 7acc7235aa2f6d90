"""Events as JSON lines, and back: what workers tell their launcher, and ``--json`` tells the world."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from pycobre.app.failures import from_record, to_record
from pycobre.sddp import IterationFinished, TrainingFinished, TrainingStarted
from pycobre.study import RunFinished, SimulationProgress, StudyEvent, StudyStarted


@dataclass(frozen=True)
class WorkerRecord:
    """What one worker used for a run that went well.

    Attributes
    ----------
    rank, pid, host
        Which process it was.
    exit_code
        What it ended with; ``None`` for the calling process itself, which goes on.
    cpu_s
        Processor time of all its threads, from its first event to its last.
    peak_rss_bytes
        The most memory that its process has ever held at once.
    """

    rank: int
    pid: int
    host: str
    exit_code: int | None
    cpu_s: float
    peak_rss_bytes: int


RunEvent = StudyEvent | WorkerRecord
"""What comes from a run: the study's events, then what the worker used."""

_TYPES: dict[str, type[RunEvent]] = {
    "started": StudyStarted,
    "training_started": TrainingStarted,
    "iteration": IterationFinished,
    "training_finished": TrainingFinished,
    "simulation": SimulationProgress,
    "result": RunFinished,
    "worker": WorkerRecord,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}
_encode = json.JSONEncoder(ensure_ascii=False).encode


def to_line(event: RunEvent) -> str:
    """One JSON object, on one line, whose ``type`` names the event."""
    return dump({"type": _NAMES[type(event)], **vars(event)})


def failed_line(error: BaseException) -> str:
    """A worker's last line: the exception that ended it."""
    return dump({"type": "failed", "error": to_record(error)})


def from_line(line: bytes | str, rank: int) -> RunEvent | BaseException:
    """The event that :func:`to_line`, or the exception that :func:`failed_line`, wrote on *rank*.

    Raises
    ------
    ValueError
        The line is something else.
    """
    record: dict[str, Any] = json.loads(line)
    name = str(record.pop("type", None))
    if name == "failed":
        return from_record(record["error"], rank)
    kind: Callable[..., RunEvent] | None = _TYPES.get(name)
    if kind is None:
        raise ValueError(f"no event: {line!r}")
    return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in record.items()})


def failure_line(status: str, reason: str, exit_code: int, output: str, **more: object) -> str:
    """The last line of a run that ended without a result: the same keys as a result, and what is known."""
    empty = dict.fromkeys(field.name for field in fields(RunFinished))
    return dump(
        {"type": "result", **empty, "status": status, "reason": reason, "exit_code": exit_code,
         "output": output, **more}
    )  # fmt: skip


def dump(record: dict[str, object]) -> str:
    """JSON of *record* on one line; numbers that JSON lacks (infinity, NaN) become null."""
    plain = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in record.items()
    }
    return _encode(plain)


def tell(line: str) -> None:
    """Print *line* for whoever asked for ``--json``, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
