"""Correlation of the noise, and openings that are given instead of drawn."""

from __future__ import annotations

import numpy as np

from pycobre.case import files
from pycobre.case.estimation import EstimatedInflow
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.scenarios import CorrelationGroup, Profile
from pycobre.case.sources import drawn_source_ids, source_ids
from pycobre.case.statistics import bus_ids, hydro_ids, random_bus_ids, study_stages
from pycobre.case.tables import FloatArray
from pycobre.system import Correlation

DIMENSION = "dimension"
SYMMETRY_TOLERANCE = 1e-10
EIGENVALUE_TOLERANCE = 1e-8
DEFAULT_PROFILE = "default"


def noise_slots(case: CaseFiles) -> dict[tuple[str, int], int]:
    """Position of each random thing in a noise vector, by id.

    Hydros, then buses of random demand, then sources with statistics.
    """
    keys = [("inflow", id) for id in hydro_ids(case)] + [("load", id) for id in random_bus_ids(case)]
    keys += [("ncs", id) for id in drawn_source_ids(case)]
    return {key: position for position, key in enumerate(keys)}


def _file_order(case: CaseFiles) -> list[int]:
    """Position in a noise vector of each ``entity_index`` of an openings file.

    Cobre counts the entities of a class by the day when they start to operate, then by id.
    """
    assert case.hydros is not None
    assert case.buses is not None
    started = {("inflow", hydro.id): hydro.operational_start_date for hydro in case.hydros.hydros}
    started.update({("load", bus.id): bus.operational_start_date for bus in case.buses.buses})
    if case.sources is not None:
        sources = case.sources.non_controllable_sources
        started.update({("ncs", source.id): source.operational_start_date for source in sources})
    slots, classes = noise_slots(case), ("inflow", "load", "ncs")
    return [
        slots[key] for key in sorted(slots, key=lambda key: (classes.index(key[0]), started[key], key[1]))
    ]


def resolve_correlation(
    case: CaseFiles, estimated: EstimatedInflow | None, findings: Findings
) -> Correlation | None:
    """Correlation matrix of every stage, or ``None`` where files are missing or wrong.

    Where the case gives none, that of the history's residuals, if there is a history.
    """
    needed = (files.CORRELATION, files.LOAD_STATS, files.SOURCES, files.SOURCE_STATS)
    if case.stages is None or case.hydros is None or case.buses is None or case.broken.intersection(needed):
        return None
    slots, stages = noise_slots(case), study_stages(case)
    if case.correlation is None and estimated is not None:
        return _estimated_correlation(case, estimated, len(slots))
    if case.correlation is None:
        return Correlation((np.eye(len(slots)),), (0,) * len(stages))
    profiles = case.correlation.profiles
    names = sorted(profiles)
    matrices = tuple(_fill(name, profiles[name], slots, case, findings) for name in names)
    schedule = {entry.stage_id: entry.profile_name for entry in case.correlation.schedule or []}
    default = names[0] if len(names) == 1 else DEFAULT_PROFILE if DEFAULT_PROFILE in names else None
    chosen = {stage.id: schedule.get(stage.id, default) for stage in stages}
    without = [id for id, name in chosen.items() if name is None]
    if without:
        findings.add(
            DIMENSION,
            files.CORRELATION,
            f"stages {list_ids(without)} have no profile",
            field="schedule",
            hint=f'schedule them, or call one profile "{DEFAULT_PROFILE}"',
        )
        return None
    idle = sorted(set(names) - set(chosen.values()))
    if idle:
        findings.warn(
            files.CORRELATION,
            f"no stage uses profile {', '.join(idle)}",
            field="profiles",
            hint="schedule it, or leave it out",
        )
    if any(name not in profiles for name in chosen.values()):
        return None
    return Correlation(matrices, tuple(names.index(str(chosen[stage.id])) for stage in stages))


def _estimated_correlation(case: CaseFiles, estimated: EstimatedInflow, slots: int) -> Correlation:
    """Correlation of the inflows by season; everything else stands alone."""
    matrices: list[FloatArray] = []
    place: dict[int | None, int] = {}
    chosen = []
    for stage in study_stages(case):
        season = estimated.season_ids.index(stage.season_id or 0)
        own = estimated.correlation_of_season[season]
        key = season if own is not None else None
        if key not in place:
            full, inflows = np.eye(slots), estimated.correlation if own is None else own
            full[: len(inflows), : len(inflows)] = inflows
            place[key] = len(matrices)
            matrices.append(full)
        chosen.append(place[key])
    return Correlation(tuple(matrices), tuple(chosen))


def _fill(
    name: str, profile: Profile, slots: dict[tuple[str, int], int], case: CaseFiles, findings: Findings
) -> FloatArray:
    full = np.eye(len(slots))
    seen: set[tuple[str, int]] = set()
    for group in profile.correlation_groups:
        entity = f"profile {name}, group {group.name}"
        members: list[tuple[str, int]] = [(member.type, member.id) for member in group.entities]
        _check_members(members, seen, slots, entity, case, findings)
        matrix = _check_matrix(group, entity, findings)
        seen.update(members)
        if matrix is None or len(set(members)) < len(members):
            continue
        present = [row for row, member in enumerate(members) if member in slots]
        targets = [slots[members[row]] for row in present]
        full[np.ix_(targets, targets)] = matrix[np.ix_(present, present)]
    return full


def _check_members(
    members: list[tuple[str, int]],
    seen: set[tuple[str, int]],
    slots: dict[tuple[str, int], int],
    entity: str,
    case: CaseFiles,
    findings: Findings,
) -> None:
    types = {type for type, _ in members}

    def note(kind: str, message: str, hint: str) -> None:
        findings.add(kind, files.CORRELATION, message, entity=entity, field="entities", hint=hint)

    if len(types) > 1:
        note(DIMENSION, f"mixes {' and '.join(sorted(types))}", "make a group for each type")
    for member in sorted({m for m in members if m in seen or members.count(m) > 1}):
        note(DIMENSION, f"{member[0]} {member[1]} is in this profile more than once", "name it once")
    known = {"inflow": hydro_ids(case), "load": bus_ids(case), "ncs": source_ids(case)}
    words = {"inflow": "hydro", "load": "bus", "ncs": "source"}
    certain = {"load": "its demand has no deviation", "ncs": "it has no statistics"}
    for type, id in members:
        if (type, id) in slots:
            continue
        if id not in known[type]:
            note("reference", f"{words[type]} {id} does not exist", f"ids are {list_ids(known[type])}")
        else:
            findings.warn(
                files.CORRELATION,
                f"{words[type]} {id} is not random, so its correlation has no effect: {certain[type]}",
                entity=entity,
                field="entities",
                hint="leave it out, or give it statistics with a deviation",
            )


def _check_matrix(group: CorrelationGroup, entity: str, findings: Findings) -> FloatArray | None:
    def note(kind: str, message: str, hint: str | None = None) -> None:
        findings.add(kind, files.CORRELATION, message, entity=entity, field="matrix", hint=hint)

    size = len(group.entities)
    if len(group.matrix) != size or any(len(row) != size for row in group.matrix):
        note(
            DIMENSION,
            f"must be {size} by {size}, a row and a column for each entity of the group",
            "in their order",
        )
        return None
    matrix = np.array(group.matrix, dtype=np.float64)
    if np.abs(np.diag(matrix) - 1).max() > SYMMETRY_TOLERANCE:
        note("physics", "must have 1 on its diagonal", "divide covariances by both deviations")
        return None
    if np.abs(matrix).max() > 1 + SYMMETRY_TOLERANCE:
        note("physics", "must have values between -1 and 1", "divide covariances by both deviations")
        return None
    gaps = np.abs(matrix - matrix.T)
    if gaps.max() > SYMMETRY_TOLERANCE:
        row, column = np.unravel_index(int(gaps.argmax()), gaps.shape)
        note(
            "physics",
            f"is not symmetric: [{row}][{column}] and [{column}][{row}] differ",
            "give both the same value",
        )
        return None
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -EIGENVALUE_TOLERANCE * size:
        note(
            "physics",
            f"is no correlation matrix: its smallest eigenvalue is {smallest:.3g}",
            "these correlations can't hold together; take the nearest positive semidefinite matrix",
        )
        return None
    return matrix


def resolve_openings(case: CaseFiles, findings: Findings) -> tuple[FloatArray, ...] | None:
    """Given openings, one (W, D) array a stage, or ``None`` if they are drawn or wrong."""
    if case.config is None:
        return None
    source = case.config.training.scenario_source
    wanted = source is not None and source.openings is not None and source.openings.source == "file"
    there = (case.root / files.NOISE_OPENINGS).is_file()
    if not wanted:
        if there:
            findings.warn(
                files.NOISE_OPENINGS,
                "is not used: openings are drawn",
                hint='set training.scenario_source.openings to {"source": "file"}, or remove the file',
            )
        return None
    if not there:
        findings.add(
            "structure",
            files.NOISE_OPENINGS,
            "is missing, but openings shall come from it",
            hint="add the file, or leave training.scenario_source.openings out",
        )
        return None
    table = case.noise_openings
    if table is None or case.stages is None or case.hydros is None or case.buses is None:
        return None
    if case.broken.intersection((files.LOAD_STATS, files.SOURCES, files.SOURCE_STATS)):
        return None
    place, openings = _file_order(case), []
    width = len(place)
    stages, faults = study_stages(case), 0
    order = np.lexsort((table.ints["entity_index"], table.ints["opening_index"], table.ints["stage_id"]))
    stage_ids = table.ints["stage_id"][order]
    for stage in stages:
        rows = order[np.searchsorted(stage_ids, stage.id) : np.searchsorted(stage_ids, stage.id, "right")]
        opening, slot = table.ints["opening_index"][rows], table.ints["entity_index"][rows]
        numbers, slots = np.unique(opening), np.unique(slot)
        entity = name_entity("stage", stage.id)
        before = faults
        for found, expected, field, what in (
            (numbers, stage.num_openings, "opening_index", f"num_openings in {files.STAGES}"),
            (
                slots,
                width,
                "entity_index",
                "hydros, random demands, sources with statistics, each by operational_start_date and id",
            ),
        ):
            if found.size != expected or (expected and found[-1] != expected - 1):
                faults += 1
                findings.add(
                    DIMENSION,
                    files.NOISE_OPENINGS,
                    f"must have {field} 0 to {expected - 1} ({what}),"
                    f" got {list_ids(found.tolist()) or 'none'}",
                    entity=entity,
                    field=field,
                )
        if faults == before and rows.size != numbers.size * slots.size:
            faults += 1
            findings.add(
                DIMENSION,
                files.NOISE_OPENINGS,
                f"has {rows.size} values, but {numbers.size} openings of {slots.size} need"
                f" {numbers.size * slots.size}",
                entity=entity,
                hint="give each opening one row for each entity",
            )
        if faults == before:
            opening_values = np.empty((numbers.size, width))
            opening_values[:, place] = table.floats["value"][rows].reshape(numbers.size, width)
            openings.append(opening_values)
    return tuple(openings) if not faults else None
