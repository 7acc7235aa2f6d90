"""Events as JSON lines, and back: what ranks tell their launcher, and ``--json`` tells the world."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from pycobre.sddp import IterationFinished, TrainingFinished, TrainingStarted
from pycobre.study import RunFinished, SimulationProgress, StudyEvent, StudyStarted

_TYPES: dict[str, type[StudyEvent]] = {
    "started": StudyStarted,
    "training_started": TrainingStarted,
    "iteration": IterationFinished,
    "training_finished": TrainingFinished,
    "simulation": SimulationProgress,
    "result": RunFinished,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def to_line(event: StudyEvent) -> str:
    """One JSON object, on one line, whose ``type`` names the event."""
    return dump({"type": _NAMES[type(event)], **vars(event)})


def from_line(line: bytes | str) -> StudyEvent:
    """The event that :func:`to_line` wrote.

    Raises
    ------
    ValueError
        The line is something else.
    """
    record: dict[str, Any] = json.loads(line)
    kind: Callable[..., StudyEvent] | None = _TYPES.get(str(record.pop("type", None)))
    if kind is None:
        raise ValueError(f"no event: {line!r}")
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in record.items()})


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
    return json.dumps(plain, ensure_ascii=False)
