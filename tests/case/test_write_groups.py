"""What stands inside plants and buses is written too, and read back equal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from case import exercise as e
from pycobre.case import load_case, write_case
from pycobre.errors import CaseError
from pycobre.system import (
    ConstraintRow,
    ConstraintTerm,
    GenericConstraint,
    LinearizedHead,
    Service,
    System,
    UnitGroup,
)


@pytest.fixture
def system(directory: Any, tmp_path: Path) -> System:
    """The case of :func:`case.exercise.split`."""
    e.split(directory)
    return load_case(directory.write(tmp_path / "read")).system


def read_back(system: System, path: Path) -> System:
    return load_case(write_case(system, path)).system


def test_unit_groups_and_their_limits_are_read_back(system: System, tmp_path: Path) -> None:
    (first, *rest) = system.hydros
    assert [len(group.changes) for group in first.unit_groups] == [2, 1]
    assert system.differences(read_back(system, tmp_path / "written")) == []
    changes = {(1, 0): {"generation_max_mw": 7.0}}
    alone = UnitGroup(4, "G", first.bus_id, 0.0, 33.0, 0.0, 22.0, changes)
    other = replace(system, hydros=(replace(first, unit_groups=(alone,)), *rest))
    assert other.differences(read_back(other, tmp_path / "other")) == []


def test_a_constraint_of_one_bus_and_a_bus_that_comes_later_are_read_back(
    system: System, tmp_path: Path
) -> None:
    row = ConstraintRow(-np.inf, 9.0, (ConstraintTerm(1.0, "hydro_turbined", 3, block_id=0, bus_id=2),))
    buses = (system.buses[0], replace(system.buses[1], service=Service(entry_stage_id=1)))
    later = replace(system, buses=buses, constraints=(GenericConstraint(1, "c", 5.0, {(0, None): row}),))
    assert later.differences(read_back(later, tmp_path / "written")) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"production": (LinearizedHead(0.9, 0.001, 50.0),) * 3}, "production"),
        ({"unit_groups": (UnitGroup(0, "G", 1, 0.0, 33.0, 0.0, 22.0),)}, None),
    ],
)
def test_what_the_format_has_no_words_for_is_refused(
    system: System, tmp_path: Path, change: dict[str, Any], field: str | None
) -> None:
    (first, *rest) = system.hydros
    with pytest.raises(CaseError) as error:
        write_case(replace(system, hydros=(replace(first, **change), *rest)), tmp_path / "written")
    assert {problem.kind for problem in error.value.problems} == {"unsupported"}
    assert field in [None, *(problem.field for problem in error.value.problems)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bus_id": 9}, "unit_groups[1], bus_id: bus 9 does not exist"),
        ({"id": 0}, "unit_groups[1], id: 0 is given 2 times"),
        ({"turbined_min_m3s": 99.0}, "turbined_max_m3s: the upper limit"),
        ({"changes": {(7, None): {"turbined_max_m3s": 1.0}}}, "changes in stage 7: stage 7 does not exist"),
        ({"changes": {(0, 7): {"turbined_max_m3s": 1.0}}}, "block 7 does not exist"),
        ({"changes": {(0, None): {"name": 1.0}}}, "a unit group's name can't change"),
        ({"changes": {(0, None): {"turbined_max_m3s": -1.0}}}, "must be at least 0, got -1"),
    ],
    ids=["bus", "id", "limits", "stage", "block", "attribute", "number"],
)
def test_groups_that_contradict_the_system_are_told(
    system: System, change: dict[str, Any], message: str
) -> None:
    (first, *rest) = system.hydros
    groups = (first.unit_groups[0], replace(first.unit_groups[1], **change))
    with pytest.raises(ValueError, match="problem") as error:
        replace(system, hydros=(replace(first, unit_groups=groups), *rest))
    assert message in str(error.value)


def test_the_first_group_names_the_bus(system: System) -> None:
    (first, *rest) = system.hydros
    with pytest.raises(ValueError, match="must be that of the first unit group, 1"):
        replace(system, hydros=(replace(first, bus_id=2), *rest))
