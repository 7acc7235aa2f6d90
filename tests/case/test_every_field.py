"""No field of the format is read and then ignored: what :mod:`case.fields` promises of each one holds."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import pycobre
from case import exercise
from case.fields import ELSEWHERE, LISTED, ROWS
from case.row import Row
from case.walk import leaves
from pycobre.case.load import DOCUMENTS
from pycobre.case.schema import schema_of, table_columns
from pycobre.errors import Problem
from pycobre.lp import SolverKind, StageSolver, stage_solver
from pycobre.results import Results
from pycobre.sddp import Policy


def test_every_field_has_a_row_or_a_reason() -> None:
    known = {(file, leaf) for _, file, model, _ in DOCUMENTS for leaf in leaves(schema_of(model))}
    known |= {(record["file"], record["column"]) for record in table_columns()}
    told = {(row.file, row.leaf) for row in ROWS} | set(LISTED) | set(ELSEWHERE)
    assert sorted(known - told) == []
    assert sorted(told - known) == []


_KNOWN: dict[object, tuple[exercise.Result | None, tuple[Problem, ...]]] = {}


@pytest.mark.parametrize("row", ROWS, ids=[f"{Path(row.file).stem}-{row.leaf}-{row.promise}" for row in ROWS])
def test_a_field_matters_or_is_refused(directory: Any, tmp_path: Path, row: Row) -> None:
    row.base(directory)
    for change in row.also:
        put(directory, *change)
    known = row.base, repr(row.also)
    solver: SolverKind = "highs" if row.base is exercise.long else "auto"  # which chooses rows
    if known not in _KNOWN and row.promise != "refused":
        _KNOWN[known] = exercise.result_of(directory.write(tmp_path / "before"), solver)
    put(directory, row.file, row.path, row.value)
    after, problems = exercise.result_of(directory.write(tmp_path / "after"), solver)
    errors = [problem for problem in problems if problem.kind != "warning"]
    told = "\n".join(f"{p.kind} {p.file}: {p}" for p in problems)
    if row.promise == "refused":
        assert after is None, f"it is accepted\n{told}"
        assert any(_names(problem, row) for problem in errors), told
        return
    before, faults = _KNOWN[known]
    assert before is not None, "\n".join(f"{p.file}: {p}" for p in faults)
    if row.promise == "key" and after is None:
        assert {problem.kind for problem in errors} <= {
            "schema",
            "reference",
            "dimension",
            "physics",
            "unsupported",
        }
        return
    assert after is not None, told
    assert not alike(after, before), f"it has no effect\n{told}"


HOW = ("pivots", "recoveries", "handed_over")


def alike(after: Any, before: Any) -> bool:
    """Whether two results differ by rounding alone, or only in how they were found."""
    if isinstance(after, tuple) and isinstance(before, tuple):
        if len(after) == len(before) == 2 and after[0] == before[0] and after[0] in HOW:
            return True
        return len(after) == len(before) and all(alike(a, b) for a, b in zip(after, before, strict=True))
    if isinstance(after, float) and isinstance(before, float):
        return math.isclose(after, before, rel_tol=1e-9, abs_tol=1e-9) or (
            after != after and before != before
        )
    return bool(after == before)


def put(directory: Any, file: str, path: str, value: object) -> None:
    """Set a value, in an object of its own if there is none."""
    steps = path.split(".")
    if file.endswith(".json"):
        place = directory.documents[file]
        for step in steps[:-1]:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    directory.put(file, path, value)


def _names(problem: Problem, row: Row) -> bool:
    """Whether a problem is about the field of a row, or about an object that it is in."""
    if problem.file != row.file or problem.field is None:
        return False
    steps, named = row.leaf.split("."), re.sub(r"\[\d+\]", "[]", problem.field)
    if named.endswith((".type", ".method")):  # the kind of object is refused
        named = named.rpartition(".")[0]
    within = [".".join(steps[:length]) for length in range(1, len(steps) + 1)]
    return any(f".{place}".endswith((f".{named}", f".{named}[]")) for place in within)


def test_a_cost_scale_is_used_in_every_problem(directory: Any, tmp_path: Path) -> None:
    exercise.small(directory)
    directory.put(exercise.CONFIG, "modeling", {"cost_scale_factor": 512.0})
    scales = []

    def watched(*arguments: Any, cost_scale: float, **more: Any) -> StageSolver:
        scales.append(cost_scale)
        return stage_solver(*arguments, cost_scale=cost_scale, **more)

    with patch("pycobre.study.run.stage_solver", watched):
        exercise.result_of(directory.write(tmp_path))
    assert scales == [512.0] * 3


def test_inflow_models_and_openings_are_written_if_asked_for(directory: Any, tmp_path: Path) -> None:
    exercise.small(directory)
    for asked in (False, True):
        directory.put(exercise.CONFIG, "exports", {"stochastic": asked})
        out = tmp_path / f"out-{asked}"
        pycobre.train(directory.write(tmp_path / "case"), output=out)
        assert ("openings" in Results.open(out).tables) is asked


def test_fits_are_written_if_asked_for(directory: Any, tmp_path: Path) -> None:
    exercise.planes(directory)
    for asked in (False, True):
        directory.put(exercise.CONFIG, "exports", {"fpha_deviation_points": asked})
        out = tmp_path / f"out-{asked}"
        pycobre.train(directory.write(tmp_path / "case"), output=out)
        results = Results.open(out)
        assert ("plane_fits" in results.tables) is asked
    rows = results.table("plane_fits").to_arrow()
    assert rows.num_rows == 3 * 25  # three stages, five volumes and flows of the lower plant
    assert set(rows["hydro_id"].to_pylist()) == {5}
    missed = rows["fitted_mw"].to_numpy() - rows["exact_mw"].to_numpy()
    assert missed.any()
    # The one factor is that of least squares: what is missed is at right angles to what is fitted.
    assert abs(missed @ rows["fitted_mw"].to_numpy()) < 1e-6


@pytest.mark.parametrize(
    ("scheduler", "parts"),
    [
        (None, [2, 1, 1]),
        ({"method": "by_node"}, [2, 2, 2]),
        ({"method": "by_node", "block_size": 1}, [9, 2, 2]),
    ],
)
def test_a_scheduler_deals_out_other_parts(
    directory: Any, tmp_path: Path, scheduler: Any, parts: Any
) -> None:
    exercise.small(directory)
    directory.put(exercise.STAGES, "stages.0.num_openings", 9)
    if scheduler:
        directory.put(exercise.CONFIG, "training.parallelism", {"backward_scheduler": scheduler})
    made = []
    with patch("pycobre.study.run.Policy", lambda *given: made.append(Policy(*given)) or made[0]):
        exercise.result_of(directory.write(tmp_path))
    assert [len(made[0].parts(node)) for node in range(3)] == parts


def test_what_shows_elsewhere_is_tested_here() -> None:
    assert set(ELSEWHERE.values()) <= set(globals())
