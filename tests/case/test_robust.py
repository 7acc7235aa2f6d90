"""Whatever stands in a file, checking it gives problems and never an exception."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case import exercise as e
from pycobre.case import check_case

ABSENT = object()
VALUES = (None, True, -1, 0, 99, 0.5, 1e308, "x", [], {}, [{}], ABSENT)
NUMBERS = (None, -1, 0, 99, ABSENT)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from _paths(below, (*path, key))


BASES = [e.small, e.external, e.constraints, e.changed, e.water, e.planes, e.curves, e.history, e.annual]


@pytest.mark.parametrize("kind", ["documents", "tables"])
@pytest.mark.parametrize("base", BASES)
def test_any_value_anywhere_gives_a_case_or_problems(
    directory: Any, tmp_path: Path, base: e.Base, kind: str
) -> None:
    base(directory)
    directory.write(tmp_path)
    content = getattr(directory, kind)
    paths = sorted(_paths(content), key=str)

    @given(path=st.sampled_from(paths), value=st.sampled_from(VALUES if kind == "documents" else NUMBERS))
    @settings(max_examples=25, deadline=None, derandomize=True)
    def check(path: tuple[str | int, ...], value: object) -> None:
        file, *steps = path
        before = copy.deepcopy(content[file])
        if kind == "tables" and len(steps) < 2:
            value = ABSENT  # whole columns and files can only go
        elif kind == "tables" and value is ABSENT:
            value = None
        place = content
        for step in path[:-1]:
            place = place[step]
        if value is ABSENT:
            del place[path[-1]]
        else:
            place[path[-1]] = copy.deepcopy(value)
        if file in content:
            directory.write_file(tmp_path, str(file))
        else:
            (tmp_path / str(file)).unlink()
        try:
            case, problems = check_case(tmp_path)
            assert (case is None) == any(problem.kind != "warning" for problem in problems)
        finally:
            content[file] = before
            directory.write_file(tmp_path, str(file))

    check()


@pytest.mark.parametrize(
    ("base", "file", "path", "value", "said"),
    [
        (e.planes, e.PLANES, "gamma_q.0", -1.0, "must be at least 0"),
        (e.history, e.STAGES, "season_definitions.seasons.11.id", 0, "is given 2 times"),
        (e.history, e.HISTORY, "start_date.970", 10**9, "years 1 to 9999"),
    ],
)
def test_what_once_ended_in_a_traceback_is_told(
    directory: Any, reload: Callable[..., Any], base: e.Base, file: str, path: str, value: object, said: str
) -> None:
    base(directory)
    directory.put(file, path, value)
    case, problems = reload()
    assert case is None
    assert [said in problem.message for problem in problems if problem.kind != "warning"] == [True]
