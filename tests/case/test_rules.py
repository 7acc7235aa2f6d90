"""Every rule that Cobre documents is checked, or can't be broken for a reason that is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from case.fields import ROWS
from case.rules import BROKEN, WITHOUT, Broken
from case.test_every_field import put

PUBLISHED = 89
"""How many rules there are in Cobre 0.18."""


def test_every_rule_has_an_input_that_breaks_it_or_a_reason() -> None:
    assert not set(BROKEN) & set(WITHOUT)
    assert len(BROKEN) + len(WITHOUT) >= PUBLISHED
    assert len(BROKEN) >= 60
    assert all(re.fullmatch(r"[a-z_]+(\.[0-9A-Za-z]+)+", rule) for rule in (*BROKEN, *WITHOUT))


def test_what_is_said_to_be_refused_whole_is() -> None:
    said = {
        match[1] for reason in WITHOUT.values() if (match := re.search(r"refused whole \((.+)\)", reason))
    }
    for field in said:
        promises = {row.promise for row in ROWS if f"{row.leaf}.".startswith((f"{field}.", f"{field}[]"))}
        assert promises == {"refused"}, field


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_is_checked(directory: Any, reload: Callable[..., Any], rule: str) -> None:
    broken: Broken = BROKEN[rule]
    broken.base(directory)
    for file, path, value in broken.changes:
        if path:
            put(directory, file, path, value)
        elif value is None:
            directory.drop(file)
        else:
            directory.documents[file] = value
    case, problems = reload()
    told = "\n".join(f"{p.kind} {p.file}: {p}" for p in problems)
    found = [
        problem
        for problem in problems
        if problem.file == broken.file and _ends(problem.field, broken.field)
        if (problem.kind == "warning") == (broken.severity == "warning")
    ]
    assert found, told
    assert all(problem.message and not problem.message.endswith(".") for problem in found)
    assert (case is None) == any(problem.kind != "warning" for problem in problems)


def _ends(field: str | None, wanted: str | None) -> bool:
    return wanted is None or f".{field}".endswith(f".{wanted}")
