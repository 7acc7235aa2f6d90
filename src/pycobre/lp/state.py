"""What a hydrothermal system carries from stage to stage: final storages, then inflow lags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.system import InflowRecursion, System

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class StateLayout:
    """Order of the state: H storages in hm³, then the inflow lags in m³/s, all of lag 1 first.

    A hydro has as many lags as its highest order in any stage.
    """

    hydros: int
    lags: tuple[tuple[int, int], ...]
    """(hydro position, lag from 1) of each lag, in the order of the state."""

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
        return cls(len(orders), lags)

    @property
    def size(self) -> int:
        """Number of states."""
        return self.hydros + len(self.lags)

    def position(self, hydro: int, lag: int) -> int:
        """Position in the state of *hydro*'s inflow *lag* periods ago."""
        return self.hydros + self.lags.index((hydro, lag))

    def initial(self, system: System) -> FloatArray:
        """State before the first stage."""
        storages = [hydro.storage_initial_hm3 for hydro in system.hydros]
        past = [system.inflow.past_m3s[hydro, lag - 1] for hydro, lag in self.lags]
        return np.array(storages + past, dtype=np.float64)

    def names(self, system: System) -> tuple[str, ...]:
        """Names such as ``storage_hm3[7]`` and ``inflow_m3s[7, lag 1]``, by hydro id."""
        storages = tuple(f"storage_hm3[{hydro.id}]" for hydro in system.hydros)
        lags = tuple(f"inflow_m3s[{system.hydros[hydro].id}, lag {lag}]" for hydro, lag in self.lags)
        return storages + lags
