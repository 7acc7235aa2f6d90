"""Reservoir geometry: heights and areas by volume, and the evaporation that follows from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pycobre.case import files
from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, name_entity
from pycobre.case.tables import FloatArray, Table
from pycobre.system import SurfaceEvaporation, SurfacePoint

MONTHS = 12


class Geometry:
    """A reservoir's points (volume, height, area), ascending by volume; lines between them."""

    def __init__(self, volume_hm3: FloatArray, height_m: FloatArray, area_km2: FloatArray) -> None:
        self.volume_hm3, self.height_m, self.area_km2 = volume_hm3, height_m, area_km2


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
) -> dict[int, SurfaceEvaporation]:
    """Evaporation of the plants that have any."""
    result: dict[int, SurfaceEvaporation] = {}
    if not _check_geometry(case, geometry, findings):
        return result
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
                    hint="give one value a month, also for months that the study does not have",
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
            result[hydro.id] = _evaporation(hydro, geometry[hydro.id])
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
            continue
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


def _evaporation(hydro: HydroRecord, geometry: Geometry) -> SurfaceEvaporation:
    assert hydro.evaporation is not None
    columns = (geometry.volume_hm3.tolist(), geometry.height_m.tolist(), geometry.area_km2.tolist())
    references = hydro.evaporation.reference_volumes_hm3
    return SurfaceEvaporation(
        tuple(SurfacePoint(*point) for point in zip(*columns, strict=True)),
        tuple(hydro.evaporation.coefficients_mm),
        None if references is None else tuple(references),
    )
