"""Tables of a system that is written as a case: production, statistics, changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from pycobre.case import files
from pycobre.case.findings import Findings, name_entity
from pycobre.case.groups import COLUMNS
from pycobre.case.limits import CHANGE_TABLES
from pycobre.case.plants import PRODUCTIVITY
from pycobre.case.unsupported import UNSUPPORTED
from pycobre.case.write_config import Json
from pycobre.system import (
    ConstantProductivity,
    Hydro,
    ProductionModel,
    ProductionPlanes,
    SurfaceEvaporation,
    System,
)

Rows = list[dict[str, Any]]


def production_json(system: System) -> Json:
    """Production models by ranges of stages; planes are in a table of their own."""
    models = []
    for hydro in system.hydros:
        ranges: list[Json] = []
        pairs = zip(system.stages, hydro.production, strict=True)
        for model, group in groupby(pairs, key=lambda pair: _model(pair[1])):
            stages = [stage.id for stage, _ in group]
            ranges.append({"start_stage_id": stages[0], "end_stage_id": stages[-1], **dict(model)})
        for choice in ranges:
            if choice["model"] == "fpha":
                choice["fpha_config"] = {"source": "precomputed"}
        models.append({"hydro_id": hydro.id, "selection_mode": "stage_ranges", "stage_ranges": ranges})
    return {"production_models": models}


def _model(model: ProductionModel) -> tuple[tuple[str, object], ...]:
    """What a range of stages says of a model; productivities of zero are in a table."""
    if isinstance(model, ProductionPlanes):
        return (("model", "fpha"),)
    own = (("productivity_mw_per_m3s", model.mw_per_m3s),) if model.mw_per_m3s > 0.0 else ()
    return (("model", "constant_productivity"), *own)


def plant_tables(system: System) -> dict[str, Rows]:
    """Planes, productivities that the production models leave out, and surfaces."""
    planes, energy, surfaces = [], [], []
    for hydro in system.hydros:
        # The planes of most stages stand for every stage without planes of its own.
        models = Counter(model for model in hydro.production if isinstance(model, ProductionPlanes))
        usual = models.most_common(1)[0][0] if models else None
        first = True
        for stage, model in zip(system.stages, hydro.production, strict=True):
            where: dict[str, Any] = {"hydro_id": hydro.id, "stage_id": None if model == usual else stage.id}
            if model == usual and not first:
                continue
            first = first and model != usual
            if isinstance(model, ProductionPlanes):
                planes += [
                    {
                        **where,
                        "plane_id": number,
                        "gamma_0": plane.constant_mw,
                        "gamma_v": plane.mw_per_hm3,
                        "gamma_q": plane.mw_per_m3s,
                        "gamma_s": plane.mw_per_spilled_m3s,
                        "kappa": 1.0,
                    }
                    for number, plane in enumerate(model.planes)
                ]
                energy.append({**where, PRODUCTIVITY: _equivalent(hydro, model)})
            elif isinstance(model, ConstantProductivity) and model.mw_per_m3s == 0.0:
                energy.append({**where, PRODUCTIVITY: 0.0})
        if isinstance(hydro.evaporation, SurfaceEvaporation):
            surfaces += [{"hydro_id": hydro.id, **vars(point)} for point in hydro.evaporation.surface]
    return {files.PLANES: planes, files.ENERGY: energy, files.GEOMETRY: surfaces}


def _equivalent(hydro: Hydro, model: ProductionPlanes) -> float:
    """What the planes make of the largest flow, over it, at the middle of the storage limits, MW per m³/s.

    No part of the system: Cobre wants it for its stored energies.
    """
    storage = (hydro.storage_min_hm3 + hydro.storage_max_hm3) / 2.0
    flow = max(hydro.turbined_max_m3s, 1.0) if math.isfinite(hydro.turbined_max_m3s) else 1.0
    made = min(
        plane.constant_mw + plane.mw_per_hm3 * storage + plane.mw_per_m3s * flow for plane in model.planes
    )
    return max(made / flow, 0.0)


def group_rows(system: System) -> Rows:
    """Limits of unit groups in single stages and blocks."""
    return [
        {
            "hydro_id": hydro.id,
            "hydro_unit_group_id": group.id,
            "stage_id": stage,
            "block_id": block,
            **{column: values.get(attribute) for column, attribute in COLUMNS.items()},
        }
        for hydro in system.hydros
        for group in hydro.unit_groups
        for (stage, block), values in group.changes.items()
    ]


def statistics_tables(system: System) -> dict[str, Rows]:
    """Means and deviations of demand and sources."""
    load, sources = [], []
    for b, bus in enumerate(system.buses):
        for t, stage in enumerate(system.stages):
            mean, std = float(system.load.mean_mw[b, t]), float(system.load.std_mw[b, t])
            load.append({"bus_id": bus.id, "stage_id": stage.id, "mean_mw": mean, "std_mw": std})
    for s in system.availability.drawn:
        for t, stage in enumerate(system.stages):
            mean, std = float(system.availability.mean[s, t]), float(system.availability.std[s, t])
            where = {"ncs_id": system.sources[s].id, "stage_id": stage.id}
            sources.append({**where, "mean": mean, "std": std})
    return {files.LOAD_STATS: load, files.SOURCE_STATS: sources}


def factor_files(system: System) -> dict[str, Json]:
    """Block factors of demand and availability, where they are not one."""
    load = _factors(system, "bus_id", [bus.id for bus in system.buses], system.load.block_factor)
    ids = [source.id for source in system.sources]
    available = _factors(system, "ncs_id", ids, system.availability.block_factor)
    found = {files.LOAD_FACTORS: {"load_factors": load}}
    found[files.SOURCE_FACTORS] = {"non_controllable_factors": available}
    return {file: content for file, content in found.items() if any(content.values())}


def _factors(system: System, key: str, ids: Sequence[int], factor: np.ndarray) -> list[Json]:
    return [
        {
            key: id,
            "stage_id": stage.id,
            "block_factors": [
                {"block_id": block.id, "factor": float(factor[row, t, block.id])} for block in stage.blocks
            ],
        }
        for row, id in enumerate(ids)
        for t, stage in enumerate(system.stages)
        if (factor[row, t, : len(stage.blocks)] != 1.0).any()
    ]


def correlation_json(system: System) -> Json:
    """Correlation by profiles, with a group for each class of noise."""
    drawn = [system.sources[s].id for s in system.availability.drawn]
    classes = {
        "inflow": [hydro.id for hydro in system.hydros],
        "load": [system.buses[b].id for b in system.load.random_buses],
        "ncs": drawn,
    }
    # Profiles are read in the order of their names.
    width = len(str(len(system.correlation.profiles)))
    names = [f"profile {number:0{width}}" for number in range(len(system.correlation.profiles))]
    profiles = {}
    for name, matrix in zip(names, system.correlation.profiles, strict=True):
        groups, first = [], 0
        for type, ids in classes.items():
            part = matrix[first : first + len(ids), first : first + len(ids)].tolist()
            first += len(ids)
            entities = [{"type": type, "id": id} for id in ids]
            if ids:
                groups.append({"name": type, "entities": entities, "matrix": part})
        profiles[name] = {"correlation_groups": groups}
    schedule = [
        {"stage_id": stage.id, "profile_name": names[number]}
        for stage, number in zip(system.stages, system.correlation.profile_of_stage, strict=True)
    ]
    return {"method": "spectral", "profiles": profiles, "schedule": schedule}


def change_tables(system: System, findings: Findings) -> dict[str, Rows]:
    """What differs in single stages and blocks."""
    result: dict[str, Rows] = {}
    for kind, changes in system.changes.items():
        for place, values in changes.items():
            left = dict(values)
            for table in CHANGE_TABLES:
                if table.kind != kind:
                    continue
                row = _row(table.columns, left, place[2] is None)
                if row:
                    where: dict[str, int | None] = {table.key: place[0], "stage_id": place[1]}
                    if table.blocks:
                        where["block_id"] = place[2]
                    result.setdefault(table.file, []).append({**where, **row})
            for attribute in left:
                findings.add(
                    UNSUPPORTED,
                    files.ENTITY_FILES[kind],
                    "no table of the format changes this" + (" by block" if place[2] is not None else ""),
                    entity=name_entity(kind, place[0]),
                    field=attribute,
                )
    return result


def _row(columns: Sequence[Any], left: dict[str, float], whole: bool) -> dict[str, float]:
    """Columns that say what is *left* to be said, which is taken from there."""
    row = {}
    for column in columns:
        if len(column.attributes) == 1 and column.attributes[0] in left and (column.by_block or whole):
            row[column.column] = left.pop(column.attributes[0])
    return row
