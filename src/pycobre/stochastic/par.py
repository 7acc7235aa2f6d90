"""Periodic autoregressive inflows: from standardised coefficients to a recursion in m³/s.

With mean μ and standard deviation s of each period and standardised coefficients φ,

    (a_t - μ_t)/s_t = Σ_l φ_{t,l} (a_{t-l} - μ_{t-l})/s_{t-l} + r_t ω,    ω of mean 0 and variance 1,

where the residual ratio r_t is what keeps the variance of every period at s²:
r_t² = 1 - Σ_l φ_{t,l} ρ_t(l), ρ being the autocorrelation that the coefficients imply.
(Hipel and McLeod, Time Series Modelling of Water Resources and Environmental Systems, 1994, ch. 14.)

An annual component adds ψ_t (A_{t-1} - mean of A)/sA_t, A_{t-1} being the mean inflow of the twelve periods
before: a twelfth of ψ_t s_t/sA_t more on each of twelve lags. The mean of A is that of the twelve means μ, so
that every period keeps its own.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pycobre.system import InflowRecursion, InflowStatistics, Stage, season_occurrences

FloatArray = NDArray[np.float64]

YEAR = 12
"""Periods that an annual component averages over; it is defined for months alone."""


class ImpossibleModel(ValueError):
    """The coefficients of a hydro and stage imply a residual variance below zero: no process has them.

    Attributes
    ----------
    hydro, stage
        Their positions.
    """

    def __init__(self, hydro: int, stage: int) -> None:
        self.hydro, self.stage = hydro, stage
        super().__init__(
            f"the autoregressive coefficients of hydro number {hydro} in stage number {stage} imply a"
            " negative residual variance"
        )


def inflow_recursion(statistics: InflowStatistics, stages: tuple[Stage, ...]) -> InflowRecursion:
    """Recursion of the inflows in m³/s, one set of coefficients a hydro and stage.

    Raises
    ------
    ImpossibleModel
        The coefficients imply a residual variance below zero.
    """
    coefficients = statistics.coefficients
    used = coefficients != 0.0
    lag_std = np.where(used, statistics.lag_std_m3s, 1.0)
    lag = coefficients * statistics.std_m3s[:, :, None] / lag_std
    if statistics.annual is not None:
        annual = statistics.annual
        share = annual.coefficient / np.where(annual.coefficient != 0.0, annual.std_m3s, 1.0) / YEAR
        lag[:, :, :YEAR] += (share * statistics.std_m3s)[:, :, None]
        coefficients = coefficients.copy()
        coefficients[:, :, :YEAR] += share[:, :, None] * statistics.lag_std_m3s[:, :, :YEAR]
    constant = statistics.mean_m3s.copy()
    for step in range(lag.shape[2]):  # lag by lag: a fixed order of summation
        constant -= lag[:, :, step] * statistics.lag_mean_m3s[:, :, step]
    if statistics.lag_weights is not None:
        lag = sum(
            (lag[:, :, step, None] * statistics.lag_weights[None, :, step] for step in range(lag.shape[2])),
            start=np.zeros((*constant.shape, statistics.lag_weights.shape[2])),
        )
    ratio = statistics.residual_ratio
    if ratio is None:
        ratio = residual_ratio(coefficients, [stage.season_id for stage in stages])
    share, ends = _occurrences(stages, constant.shape[1])
    return InflowRecursion(constant, lag, statistics.std_m3s * ratio, share, ends)


def _occurrences(stages: tuple[Stage, ...], count: int) -> tuple[FloatArray, tuple[bool, ...]]:
    """Share of each stage in its occurrence of a season, by days, and whether it is the last of it."""
    share, ends = np.ones(count), [True] * count
    for occurrence in season_occurrences([stage.season_id for stage in stages]):
        days = [(stages[t].end_date - stages[t].start_date).days for t in occurrence]
        for t, length in zip(occurrence, days, strict=True):
            share[t], ends[t] = length / sum(days), t == occurrence[-1]
    return share, tuple(ends)


def raisable(recursion: InflowRecursion) -> InflowRecursion:
    """The same recursion with noise of unit scale where there is none: something that can be raised."""
    scale = np.where(recursion.noise_scale_m3s > 0.0, recursion.noise_scale_m3s, 1.0)
    return replace(recursion, noise_scale_m3s=scale)


def residual_ratio(coefficients: FloatArray, seasons: list[int | None]) -> FloatArray:
    """Residual over total standard deviation, shape (H, T), of coefficients (H, T, P).

    Order 1 needs no seasons. Higher orders take the first stage of every season as its model and the
    seasons that occur, in the order of the stages, as one cycle.

    Raises
    ------
    ImpossibleModel
        The coefficients imply a residual variance below zero.
    """
    hydros, stages, order = coefficients.shape
    if order == 0:
        return np.ones((hydros, stages))
    if order == 1:
        variance = 1.0 - coefficients[:, :, 0] ** 2
    else:
        cycle: dict[int | None, int] = {}
        for stage, season in enumerate(seasons):
            cycle.setdefault(season, stage)
        first = list(cycle.values())
        position = {season: index for index, season in enumerate(cycle)}
        variance = np.empty((hydros, stages))
        for hydro in range(hydros):
            of_season = season_variance(coefficients[hydro, first])
            for stage, season in enumerate(seasons):
                variance[hydro, stage] = of_season[position[season]]
    if (variance < 0.0).any():
        hydro, stage = (int(i) for i in np.argwhere(variance < 0.0)[0])
        raise ImpossibleModel(hydro, stage)
    return np.sqrt(variance)


def season_variance(coefficients: FloatArray) -> FloatArray:
    """Residual variance (M,) of a periodic process of unit variance with *coefficients* (M, P).

    Solves the periodic Yule-Walker equations ρ_m(k) = Σ_l φ_{m,l} ρ(between lags l and k), k = 1..P, for
    the autocorrelations; ρ_m(k) ties season m to the one k periods earlier.
    """
    seasons, order = coefficients.shape
    index = {(m, k): m * order + k - 1 for m in range(seasons) for k in range(1, order + 1)}
    system = np.eye(seasons * order)
    known = np.zeros(seasons * order)
    for m in range(seasons):
        for k in range(1, order + 1):
            row = index[m, k]
            for lag in range(1, order + 1):
                weight = coefficients[m, lag - 1]
                if lag == k:
                    known[row] += weight
                    continue
                later = (m - min(lag, k)) % seasons
                system[row, index[later, abs(lag - k)]] -= weight
    correlation = _eliminate(system, known)
    return np.array(
        [
            1.0 - sum(coefficients[m, k - 1] * correlation[index[m, k]] for k in range(1, order + 1))
            for m in range(seasons)
        ]
    )


def _eliminate(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solution of a linear system by elimination with partial pivoting.

    Element by element: the same bits on every machine, and no threads that wait for each other.

    Raises
    ------
    ValueError
        The matrix is singular.
    """
    rows = np.column_stack([matrix, right])
    size = len(right)
    for k in range(size):
        best = k + int(np.argmax(np.abs(rows[k:, k])))
        if rows[best, k] == 0.0:
            raise ValueError(
                "the autoregressive coefficients belong to no process: their equations are singular"
            )
        rows[[k, best]] = rows[[best, k]]
        factor = rows[k + 1 :, k] / rows[k, k]
        rows[k + 1 :, k:] -= factor[:, None] * rows[k, k:]
    solution = np.zeros(size)
    for k in reversed(range(size)):
        left = rows[k, k + 1 : size] * solution[k + 1 :]
        solution[k] = (rows[k, size] - math.fsum(left)) / rows[k, k]
    return solution
