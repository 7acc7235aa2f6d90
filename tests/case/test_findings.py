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


def test_a_fault_that_many_share_is_told_once_for_all_of_them() -> None:
    findings = Findings()
    for id in (5, 1, 2, 3, 9):
        findings.add("schema", "b.json", "is required", entity=f"bus {id} (B{id})", field=f"x[{id}].y")
    for id in (1, 2):
        findings.add("schema", "b.json", "is odd", entity=f"bus {id} (B{id})")
    assert [(p.entity, p.field) for p in findings.errors] == [
        ("buses 1-3, 5, 9", "x[].y"),
        ("bus 1 (B1)", None),
        ("bus 2 (B2)", None),
    ]
    assert findings.count == 7
