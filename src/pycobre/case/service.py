"""When entities enter and leave service."""

from __future__ import annotations

from pycobre.case import files
from pycobre.case.entities import Entity, HydroRecord, MayRetire
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.stages import StageRecord
from pycobre.case.statistics import study_stages
from pycobre.system import Service


def service_of(record: MayRetire, stages: list[StageRecord]) -> Service:
    """Stages in which an entity is there: from its entry stage and its first day of operation on.

    A stage that has begun by that day is not yet its own. A reservoir is there when its filling begins.
    """
    if isinstance(record, HydroRecord) and record.filling is not None:
        return Service(record.filling.start_stage_id, record.exit_stage_id)
    entries = [id for id in (record.entry_stage_id, first_stage(record, stages)) if id is not None]
    return Service(max(entries, default=None), record.exit_stage_id)


def first_stage(record: Entity, stages: list[StageRecord]) -> int | None:
    """First stage that begins on an entity's first day of operation or later; ``None`` if all do."""
    if record.operational_start_date <= stages[0].start_date:
        return None
    ready = [stage.id for stage in stages if stage.start_date >= record.operational_start_date]
    return ready[0] if ready else stages[-1].id + 1


def check_service(case: CaseFiles, findings: Findings) -> None:
    """Note entries and exits that contradict each other, or that no stage has."""
    stages = study_stages(case)
    if not stages:
        return
    known = [stage.id for stage in stages]
    whole = files.STAGES not in case.lost
    for kind, file, records in may_retire(case):
        for record in records:
            entity = name_entity(kind, record.id, record.name)
            service = service_of(record, stages)
            entry, leave = record.entry_stage_id, record.exit_stage_id
            for field, id in (("entry_stage_id", entry), ("exit_stage_id", leave)):
                if id is not None and known[0] < id < known[-1] and id not in known and whole:
                    findings.add(
                        "reference",
                        file,
                        f"stage {id} does not exist",
                        entity=entity,
                        field=field,
                        hint=f"stages are {list_ids(known)}",
                    )
            if entry is not None and leave is not None and leave <= entry:
                findings.add(
                    "physics",
                    file,
                    f"leaves in stage {leave}, but enters in stage {entry}",
                    entity=entity,
                    field="exit_stage_id",
                    hint="the exit stage is the first without it",
                )
            elif whole and not any(
                (service.entry_stage_id is None or id >= service.entry_stage_id)
                and (leave is None or id < leave)
                for id in known
            ):
                findings.warn(
                    file,
                    "is in service in no stage of the study",
                    entity=entity,
                    field="entry_stage_id" if entry is not None else "operational_start_date",
                    hint="leave it out, or correct its dates",
                )
    for bus in case.buses.buses if case.buses else []:
        entry = first_stage(bus, stages)
        if entry is not None and entry > known[-1] and whole:
            findings.warn(
                files.BUSES,
                "is in service in no stage of the study",
                entity=name_entity("bus", bus.id, bus.name),
                field="operational_start_date",
                hint="leave it out, or correct its date",
            )


def may_retire(case: CaseFiles) -> list[tuple[str, str, list[MayRetire]]]:
    """Entities that may come and go: their kind, file and records."""
    groups: list[tuple[str, str, list[MayRetire]]] = [
        ("line", files.LINES, list(case.lines.lines) if case.lines else []),
        ("thermal", files.THERMALS, list(case.thermals.thermals) if case.thermals else []),
        ("hydro", files.HYDROS, list(case.hydros.hydros) if case.hydros else []),
        ("source", files.SOURCES, list(case.sources.non_controllable_sources) if case.sources else []),
        ("contract", files.CONTRACTS, list(case.contracts.contracts) if case.contracts else []),
        ("pumping station", files.PUMPING, list(case.pumping.pumping_stations) if case.pumping else []),
    ]
    return groups


def entities_of(case: CaseFiles) -> list[tuple[str, str, list[Entity]]]:
    """Every entity of the power system: its kind, file and records."""
    groups: list[tuple[str, str, list[Entity]]] = [
        ("bus", files.BUSES, list(case.buses.buses) if case.buses else [])
    ]
    for kind, file, records in may_retire(case):
        groups.append((kind, file, list(records)))
    return groups
