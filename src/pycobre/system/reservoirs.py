"""What reservoirs lose to the air, and how they are filled for the first time."""

from __future__ import annotations

import calendar
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pycobre.system.calendar import Stage
from pycobre.system.units import hm3_per_m3s

M3_PER_MM_KM2 = 1000.0
SECONDS_PER_DAY = 86400.0
MONTHS = 12


@dataclass(frozen=True)
class Evaporation:
    """Evaporation of a stage as a line in the mean of incoming and final storage (as for planes)."""

    constant_m3s: float
    m3s_per_hm3: float


@dataclass(frozen=True)
class SurfacePoint:
    """A reservoir's level and surface when it holds a volume."""

    volume_hm3: float
    height_m: float
    area_km2: float


@dataclass(frozen=True)
class SurfaceEvaporation:
    """Evaporation that follows from a reservoir's surface and the months of the year.

    Attributes
    ----------
    surface
        Points ascending by volume, with lines between them.
    coefficients_mm : (12,)
        Height that evaporates in each month, January first; below zero it rains more.
    reference_volumes_hm3 : (12,)
        Volume of each month at which the area's line is taken; ``None`` for the middle of the storage limits.
    """

    surface: tuple[SurfacePoint, ...]
    coefficients_mm: tuple[float, ...]
    reference_volumes_hm3: tuple[float, ...] | None = None

    def lines(self, middle_hm3: float, stages: Sequence[Stage]) -> tuple[Evaporation, ...]:
        """Line of each stage, where *middle_hm3* is the middle of the storage limits."""
        return tuple(self._line(middle_hm3, stage) for stage in stages)

    def _line(self, middle_hm3: float, stage: Stage) -> Evaporation:
        """Mean of the stage's days, each with the height of its month."""
        constant = slope = 0.0
        references = self.reference_volumes_hm3
        for month, share, flow_per_mm_km2 in _months_of(stage):
            area, rise = self._area_line(middle_hm3 if references is None else references[month])
            weight = share * self.coefficients_mm[month] * flow_per_mm_km2
            constant += weight * area
            slope += weight * rise
        return Evaporation(constant, slope)

    def _area_line(self, at_hm3: float) -> tuple[float, float]:
        """Area at no volume and its slope, of the line that holds at a volume; a corner takes the upper."""
        points = self.surface
        if len(points) == 1:
            return points[0].area_km2, 0.0
        left = min(max(bisect_right([point.volume_hm3 for point in points], at_hm3) - 1, 0), len(points) - 2)
        low, high = points[left], points[left + 1]
        slope = (high.area_km2 - low.area_km2) / (high.volume_hm3 - low.volume_hm3)
        return low.area_km2 - slope * low.volume_hm3, slope


def _months_of(stage: Stage) -> tuple[tuple[int, float, float], ...]:
    """Months of a stage: number from 0, share of the stage's days, and m³/s of a mm a month on a km²."""
    days = (stage.end_date - stage.start_date).days
    per_month: dict[tuple[int, int], int] = {}
    for offset in range(days):
        day = stage.start_date + timedelta(days=offset)
        per_month[day.year, day.month] = per_month.get((day.year, day.month), 0) + 1
    return tuple(
        (month - 1, count / days, M3_PER_MM_KM2 / (calendar.monthrange(year, month)[1] * SECONDS_PER_DAY))
        for (year, month), count in per_month.items()
    )


@dataclass(frozen=True)
class Filling:
    """A reservoir that is there before its turbines, and filled from *start_stage_id* until they enter.

    In each of these stages it is to hold what it had, and what ``rate_min_m3s``, which may differ by stage,
    has brought since, at most its minimum storage.
    """

    start_stage_id: int
    entry_stage_id: int
    rate_min_m3s: float = 0.0

    def targets_hm3(
        self, initial_hm3: float, full_hm3: float, stages: Sequence[Stage], rates_m3s: Sequence[float]
    ) -> dict[int, float]:
        """Final storage, by stage id, that the reservoir is to reach with a rate in each of *stages*."""
        volume, targets = initial_hm3, {}
        for stage, rate_m3s in zip(stages, rates_m3s, strict=True):
            if self.start_stage_id <= stage.id < self.entry_stage_id:
                volume += hm3_per_m3s(stage.hours) * rate_m3s
                targets[stage.id] = min(volume, full_hm3)
        return targets
