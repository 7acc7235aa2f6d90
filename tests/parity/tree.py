"""A scenario tree as one linear program, for scipy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def least_cost(
    cost: list[float],
    rows: list[dict[int, float]],
    sides: list[float],
    bounds: list[tuple[float, float | None]],
) -> float:
    """Least *cost* of columns within *bounds* whose *rows*, coefficients by column, equal *sides*."""
    matrix = np.zeros((len(rows), len(cost)))
    for i, row in enumerate(rows):
        matrix[i, list(row)] = list(row.values())
    found = linprog(cost, A_eq=matrix, b_eq=sides, bounds=bounds, method="highs")
    assert found.status == 0
    return float(found.fun)
