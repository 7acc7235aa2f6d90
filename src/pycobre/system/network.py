"""The whole power system, ordered by id, and the conversions between its units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pycobre.system.calendar import Stage
from pycobre.system.entities import Bus, Hydro, Line, Thermal
from pycobre.system.uncertainty import Correlation, InflowStatistics, LoadStatistics

SECONDS_PER_HOUR = 3600.0
M3_PER_HM3 = 1.0e6


def hm3_per_m3s(hours: float) -> float:
    """Water volume in hm³ that a flow of 1 m³/s carries in *hours*."""
    return SECONDS_PER_HOUR * hours / M3_PER_HM3


@dataclass(frozen=True)
class ThermalOverride:
    """A thermal plant's limits and cost in one stage; ``None`` keeps the plant's own value."""

    generation_min_mw: float | None = None
    generation_max_mw: float | None = None
    cost_per_mwh: float | None = None


@dataclass(frozen=True, eq=False)
class System:
    """A power system and the stages it is planned over.

    Entities are kept ascending by id whatever order they came in, and so are the rows of
    ``inflow`` (hydros) and ``load`` (buses): no result depends on the order of an input file.
    """

    stages: tuple[Stage, ...]
    buses: tuple[Bus, ...]
    lines: tuple[Line, ...]
    thermals: tuple[Thermal, ...]
    hydros: tuple[Hydro, ...]
    inflow: InflowStatistics
    load: LoadStatistics
    correlation: Correlation
    thermal_overrides: Mapping[tuple[int, int], ThermalOverride] = field(default_factory=dict)
    """By (thermal id, stage id)."""

    def __post_init__(self) -> None:
        for name in ("stages", "buses", "lines", "thermals", "hydros"):
            ids = [entity.id for entity in getattr(self, name)]
            if ids != sorted(set(ids)):
                raise ValueError(f"{name} must be ascending by a unique id, got {ids}")

    @cached_property
    def bus_position(self) -> dict[int, int]:
        """Position of each bus id in :attr:`buses`."""
        return {bus.id: position for position, bus in enumerate(self.buses)}

    @cached_property
    def hydro_position(self) -> dict[int, int]:
        """Position of each hydro id in :attr:`hydros`."""
        return {hydro.id: position for position, hydro in enumerate(self.hydros)}

    @cached_property
    def upstream(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the hydros that release into each hydro, in the order of :attr:`hydros`."""
        above: list[list[int]] = [[] for _ in self.hydros]
        for position, hydro in enumerate(self.hydros):
            if hydro.downstream_id is not None:
                above[self.hydro_position[hydro.downstream_id]].append(position)
        return tuple(tuple(positions) for positions in above)

    @property
    def noise_dimension(self) -> int:
        """Number of noise terms a stage: one a hydro, then one a bus of random demand."""
        return len(self.hydros) + len(self.load.random_buses)

    def thermals_in(self, stage: Stage) -> tuple[Thermal, ...]:
        """Thermal plants with the limits and costs that hold in *stage*."""
        return tuple(self._thermal_in(thermal, stage) for thermal in self.thermals)

    def _thermal_in(self, thermal: Thermal, stage: Stage) -> Thermal:
        override = self.thermal_overrides.get((thermal.id, stage.id))
        if override is None:
            return thermal
        changes = {name: value for name, value in vars(override).items() if value is not None}
        return replace(thermal, **changes)
