"""What is known of inflows and demands: statistics per stage, as arrays in the system's order.

H hydros, B buses, T stages, K blocks (the most of any stage), P the highest autoregressive order,
D noise dimensions: all hydros, then the buses whose demand is random, then the sources that have
statistics, each ascending by id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def _floats(values: ArrayLike) -> FloatArray:
    return np.array(values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class AnnualComponent:
    """What the mean inflow of the twelve periods before a stage does to the stage's (PAR(p)-A).

    Attributes
    ----------
    coefficient : (H, T)
        Standardised; zero where there is none.
    std_m3s : (H, T)
        Standard deviation of that mean inflow; anything where the coefficient is zero.
    """

    coefficient: FloatArray
    std_m3s: FloatArray


@dataclass(frozen=True, eq=False)
class InflowStatistics:
    """Seasonal statistics and autoregressive model of the incremental inflows.

    Attributes
    ----------
    mean_m3s, std_m3s : (H, T)
        Mean and standard deviation of each stage.
    coefficients : (H, T, P)
        Standardised autoregressive coefficients, lag 1 first, zero beyond a plant's own order. P is twelve
        at least if there is an annual component.
    lag_mean_m3s, lag_std_m3s : (H, T, P)
        Mean and standard deviation of the period that each lag reaches; zero where neither a coefficient
        nor the annual component does.
    past_m3s : (H, L)
        Observed inflow of the periods before the first stage, the latest first; as many as lags, P, where
        there are no *lag_weights*.
    nonnegativity
        ``none``, or ``penalty``: missing water may be bought at ``inflow_nonnegativity_cost_per_m3s_h``.
    truncated
        Whether noise is raised where an inflow would be negative, to what makes it zero.
    annual
        The annual component, if any plant has one.
    residual_ratio : (H, T)
        Residual over total deviation; ``None`` if it is to follow from the coefficients.
    residuals : each (n, H)
        Of each stage's season, what the models leave of the history's years, over its deviation; ``None``
        without a history.
    lag_weights : (T, P, L)
        Where stages of several lengths have lags: the share, at (stage, lag, n), of the season that came
        n + 1 seasons before a stage in the period that a lag reaches. ``None`` where lag 1 is the season
        before, and so on. *residual_ratio* must be given then.
    """

    mean_m3s: FloatArray
    std_m3s: FloatArray
    coefficients: FloatArray
    lag_mean_m3s: FloatArray
    lag_std_m3s: FloatArray
    past_m3s: FloatArray
    nonnegativity: str
    truncated: bool = False
    annual: AnnualComponent | None = None
    residual_ratio: FloatArray | None = None
    residuals: tuple[FloatArray, ...] | None = None
    lag_weights: FloatArray | None = None

    @classmethod
    def certain(cls, mean_m3s: ArrayLike, nonnegativity: str = "penalty") -> InflowStatistics:
        """Inflows (H, T) without any deviation."""
        return cls.independent(mean_m3s, np.zeros_like(np.asarray(mean_m3s, dtype=np.float64)), nonnegativity)

    @classmethod
    def independent(
        cls, mean_m3s: ArrayLike, std_m3s: ArrayLike, nonnegativity: str = "penalty"
    ) -> InflowStatistics:
        """Inflows with mean and deviation (H, T) that do not depend on what was before."""
        mean, std = _floats(mean_m3s), _floats(std_m3s)
        none = np.zeros((*mean.shape, 0))
        return cls(mean, std, none, none, none, np.zeros((len(mean), 0)), nonnegativity)

    @property
    def order(self) -> int:
        """The highest autoregressive order P of any plant."""
        return int(self.coefficients.shape[2])


@dataclass(frozen=True, eq=False)
class InflowRecursion:
    """Inflow of a stage as an affine function of past inflows and noise.

    inflow = constant + Σ_l lag[l] · (inflow l seasons ago) + noise_scale · ω

    Attributes
    ----------
    constant_m3s, noise_scale_m3s : (H, T)
    lag : (H, T, L)
        In the inflows' own units (dimensionless).
    season_share : (T,)
        Share of the stage in the mean of its season, which is what lags reach: below 1 where several
        stages are one occurrence of a season.
    season_ends
        Whether each stage is the last of its occurrence.
    """

    constant_m3s: FloatArray
    lag: FloatArray
    noise_scale_m3s: FloatArray
    season_share: FloatArray
    season_ends: tuple[bool, ...]

    @property
    def shares_seasons(self) -> bool:
        """Whether some season's mean must be gathered over several stages."""
        return not all(self.season_ends)

    @property
    def orders(self) -> tuple[int, ...]:
        """Number of lags that each hydro needs in any stage."""
        used = (self.lag != 0.0).any(axis=1)
        return tuple(int(np.flatnonzero(row)[-1]) + 1 if row.any() else 0 for row in used)


@dataclass(frozen=True, eq=False)
class LoadStatistics:
    """Demand of the buses.

    Attributes
    ----------
    mean_mw, std_mw : (B, T)
        Mean and standard deviation of each stage.
    block_factor : (B, T, K)
        Demand of a block over the stage's; one where the case says nothing.
    """

    mean_mw: FloatArray
    std_mw: FloatArray
    block_factor: FloatArray

    @classmethod
    def certain(cls, mean_mw: ArrayLike, blocks: int = 1) -> LoadStatistics:
        """Demand (B, T) without any deviation, alike in all of the *blocks* of a stage."""
        mean = _floats(mean_mw)
        return cls(mean, np.zeros_like(mean), np.ones((*mean.shape, blocks)))

    @property
    def random_buses(self) -> tuple[int, ...]:
        """Positions of the buses whose demand is random in some stage."""
        return tuple(int(b) for b in np.flatnonzero((self.std_mw > 0).any(axis=1)))


@dataclass(frozen=True, eq=False)
class SourceStatistics:
    """Available generation of S non-controllable sources.

    Available in a block: capacity · block factor · (mean + std · ω), the last between 0 and 1.

    Attributes
    ----------
    mean, std : (S, T)
        Mean and standard deviation of the share of the capacity that is available.
    block_factor : (S, T, K)
        Availability of a block over the stage's; one where the case says nothing.
    drawn
        Positions of the sources that have a noise term, whether or not it has any weight.
    """

    mean: FloatArray
    std: FloatArray
    block_factor: FloatArray
    drawn: tuple[int, ...] = ()

    @classmethod
    def certain(cls, mean: ArrayLike, blocks: int = 1) -> SourceStatistics:
        """Shares (S, T) of the capacity that are available for certain, alike in all *blocks* of a stage."""
        share = _floats(mean)
        return cls(share, np.zeros_like(share), np.ones((*share.shape, blocks)))

    def clip(self, t: int, noise: FloatArray) -> FloatArray:
        """Noise (.., drawn sources) of stage position *t*, cut where availability leaves 0 to 1."""
        rows = list(self.drawn)
        mean, std = self.mean[rows, t], self.std[rows, t]
        spread = np.where(std > 0.0, std, 1.0)
        cut = np.clip(noise, -mean / spread, (1.0 - mean) / spread)
        return np.where(std > 0.0, cut, noise)


@dataclass(frozen=True, eq=False)
class Correlation:
    """Spatial correlation of the noise.

    Attributes
    ----------
    profiles : each (D, D)
        Correlation matrices.
    profile_of_stage : (T,)
        Which profile holds in which stage.
    """

    profiles: tuple[FloatArray, ...]
    profile_of_stage: tuple[int, ...]


NO_INFLOW = InflowStatistics.certain(np.zeros((0, 0)))
NO_LOAD = LoadStatistics.certain(np.zeros((0, 0)))
NO_SOURCES = SourceStatistics.certain(np.zeros((0, 0)))
INDEPENDENT = Correlation((), ())
"""These stand for statistics that a system was not given."""
