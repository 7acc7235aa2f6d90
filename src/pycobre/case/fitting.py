"""Production functions computed from heads, and the planes fitted to them (FPHA).

With forebay level by volume, tailrace level by outflow and losses, the exact function is

    φ(v, q, s) = k q h,    h = level(v) - tailrace(q + s) - losses,    k in MW per m³/s and m.

The planes are the upper faces of the convex hull of φ on a grid of volumes and flows without spill, all
scaled by the one factor that makes their squared deviation on the grid least. What spilling costs of the
head is the slope of φ in s at each face's largest flow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycobre.case.entities import HydroRecord
from pycobre.case.geometry import Geometry
from pycobre.case.production import AngleReduction, DistanceReduction, FphaConfig
from pycobre.case.tables import FloatArray
from pycobre.case.tailrace import Family, tailrace_height
from pycobre.case.thinning import Face, Grid, thin
from pycobre.system import LinearizedHead, ProductionPlane, ProductionPlanes

GRAVITY_MW = 9.81e-3
"""MW that 1 m³/s makes in falling 1 m without loss."""
POINTS = 5
"""Points of the grid in each direction where the case does not say."""
UPWARD = 1e-9
"""A face whose normal points up by less than this share stands upright: it limits nothing from above."""


DIGITS = 12
"""Decimals of a face's coefficients, where volume, flow and power run from 0 to 1."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Planes, and how far they are from the exact function.

    Attributes
    ----------
    planes
        What was fitted.
    volume_hm3, turbined_m3s, exact_mw, fitted_mw : (N,)
        The grid, what the exact function makes there without spill, and what the planes do.
    """

    planes: ProductionPlanes
    volume_hm3: FloatArray
    turbined_m3s: FloatArray
    exact_mw: FloatArray
    fitted_mw: FloatArray

    @property
    def worst(self) -> int:
        """Point of the grid that the planes are furthest from."""
        return int(np.argmax(np.abs(self.fitted_mw - self.exact_mw)))


def specific_of(hydro: HydroRecord, specific: float | None) -> float:
    """MW that a plant makes of 1 m³/s and m: what a table says, else the plant, else its efficiency."""
    own = hydro.specific_productivity_mw_per_m3s_per_m if specific is None else specific
    efficiency = 1.0 if hydro.efficiency is None else hydro.efficiency.value
    return GRAVITY_MW * efficiency if own is None else own


class Head:
    """The exact production function of a plant."""

    def __init__(
        self,
        hydro: HydroRecord,
        geometry: Geometry,
        specific: float | None,
        families: tuple[Family, ...] = (),
        level_below_m: float | None = None,
    ) -> None:
        self.hydro, self.geometry = hydro, geometry
        self.families, self.level_below_m = families, level_below_m
        self.mw_per_m3s_m = specific_of(hydro, specific)

    def net_m(self, volume_hm3: FloatArray, outflow: FloatArray) -> FloatArray:
        """Height that drives the turbines, at arrays of the same shape; below zero where there is none."""
        level = np.interp(volume_hm3, self.geometry.volume_hm3, self.geometry.height_m)
        head = level - tailrace_height(self.hydro, self.families, self.level_below_m, outflow)
        losses = self.hydro.hydraulic_losses
        if losses is not None:
            head = head * (1.0 - losses.value) if losses.type == "factor" else head - losses.value_m
        return np.asarray(head)

    def generation_mw(self, volume_hm3: FloatArray, turbined: FloatArray, spilled: FloatArray) -> FloatArray:
        """φ at arrays of the same shape."""
        head = self.net_m(volume_hm3, turbined + spilled)
        return np.asarray(self.mw_per_m3s_m * turbined * np.maximum(head, 0.0))


def line_of_head(head: Head, mw_per_m3s: float, reference_hm3: float) -> LinearizedHead | None:
    """Productivity as a line in the storage, ``None`` where there is no head at the reference volume.

    Productivity is *mw_per_m3s* at the reference, and goes with the net head at the plant's largest flow. The
    line is that of the level there; a corner takes the upper one.
    """
    flow = np.array([head.hydro.generation.max_turbined_m3s])
    (net,) = head.net_m(np.array([reference_hm3]), flow)
    if net <= 0.0:
        return None
    volume, points = head.geometry.volume_hm3, len(head.geometry.volume_hm3)
    left = min(max(int(np.searchsorted(volume, reference_hm3, side="right")) - 1, 0), points - 2)
    low, high = head.net_m(volume[left : left + 2], np.repeat(flow, 2))
    rise = float((high - low) / (volume[left + 1] - volume[left]))
    return LinearizedHead(mw_per_m3s, mw_per_m3s * rise / float(net), reference_hm3)


def window_of(hydro: HydroRecord, config: FphaConfig) -> tuple[float, float]:
    """Volumes, in hm³, that planes are fitted between."""
    low, high = hydro.reservoir.min_storage_hm3, hydro.reservoir.max_storage_hm3
    window = config.fitting_window
    if window is None:
        return low, high

    def pick(volume: float | None, share: float | None, other: float) -> float:
        if volume is not None:
            return volume
        return other if share is None else low + share * (high - low)

    return (
        pick(window.volume_min_hm3, window.volume_min_percentile, low),
        pick(window.volume_max_hm3, window.volume_max_percentile, high),
    )


def fit(head: Head, config: FphaConfig, reduction: AngleReduction | DistanceReduction | None = None) -> Fit:
    """Planes of a plant whose window is not upside down."""
    hydro = head.hydro
    low, high = window_of(hydro, config)
    flow = hydro.generation.max_turbined_m3s
    volumes = np.linspace(low, high, config.volume_discretization_points or POINTS)
    if high <= low:
        volumes = np.array([low])
    flows = np.linspace(0.0, flow, config.turbine_discretization_points or POINTS)
    grid_v, grid_q = (part.ravel() for part in np.meshgrid(volumes, flows, indexing="ij"))
    exact = head.generation_mw(grid_v, grid_q, np.zeros(len(grid_v)))
    faces = _upper_faces(grid_v, grid_q, exact)
    if exact.max() > 0.0 and (reduction is not None or config.max_planes_per_hydro is not None):
        grid = Grid(float(volumes[0]), float(volumes[-1]), flow, float(exact.max()))
        faces = thin(faces, grid, reduction, config.max_planes_per_hydro)
    coefficients = np.array([face[:3] for face in faces])
    fitted = (coefficients[:, 0, None] + np.outer(coefficients[:, 1], grid_v)
              + np.outer(coefficients[:, 2], grid_q)).min(axis=0)  # fmt: skip
    weight = float(np.sum(fitted * fitted))
    scale = float(np.sum(fitted * exact)) / weight if weight > 0.0 else 1.0
    spills = np.linspace(0.0, flow, config.spillage_discretization_points or POINTS)[1:]
    planes = tuple(
        ProductionPlane(
            scale * constant, scale * by_volume, scale * by_flow, _spill_slope(head, at_v, at_q, spills)
        )
        for constant, by_volume, by_flow, at_v, at_q in faces
    )
    return Fit(ProductionPlanes(planes), grid_v, grid_q, exact, scale * fitted)


def _upper_faces(volume: FloatArray, flow: FloatArray, power: FloatArray) -> list[Face]:
    """Faces of the hull of (volume, flow, power) that bound the power from above."""
    spans = [float(np.ptp(volume)) or 1.0, float(np.ptp(flow)) or 1.0, float(power.max()) or 1.0]
    scaled = np.stack([(volume - volume.min()) / spans[0], flow / spans[1], power / spans[2]], axis=1)
    flat = float(np.ptp(volume)) == 0.0
    # A floor makes a body even of points that lie in one plane; a single volume is drawn out into two.
    if flat:
        scaled = np.concatenate([scaled, scaled + np.array([1.0, 0.0, 0.0])])
    corners = scaled.copy()
    corners[:, 2] = -1.0
    # Here and not above: it takes 0.2 s, and most cases have nothing to fit.
    from scipy.spatial import ConvexHull

    hull = ConvexHull(np.concatenate([scaled, corners]))
    faces: dict[tuple[float, ...], Face] = {}
    for equation, simplex in zip(hull.equations, hull.simplices, strict=True):
        if equation[2] <= UPWARD:
            continue
        # Rounded, so that faces cut in triangles are one again and what is nothing is zero.
        by_volume, by_flow, constant = (
            float(np.round(-equation[i] / equation[2], DIGITS)) for i in (0, 1, 3)
        )
        by_volume = 0.0 if flat else max(by_volume, 0.0)
        key = (constant, by_volume, by_flow)
        corner_flow = float(max(hull.points[i][1] for i in simplex)) * spans[1]
        corner_volume = float(np.mean([hull.points[i][0] for i in simplex])) * spans[0] + float(volume.min())
        slope = by_volume * spans[2] / spans[0]
        known = faces.get(key)
        faces[key] = Face(
            constant * spans[2] - slope * float(volume.min()),
            slope,
            by_flow * spans[2] / spans[1],
            corner_volume,
            max(corner_flow, known.at_m3s) if known else corner_flow,
        )
    return [faces[key] for key in sorted(faces)]


def _spill_slope(head: Head, volume: float, flow: float, spills: FloatArray) -> float:
    """What a spilled m³/s adds to the generation at a volume and flow: nothing, or less."""
    if len(spills) == 0 or not spills.any():
        return 0.0
    ones = np.ones(len(spills))
    without = head.generation_mw(ones * volume, ones * flow, 0.0 * spills)
    lost = head.generation_mw(ones * volume, ones * flow, spills) - without
    return min(float(np.sum(lost * spills) / np.sum(spills * spills)), 0.0)
