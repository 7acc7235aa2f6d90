"""The dense solver finds what HiGHS finds, problem by problem of a training; bench/solvers.py tells more."""

from __future__ import annotations

import pytest

DENSE_CUTS = {"hydros": 8, "stages": 8, "lags": 6, "seed": 6}
"""With lags of six months cuts are dense; here a weight below zero once hid a plane that was violated."""

FACTORS = {"hydros": 90, "stages": 3, "lags": 2, "openings": 8}
FACTORS_WITH_PLANES = {"hydros": 35, "stages": 3, "lags": 2, "openings": 8, "heads": True}
"""More than a hundred rows: the inverse is kept as factors."""


@pytest.mark.parametrize(
    ("kind", "problems"), [(DENSE_CUTS, 2000), (FACTORS, 400), (FACTORS_WITH_PLANES, 400)]
)
def test_every_problem_of_a_training_has_the_value_that_highs_finds(bench, generate, kind, problems):
    found = bench("solvers").compare(generate(**kind), iterations=3, most=problems)
    assert found.problems >= problems
    assert found.value <= 1e-9
    assert found.wrong == 0
    assert found.handed_over < found.problems / 100  # else HiGHS is compared with itself
