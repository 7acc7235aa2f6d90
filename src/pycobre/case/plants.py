"""The production model of every hydro plant in every stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pycobre.case import files
from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.fitted import Fitting, asked_for, is_computed
from pycobre.case.fitting import Fit
from pycobre.case.production import BySeason, ByStageRange, Choice, ReferenceVolume
from pycobre.case.stages import StageRecord
from pycobre.case.statistics import study_stages
from pycobre.case.tables import NULL_ID, Table
from pycobre.system import ConstantProductivity, ProductionModel, ProductionPlane, ProductionPlanes

DIMENSION = "dimension"
PRODUCTIVITY = "equivalent_productivity_mw_per_m3s"

# (stage, where the choice is written, the choice)
Chosen = tuple[StageRecord, str, Choice]


@dataclass(frozen=True, eq=False)
class Production:
    """Models by hydro id, one a stage, and the fits of those that were computed, by stage id too."""

    models: dict[int, tuple[ProductionModel, ...]]
    fits: dict[tuple[int, int], Fit]


def resolve_production(case: CaseFiles, findings: Findings) -> Production | None:
    """Production of every plant, or ``None`` where something is missing or wrong."""
    if case.hydros is None or case.stages is None or files.PRODUCTION in case.broken:
        return None
    before = findings.count
    stages = study_stages(case)
    written = case.production.production_models if case.production else []
    models = {model.hydro_id: model for model in written}
    chosen_by_id = {
        hydro.id: _choose(models[hydro.id], stages, name_entity("hydro", hydro.id, hydro.name), findings)
        for hydro in case.hydros.hydros
        if hydro.id in models
    }
    fitting = Fitting(case, read_references(case), findings)
    planes = None if files.PLANES in case.broken else _read_planes(case.planes)
    energy = None if files.ENERGY in case.broken else read_energy(case.energy)
    result: dict[int, tuple[ProductionModel, ...]] = {}
    users: dict[str, set[int]] = {"planes": set(), "energy": set(), "fpha": set()}
    for hydro in sorted(case.hydros.hydros, key=lambda hydro: hydro.id):
        entity = name_entity("hydro", hydro.id, hydro.name)
        if hydro.id not in models:
            findings.add(
                DIMENSION,
                files.PRODUCTION,
                "has no production model",
                entity=entity,
                hint=f'such as {{"hydro_id": {hydro.id}, "selection_mode": "stage_ranges", "stage_ranges":'
                f' [{{"start_stage_id": {stages[0].id}, "end_stage_id": null, "model":'
                ' "constant_productivity", "productivity_mw_per_m3s": 0.9}]}',
            )
            continue
        chosen = chosen_by_id[hydro.id]
        _check_choices(hydro, chosen, entity, findings)
        resolved = [
            fitting.planes(hydro, stage, where, choice)
            if is_computed(choice)
            else _resolve(hydro.id, stage, choice, planes, energy, users)
            for stage, where, choice in chosen
        ]
        turbines = hydro.generation.max_turbined_m3s > 0.0
        _note_gaps(chosen, resolved, (planes, energy), turbines, entity, findings)
        resolved = [
            fitting.line(hydro, stage, where, model.mw_per_m3s)
            if choice.model == "linearized_head" and isinstance(model, ConstantProductivity) and turbines
            else model
            for model, (stage, where, choice) in zip(resolved, chosen, strict=True)
        ]
        if any(is_computed(choice) for _, _, choice in chosen):
            users["fpha"].add(hydro.id)
        result[hydro.id] = tuple(model for model in resolved if model is not None)
    fitting.check_leftovers()
    _check_leftovers(case, users, findings)
    # Of a broken table nothing is told here.
    whole = energy is not None and all(len(models) == len(stages) for models in result.values())
    return Production(result, fitting.chosen) if findings.count == before and whole else None


def read_references(case: CaseFiles) -> dict[tuple[int, int], ReferenceVolume | None]:
    """Reference volumes of production models, by hydro and stage id."""
    stages, silent = study_stages(case), Findings()
    models = case.production.production_models if case.production else []
    return {
        (model.hydro_id, stage.id): choice.reference_volume
        for model in models
        for stage, _, choice in _choose(model, stages, "", silent)
    }


def _choose(
    model: ByStageRange | BySeason, stages: list[StageRecord], entity: str, findings: Findings
) -> list[Chosen]:
    if isinstance(model, BySeason):
        by_season = {choice.season_id: (i, choice) for i, choice in enumerate(model.seasons)}
        fallback = Choice(model=model.default_model)
        chosen: list[Chosen] = []
        for stage in stages:
            position, choice = by_season.get(-1 if stage.season_id is None else stage.season_id, (-1, None))
            if choice is None:
                chosen.append((stage, "default_model", fallback))
            else:
                chosen.append((stage, f"seasons[{position}]", choice))
        seasons = [choice.season_id for choice in model.seasons]
        for season in sorted({season for season in seasons if seasons.count(season) > 1}):
            findings.add(
                "reference",
                files.PRODUCTION,
                f"season {season} is given more than once",
                entity=entity,
                hint="keep one",
            )
        idle = set(seasons) - {stage.season_id for stage in stages}
        if idle:
            findings.warn(
                files.PRODUCTION,
                f"no stage is in season {list_ids(idle)}",
                entity=entity,
                field="seasons",
                hint="leave it out, or give the stages their season_id",
            )
        return chosen
    return _choose_by_range(model, stages, entity, findings)


def _choose_by_range(
    model: ByStageRange, stages: list[StageRecord], entity: str, findings: Findings
) -> list[Chosen]:
    covering: dict[int, list[int]] = {stage.id: [] for stage in stages}
    for position, item in enumerate(model.stage_ranges):
        last = stages[-1].id if item.end_stage_id is None else item.end_stage_id
        within = [stage.id for stage in stages if item.start_stage_id <= stage.id <= last]
        for id in within:
            covering[id].append(position)
        if not within:
            findings.add(
                "reference",
                files.PRODUCTION,
                f"stages {item.start_stage_id} to {last} are none of the study's",
                entity=entity,
                field=f"stage_ranges[{position}]",
                hint=f"stages are {list_ids(stage.id for stage in stages)}",
            )
    missing = [id for id, ranges in covering.items() if not ranges]
    if missing:
        findings.add(
            DIMENSION,
            files.PRODUCTION,
            f"has no production model in stages {list_ids(missing)}",
            entity=entity,
            field="stage_ranges",
            hint="end_stage_id null reaches to the end of the study",
        )
    double = [id for id, ranges in covering.items() if len(ranges) > 1]
    if double:
        findings.add(
            DIMENSION,
            files.PRODUCTION,
            f"has more than one production model in stages {list_ids(double)}",
            entity=entity,
            field="stage_ranges",
            hint="ranges must not overlap; both ends belong to a range",
        )
    return [
        (stage, f"stage_ranges[{ranges[0]}]", model.stage_ranges[ranges[0]])
        for stage in stages
        if (ranges := covering[stage.id])
    ]


def _check_choices(hydro: HydroRecord, chosen: list[Chosen], entity: str, findings: Findings) -> None:
    for where, choice in {where: choice for _, where, choice in chosen}.items():
        if choice.model == "fpha":
            if choice.productivity_mw_per_m3s is not None:
                findings.add(
                    "schema",
                    files.PRODUCTION,
                    "an fpha model has planes instead",
                    entity=entity,
                    field=f"{where}.productivity_mw_per_m3s",
                    hint="leave it out",
                )
            if choice.fpha_config is None and where != "default_model":
                findings.add(
                    "schema",
                    files.PRODUCTION,
                    "is required for an fpha model",
                    entity=entity,
                    field=f"{where}.fpha_config",
                    hint='such as {"source": "precomputed"}',
                )
        elif choice.fpha_config is not None:
            findings.add(
                "schema",
                files.PRODUCTION,
                f"belongs to the fpha model, but the model is {choice.model}",
                entity=entity,
                field=f"{where}.fpha_config",
                hint="leave it out",
            )
    names = sorted({choice.model for _, _, choice in chosen})
    if names and hydro.generation.model not in names:
        findings.add(
            "reference",
            files.HYDROS,
            f'is "{hydro.generation.model}", but {files.PRODUCTION} says "{", ".join(names)}"',
            entity=entity,
            field="generation.model",
            hint="make them agree",
        )


def _resolve(
    hydro_id: int,
    stage: StageRecord,
    choice: Choice,
    planes: Mapping[tuple[int, int], ProductionPlanes] | None,
    energy: Mapping[tuple[int, int], float] | None,
    users: dict[str, set[int]],
) -> ProductionModel | None:
    keys = ((hydro_id, stage.id), (hydro_id, NULL_ID))
    if choice.model == "fpha":
        users["fpha"].add(hydro_id)
        users["planes"].add(hydro_id)
        return next((planes[key] for key in keys if key in planes), None) if planes else None
    if choice.productivity_mw_per_m3s is not None:
        return ConstantProductivity(choice.productivity_mw_per_m3s)
    users["energy"].add(hydro_id)
    value = next((energy[key] for key in keys if key in energy), None) if energy else None
    return None if value is None else ConstantProductivity(value)


def _note_gaps(
    chosen: list[Chosen],
    resolved: list[ProductionModel | None],
    tables: tuple[object | None, object | None],
    turbines: bool,
    entity: str,
    findings: Findings,
) -> None:
    planes, energy = tables
    dead = [
        stage.id
        for (stage, _, _), model in zip(chosen, resolved, strict=True)
        if isinstance(model, ConstantProductivity) and model.mw_per_m3s <= 0 and turbines
    ]
    if dead:
        findings.add(
            "physics",
            files.ENERGY,
            f"must be above 0 MW per m³/s in stages {list_ids(dead)}: its production model has no other",
            entity=entity,
            field=PRODUCTIVITY,
        )
    bare = [
        (stage.id, choice)
        for (stage, _, choice), model in zip(chosen, resolved, strict=True)
        if model is None and not is_computed(choice)
    ]
    no_planes = [id for id, choice in bare if choice.model == "fpha"]
    no_productivity = [id for id, choice in bare if choice.model != "fpha"]
    if no_planes and planes is not None:
        findings.add(
            DIMENSION,
            files.PLANES,
            f"has no planes in stages {list_ids(no_planes)}",
            entity=entity,
            field="stage_id",
            hint="a null stage_id holds for every stage without planes of its own",
        )
    if no_productivity and energy is not None:
        findings.add(
            DIMENSION,
            files.PRODUCTION,
            f"has no productivity in stages {list_ids(no_productivity)}",
            entity=entity,
            field="productivity_mw_per_m3s",
            hint=f"write it here, or give {PRODUCTIVITY} in {files.ENERGY}",
        )


def _check_leftovers(case: CaseFiles, users: dict[str, set[int]], findings: Findings) -> None:
    if case.planes is not None:
        slopes = case.planes.floats["gamma_s"]
        if (slopes > 0).any():
            wrong = case.planes.ints["hydro_id"][slopes > 0].tolist()
            findings.add(
                "physics",
                files.PLANES,
                f"must not be above 0: spilling can't add generation (hydros {list_ids(wrong)})",
                field="gamma_s",
            )
        idle = set(case.planes.ints["hydro_id"].tolist()) - users["planes"]
        idle &= {hydro.id for hydro in case.hydros.hydros} if case.hydros else set()
        if idle:
            findings.warn(
                files.PLANES,
                f"planes of hydros {list_ids(idle)} are not used",
                field="hydro_id",
                hint=f'their model in {files.PRODUCTION} is not "fpha" with source "precomputed"',
            )
    if case.energy is not None:
        idle = set(case.energy.ints["hydro_id"].tolist()) - users["energy"] - users["fpha"] - asked_for(case)
        if idle and case.whole(files.PARAMETERS):
            findings.warn(
                files.ENERGY,
                f"productivities of hydros {list_ids(idle)} are not used: {files.PRODUCTION} gives their own",
                field=PRODUCTIVITY,
            )


def _read_planes(table: Table | None) -> dict[tuple[int, int], ProductionPlanes]:
    if table is None:
        return {}
    keys = (table.ints["plane_id"], table.ints["stage_id"], table.ints["hydro_id"])
    grouped: dict[tuple[int, int], list[ProductionPlane]] = {}
    for row in np.lexsort(keys).tolist():
        key = (int(table.ints["hydro_id"][row]), int(table.ints["stage_id"][row]))
        value = {name: float(values[row]) for name, values in table.floats.items()}
        # kappa corrects the intercept alone: the slopes are used as given.
        plane = ProductionPlane(
            value["kappa"] * value["gamma_0"], value["gamma_v"], value["gamma_q"], value["gamma_s"]
        )
        grouped.setdefault(key, []).append(plane)
    return {key: ProductionPlanes(tuple(planes)) for key, planes in grouped.items()}


def read_energy(table: Table | None) -> dict[tuple[int, int], float]:
    """Productivities by hydro and stage id; :data:`NULL_ID` stands for every stage."""
    if table is None:
        return {}
    values = table.floats[PRODUCTIVITY]
    known = ~np.isnan(values)
    keys = zip(table.ints["hydro_id"][known].tolist(), table.ints["stage_id"][known].tolist(), strict=True)
    return dict(zip(keys, values[known].tolist(), strict=True))
