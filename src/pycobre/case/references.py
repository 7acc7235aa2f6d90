"""Everything that names something else names something that exists, and every name is given once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches

from pycobre.case import files
from pycobre.case.faults import ITEM_NAMES
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity, plural
from pycobre.case.limits import CHANGE_TABLES
from pycobre.case.service import entities_of
from pycobre.case.statistics import study_stages
from pycobre.case.tables import KEY_WORDS, Table

REFERENCE = "reference"

REFERENCES: tuple[tuple[str, str, str, tuple[tuple[str, str], ...]], ...] = (
    ("lines", files.LINES, "lines", (("source_bus_id", "bus"), ("target_bus_id", "bus"))),
    ("thermals", files.THERMALS, "thermals", (("bus_id", "bus"),)),
    ("contracts", files.CONTRACTS, "contracts", (("bus_id", "bus"),)),
    (
        "pumping",
        files.PUMPING,
        "pumping_stations",
        (("bus_id", "bus"), ("source_hydro_id", "hydro"), ("destination_hydro_id", "hydro")),
    ),
    ("sources", files.SOURCES, "non_controllable_sources", (("bus_id", "bus"),)),
    (
        "hydros",
        files.HYDROS,
        "hydros",
        (("unit_groups[].bus_id", "bus"), ("downstream_id", "hydro"), ("diversion.downstream_id", "hydro")),
    ),
    ("production", files.PRODUCTION, "production_models", (("hydro_id", "hydro"),)),
)
"""Who names entities: attribute of ``CaseFiles``, file, list; and the fields, with the kind each names."""


def check_references(case: CaseFiles, findings: Findings) -> None:
    """Note every reference that leads nowhere, and every id that is given twice."""
    _check_unique(case, findings)
    _check_entities(case, findings)
    _check_seasons(case, findings)
    _check_tables(case, findings)
    _check_scenarios(case, findings)
    _check_initial(case, findings)


def _known_ids(case: CaseFiles) -> dict[str, set[int] | None]:
    """Ids of the entities of each kind; ``None`` where there may be others."""
    return {
        kind: case.known(file, (entity.id for entity in entities))
        for kind, file, entities in entities_of(case)
    }


def _known_stages(case: CaseFiles) -> set[int] | None:
    return case.known(files.STAGES, (stage.id for stage in study_stages(case)))


def _known(kind: str, ids: Collection[int]) -> str:
    noun = plural(kind)
    return f"{noun} are {list_ids(ids)}" if ids else f"there are no {noun}"


def _check_unique(case: CaseFiles, findings: Findings) -> None:
    groups: list[tuple[str, str, Sequence[int]]] = []
    if case.buses:
        groups.append(("bus", files.BUSES, [bus.id for bus in case.buses.buses]))
    if case.lines:
        groups.append(("line", files.LINES, [line.id for line in case.lines.lines]))
    if case.thermals:
        groups.append(("thermal", files.THERMALS, [plant.id for plant in case.thermals.thermals]))
    if case.hydros:
        groups.append(("hydro", files.HYDROS, [plant.id for plant in case.hydros.hydros]))
    if case.stages:
        groups.append(("stage", files.STAGES, [stage.id for stage in case.stages.stages]))
        before = case.stages.pre_study_stages or []
        groups.append(("pre-study stage", files.STAGES, [stage.id for stage in before]))
        if case.stages.season_definitions:
            seasons = case.stages.season_definitions.seasons
            groups.append(("season", files.STAGES, [season.id for season in seasons]))
    if case.contracts:
        groups.append(("contract", files.CONTRACTS, [item.id for item in case.contracts.contracts]))
    if case.pumping:
        groups.append(("pumping station", files.PUMPING, [pump.id for pump in case.pumping.pumping_stations]))
    if case.sources:
        groups.append(
            ("source", files.SOURCES, [source.id for source in case.sources.non_controllable_sources])
        )
    if case.production:
        models = case.production.production_models
        groups.append(("hydro", files.PRODUCTION, [model.hydro_id for model in models]))
    if case.initial:
        groups.append(("hydro", files.INITIAL, [item.hydro_id for item in case.initial.storage]))
    for kind, file, ids in groups:
        for id in sorted({id for id in ids if ids.count(id) > 1}):
            field = "storage" if file == files.INITIAL else "id" if file != files.PRODUCTION else "hydro_id"
            findings.add(
                REFERENCE,
                file,
                f"is given {ids.count(id)} times",
                entity=name_entity(kind, id),
                field=field,
                hint="keep one, or give the others an id of their own",
            )
    for stage in case.stages.stages if case.stages else []:
        ids = [block.id for block in stage.blocks]
        if sorted(ids) != list(range(len(ids))):
            findings.add(
                REFERENCE,
                files.STAGES,
                f"block ids must be 0 to {len(ids) - 1}, each once, got {', '.join(map(str, ids))}",
                entity=name_entity("stage", stage.id),
                field="blocks",
            )


def _check_entities(case: CaseFiles, findings: Findings) -> None:
    known_ids = _known_ids(case)
    for attribute, file, group, paths in REFERENCES:
        noun, key = ITEM_NAMES[group]
        records: list[tuple[str, object]] = [
            (name_entity(noun, getattr(record, key), getattr(record, "name", None)), record)
            for record in getattr(getattr(case, attribute), group, ())
        ]
        records += [(faulty.entity, faulty.content) for faulty in case.faulty_in(file, group)]
        for path, kind in paths:
            known = known_ids[kind]
            if known is None:
                continue
            for entity, record in records:
                for field, id in _named(record, path):
                    if id not in known:
                        findings.add(
                            REFERENCE,
                            file,
                            f"{kind} {id} does not exist",
                            entity=entity,
                            field=field,
                            hint=_known(kind, known),
                        )


def _named(record: object, path: str) -> Iterator[tuple[str, int]]:
    """Fields of a record at a *path* such as ``unit_groups[].bus_id``, and the ids there."""
    step, _, rest = path.partition(".")
    name = step.removesuffix("[]")
    value = record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)
    if step != name:
        for position, item in enumerate(value if isinstance(value, list) else []):
            yield from ((f"{name}[{position}].{field}", id) for field, id in _named(item, rest))
    elif rest:
        yield from ((f"{name}.{field}", id) for field, id in _named(value, rest))
    elif type(value) is int:
        yield name, value


def _check_seasons(case: CaseFiles, findings: Findings) -> None:
    if case.stages is None or case.stages.season_definitions is None:
        return
    known = {season.id for season in case.stages.season_definitions.seasons}
    stages: list[tuple[str, object]] = [(name_entity("stage", of.id), of) for of in study_stages(case)]
    before = case.stages.pre_study_stages or []
    stages += [(name_entity("pre-study stage", of.id), of) for of in before]
    for group in ("stages", "pre_study_stages"):
        stages += [(faulty.entity, faulty.content) for faulty in case.faulty_in(files.STAGES, group)]
    for entity, stage in stages:
        for _, season in _named(stage, "season_id"):
            if season in known:
                continue
            findings.add(
                REFERENCE,
                files.STAGES,
                f"season {season} is not defined",
                entity=entity,
                field="season_id",
                hint=_known("season", known),
            )


def _check_tables(case: CaseFiles, findings: Findings) -> None:
    stages = _known_stages(case)
    known_ids = _known_ids(case)
    hydros, buses, sources = (known_ids[kind] for kind in ("hydro", "bus", "source"))
    # Negative stage ids are periods before the study: inflow statistics may have them.
    checks: list[tuple[Table | None, str, str, set[int] | None, bool]] = [
        (case.inflow_stats, files.INFLOW_STATS, "hydro", hydros, True),
        (case.inflow_ar, files.INFLOW_AR, "hydro", hydros, True),
        (case.inflow_annual, files.INFLOW_ANNUAL, "hydro", hydros, True),
        (case.inflow_history, files.INFLOW_HISTORY, "hydro", hydros, False),
        (case.external_inflow, files.EXTERNAL_INFLOW, "hydro", hydros, False),
        (case.external_load, files.EXTERNAL_LOAD, "bus", buses, False),
        (case.external_sources, files.EXTERNAL_SOURCES, "ncs", sources, False),
        (case.load_stats, files.LOAD_STATS, "bus", buses, False),
        (case.source_stats, files.SOURCE_STATS, "ncs", sources, False),
        *(
            (getattr(case, of.name), of.file, of.key.removesuffix("_id"), known_ids[of.noun], False)
            for of in CHANGE_TABLES
        ),
        (case.group_bounds, files.GROUP_BOUNDS, "hydro", hydros, False),
        (case.planes, files.PLANES, "hydro", hydros, False),
        (case.energy, files.ENERGY, "hydro", hydros, False),
        (case.geometry, files.GEOMETRY, "hydro", hydros, False),
        (case.tailraces, files.TAILRACES, "hydro", hydros, False),
        (case.noise_openings, files.NOISE_OPENINGS, "", None, False),
    ]
    for table, file, kind, known, before in checks:
        if table is None:
            continue
        if known is not None:
            noun = KEY_WORDS[f"{kind}_id"]
            lost = sorted(table.ids(f"{kind}_id") - known)
            for id in lost[:10]:
                findings.add(
                    REFERENCE,
                    file,
                    "does not exist, but has rows here",
                    entity=name_entity(noun, id),
                    field=f"{kind}_id",
                    hint=_known(noun, known),
                )
            if len(lost) > 10:
                findings.add(
                    REFERENCE,
                    file,
                    f"{len(lost) - 10} more ids do not exist: {list_ids(lost[10:])}",
                    field=f"{kind}_id",
                )
        if stages is not None and "stage_id" in table.ints:
            strange = {id for id in table.ids("stage_id") - stages if not (before and id < 0)}
            if strange:
                findings.add(
                    REFERENCE,
                    file,
                    f"rows name stages that do not exist: {list_ids(strange)}",
                    field="stage_id",
                    hint=_known("stage", stages),
                )


def _check_scenarios(case: CaseFiles, findings: Findings) -> None:
    blocks = {stage.id: {block.id for block in stage.blocks} for stage in study_stages(case)}
    buses, stages = _known_ids(case)["bus"], _known_stages(case)
    seen: set[tuple[int, int]] = set()
    for factor in case.load_factors.load_factors if case.load_factors else []:
        entity = f"{name_entity('bus', factor.bus_id)}, stage {factor.stage_id}"

        def note(message: str, field: str, hint: str | None = None, entity: str = entity) -> None:
            findings.add(REFERENCE, files.LOAD_FACTORS, message, entity=entity, field=field, hint=hint)

        if buses is not None and factor.bus_id not in buses:
            note(f"bus {factor.bus_id} does not exist", "bus_id", _known("bus", buses))
        if (factor.bus_id, factor.stage_id) in seen:
            note("is given more than once", "stage_id", "keep one")
        seen.add((factor.bus_id, factor.stage_id))
        if stages is not None and factor.stage_id not in stages:
            note(f"stage {factor.stage_id} does not exist", "stage_id", _known("stage", stages))
        if factor.stage_id not in blocks:
            continue
        ids = [item.block_id for item in factor.block_factors]
        for id in sorted(set(ids) - blocks[factor.stage_id]):
            known = _known("block", blocks[factor.stage_id])
            note(f"block {id} does not exist in this stage", "block_factors", known)
        for id in sorted({id for id in ids if ids.count(id) > 1}):
            note(f"block {id} is given more than once", "block_factors", "keep one")
    if case.correlation is None:
        return
    names = set(case.correlation.profiles)
    scheduled: list[int] = []
    for entry in case.correlation.schedule or []:
        entity = name_entity("stage", entry.stage_id)
        if stages is not None and entry.stage_id not in stages:
            findings.add(
                REFERENCE,
                files.CORRELATION,
                f"stage {entry.stage_id} does not exist",
                entity=entity,
                field="schedule",
                hint=_known("stage", stages),
            )
        if entry.profile_name not in names:
            near = get_close_matches(entry.profile_name, sorted(names), n=1)
            findings.add(
                REFERENCE,
                files.CORRELATION,
                f"profile '{entry.profile_name}' does not exist",
                entity=entity,
                field="schedule",
                hint=f"did you mean {near[0]}?" if near else f"profiles are {', '.join(sorted(names))}",
            )
        if entry.stage_id in scheduled:
            findings.add(
                REFERENCE,
                files.CORRELATION,
                "is scheduled more than once",
                entity=entity,
                field="schedule",
                hint="keep one",
            )
        scheduled.append(entry.stage_id)


def _check_initial(case: CaseFiles, findings: Findings) -> None:
    known = _known_ids(case)["hydro"]
    if case.initial is None or known is None:
        return
    lists = (("storage", case.initial.storage), ("recent_observations", case.initial.recent_observations))
    for field, items in lists:
        records = [*items, *(faulty.content for faulty in case.faulty_in(files.INITIAL, field))]
        for id in sorted({id for record in records for _, id in _named(record, "hydro_id")} - known):
            findings.add(
                REFERENCE,
                files.INITIAL,
                f"hydro {id} does not exist",
                entity=name_entity("hydro", id),
                field=field,
                hint=_known("hydro", known),
            )
