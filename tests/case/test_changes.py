"""Tables of changes: every column reaches its attribute, and nothing contradictory gets through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from pycobre.case.limits import CHANGE_TABLES, ChangeTable, Changing

SOURCE = {"id": 2, "name": "Wind", "operational_start_date": "1990-01-01", "bus_id": 1,
          "max_generation_mw": 60.0}  # fmt: skip
ENTITY = {"thermals": 4, "hydros": 3, "lines": 1, "buses": 1, "sources": 2, "contracts": 9, "pumps": 7}
START = {"operational_start_date": "1990-01-01", "bus_id": 1}
OTHERS = {
    "system/non_controllable_sources.json": {"non_controllable_sources": [SOURCE]},
    "system/energy_contracts.json": {
        "contracts": [{"id": 9, "name": "Abroad", "type": "import", "price_per_mwh": 60.0,
                       "limits": {"min_mw": 1.0, "max_mw": 50.0}, **START}]
    },
    "system/pumping_stations.json": {
        "pumping_stations": [{"id": 7, "name": "Up", "source_hydro_id": 5, "destination_hydro_id": 3,
                              "flow": {"min_m3s": 1.0, "max_m3s": 50.0}, "consumption_mw_per_m3s": 0.4,
                              **START}]
    },
}  # fmt: skip
COLUMNS = [
    pytest.param(table, column, id=f"{table.name}-{column.column}")
    for table in CHANGE_TABLES
    for column in table.columns
    # A rate makes a target, and only while a reservoir is filled: tests/case/test_filling.py.
    if column.attributes and column.column != "filling_min_rate_m3s"
]


def write(directory: Any, table: ChangeTable, rows: list[dict[str, float | int | None]]) -> None:
    names = sorted({name for row in rows for name in row})
    directory.tables[table.file] = {name: [row.get(name) for row in rows] for name in names}


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_column_reaches_its_attributes_in_its_stage_alone(
    directory: Any, reload: Callable[..., Any], table: ChangeTable, column: Changing
) -> None:
    value = 200.0 if column.attributes == ("storage_max_hm3",) else 40.0
    if table.kind in ("sources", "contracts", "pumps"):
        directory.documents |= OTHERS
    if "diversion" in column.column:
        directory.put("system/hydros.json", "hydros.0.diversion", {"downstream_id": 5, "max_flow_m3s": 50.0})
    write(directory, table, [{table.key: ENTITY[table.kind], "stage_id": 1, column.column: value}])
    case, problems = reload()
    assert case is not None, problems
    system = case.system
    method = getattr(system, f"{table.kind}_in")
    before, changed = method(system.stages[0])[0], method(system.stages[1])[0]
    for attribute in column.attributes:
        owner = changed if attribute in {field.name for field in fields(changed)} else changed.penalties
        assert getattr(owner, attribute) == value
    assert before == getattr(system, table.kind)[0]


def table_named(name: str) -> ChangeTable:
    return next(table for table in CHANGE_TABLES if table.name == name)


@pytest.mark.parametrize(
    ("name", "rows", "kind", "field"),
    [
        ("hydro_bounds", [{"hydro_id": 9, "stage_id": 0, "max_turbined_m3s": 1.0}], "reference", "hydro_id"),
        ("line_bounds", [{"line_id": 1, "stage_id": 8, "direct_mw": 1.0}], "reference", "stage_id"),
        ("hydro_bounds", [{"hydro_id": 3, "stage_id": 0, "block_id": 1, "max_storage_hm3": 90.0}],
         "dimension", "max_storage_hm3"),
        ("hydro_bounds", [{"hydro_id": 3, "stage_id": 0, "block_id": 5, "min_outflow_m3s": 9.0}],
         "reference", "block_id"),
        ("hydro_bounds", [{"hydro_id": 3, "stage_id": 0, "min_outflow_m3s": 9.0}] * 2, "dimension",
         "min_outflow_m3s"),
        ("hydro_bounds", [{"hydro_id": 3, "stage_id": 0, "max_storage_hm3": 9.0}], "physics",
         "min_storage_hm3"),
        ("hydro_bounds", [{"hydro_id": 3, "stage_id": 0, "max_outflow_m3s": 9.0},
                          {"hydro_id": 3, "stage_id": 0, "block_id": 1, "min_outflow_m3s": 10.0}],
         "physics", "min_outflow_m3s"),
        ("hydro_penalties", [{"hydro_id": 3, "stage_id": 0, "spillage_cost": -1.0}], "schema",
         "spillage_cost"),
    ],
)  # fmt: skip
def test_a_wrong_change_is_one_problem(
    directory: Any, reload: Callable[..., Any], name: str, rows: Any, kind: str, field: str
) -> None:
    table = table_named(name)
    write(directory, table, rows)
    case, problems = reload()
    errors = [problem for problem in problems if problem.kind != "warning"]
    assert [(p.kind, p.file, p.field) for p in errors] == [(kind, table.file, field)], errors
    assert case is None


def test_rows_that_give_different_columns_are_one_change(directory: Any, reload: Callable[..., Any]) -> None:
    table = table_named("hydro_bounds")
    rows = [
        {"hydro_id": 3, "stage_id": 0, "min_outflow_m3s": 9.0},
        {"hydro_id": 3, "stage_id": 0, "max_turbined_m3s": 99.0, "max_generation_mw": 12.0},
    ]
    write(directory, table, rows)
    case, _ = reload()
    (place,) = case.system.changes["hydros"]
    # The unit group takes 50 m³/s, whatever the table says of the plant.
    assert case.system.changes["hydros"][place] == {
        "outflow_min_m3s": 9.0,
        "turbined_max_m3s": 50.0,
        "generation_max_mw": 12.0,
    }


def test_service_begins_with_the_first_whole_stage_after_the_date(
    directory: Any, reload: Callable[..., Any]
) -> None:
    directory.put("system/hydros.json", "hydros.0.operational_start_date", "2024-01-10")
    directory.put("system/thermals.json", "thermals.0.operational_start_date", "2024-02-01")
    directory.put("system/lines.json", "lines.0.exit_stage_id", 2)
    case, _ = reload()
    system = case.system

    def there(entity: Any) -> list[bool]:
        return [entity.service.covers(stage) for stage in system.stages]

    assert there(system.hydros[0]) == [False, True, True]
    assert there(system.thermals[0]) == [False, True, True]
    assert there(system.lines[0]) == [True, True, False]
