"""Computed production functions of a case: what they need, and the planes that come of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pycobre.case import files
from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.fitting import Fit, Head, fit, line_of_head, specific_of, window_of
from pycobre.case.geometry import read_geometry
from pycobre.case.production import Choice, FphaConfig, ReferenceVolume
from pycobre.case.stages import StageRecord
from pycobre.case.tables import NULL_ID, Table
from pycobre.case.tailrace import read_tailraces
from pycobre.system import LinearizedHead, ProductionPlanes

REFERENCE_SHARE = 0.65
"""Share of the storage limits that a reservoir's level is taken at where the case says nothing."""
WORST_SHARE = 0.1
"""Planes that are further than this from the exact function, as a share of its most, are warned of."""
HEAD_FIELDS = ("efficiency", "hydraulic_losses", "tailrace", "specific_productivity_mw_per_m3s_per_m")


def is_computed(choice: Choice) -> bool:
    """Whether a production model's planes are fitted to heads."""
    return (
        choice.model == "fpha" and choice.fpha_config is not None and choice.fpha_config.source == "computed"
    )


class Fitting:
    """Fits planes plant by plant; the same plant with the same settings once for all stages."""

    def __init__(
        self,
        case: CaseFiles,
        references: Mapping[tuple[int, int], ReferenceVolume | None],
        findings: Findings,
    ) -> None:
        """*references* are the volumes that other plants' heads are taken at, by hydro and stage id."""
        self.case, self.references, self.findings = case, references, findings
        self.hydros = {hydro.id: hydro for hydro in case.hydros.hydros} if case.hydros else {}
        self.tailraces = read_tailraces(case, findings)
        self.geometry = read_geometry(case.geometry)
        self.specific = _read_specific(case.energy)
        self.fits: dict[tuple[int, str, float | None, float | None], Fit | None] = {}
        self.chosen: dict[tuple[int, int], Fit] = {}
        """Fits by hydro and stage id."""
        self.users: set[int] = set()
        self.heads: set[int] = set()
        self.seen_from_above: set[int] = set()

    def planes(
        self, hydro: HydroRecord, stage: StageRecord, where: str, choice: Choice
    ) -> ProductionPlanes | None:
        """Planes of a plant in a stage, or ``None`` after noting what is missing."""
        assert choice.fpha_config is not None
        self.users.add(hydro.id)
        specific = self._specific_of(hydro, stage)
        below = self._level_below(hydro, stage)
        key = (hydro.id, choice.fpha_config.model_dump_json(), specific, below)
        if key not in self.fits:
            self.fits[key] = self._fit(hydro, where, choice.fpha_config, specific, below)
        found = self.fits[key]
        if found is None:
            return None
        self.chosen[hydro.id, stage.id] = found
        return found.planes

    def line(
        self, hydro: HydroRecord, stage: StageRecord, where: str, mw_per_m3s: float
    ) -> LinearizedHead | None:
        """Productivity of a plant by its storage in a stage, or ``None`` after noting what is missing."""
        self.heads.add(hydro.id)
        points, entity = self.geometry.get(hydro.id), name_entity("hydro", hydro.id, hydro.name)
        if points is None or len(points.volume_hm3) < 2:
            if files.GEOMETRY not in self.case.broken:
                self.findings.add(
                    "dimension",
                    files.GEOMETRY,
                    "needs two points at least: its head is a line in the volume",
                    entity=entity,
                    field="hydro_id",
                    hint="give its heights by volume, or use constant_productivity",
                )
            return None
        if (np.diff(points.volume_hm3) <= 0.0).any():
            return None  # noted with the other geometries
        families, below = self.tailraces.get(hydro.id, ()), self._level_below(hydro, stage)
        reference = self.reference_hm3(hydro, stage)
        found = line_of_head(Head(hydro, points, None, families, below), mw_per_m3s, reference)
        if found is None:
            self.findings.add(
                "physics",
                files.GEOMETRY,
                f"has no head at its reference volume of {reference:g} hm³",
                entity=entity,
                field="height_m",
                hint=f"look at its heights, its tailrace and its losses, or at {where}.reference_volume",
            )
        return found

    def head(self, hydro: HydroRecord, stage: StageRecord) -> Head | None:
        """Exact production function of a plant in a stage, if its levels are known."""
        points = self.geometry.get(hydro.id)
        if points is None:
            return None
        families, below = self.tailraces.get(hydro.id, ()), self._level_below(hydro, stage)
        return Head(hydro, points, self._specific_of(hydro, stage), families, below)

    def has_specific(self, hydro: HydroRecord, stage: StageRecord) -> bool:
        """Whether the case says what a plant makes of a m³/s and m."""
        own = (
            self._specific_of(hydro, stage),
            hydro.specific_productivity_mw_per_m3s_per_m,
            hydro.efficiency,
        )
        return any(value is not None for value in own)

    def specific_mw(self, hydro: HydroRecord, stage: StageRecord) -> float:
        """MW that a plant makes of 1 m³/s and m in a stage."""
        return specific_of(hydro, self._specific_of(hydro, stage))

    def _specific_of(self, hydro: HydroRecord, stage: StageRecord) -> float | None:
        keys = ((hydro.id, stage.id), (hydro.id, NULL_ID))
        return next((self.specific[key] for key in keys if key in self.specific), None)

    def reference_hm3(self, hydro: HydroRecord, stage: StageRecord) -> float:
        """Volume that a plant's head is taken at."""
        store, reference = hydro.reservoir, self.references.get((hydro.id, stage.id))
        if reference is not None and reference.volume_hm3 is not None:
            return reference.volume_hm3
        share = REFERENCE_SHARE if reference is None else reference.percentile or 0.0
        return store.min_storage_hm3 + share * (store.max_storage_hm3 - store.min_storage_hm3)

    def _level_below(self, hydro: HydroRecord, stage: StageRecord) -> float | None:
        """Level of the reservoir below at its reference volume, if that matters to the plant."""
        below = self.hydros.get(-1 if hydro.downstream_id is None else hydro.downstream_id)
        if below is None or below.id not in self.geometry or len(self.tailraces.get(hydro.id, ())) < 2:
            return None
        points, volume = self.geometry[below.id], self.reference_hm3(below, stage)
        self.seen_from_above.add(below.id)
        return float(np.interp(volume, points.volume_hm3, points.height_m))

    def _fit(
        self,
        hydro: HydroRecord,
        where: str,
        config: FphaConfig,
        specific: float | None,
        level_below_m: float | None,
    ) -> Fit | None:
        entity = name_entity("hydro", hydro.id, hydro.name)

        def note(kind: str, file: str, message: str, field: str, hint: str | None = None) -> None:
            self.findings.add(kind, file, message, entity=entity, field=field, hint=hint)

        points = self.geometry.get(hydro.id)
        if points is None:
            if files.GEOMETRY not in self.case.broken:
                hint = f"give its heights by volume, or planes in {files.PLANES}"
                note("dimension", files.GEOMETRY, "has no geometry to compute heads from", "hydro_id", hint)
            return None
        before = self.findings.count
        low, high = window_of(hydro, config)
        if low > high:
            field = f"{where}.fpha_config.fitting_window"
            note(
                "physics", files.PRODUCTION, f"the window from {low:g} to {high:g} hm³ is upside down", field
            )
        window = config.fitting_window
        for side in ("min", "max"):
            given = [getattr(window, f"volume_{side}_{unit}", None) for unit in ("hm3", "percentile")]
            if None not in given:
                field = f"{where}.fpha_config.fitting_window.volume_{side}_percentile"
                note("schema", files.PRODUCTION, "is given as a volume too", field, "keep one of them")
        for name in ("volume", "turbine", "spillage"):
            if getattr(config, f"{name}_discretization_points") == 1:
                field = f"{where}.fpha_config.{name}_discretization_points"
                note("schema", files.PRODUCTION, "a grid has at least 2 points a side", field)
        if self.findings.count > before:
            return None
        if hydro.generation.max_turbined_m3s <= 0.0:
            return Fit(ProductionPlanes(()), *[np.zeros(0)] * 4)
        families = self.tailraces.get(hydro.id, ())
        reduction = self.case.production.fpha_plane_reduction if self.case.production else None
        found = fit(Head(hydro, points, specific, families, level_below_m), config, reduction)
        if found.exact_mw.max() <= 0.0:
            hint = "look at its heights, its tailrace and its losses"
            note(
                "physics", files.GEOMETRY, "has no head at any volume: it generates nothing", "height_m", hint
            )
            return None
        worst = found.worst
        deviation = float(found.fitted_mw[worst] - found.exact_mw[worst])
        if math.fabs(deviation) > WORST_SHARE * found.exact_mw.max():
            self.findings.warn(
                files.PRODUCTION,
                f"the fitted planes are up to {deviation:+.3g} MW from the exact function"
                f" (at {found.volume_hm3[worst]:.4g} hm³ and {found.turbined_m3s[worst]:.4g} m³/s)",
                entity=entity,
                field=f"{where}.fpha_config",
                hint="a narrower fitting window fits better, and so do more planes",
            )
        return found

    def check_leftovers(self) -> None:
        """Note what only a computed function would use, and geometries that nothing uses."""
        hydros = self.case.hydros.hydros if self.case.hydros else []
        if self.case.production and self.case.production.fpha_plane_reduction and not self.users:
            self.findings.warn(
                files.PRODUCTION,
                "has no effect: no planes are computed, and given ones are taken as they are",
                field="fpha_plane_reduction",
                hint="leave it out",
            )
        evaporating = {hydro.id for hydro in hydros if hydro.evaporation is not None}
        idle = (set(self.geometry) & {hydro.id for hydro in hydros}) - evaporating - self.users
        idle -= self.seen_from_above | self.heads | asked_for(self.case)
        if idle and self.case.whole(files.TAILRACES, files.PARAMETERS):
            self.findings.warn(
                files.GEOMETRY,
                f"geometries of hydros {list_ids(idle)} are not used: nothing evaporates there, and no"
                " production function is computed",
                field="hydro_id",
            )
        idle = (set(self.tailraces) & set(self.hydros)) - self.users - self.heads - asked_for(self.case)
        if idle and self.case.whole(files.PARAMETERS):
            self.findings.warn(
                files.TAILRACES,
                f"curves of hydros {list_ids(idle)} are not used: no production function of theirs is"
                " computed",
                field="hydro_id",
            )
        for field in HEAD_FIELDS:
            idle = {
                hydro.id
                for hydro in hydros
                if getattr(hydro, field) is not None
                and hydro.id not in self.users
                and hydro.id not in asked_for(self.case)
                and (hydro.id not in self.heads or _cancels(hydro, field))
            }
            if idle:
                self.findings.warn(
                    files.HYDROS,
                    f"has no effect on hydros {list_ids(idle)}: no production function of theirs is computed",
                    field=field,
                    hint="leave it out",
                )


def asked_for(case: CaseFiles) -> set[int]:
    """Hydros whose heads a parameter of generic constraints asks for, and those below them."""
    below = {hydro.id: hydro.downstream_id for hydro in case.hydros.hydros} if case.hydros else {}
    asked: set[int] = set()
    for record in case.parameters.scalar_parameters if case.parameters else []:
        spec = record.computed_spec
        current: int | None = None if spec is None or spec.tag.endswith("_storage") else spec.hydro_id
        while current is not None and current not in asked:
            asked.add(current)
            current = below.get(current)
    return asked


def _cancels(hydro: HydroRecord, field: str) -> bool:
    """Whether a field is a factor of the head or the power, which a line through a reference is free of."""
    losses = hydro.hydraulic_losses
    return field != "tailrace" and not (
        field == "hydraulic_losses" and losses is not None and losses.type == "constant"
    )


def _read_specific(table: Table | None) -> dict[tuple[int, int], float]:
    """MW per m³/s and m by hydro and stage id; :data:`NULL_ID` stands for every stage."""
    if table is None:
        return {}
    values = table.floats["specific_productivity_mw_per_m3s_per_m"].tolist()
    keys = zip(table.ints["hydro_id"].tolist(), table.ints["stage_id"].tolist(), strict=True)
    return {key: value for key, value in zip(keys, values, strict=True) if not math.isnan(value)}
