"""Making an error that helps out of a stage problem that has no optimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pycobre.errors import StageProblemError
from pycobre.lp import StageSolver

FloatArray = NDArray[np.float64]


def stage_problem_error(
    status: str,
    solver: StageSolver,
    state: FloatArray,
    noise: FloatArray,
    *,
    stage: int,
    iteration: int | None,
    scenario: int,
    opening: int | None,
    rank: int | None,
    dump_directory: str | None,
) -> StageProblemError:
    """Error that names the place and what is in conflict there; the problem is written out if asked for."""
    dump = ""
    if dump_directory is not None:
        Path(dump_directory).mkdir(parents=True, exist_ok=True)
        places = {"stage": stage, "iteration": iteration, "scenario": scenario, "opening": opening}
        name = "_".join(f"{place}{value}" for place, value in places.items() if value is not None)
        dump = str(Path(dump_directory) / f"{name}.mps")
    explanation = solver.explain(state, noise, dump)
    return StageProblemError(
        stage=stage,
        name=solver.template.name,
        status=status,
        iteration=iteration,
        scenario=scenario,
        opening=opening,
        rank=rank,
        conflict=explanation.conflict,
        reason=explanation.words,
        states=explanation.states,
        dump=dump if dump and not explanation.trouble else None,
    )
