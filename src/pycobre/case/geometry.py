"""Reservoir geometry: heights and areas by volume, and the evaporation that follows from them."""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from datetime import timedelta

import numpy as np

from pycobre.case import files
from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, name_entity
from pycobre.case.stages import StageRecord
from pycobre.case.statistics import study_stages
from pycobre.case.tables import FloatArray, Table
from pycobre.system import Evaporation

M3_PER_MM_KM2 = 1000.0
SECONDS_PER_DAY = 86400.0
MONTHS = 12


class Geometry:
    """A reservoir's points (volume, height, area), ascending by volume; lines between them."""

    def __init__(self, volume_hm3: FloatArray, height_m: FloatArray, area_km2: FloatArray) -> None:
        self.volume_hm3, self.height_m, self.area_km2 = volume_hm3, height_m, area_km2

    def area_line(self, at_hm3: float) -> tuple[float, float]:
        """Area at no volume and its slope, of the line that holds at a volume; a corner takes the upper."""
        if len(self.volume_hm3) == 1:
            return float(self.area_km2[0]), 0.0
        last = len(self.volume_hm3) - 2
        left = min(max(int(np.searchsorted(self.volume_hm3, at_hm3, "right")) - 1, 0), last)
        rise = float(self.area_km2[left + 1] - self.area_km2[left])
        slope = rise / float(self.volume_hm3[left + 1] - self.volume_hm3[left])
        return float(self.area_km2[left]) - slope * float(self.volume_hm3[left]), slope


def read_geometry(table: Table | None) -> dict[int, Geometry]:
    """Geometry of each hydro plant that has one."""
    if table is None:
        return {}
    ids, volume = table.ints["hydro_id"], table.floats["volume_hm3"]
    result = {}
    for id in sorted(set(ids.tolist())):
        rows = np.flatnonzero(ids == id)
        rows = rows[np.argsort(volume[rows], kind="stable")]
        result[id] = Geometry(volume[rows], table.floats["height_m"][rows], table.floats["area_km2"][rows])
    return result


def resolve_evaporation(
    case: CaseFiles, geometry: Mapping[int, Geometry], findings: Findings
) -> dict[int, tuple[Evaporation, ...]]:
    """Evaporation of the plants that have any, one a stage."""
    result: dict[int, tuple[Evaporation, ...]] = {}
    if not _check_geometry(case, geometry, findings):
        return result
    shares = [_shares(stage) for stage in study_stages(case) if stage.end_date > stage.start_date]
    for hydro in case.hydros.hydros if case.hydros else []:
        if hydro.evaporation is None:
            continue
        entity = name_entity("hydro", hydro.id, hydro.name)
        before = findings.count
        for field in ("coefficients_mm", "reference_volumes_hm3"):
            values = getattr(hydro.evaporation, field)
            if values is not None and len(values) != MONTHS:
                findings.add(
                    "dimension",
                    files.HYDROS,
                    f"must have {MONTHS} values, January first, got {len(values)}",
                    entity=entity,
                    field=f"evaporation.{field}",
                )
        if hydro.id not in geometry and files.GEOMETRY not in case.broken:
            findings.add(
                "dimension",
                files.GEOMETRY,
                "evaporates, but has no geometry: how much depends on its area",
                entity=entity,
                field="hydro_id",
                hint=f"give its areas by volume, or take evaporation out of {files.HYDROS}",
            )
        if findings.count == before and hydro.id in geometry:
            result[hydro.id] = tuple(_evaporation(hydro, geometry[hydro.id], part) for part in shares)
    return result


def _check_geometry(case: CaseFiles, geometry: Mapping[int, Geometry], findings: Findings) -> bool:
    """Whether every geometry has one point a volume, and rises and widens as it fills."""
    before = findings.count
    names = {hydro.id: hydro.name for hydro in case.hydros.hydros} if case.hydros else {}
    for id, points in geometry.items():
        entity = name_entity("hydro", id, names.get(id))
        if (np.diff(points.volume_hm3) <= 0.0).any():
            findings.add(
                "dimension",
                files.GEOMETRY,
                "has two points of the same volume",
                entity=entity,
                field="volume_hm3",
                hint="keep one",
            )
        for field, values in (("height_m", points.height_m), ("area_km2", points.area_km2)):
            falls = np.flatnonzero(np.diff(values) < 0.0)
            if falls.size:
                low, high = points.volume_hm3[falls[0]], points.volume_hm3[falls[0] + 1]
                findings.add(
                    "physics",
                    files.GEOMETRY,
                    f"falls from {low:g} hm³ to {high:g} hm³, but a reservoir rises and widens as it fills",
                    entity=entity,
                    field=field,
                )
    return findings.count == before


Shares = tuple[tuple[int, float, float], ...]
"""Months of a stage: number from 0, share of the stage's days, and m³/s of a mm a month on a km²."""


def _shares(stage: StageRecord) -> Shares:
    days = (stage.end_date - stage.start_date).days
    per_month: dict[tuple[int, int], int] = {}
    for offset in range(days):
        day = stage.start_date + timedelta(days=offset)
        per_month[day.year, day.month] = per_month.get((day.year, day.month), 0) + 1
    return tuple(
        (month - 1, count / days, M3_PER_MM_KM2 / (calendar.monthrange(year, month)[1] * SECONDS_PER_DAY))
        for (year, month), count in per_month.items()
    )


def _evaporation(hydro: HydroRecord, geometry: Geometry, shares: Shares) -> Evaporation:
    """Mean of the stage's days, each with the height of its month."""
    assert hydro.evaporation is not None
    references = hydro.evaporation.reference_volumes_hm3
    middle = (hydro.reservoir.min_storage_hm3 + hydro.reservoir.max_storage_hm3) / 2.0
    constant = slope = 0.0
    for month, share, flow_per_mm_km2 in shares:
        area, rise = geometry.area_line(middle if references is None else references[month])
        weight = share * hydro.evaporation.coefficients_mm[month] * flow_per_mm_km2
        constant += weight * area
        slope += weight * rise
    return Evaporation(constant, slope)
