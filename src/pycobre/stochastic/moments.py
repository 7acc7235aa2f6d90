"""Seasonal moments of observed inflows: means, deviations and periodic correlations.

Sums are rounded once (``math.fsum``): every rank, on any machine, estimates the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pycobre.stochastic.par import YEAR

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_TINY = 2.0**-52
SATURATED = 0.5
"""A season with one value, to the m³/s, in more than this share of the years is taken to have no other."""
MANY_NEGATIVE = 0.1
"""Unless more than this share of its inflows is negative: then differences of records made that value."""


@dataclass(frozen=True, eq=False)
class InflowHistory:
    """Observed inflows of consecutive periods.

    Attributes
    ----------
    inflow_m3s : (H, N)
        One row a hydro, NaN where a period was not observed in full.
    season : (N,)
        Position of each period's season in the cycle: the one after *seasons* - 1 is 0.
    seasons
        Length of the cycle.
    """

    inflow_m3s: FloatArray
    season: IntArray
    seasons: int


class PlantMoments:
    """Moments of one plant's inflows by season.

    Z is the inflow over its season's mean and deviation; A the mean inflow of the twelve periods that end
    with a period, likewise. All deviations have the divisor N.

    Parameters
    ----------
    inflow : (N,)
    season : (N,)
    seasons
        As in :class:`InflowHistory`.
    """

    def __init__(self, inflow: FloatArray, season: IntArray, seasons: int) -> None:
        self.season, self.seasons = season, seasons
        self.count, self.mean, self.std, self.scaled = _standardise(inflow, season, seasons)
        self.saturated: list[int] = []
        self._inflow = inflow
        for position in range(seasons):
            self._saturate(position)
        self._rho: dict[tuple[int, int], float] = {}
        self._annual_rho: dict[tuple[int, int], float] = {}

    def _saturate(self, season: int) -> None:
        """Leave *season* without deviation if one value prevails: a cap or a floor, and no random inflow."""
        at = np.flatnonzero((self.season == season) & ~np.isnan(self._inflow))
        values = self._inflow[at]
        if self.std[season] == 0.0 or (values < 0.0).sum() > MANY_NEGATIVE * len(values):
            return
        rounded, times = np.unique(np.round(values), return_counts=True)
        if times.max() > SATURATED * len(values):
            self.saturated.append(season)
            self.mean[season], self.std[season] = rounded[times.argmax()], 0.0
            self.scaled[at] = 0.0

    @cached_property
    def _annual(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Counts, means and deviations of A by the season that it ends in, and its values over them."""
        averages = np.full(len(self._inflow), np.nan)
        # The last window is followed by no observation that it could explain.
        for end in range(YEAR - 1, len(self._inflow) - 1):
            averages[end] = math.fsum(self._inflow[end - YEAR + 1 : end + 1]) / YEAR
        return _standardise(averages, self.season, self.seasons)

    @property
    def annual_scaled(self) -> FloatArray:
        """A of every period, over its mean and deviation; NaN where it is not known."""
        return self._annual[3]

    def annual(self, season: int) -> tuple[int, float, float]:
        """Number, mean and deviation of A in the year that ends before *season*."""
        count, mean, std, _ = self._annual
        before = (season - 1) % self.seasons
        return int(count[before]), float(mean[before]), float(std[before])

    def correlation(self, season: int, lag: int) -> float:
        """Correlation of Z in *season* with Z *lag* periods earlier."""
        season %= self.seasons
        if lag == 0:
            return 1.0
        if (season, lag) not in self._rho:
            self._rho[season, lag] = self._correlate(self.scaled, season, self.scaled, lag, None)
        return self._rho[season, lag]

    def annual_correlation(self, season: int, lag: int) -> float:
        """Correlation of A in the year that ends before *season* with Z *lag* periods before *season*.

        *lag* 0 is the season itself. The divisor is the larger number of observations, as if A had its
        mean in the years that it lacks: a first year has no A, and must not count for more than it shows.
        """
        if (season, lag) not in self._annual_rho:
            before = (season - 1) % self.seasons
            count, _, _, annual = self._annual
            most = max(int(count[before]), int(self.count[(season - lag) % self.seasons]))
            self._annual_rho[season, lag] = self._correlate(annual, before, self.scaled, lag - 1, most)
        return self._annual_rho[season, lag]

    def _correlate(
        self, first: FloatArray, season: int, second: FloatArray, lag: int, divisor: int | None
    ) -> float:
        at = np.flatnonzero(self.season == season)
        at = at[(at >= lag) & (at - lag < len(second))]
        products = first[at] * second[at - lag]
        known = products[~np.isnan(products)]
        if len(known) == 0:
            return 0.0
        return max(-1.0, min(1.0, math.fsum(known) / (divisor or len(known))))


def moments_of(history: InflowHistory) -> list[PlantMoments]:
    """Moments of every plant."""
    return [PlantMoments(inflow, history.season, history.seasons) for inflow in history.inflow_m3s]


def _standardise(
    values: FloatArray, season: IntArray, seasons: int
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Counts, means and deviations by season, and the values over them: zero where there is no deviation."""
    count = np.zeros(seasons, dtype=np.int64)
    mean, std, scaled = np.full(seasons, np.nan), np.zeros(seasons), np.full(len(values), np.nan)
    for position in range(seasons):
        at = np.flatnonzero((season == position) & ~np.isnan(values))
        if len(at) == 0:
            continue
        count[position], mean[position] = len(at), math.fsum(values[at]) / len(at)
        offsets = values[at] - mean[position]
        std[position] = math.sqrt(math.fsum(offsets * offsets) / len(at))
        if (values[at] == values[at[0]]).all():
            mean[position], std[position] = values[at[0]], 0.0
        scaled[at] = offsets / std[position] if std[position] > _TINY else 0.0
    return count, mean, std, scaled


def solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """Solution of a small linear system by elimination with partial pivoting; ``None`` if singular.

    Plain arithmetic in a fixed order, unlike LAPACK's.
    """
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        best = max(range(k, size), key=lambda i: abs(rows[i][k]))
        if abs(rows[best][k]) < _TINY:
            return None
        rows[k], rows[best] = rows[best], rows[k]
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            for j in range(k, size + 1):
                rows[i][j] -= factor * rows[k][j]
    solution = [0.0] * size
    for k in reversed(range(size)):
        known = sum(rows[k][j] * solution[j] for j in range(k + 1, size))
        solution[k] = (rows[k][size] - known) / rows[k][k]
    return solution
