"""What is known of inflows and demands: statistics per stage, as arrays in the system's order.

H hydros, B buses, T stages, K blocks (the most of any stage), P the highest autoregressive order,
D noise dimensions: all hydros, then the buses whose demand is random, then the sources that have
statistics, each ascending by id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InflowStatistics:
    """Seasonal statistics and autoregressive model of the incremental inflows.

    Attributes
    ----------
    mean_m3s, std_m3s : (H, T)
        Mean and standard deviation of each stage.
    coefficients : (H, T, P)
        Standardised autoregressive coefficients, lag 1 first, zero beyond a plant's own order.
    lag_mean_m3s, lag_std_m3s : (H, T, P)
        Mean and standard deviation of the period that each lag reaches; anything where the
        coefficient is zero.
    past_m3s : (H, P)
        Observed inflow of the P periods before the first stage, the latest first.
    nonnegativity
        ``none``: inflows may be negative; ``penalty``: missing water may be bought at
        ``inflow_nonnegativity_cost_per_m3s_h``.
    """

    mean_m3s: FloatArray
    std_m3s: FloatArray
    coefficients: FloatArray
    lag_mean_m3s: FloatArray
    lag_std_m3s: FloatArray
    past_m3s: FloatArray
    nonnegativity: str

    @property
    def order(self) -> int:
        """The highest autoregressive order P of any plant."""
        return int(self.coefficients.shape[2])


@dataclass(frozen=True, eq=False)
class InflowRecursion:
    """Inflow of a stage as an affine function of past inflows and noise.

    inflow = constant + Σ_l lag[l] · (inflow l periods ago) + noise_scale · ω

    Attributes
    ----------
    constant_m3s, noise_scale_m3s : (H, T)
    lag : (H, T, P)
        In the inflows' own units (dimensionless).
    """

    constant_m3s: FloatArray
    lag: FloatArray
    noise_scale_m3s: FloatArray

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

    def clip(self, t: int, noise: FloatArray) -> FloatArray:
        """Noise (.., drawn sources) of stage position *t*, cut where availability leaves 0 to 1."""
        rows = list(self.drawn)
        mean, std = self.mean[rows, t], self.std[rows, t]
        spread = np.where(std > 0.0, std, 1.0)
        cut = np.clip(noise, -mean / spread, (1.0 - mean) / spread)
        return np.where(std > 0.0, cut, noise)


NO_SOURCES = SourceStatistics(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0, 0)))


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
