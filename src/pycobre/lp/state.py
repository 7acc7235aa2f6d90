"""What a hydrothermal system carries from stage to stage: final storages, then inflow lags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.system import InflowRecursion, System

FloatArray = NDArray[np.float64]
Carried = tuple[list[float], list[tuple[int, int, float]], list[tuple[int, int, float]]]
"""Constants, (place, state, value) and (place, noise, value) of the carried part of an outgoing state."""


@dataclass(frozen=True)
class StateLayout:
    """Order of the state: H storages in hm³, then the inflow lags in m³/s, all of lag 1 first.

    A hydro has as many lags as its highest order in any stage. Where several stages are one season, a hydro
    with lags has one more state: what the stages so far add to the season's mean.
    """

    hydros: int
    lags: tuple[tuple[int, int], ...]
    """(hydro position, lag from 1) of each lag, in the order of the state."""
    gathered: tuple[int, ...] = ()
    """Hydros whose season's mean is gathered, in the order of the state after the lags."""

    @classmethod
    def of(cls, recursion: InflowRecursion) -> StateLayout:
        """Layout for the inflow model *recursion*."""
        orders = recursion.orders
        lags = tuple(
            (hydro, lag)
            for lag in range(1, max(orders, default=0) + 1)
            for hydro, order in enumerate(orders)
            if order >= lag
        )
        gathered = tuple(hydro for hydro, order in enumerate(orders) if order and recursion.shares_seasons)
        return cls(len(orders), lags, gathered)

    @property
    def size(self) -> int:
        """Number of states."""
        return self.hydros + len(self.lags) + len(self.gathered)

    def position(self, hydro: int, lag: int) -> int:
        """Position in the state of *hydro*'s inflow *lag* periods ago."""
        return self.hydros + self.lags.index((hydro, lag))

    def initial(self, system: System) -> FloatArray:
        """State before the first stage."""
        storages = [hydro.storage_initial_hm3 for hydro in system.hydros]
        past = [system.inflow.past_m3s[hydro, lag - 1] for hydro, lag in self.lags]
        return np.array(storages + past + [0.0] * len(self.gathered), dtype=np.float64)

    def names(self, system: System) -> tuple[str, ...]:
        """Names such as ``storage_hm3[7]`` and ``inflow_m3s[7, lag 1]``, by hydro id."""
        storages = tuple(f"storage_hm3[{hydro.id}]" for hydro in system.hydros)
        lags = tuple(f"inflow_m3s[{system.hydros[hydro].id}, lag {lag}]" for hydro, lag in self.lags)
        gathered = tuple(f"inflow_m3s[{system.hydros[hydro].id}, season so far]" for hydro in self.gathered)
        return storages + lags + gathered

    def carried(self, recursion: InflowRecursion, t: int) -> Carried:
        """What the stage in position *t* hands on: its lags, then what was gathered of the season's mean.

        The mean of a season becomes lag 1 with its last stage, and lag l was lag l - 1 before; until then
        lags stay as they are.
        """
        constant: list[float] = []
        by_state: list[tuple[int, int, float]] = []
        by_noise: list[tuple[int, int, float]] = []
        share, ends = float(recursion.season_share[t]), recursion.season_ends[t]

        def add_mean(place: int, h: int) -> None:
            constant.append(share * float(recursion.constant_m3s[h, t]))
            by_noise.append((place, h, share * float(recursion.noise_scale_m3s[h, t])))
            for lag in range(1, recursion.lag.shape[2] + 1):
                weight = share * float(recursion.lag[h, t, lag - 1])
                if weight != 0.0:
                    by_state.append((place, self.position(h, lag), weight))
            if h in self.gathered:
                by_state.append((place, self._gathered(h), 1.0))

        for place, (h, lag) in enumerate(self.lags):
            if lag == 1 and ends:
                add_mean(place, h)
                continue
            constant.append(0.0)
            by_state.append((place, self.position(h, lag - 1 if ends else lag), 1.0))
        for place, h in enumerate(self.gathered, start=len(self.lags)):
            if ends:
                constant.append(0.0)
            else:
                add_mean(place, h)
        return constant, by_state, by_noise

    def _gathered(self, hydro: int) -> int:
        return self.hydros + len(self.lags) + self.gathered.index(hydro)
