"""Periodic autoregressive models estimated from observed inflows, PAR(p) and PAR(p)-A.

Orders are chosen by partial autocorrelation, coefficients solve the periodic Yule-Walker equations, and
orders fall where a season's inflow would push a later one the other way. (Hipel and McLeod, Time Series
Modelling of Water Resources and Environmental Systems, 1994, ch. 14; Maceira and Damázio, 2006; for the
annual component, Treistman et al., 2020.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pycobre.stochastic.moments import PlantMoments, solve
from pycobre.stochastic.par import YEAR, season_variance

FloatArray = NDArray[np.float64]

SIGNIFICANCE = 1.96
"""Partial autocorrelations beyond so many deviations of noise's own are significant (95 %)."""

_CERTAIN = "the inflow is the same in most years, and is taken as certain"
_WITHOUT_ORDER = "the inflow is the same in most years: no autoregression, but the deviation that is given"
_IMPOSSIBLE = (
    "the model implied a negative residual variance: orders were lowered, each time where it was lowest"
)


@dataclass(frozen=True)
class EstimationSettings:
    """How models are estimated.

    Attributes
    ----------
    max_order
        The highest order that is tried.
    min_observations
        A season with fewer observations gets no autoregression.
    annual
        Whether the mean inflow of the year before explains inflows too (PAR(p)-A).
    max_coefficient
        A season with a larger coefficient, in magnitude, gets no autoregression; no limit if ``None``.
    """

    max_order: int
    min_observations: int
    annual: bool
    max_coefficient: float | None


@dataclass
class SeasonModel:
    """Model of one plant in one season; all in units of the season's deviation.

    Attributes
    ----------
    coefficients
        Of the lags, lag 1 first.
    annual
        Coefficient of the mean inflow of the year before.
    annual_mean_m3s, annual_std_m3s
        Its mean and deviation.
    """

    coefficients: list[float] = field(default_factory=list)
    annual: float = 0.0
    annual_mean_m3s: float = 0.0
    annual_std_m3s: float = 0.0


@dataclass(frozen=True)
class Remark:
    """What a reader should know of a season's estimate; *hydro* and *season* are positions."""

    hydro: int
    season: int
    what: str


def estimate(
    moments: list[PlantMoments], settings: EstimationSettings, std_m3s: FloatArray
) -> tuple[list[list[SeasonModel]], FloatArray, list[Remark]]:
    """Models by hydro and season, their residual over total deviation (H, M), and remarks.

    Parameters
    ----------
    std_m3s : (H, M)
        Deviations that the models will be used with: those of *moments*, or a case's own.
    """
    models, remarks, ratio = [], [], np.ones((len(moments), len(std_m3s[0]) if moments else 0))
    for hydro, plant in enumerate(moments):
        estimator = _PlantEstimator(plant, settings, std_m3s[hydro])
        models.append(estimator.estimate())
        ratio[hydro] = np.sqrt(estimator.variance)
        remarks += [Remark(hydro, season, what) for season, what in dict.fromkeys(estimator.remarks)]
    return models, ratio, remarks


class _PlantEstimator:
    """The models of one plant while their orders fall."""

    def __init__(self, moments: PlantMoments, settings: EstimationSettings, std_m3s: FloatArray) -> None:
        self.moments, self.settings, self.std_m3s = moments, settings, std_m3s
        self.seasons = moments.seasons
        self.ceiling = [settings.max_order] * self.seasons
        self.models = [SeasonModel() for _ in range(self.seasons)]
        self.variance = np.ones(self.seasons)
        self.remarks: list[tuple[int, str]] = []

    def estimate(self) -> list[SeasonModel]:
        """Models of all seasons."""
        self.remarks += [
            (season, _CERTAIN if self.std_m3s[season] == 0.0 else _WITHOUT_ORDER)
            for season in self.moments.saturated
        ]
        for season in range(self.seasons):
            if self._usable(season):
                self._choose(season)
        self._drop_large()
        self._reduce_negative()
        self._reduce_explosive()
        return self.models

    def _usable(self, season: int) -> bool:
        """Whether *season* has enough observations that differ, or says why not."""
        moments = self.moments
        if moments.std[season] == 0.0 or moments.count[season] < 2:
            return False
        if moments.count[season] < self.settings.min_observations:
            self.remarks.append(
                (season, "fewer observations than min_observations_per_season: no autoregression")
            )
            return False
        if not self.settings.annual:
            return True
        count, mean, std = moments.annual(season)
        self.models[season].annual_mean_m3s, self.models[season].annual_std_m3s = mean, std
        return count > 0 and std > 0.0

    def _choose(self, season: int) -> None:
        """Fit *season* at the order that partial autocorrelations choose below its ceiling."""
        ceiling, threshold = self.ceiling[season], SIGNIFICANCE / math.sqrt(self.moments.count[season])
        partial = self._partial(season, ceiling)
        significant = [lag for lag, value in enumerate(partial, start=1) if abs(value) > threshold]
        order = max(significant, default=0)
        if self.settings.annual and order == 0 and partial and partial[0] != 0.0:
            order = 1  # persistence is the rule: an order of 0 must be earned by a lag without any
        self._fit(season, order)

    def _partial(self, season: int, most: int) -> list[float]:
        """Partial autocorrelations of lags 1 .. *most*, given the lags between and A if it is used."""
        values = []
        for lag in range(1, most + 1):
            if self.settings.annual:
                value = self._conditional(season, lag)
            else:
                solution = solve(*self._yule_walker(season, lag))
                value = None if solution is None else solution[-1]
            if value is None:
                break
            values.append(value)
        return values

    def _conditional(self, season: int, lag: int) -> float | None:
        """Correlation of Z with Z *lag* periods before, given the lags between and A."""
        rho = self.moments.correlation
        matrix, ahead = self._yule_walker(season, lag - 1)
        behind = [rho(season - 1 - j, lag - 1 - j) for j in range(lag - 1)]
        behind.append(self.moments.annual_correlation(season, lag))
        from_ahead, from_behind = solve(matrix, ahead), solve(matrix, behind)
        if from_ahead is None or from_behind is None:
            return None

        def left(a: list[float], b: list[float]) -> float:
            return sum(x * y for x, y in zip(a, b, strict=True))

        variance = (1.0 - left(ahead, from_ahead)) * (1.0 - left(behind, from_behind))
        if variance <= 0.0:
            return 0.0
        value = (rho(season, lag) - left(ahead, from_behind)) / math.sqrt(variance)
        return max(-1.0, min(1.0, value))

    def _yule_walker(self, season: int, order: int) -> tuple[list[list[float]], list[float]]:
        """Equations of *season* at *order*, those of A last if it is used."""
        rho, annual = self.moments.correlation, self.moments.annual_correlation
        matrix = [
            [rho(season - 1 - min(i, j), abs(i - j)) for j in range(order)] for i in range(order)
        ]  # between lags i + 1 and j + 1
        right = [rho(season, lag) for lag in range(1, order + 1)]
        if self.settings.annual:
            across = [annual(season, lag) for lag in range(1, order + 1)]
            matrix = [[*row, value] for row, value in zip(matrix, across, strict=True)]
            matrix.append([*across, 1.0])
            right.append(annual(season, 0))
        return matrix, right

    def _fit(self, season: int, order: int) -> None:
        """Solve the equations of *season* at *order*; without order where they are singular."""
        model = self.models[season]
        solution = solve(*self._yule_walker(season, order)) or [0.0] * int(self.settings.annual)
        if self.settings.annual:
            *model.coefficients, model.annual = solution
        else:
            model.coefficients = solution

    def _drop_large(self) -> None:
        """Leave no coefficient beyond the limit, and no first one below zero."""
        limit = self.settings.max_coefficient
        for season, model in enumerate(self.models):
            if limit is not None and any(abs(value) > limit for value in model.coefficients):
                self.remarks.append(
                    (season, "a coefficient beyond max_coefficient_magnitude: no autoregression")
                )
                self._fit(season, 0)
            self._drop_reversed(season)

    def _drop_reversed(self, season: int) -> None:
        if self.models[season].coefficients and self.models[season].coefficients[0] < 0.0:
            self._fit(season, 0)

    def _reduce_negative(self) -> None:
        """Lower the order of seasons in which a past inflow works the other way, all chains considered."""
        while True:
            failing = [m for m in range(self.seasons) if min(self._contributions(m), default=0.0) < 0.0]
            for season in failing:
                self._lower(season)
            if not failing:
                return

    def _lower(self, season: int) -> None:
        self.ceiling[season] -= 1
        if self.ceiling[season] == 0:
            self._fit(season, 0)
            return
        self._choose(season)
        self._drop_reversed(season)

    def _contributions(self, season: int) -> list[float]:
        """What a unit of inflow 1, 2, .. p periods ago does to *season*, by all ways through the seasons."""
        order, std = len(self.models[season].coefficients), self.moments.std

        def direct(at: int, lag: int) -> float:
            coefficients, past = self.models[at].coefficients, std[(at - lag) % self.seasons]
            if lag > len(coefficients) or past == 0.0:
                return 0.0
            return float(coefficients[lag - 1] * std[at] / past)

        reach = [direct(season, lag) for lag in range(1, order + 1)]
        found = []
        for step in range(1, order + 1):
            found.append(reach[0])
            at = (season - step) % self.seasons
            reach = [reach[0] * direct(at, lag) + reach[lag] for lag in range(1, order - step + 1)]
        return found

    def _reduce_explosive(self) -> None:
        """Lower orders until the model keeps every season's variance with a residual of its own.

        The coefficients imply autocorrelations, and these a residual variance (see :mod:`.par`). Sample
        correlations need not fit together, and the variance may come out negative.
        """
        while True:
            self.variance = season_variance(self._effective())
            worst = int(np.argmin(self.variance))
            if self.variance[worst] > 0.0:
                return
            model = self.models[worst]
            if model.coefficients:
                self.ceiling[worst] = len(model.coefficients) - 1
                self._fit(worst, self.ceiling[worst])
            elif model.annual != 0.0:
                model.annual = 0.0
            else:  # nothing of its own is left to explain too much: the season of highest order gives way
                worst = max(range(self.seasons), key=lambda m: (len(self.models[m].coefficients), -m))
                self.models[worst].coefficients, self.models[worst].annual = [], 0.0
            failing = {worst, *(m for m in range(self.seasons) if self.variance[m] <= 0.0)}
            self.remarks += [(season, _IMPOSSIBLE) for season in sorted(failing)]

    def _effective(self) -> FloatArray:
        """Standardised coefficients by season with the annual component spread over its twelve lags."""
        lags = [effective(model, m, self.std_m3s) for m, model in enumerate(self.models)]
        order = max((len(of_season) for of_season in lags), default=0)
        return np.array([of_season + [0.0] * (order - len(of_season)) for of_season in lags])


def effective(model: SeasonModel, season: int, std_m3s: FloatArray) -> list[float]:
    """Coefficients of a season's *model* over standardised lags, its annual component spread over them.

    Parameters
    ----------
    std_m3s : (M,)
        Deviations of the seasons.
    """
    if model.annual == 0.0:
        return list(model.coefficients)
    lags = model.coefficients + [0.0] * (YEAR - len(model.coefficients))
    share = model.annual / model.annual_std_m3s / YEAR
    return [
        value + (share * float(std_m3s[(season - lag) % len(std_m3s)]) if lag <= YEAR else 0.0)
        for lag, value in enumerate(lags, start=1)
    ]
