"""A template as the native solvers take it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycobre import _native
from pycobre.lp.planes import Planes
from pycobre.lp.sparse import FloatArray, Sparse
from pycobre.lp.template import StageTemplate

Triplets = tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]


def stage_data(template: StageTemplate, future_lower: float | None, cost_scale: float) -> _native.StageData:
    """The native form of *template*, with a last column for the future cost θ if there is to be one.

    Parameters
    ----------
    future_lower
        A number that the future cost can't be below, or ``None`` in a last stage, which takes no cuts.
    cost_scale
        Costs are divided by it inside the solver, whose tolerances are absolute.
    """
    cost, lower, upper = template.cost, template.column_lower, template.column_upper
    future_column = -1
    if future_lower is not None:
        future_column = len(cost)
        cost = np.append(cost, 1.0)
        lower = np.append(lower, future_lower)
        upper = np.append(upper, np.inf)
    start, index, value = _by_columns(template.matrix, len(cost))
    return _native.StageData(
        cost=cost,
        column_lower=lower,
        column_upper=upper,
        row_lower=template.row_lower,
        row_upper=template.row_upper,
        start=start,
        index=index,
        value=value,
        row_state=_triplets(template.row_state),
        row_noise=_triplets(template.row_noise),
        planes=_planes(template.planes),
        state_columns=template.state_columns,
        carried_constant=template.carried_constant,
        carried_state=_triplets(template.carried_state),
        carried_noise=_triplets(template.carried_noise),
        noise_weights=template.noise_weights,
        states_in=template.states_in,
        future_column=future_column,
        cost_scale=cost_scale,
    )


def _triplets(matrix: Sparse) -> Triplets:
    return matrix.row, matrix.column, matrix.value


def _planes(
    planes: Planes,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], FloatArray, FloatArray, Triplets]:
    start = np.searchsorted(planes.matrix.row, np.arange(len(planes) + 1)).astype(np.int32)
    matrix = planes.matrix
    return planes.column, start, matrix.column, matrix.value, planes.upper, _triplets(planes.state)


def _by_columns(matrix: Sparse, columns: int) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
    order = np.lexsort((matrix.row, matrix.column))
    counts = np.bincount(matrix.column, minlength=columns)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return start, matrix.row[order], matrix.value[order]
