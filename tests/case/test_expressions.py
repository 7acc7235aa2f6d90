"""Expressions mean what they say; what is none is refused at its character."""

from __future__ import annotations

import pytest

from pycobre.case.expressions import ExpressionError, parse


def read(text: str) -> list[tuple[float, tuple[str, ...], str | None, int | None, int | None]]:
    return [
        (
            p.number,
            tuple(name for name, _ in p.names),
            p.variable and p.variable.name,
            p.variable and p.variable.entity_id,
            p.variable and p.variable.block_id,
        )
        for p in parse(text).left
    ]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("x(1)", [(1.0, (), "x", 1, None)]),
        ("-x(1) + 2.5*y(3, 0)", [(-1.0, (), "x", 1, None), (2.5, (), "y", 3, 0)]),
        ("2 * (x(1) - 3*(y(2) - x(4)))",
         [(2.0, (), "x", 1, None), (-6.0, (), "y", 2, None), (6.0, (), "x", 4, None)]),
        ("@a*x(1)*2 - @b", [(2.0, ("a",), "x", 1, None), (-1.0, ("b",), None, None, None)]),
        ("1e2*x(1) + .5*y(2)", [(100.0, (), "x", 1, None), (0.5, (), "y", 2, None)]),
        ("(@a - 1)*x(1)", [(1.0, ("a",), "x", 1, None), (-1.0, (), "x", 1, None)]),
    ],
)  # fmt: skip
def test_an_expression_is_a_sum_of_products(text: str, terms: object) -> None:
    assert read(text) == terms


def test_a_relation_has_two_sides_and_selectors_have_names() -> None:
    found = parse("line_exchange(source_bus=1, target_bus=2) >= @p * 3")
    assert found.relation == ">="
    assert found.left[0].variable is not None
    assert found.left[0].variable.selectors == (("source_bus", 1), ("target_bus", 2))
    assert [(p.number, p.names[0][0], p.variable) for p in found.right] == [(3.0, "p", None)]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("x(1) +* 3", 6),
        ("x(1) y(2)", 5),
        ("x(1)/2", 4),
        ("x(1", 3),
        ("x(1.5)", 2),
        ("x(1, 2, 3)", 8),
        ("x(bus 2)", 6),
        ("x(1)*y(2)", 5),
        ("2*(x(1) + 3", 11),
        ("1 <= x(1) <= 3", 10),
        ("x(1) < 3", 5),
        ("@3*x(1)", 1),
        ("x", 1),
        ("(" * 100 + "x(1)", 51),
    ],
)
def test_what_is_no_expression_is_refused_at_its_character(text: str, position: int) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(text)
    assert raised.value.position == position
