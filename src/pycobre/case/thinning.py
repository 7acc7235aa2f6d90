"""Thinning of fitted planes: those that are nearly the same become one."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pycobre.case.production import AngleReduction, DistanceReduction
from pycobre.case.tables import FloatArray

SAMPLES = 100
"""Points that planes are compared at where only their number is limited."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
PERCENT = 100.0
ORIGIN_MW = 1e-9
"""A plane whose constant and slope in the volume are no more than this goes through the origin."""


class Face(NamedTuple):
    """A plane of generation, and where it was fitted: mean volume and largest flow of its corners."""

    constant_mw: float
    mw_per_hm3: float
    mw_per_m3s: float
    at_hm3: float
    at_m3s: float


class Grid(NamedTuple):
    """What planes are fitted over: volumes from *low_hm3* to *high_hm3*, flows up to *flow_m3s*."""

    low_hm3: float
    high_hm3: float
    flow_m3s: float
    most_mw: float


def thin(
    faces: list[Face], grid: Grid, reduction: AngleReduction | DistanceReduction | None, most: int | None
) -> list[Face]:
    """*faces* with the two nearest made one as long as they are within the tolerance, or more than *most*.

    What is made of two is their mean, each counting for the faces that it is made of: the result does not
    depend on their order. The face through the origin, where no water makes no power, is left alone as long
    as there are others.
    """
    apart, tolerance = _measure(grid, reduction)
    kept = [(face, 1) for face in faces]
    while len(kept) > 1:
        over = most is not None and len(kept) > most
        pairs = list(combinations(range(len(kept)), 2))
        free = [pair for pair in pairs if not any(_is_origin(kept[k][0]) for k in pair)]
        if not free and not over:
            break
        one, other = min(free or pairs, key=lambda pair: (apart(kept[pair[0]][0], kept[pair[1]][0]), pair))
        if not over and apart(kept[one][0], kept[other][0]) >= tolerance:
            break
        kept[one] = _mean(kept[one], kept[other])
        del kept[other]
    return [face for face, _ in kept]


def _measure(
    grid: Grid, reduction: AngleReduction | DistanceReduction | None
) -> tuple[Callable[[Face, Face], float], float]:
    """How far two faces are from each other, and how near they must be to become one."""
    if isinstance(reduction, AngleReduction):
        return _angle_deg, reduction.tolerance_deg
    count = SAMPLES if reduction is None else reduction.n_samples
    # Evenly spread, and the same on every machine: a lattice by the golden ratio.
    steps: FloatArray = np.arange(count, dtype=np.float64)
    volumes = grid.low_hm3 + (steps + 0.5) / count * (grid.high_hm3 - grid.low_hm3)
    flows = (steps + 1.0) * GOLDEN % 1.0 * grid.flow_m3s

    def distance_pct(one: Face, other: Face) -> float:
        """Mean squared difference, of the most that is made, squared."""
        missed = _power(one, volumes, flows) - _power(other, volumes, flows)
        return PERCENT * float(np.mean(missed * missed)) / grid.most_mw**2

    return distance_pct, 0.0 if reduction is None else reduction.tolerance_pct


def _power(face: Face, volume: FloatArray, flow: FloatArray) -> FloatArray:
    return np.asarray(face.constant_mw + face.mw_per_hm3 * volume + face.mw_per_m3s * flow)


def _angle_deg(one: Face, other: Face) -> float:
    """Angle between the normals of two faces, in hm³, m³/s and MW."""
    first, second = (np.array([face.mw_per_hm3, face.mw_per_m3s, -1.0]) for face in (one, other))
    cosine = float(np.sum(first * second)) / math.sqrt(float(np.sum(first**2)) * float(np.sum(second**2)))
    return math.degrees(math.acos(min(cosine, 1.0)))


def _is_origin(face: Face) -> bool:
    return abs(face.constant_mw) <= ORIGIN_MW and abs(face.mw_per_hm3) <= ORIGIN_MW


def _mean(one: tuple[Face, int], other: tuple[Face, int]) -> tuple[Face, int]:
    (first, many), (second, more) = one, other
    total = many + more

    def mean(name: str) -> float:
        return float(many * getattr(first, name) + more * getattr(second, name)) / total

    constant, by_volume, by_flow = (mean(name) for name in Face._fields[:3])
    return Face(constant, by_volume, by_flow, mean("at_hm3"), max(first.at_m3s, second.at_m3s)), total
