"""What a run is asked to do, in a form that travels to the ranks' command line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class RunRequest:
    """A run: the case, and how it is to be run.

    Attributes
    ----------
    case
        Case directory.
    output
        Directory of the results.
    force
        Replace results that are there already.
    threads
        Native threads a rank; ``None`` shares the cores among the ranks.
    simulation
        Whether to simulate after training.
    overrides
        Settings on top of the case's ``config.json``, by dotted key.
    is_copy
        Whether the case is a system's, written for the ranks of this run alone.
    """

    case: str
    output: str
    force: bool = False
    threads: int | None = None
    simulation: bool = True
    overrides: dict[str, object] = field(default_factory=dict)
    is_copy: bool = False

    @classmethod
    def of(
        cls,
        case: Path,
        output: Path | None,
        *,
        force: bool = False,
        threads: int | None = None,
        simulation: bool = True,
        overrides: dict[str, object] | None = None,
        is_copy: bool = False,
    ) -> RunRequest:
        """Request with absolute paths; the output goes to ``output`` in the case unless told otherwise."""
        place = case.absolute()
        target = output.absolute() if output is not None else place / "output"
        return cls(str(place), str(target), force, threads, simulation, overrides or {}, is_copy)

    def to_text(self) -> str:
        """The request as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> RunRequest:
        """The request that :meth:`to_text` wrote."""
        return cls(**json.loads(text))
