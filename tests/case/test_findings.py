"""Words for entities and lists of ids."""

from __future__ import annotations

import pytest

from pycobre.case.findings import Findings, list_ids, name_entity


@pytest.mark.parametrize(
    ("ids", "text"),
    [([], ""), ([3], "3"), ([2, 1], "1, 2"), ([1, 2, 3, 7, 9, 8], "1-3, 7-9"), (range(0, 40, 2), "0, 2, 4, 6,"
      " 8, 10, 12, 14, ...")],
)  # fmt: skip
def test_ids_are_listed_as_people_write_them(ids: list[int], text: str) -> None:
    assert list_ids(ids) == text


def test_an_entity_is_named_with_its_name_if_it_has_one() -> None:
    assert name_entity("hydro", 7, "Ilha") == "hydro 7 (Ilha)"
    assert name_entity("stage", 7) == "stage 7"


def test_the_same_fault_is_told_once_and_warnings_apart() -> None:
    findings = Findings()
    for _ in range(2):
        findings.add("physics", "a.json", "is wrong")
        findings.warn("a.json", "is odd")
    assert [problem.message for problem in findings.errors] == ["is wrong"]
    assert [problem.message for problem in findings.warnings] == ["is odd"]
