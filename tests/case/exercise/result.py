"""What a run of a case comes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

from pycobre.case import check_case
from pycobre.comm import LocalCommunicator
from pycobre.errors import CaseError, Problem
from pycobre.sddp import Policy
from pycobre.study import RunSettings, Study
from pycobre.study.run import Run

Result = tuple[tuple[Any, ...], ...]


def result_of(root: Path) -> tuple[Result | None, tuple[Problem, ...]]:
    """Bounds, costs and counts of a run of the case in *root*, or ``None`` and what is wrong with it."""
    case, problems = check_case(root)
    if case is None:
        return None, problems
    try:
        study = Study(case)
    except CaseError as error:
        return None, error.problems
    comm = LocalCommunicator()
    run = Run(
        case, study.recursion, study.replays, {}, comm, RunSettings(output=root / "output", threads=1), None
    )
    timings = ("_s", "output", "case", "warnings")
    told: list[tuple[Any, ...]] = []
    keep_bases = Policy.keep_bases

    def watched(*arguments: Any) -> Any:
        """Which cuts are rows of a stage's problem shows in nothing else."""
        rows = keep_bases(*arguments)
        told.append(("rows", *rows.tolist()))
        return rows

    with patch.object(Policy, "keep_bases", watched):
        for event in run.events():
            facts = {name: value for name, value in vars(event).items() if not name.endswith(timings)}
            told.append((type(event).__name__, *sorted(facts.items())))
    return tuple(told), problems
