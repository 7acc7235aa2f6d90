"""Unit groups of a case: read with their limits, refused where they contradict themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pycobre
from case import exercise as e
from pycobre.results.check import check_balances

BOUNDS = e.BOUNDS.format("hydro_unit_group")


@pytest.fixture
def split(directory: Any) -> Any:
    e.split(directory)
    return directory


def test_groups_are_read_with_their_limits_and_the_plant_with_its_own(split: Any, reload: Any) -> None:
    case, problems = reload()
    assert case is not None, problems
    alta, baixa = case.system.hydros
    assert (alta.turbined_max_m3s, alta.generation_max_mw, alta.bus_id) == (50.0, 45.0, 1)
    assert [(group.bus_id, group.turbined_max_m3s) for group in alta.unit_groups] == [(1, 30.0), (2, 25.0)]
    first, second = alta.unit_groups
    assert first.changes == {(0, None): {"turbined_max_m3s": 20.0}, (2, None): {"generation_max_mw": 11.0}}
    assert second.changes == {(1, 0): {"turbined_min_m3s": 5.0}}
    assert baixa.unit_groups == ()


def test_a_plants_own_table_is_not_cut_to_one_of_its_groups(split: Any, reload: Any) -> None:
    split.tables[e.BOUNDS.format("hydro")] = {"hydro_id": [3], "stage_id": [0], "max_turbined_m3s": [48.0]}
    case, problems = reload()
    assert case is not None, problems
    assert case.system.changes["hydros"] == {(3, 0, None): {"turbined_max_m3s": 48.0}}


def test_limits_of_a_single_group_hold_beside_its_plants(split: Any, reload: Any) -> None:
    split.tables[BOUNDS] = {
        "hydro_id": [5, 5], "hydro_unit_group_id": [0, 0], "stage_id": [1, 1], "block_id": [None, 1],
        "max_turbined_m3s": [44.0, None], "min_generation_mw": [None, 6.0],
    }  # fmt: skip
    case, problems = reload()
    assert case is not None, problems
    system = case.system
    stage = system.stages[1]
    light = system.hydros_in(stage, stage.blocks[1])[1]
    assert (light.turbined_max_m3s, light.generation_min_mw, light.unit_groups) == (44.0, 6.0, ())
    assert system.hydros_in(stage, stage.blocks[0])[1].generation_min_mw == 0.0
    assert system.hydros_in(system.stages[0])[1].turbined_max_m3s == 50.0
    assert system.differs_by_block("hydros", stage)


@pytest.mark.parametrize(
    ("column", "value", "kind", "field"),
    [
        ("hydro_id", 9, "reference", "hydro_id"),
        ("hydro_unit_group_id", 9, "reference", "hydro_unit_group_id"),
        ("stage_id", 9, "reference", "stage_id"),
        ("block_id", 9, "reference", "block_id"),
        ("max_turbined_m3s", 31.0, "physics", "max_turbined_m3s"),
        ("min_turbined_m3s", 21.0, "physics", "min_turbined_m3s"),
        ("min_generation_mw", -1.0, "schema", "min_generation_mw"),
    ],
)
def test_a_wrong_limit_is_refused(
    split: Any, reload: Callable[..., Any], column: str, value: float, kind: str, field: str
) -> None:
    split.put(BOUNDS, f"{column}.0", value)
    case, problems = reload()
    assert case is None
    assert (kind, BOUNDS, field) in [(p.kind, p.file, p.field) for p in problems]


def test_a_limit_that_is_given_twice_is_refused(split: Any, reload: Callable[..., Any]) -> None:
    split.put(BOUNDS, "hydro_unit_group_id.1", 0)
    for column, value in (("stage_id", 0), ("block_id", None), ("max_turbined_m3s", 19.0)):
        split.put(BOUNDS, f"{column}.1", value)
    case, problems = reload()
    assert case is None
    (problem,) = problems
    assert (problem.kind, problem.field) == ("dimension", "max_turbined_m3s")
    assert problem.entity == "hydro 3 (Alta), group 0, stage 0"


def test_what_each_bus_gets_is_written_and_balances(split: Any, tmp_path: Path) -> None:
    result = pycobre.train(split.write(tmp_path / "case"), simulation=True, output=tmp_path / "out")
    tables = result.results
    assert [str(balance) for balance in check_balances(tables) if not balance.holds] == []
    rows, plants = tables.table("hydro_buses").to_arrow(), tables.table("hydros").to_arrow()
    assert set(zip(rows["hydro_id"].to_pylist(), rows["bus_id"].to_pylist(), strict=True)) == {(3, 1), (3, 2)}
    for column in ("turbined_m3s", "generation_mw"):
        of_plant = plants[column].to_numpy()[plants["hydro_id"].to_numpy() == 3]
        np.testing.assert_allclose(rows[column].to_numpy().reshape(-1, 2).sum(axis=1), of_plant, atol=1e-9)
    entities = {
        row["id"]: row for row in tables.table("entities").to_arrow().to_pylist() if row["kind"] == "hydro"
    }
    assert (entities[3]["bus_id"], entities[5]["bus_id"]) == (None, 2)
