"""Generic constraints of a case: names filled in, bounds by stage and block, faults named."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from pycobre.system import ConstraintRow, ConstraintTerm

FILE = "constraints/generic_constraints.json"
PARAMETERS = "constraints/generic_parameters.json"
BOUNDS = "constraints/generic_constraint_bounds.parquet"


def give(
    directory: Any,
    expression: str,
    bounds: list[tuple[int, int | None, float | None, float | None]],
    parameters: list[dict[str, Any]] | None = None,
    named: list[dict[str, str]] | None = None,
    slack: dict[str, Any] | None = None,
) -> None:
    record = {"id": 6, "name": "C", "expression": expression, "slack": slack or {"enabled": False}}
    directory.documents[FILE] = {"constraints": [record], "expressions": named or []}
    if parameters is not None:
        directory.documents[PARAMETERS] = {
            "scalar_parameters": [{"id": i, **p} for i, p in enumerate(parameters)]
        }
    columns = ("stage_id", "block_id", "bound_lower", "bound_upper")
    directory.tables[BOUNDS] = {"constraint_id": [6] * len(bounds)} | {
        name: [row[i] for row in bounds] for i, name in enumerate(columns)
    }


def rows_of(reload: Callable[..., Any]) -> dict[tuple[int, int | None], ConstraintRow]:
    case, problems = reload()
    assert case is not None, problems
    (constraint,) = case.system.constraints
    return dict(constraint.rows)


def test_expressions_and_parameters_are_filled_in(directory: Any, reload: Callable[..., Any]) -> None:
    give(
        directory,
        "2*@both - @p*thermal_generation(4, 1) + @q*hydro_storage(3) <= @c + thermal_generation(4, 1)",
        [(0, None, None, None), (2, None, None, None)],
        [
            {"name": "p", "kind": "per_stage", "values": [[0, 1.0], [1, 2.0], [2, 3.0]]},
            {"name": "q", "kind": "computed",
             "computed_spec": {"tag": "accumulated_productivity", "hydro_id": 3}},
            {"name": "c", "kind": "seasonal", "values": [[0, 7.0], [1, 8.0], [2, 9.0]]},
        ],
        [{"name": "both", "expression": "hydro_turbined(3) - 0.5*hydro_turbined(5)"}],
    )  # fmt: skip
    rows = rows_of(reload)
    assert set(rows) == {(0, None), (2, None)}
    assert rows[2, None] == ConstraintRow(
        -math.inf,
        9.0,
        (
            ConstraintTerm(2.0, "hydro_turbined", 3),
            ConstraintTerm(-1.0, "hydro_turbined", 5),
            ConstraintTerm(-4.0, "thermal_generation", 4, 1),
            ConstraintTerm(1.8, "hydro_storage", 3),  # two plants of 0.9 down the river
        ),
    )


def test_a_parameter_by_block_makes_a_row_a_block(directory: Any, reload: Callable[..., Any]) -> None:
    values = [[t, k, 10.0 * t + k + 1] for t in range(3) for k in range(2)]
    give(directory, "@p*line_exchange(source_bus=2, target_bus=1)", [(1, None, 3.0, 5.0)],
         [{"name": "p", "kind": "per_stage_block", "block_values": values}])  # fmt: skip
    rows = rows_of(reload)
    assert {place: row.terms[0].factor for place, row in rows.items()} == {(1, 0): -11.0, (1, 1): -12.0}
    assert {(row.lower, row.upper) for row in rows.values()} == {(3.0, 5.0)}


@pytest.mark.parametrize(
    ("tag", "value"),
    [("equivalent_productivity", 0.9), ("accumulated_productivity", 1.8), ("min_storage", 10.0),
     ("max_storage", 200.0)],
)  # fmt: skip
def test_a_computed_parameter_follows_from_its_plant(
    directory: Any, reload: Callable[..., Any], tag: str, value: float
) -> None:
    give(directory, "@p*bus_excess(1) + bus_deficit(2)", [(0, 1, None, 4.0)],
         [{"name": "p", "kind": "computed", "computed_spec": {"tag": tag, "hydro_id": 3}}])  # fmt: skip
    assert rows_of(reload)[0, 1].terms[0].factor == pytest.approx(value)


ONE = [(0, None, None, 4.0)]
CONSTANT = [{"name": "p", "kind": "constant", "value": 1.0}]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("hydro_turbned(3)", ONE), ("reference", FILE, "expression")),
        (("hydro_turbined(9)", ONE), ("reference", FILE, "expression")),
        (("hydro_turbined(3, 8)", ONE), ("reference", FILE, "expression")),
        (("hydro_storage(3, 1)", ONE), ("schema", FILE, "expression")),
        (("hydro_turbined(3, bus=2)", ONE), ("reference", FILE, "expression")),
        (("thermal_generation(4, bus=2)", ONE), ("schema", FILE, "expression")),
        (("line_exchange(source_bus=1, target_bus=9)", ONE), ("reference", FILE, "expression")),
        (("bus_excess(1) +", ONE), ("schema", FILE, "expression")),
        (("@p*bus_excess(1)", ONE), ("reference", FILE, "expression")),
        (("@e", ONE, [], [{"name": "e", "expression": "bus_excess(1) + @e"}]),
         ("reference", FILE, "expression")),
        (("@e*bus_excess(1)", ONE, [], [{"name": "e", "expression": "bus_excess(1)"}]),
         ("schema", FILE, "expression")),
        (("bus_excess(1)", ONE, CONSTANT, [{"name": "p", "expression": "bus_excess(1)"}]),
         ("reference", FILE, "name")),
        (("bus_excess(1) <= 3", ONE), ("dimension", FILE, "expression")),
        (("bus_excess(1)", [(0, None, None, None)]), ("dimension", BOUNDS, "bound_lower")),
        (("bus_excess(1)", [(0, None, 5.0, 4.0)]), ("physics", BOUNDS, "bound_lower")),
        (("bus_excess(1)", [(9, None, None, 4.0)]), ("reference", BOUNDS, "stage_id")),
        (("bus_excess(1)", [(0, 7, None, 4.0)]), ("reference", BOUNDS, "block_id")),
        (("bus_excess(1)", ONE, None, None, {"enabled": True}), ("schema", FILE, "slack.penalty")),
        (("@p*bus_excess(1)", ONE, [{"name": "p", "kind": "per_stage", "values": [[0, 1.0]]}]),
         ("dimension", PARAMETERS, "values")),
        (("@p*bus_excess(1)", ONE, [{"name": "p", "kind": "constant", "values": [[0, 1.0]], "value": 1.0}]),
         ("schema", PARAMETERS, "values")),
        (("@p*bus_excess(1)", ONE, [{"name": "p", "kind": "computed",
                                     "computed_spec": {"tag": "reference_volume", "hydro_id": 9}}]),
         ("reference", PARAMETERS, "computed_spec.hydro_id")),
        (("bus_excess(1)", ONE, [*CONSTANT, *CONSTANT]), ("reference", PARAMETERS, "name")),
    ],
)  # fmt: skip
def test_a_wrong_constraint_is_refused(
    directory: Any, reload: Callable[..., Any], arguments: Any, expected: Any
) -> None:
    give(directory, *arguments)
    case, problems = reload()
    errors = [problem for problem in problems if problem.kind != "warning"]
    assert {(p.kind, p.file, p.field) for p in errors} == {expected}, errors
    assert case is None


def test_a_fault_shows_its_character(directory: Any, reload: Callable[..., Any]) -> None:
    give(directory, "bus_excess(1) +* 3", ONE)
    _, problems = reload()
    (problem,) = problems
    assert problem.entity == "constraint 6 (C)"
    assert problem.message == (
        "expected a number, a variable, @ or '(', got *, at character 16: bus_excess(1) + >>> * 3"
    )
