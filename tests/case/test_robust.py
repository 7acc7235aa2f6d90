"""Whatever stands in a file, checking it gives problems and never an exception."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pycobre.case import check_case

ABSENT = object()
VALUES = (None, True, -1, 0, 99, 0.5, 1e308, "x", [], {}, [{}], ABSENT)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from _paths(below, (*path, key))


@pytest.mark.parametrize("kind", ["documents", "tables"])
@given(data=st.data())
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_value_anywhere_gives_a_case_or_problems(
    directory: Any, tmp_path: Path, kind: str, data: st.DataObject
) -> None:
    changed = copy.deepcopy(directory)
    content = getattr(changed, kind)
    path = data.draw(st.sampled_from(sorted(_paths(content), key=str)))
    value = data.draw(st.sampled_from(VALUES if kind == "documents" else (None, -1, 0, 99, ABSENT)))
    place = content
    for step in path[:-1]:
        place = place[step]
    if kind == "tables" and len(path) < 3:
        value = ABSENT  # whole columns and files can only go
    elif kind == "tables" and value is ABSENT:
        value = None
    if value is ABSENT:
        del place[path[-1]]
    else:
        place[path[-1]] = copy.deepcopy(value)
    root = tmp_path / "case"
    for file in root.rglob("*.*"):
        file.unlink()
    case, problems = check_case(changed.write(root))
    assert (case is None) == any(problem.kind != "warning" for problem in problems)
