"""Levels below the turbines: by outflow, and by the level of the reservoir that the water falls into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycobre.case import files
from pycobre.case.entities import HydroRecord, TailracePolynomial
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, name_entity
from pycobre.case.tables import FloatArray

COEFFICIENTS = tuple(f"coefficient_{power}" for power in range(5))


@dataclass(frozen=True, eq=False)
class Segment:
    """A polynomial of the outflow between two outflows."""

    outflow_min_m3s: float
    outflow_max_m3s: float
    coefficients: FloatArray


@dataclass(frozen=True, eq=False)
class Family:
    """The curve that holds where the reservoir below stands at a level."""

    level_m: float
    segments: tuple[Segment, ...]

    def height_m(self, outflow: FloatArray) -> FloatArray:
        """Level at outflows; beyond the curve that of its end."""
        inside = np.clip(outflow, self.segments[0].outflow_min_m3s, self.segments[-1].outflow_max_m3s)
        starts = np.array([segment.outflow_min_m3s for segment in self.segments])
        which = np.maximum(np.searchsorted(starts, inside, "right") - 1, 0)
        height = np.zeros(outflow.shape)
        for number, segment in enumerate(self.segments):
            value = np.polynomial.polynomial.polyval(inside, segment.coefficients)
            height = np.where(which == number, value, height)
        return height


def read_tailraces(case: CaseFiles, findings: Findings) -> dict[int, tuple[Family, ...]]:
    """Families of each hydro plant that has curves, by rising level below."""
    table = case.tailraces
    if table is None:
        return {}
    grouped: dict[int, dict[int, list[int]]] = {}
    for row in np.lexsort(
        (table.ints["segment_id"], table.ints["family_id"], table.ints["hydro_id"])
    ).tolist():
        families = grouped.setdefault(int(table.ints["hydro_id"][row]), {})
        families.setdefault(int(table.ints["family_id"][row]), []).append(row)
    result: dict[int, tuple[Family, ...]] = {}
    for hydro, families in grouped.items():
        found = []
        for family, rows in families.items():
            low, high = (table.floats[f"outflow_{side}_m3s"][rows] for side in ("min", "max"))
            levels = table.floats["downstream_reference_level_m"][rows]
            wrong = "its segments leave gaps, overlap or are upside down"
            if (low < high).all() and np.allclose(low[1:], high[:-1]):
                wrong = "" if (levels == levels[0]).all() else "its segments have different levels below"
            if wrong:
                findings.add(
                    "dimension",
                    files.TAILRACES,
                    wrong,
                    entity=f"{name_entity('hydro', hydro)}, family {family}",
                    field="segment_id",
                )
                continue
            coefficients = np.stack([table.floats[name][rows] for name in COEFFICIENTS], axis=1)
            parts = zip(low.tolist(), high.tolist(), coefficients, strict=True)
            found.append(Family(float(levels[0]), tuple(Segment(*part) for part in parts)))
        result[hydro] = tuple(sorted(found, key=lambda family: family.level_m))
    return result


def tailrace_height(
    hydro: HydroRecord, families: tuple[Family, ...], level_below_m: float | None, outflow: FloatArray
) -> FloatArray:
    """Level below the turbines of a plant.

    Curves stand above what the plant says itself. Between two families the height is on the line between
    theirs; below the first and above the last, and where nothing is below, it is that of the end.
    """
    if families:
        levels = [family.level_m for family in families]
        place = 0.0 if level_below_m is None else float(np.interp(level_below_m, levels, range(len(levels))))
        left = min(int(place), len(families) - 1)
        right = min(left + 1, len(families) - 1)
        share = place - left
        return (1.0 - share) * families[left].height_m(outflow) + share * families[right].height_m(outflow)
    curve = hydro.tailrace
    if curve is None:
        return np.zeros(outflow.shape)
    if isinstance(curve, TailracePolynomial):
        return np.asarray(np.polynomial.polynomial.polyval(outflow, np.array(curve.coefficients)))
    points = sorted((point.outflow_m3s, point.height_m) for point in curve.points)
    flows, heights = np.array(points).T
    return np.asarray(np.interp(outflow, flows, heights))
