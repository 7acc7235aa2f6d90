"""What estimated models leave unexplained of the observed inflows, and how that moves together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycobre.stochastic.estimate import SeasonModel
from pycobre.stochastic.moments import InflowHistory, PlantMoments
from pycobre.stochastic.par import YEAR

FloatArray = NDArray[np.float64]

MIN_PAIRS = 30
"""A season with fewer common residuals of any two plants has the correlation of all seasons together."""
_TINY = 2.0**-26


def residuals(
    history: InflowHistory, models: list[list[SeasonModel]], moments: list[PlantMoments]
) -> FloatArray:
    """Residuals (H, N) in units of each season's deviation; NaN where an inflow they need is not known."""
    left = np.full(history.inflow_m3s.shape, np.nan)
    for hydro, plant in enumerate(moments):
        for season, model in enumerate(models[hydro]):
            depth = YEAR if model.annual != 0.0 else len(model.coefficients)
            at = np.flatnonzero(history.season == season)
            at = at[at >= depth]
            value = plant.scaled[at]
            for lag, coefficient in enumerate(model.coefficients, start=1):
                value = value - coefficient * plant.scaled[at - lag]
            if model.annual != 0.0:
                value = value - model.annual * plant.annual_scaled[at - 1]
            left[hydro, at] = value
    return left


def residual_correlation(
    left: FloatArray, history: InflowHistory
) -> tuple[FloatArray, list[FloatArray | None]]:
    """Correlation of the residuals in all seasons together, and in each season that has enough of them."""
    by_season: list[FloatArray | None] = []
    for season in range(history.seasons):
        part = left[:, history.season == season]
        known = ~np.isnan(part)
        pairs = np.einsum("it,jt->ij", known.astype(np.float64), known.astype(np.float64))
        by_season.append(_correlation(part) if pairs.size and pairs.min() >= MIN_PAIRS else None)
    return _correlation(left), by_season


def _correlation(series: FloatArray) -> FloatArray:
    """Correlation of the rows of *series* over what each two have in common; 0 where one is constant."""
    known = ~np.isnan(series)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    x = np.where(known, series, 0.0)
    x = np.where(known, x - x.sum(axis=1, keepdims=True) / count, 0.0)
    one = known.astype(np.float64)

    def common(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("it,jt->ij", a, b))

    pairs = np.maximum(common(one, one), 1.0)
    total, squares = common(x, one), common(x * x, one)
    covariance = common(x, x) - total * total.T / pairs
    spread = np.sqrt(np.maximum(squares - total * total / pairs, 0.0))
    scale = spread * spread.T
    matrix = np.where(scale > _TINY, covariance / np.where(scale > _TINY, scale, 1.0), 0.0)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(np.clip(matrix, -1.0, 1.0))
