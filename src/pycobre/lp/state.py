"""What a hydrothermal system carries from stage to stage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pycobre.system import Deliveries, InflowRecursion, System, Transit

FloatArray = NDArray[np.float64]
Carried = tuple[list[float], list[tuple[int, int, float]], list[tuple[int, int, float]]]
"""Constants, (place, state, value) and (place, noise, value) of the carried part of an outgoing state."""


@dataclass(frozen=True)
class StateLayout:
    """Order of the state: what a stage decides first, then what is known before it decides anything.

    Decided are the H storages in hm³; commitments in MW, of each plant that is dispatched ahead the one that
    was decided last; and water in transit in hm³, of each plant whose outflow takes time what arrives in the
    stage that begins, in the one after it, and so on. Known are the inflow lags in m³/s, all of lag 1 first;
    season sums; and the commitments in MW that wait, the next to be delivered first.

    A hydro has as many lags as its highest order in any stage. Where several stages are one season, a hydro
    with lags has one more state: what the stages so far add to the season's mean.
    """

    hydros: int
    lags: tuple[tuple[int, int], ...]
    """(hydro position, lag from 1) of each lag, in the order of the state."""
    gathered: tuple[int, ...] = ()
    """Hydros whose season's mean is gathered, in the order of the state after the lags."""
    deliveries: tuple[Deliveries, ...] = ()
    """Plants that are dispatched ahead."""
    transits: tuple[Transit, ...] = ()
    """Plants whose outflow is under way for a time."""

    @classmethod
    def of(cls, recursion: InflowRecursion, system: System | None = None) -> StateLayout:
        """Layout for the inflow model *recursion*, and what else *system* hands from stage to stage."""
        orders = recursion.orders
        lags = tuple(
            (hydro, lag)
            for lag in range(1, max(orders, default=0) + 1)
            for hydro, order in enumerate(orders)
            if order >= lag
        )
        gathered = tuple(hydro for hydro, order in enumerate(orders) if order and recursion.shares_seasons)
        if system is None:
            return cls(len(orders), lags, gathered)
        return cls(len(orders), lags, gathered, system.deliveries, system.transits)

    @cached_property
    def decided(self) -> int:
        """Number of states that are columns of the stage before."""
        return self.hydros + len(self.deliveries) + sum(transit.slots for transit in self.transits)

    @property
    def size(self) -> int:
        """Number of states."""
        return self.decided + len(self.lags) + len(self.gathered) + sum(plan.held for plan in self.deliveries)

    def position(self, hydro: int, lag: int) -> int:
        """Position in the state of *hydro*'s inflow *lag* periods ago."""
        return self._lag_positions[hydro, lag]

    @cached_property
    def _lag_positions(self) -> dict[tuple[int, int], int]:
        return {lag: position for position, lag in enumerate(self.lags, start=self.decided)}

    def commitment(self, plan: int) -> int:
        """Position of what was decided last of the plant in position *plan* of the deliveries."""
        return self.hydros + plan

    def held(self, plan: int, ahead: int) -> int:
        """Position of what waits and is delivered *ahead* stages after the one that begins."""
        before = sum(other.held for other in self.deliveries[:plan])
        return self.decided + len(self.lags) + len(self.gathered) + before + ahead

    @property
    def first_in_transit(self) -> int:
        """Position of the first state in transit."""
        return self.hydros + len(self.deliveries)

    def in_transit(self, place: int, ahead: int) -> int:
        """Position of the water of the transit in position *place* that arrives *ahead* stages later."""
        before = sum(transit.slots for transit in self.transits[:place])
        return self.first_in_transit + before + ahead

    def delivered(self, plan: int, t: int) -> int | None:
        """Position of what is delivered in stage position *t*; ``None`` if it is decided there as well."""
        deliveries = self.deliveries[plan]
        if deliveries.decided_by[t] == t:
            return None
        return self.commitment(plan) if deliveries.newest(t) == t else self.held(plan, 0)

    def initial(self, system: System) -> FloatArray:
        """State before the first stage."""
        state = np.zeros(self.size)
        state[: self.hydros] = [hydro.storage_initial_hm3 for hydro in system.hydros]
        for number, plan in enumerate(self.deliveries):
            ahead = system.thermals[plan.plant].ahead
            assert ahead is not None
            for m in range(plan.first):
                place = self.commitment(number) if m == plan.newest(0) else self.held(number, m)
                state[place] = ahead.past_mw.get(system.stages[m].id, 0.0)
        for number, transit in enumerate(self.transits):
            first = self.in_transit(number, 0)
            state[first : first + transit.slots] = transit.initial_hm3
        for hydro, lag in self.lags:
            state[self.position(hydro, lag)] = system.inflow.past_m3s[hydro, lag - 1]
        return state

    def names(self, system: System) -> tuple[str, ...]:
        """Names such as ``storage_hm3[7]`` and ``inflow_m3s[7, lag 1]``, by the id of hydro or thermal."""
        names = [f"storage_hm3[{hydro.id}]" for hydro in system.hydros]
        plants = [system.thermals[plan.plant].id for plan in self.deliveries]
        names += [f"committed_mw[{id}, last]" for id in plants]
        names += [
            f"in_transit_hm3[{system.hydros[transit.hydro].id}, {ahead} ahead]"
            for transit in self.transits
            for ahead in range(1, transit.slots + 1)
        ]
        names += [f"inflow_m3s[{system.hydros[hydro].id}, lag {lag}]" for hydro, lag in self.lags]
        names += [f"inflow_m3s[{system.hydros[hydro].id}, season so far]" for hydro in self.gathered]
        for id, plan in zip(plants, self.deliveries, strict=True):
            names += [f"committed_mw[{id}, {ahead} ahead]" for ahead in range(1, plan.held + 1)]
        return tuple(names)

    def carried(self, recursion: InflowRecursion, t: int) -> Carried:
        """What the stage in position *t* hands on of what it knows.

        The mean of a season becomes lag 1 with its last stage, and lag l was lag l - 1 before; until then
        lags stay as they are. What waits comes a stage nearer, and what was decided last joins it.
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
        for number, plan in enumerate(self.deliveries):
            for ahead in range(plan.held):
                m = t + 1 + ahead
                if m < len(plan.target) and plan.waits(m, t + 1):
                    source = self.commitment(number) if plan.newest(t) == m else self.held(number, ahead + 1)
                    by_state.append((len(constant), source, 1.0))
                constant.append(0.0)
        return constant, by_state, by_noise

    def _gathered(self, hydro: int) -> int:
        return self.decided + len(self.lags) + self.gathered.index(hydro)
