"""Thermal dispatch that is decided ahead: what was decided before the study, and what comes after it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from itertools import pairwise

from pycobre.case import files
from pycobre.case.entities import ThermalRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.initial import Commitment
from pycobre.case.service import service_of
from pycobre.case.stages import StageRecord
from pycobre.case.statistics import study_stages
from pycobre.system import Ahead, Changes, LaterDelivery, LaterStage, deciders

COMMITMENTS = "past_anticipated_commitments"
HOURS_PER_DAY = 24.0
SAME_MW = 1e-6
UNEVEN = 1.5
"""How much longer than the shortest lead the longest may be: months are more alike."""


def later_stages(case: CaseFiles) -> tuple[LaterStage, ...]:
    """Stages after the study in the order of their days."""
    if case.later is None or case.stages is None:
        return ()
    rate = case.stages.policy_graph.annual_discount_rate
    ordered = sorted(case.later.stages, key=lambda stage: stage.start_date)
    return tuple(LaterStage(stage.start_date, stage.duration_hours, rate) for stage in ordered)


def ahead_of(case: CaseFiles, plant: ThermalRecord) -> Ahead | None:
    """How far ahead *plant* is dispatched, with what was decided before the study; ``None`` if it is not."""
    config = plant.anticipated_config
    if config is None:
        return None
    windows = _windows(case, plant.id)
    past = {
        stage.id: mean
        for stage in study_stages(case)
        if (mean := _mean(windows, stage.start_date, stage.end_date)) is not None
    }
    cells = [
        cell for cell in (case.later.thermal_bounds if case.later else []) if cell.thermal_id == plant.id
    ]
    later = {
        _later_position(case, cell.post_study_stage_index): LaterDelivery(
            cell.min_mw, cell.max_mw, cell.cost_per_mwh
        )
        for cell in cells
    }
    return Ahead(config.lead_stages, config.lead_time_hours, past, later)


def check_ahead(case: CaseFiles, changes: Mapping[str, Changes], findings: Findings) -> None:
    """Note what is wrong with dispatch decided ahead."""
    stages = study_stages(case)
    if case.thermals is None or case.initial is None or not stages:
        return
    _check_later(case, stages[-1].end_date, findings)
    plants = {plant.id: plant for plant in case.thermals.thermals}
    for field, file, ids in (
        (COMMITMENTS, files.INITIAL, [item.thermal_id for item in case.initial.past_anticipated_commitments]),
        (
            "thermal_bounds",
            files.LATER,
            [cell.thermal_id for cell in case.later.thermal_bounds] if case.later else [],
        ),
    ):
        for id in sorted(set(ids)):
            found = plants.get(id)
            if found is None or found.anticipated_config is None:
                message = "does not exist" if found is None else "is not dispatched ahead"
                entity = name_entity("thermal", id, found.name if found else None)
                hint = f"give it an anticipated_config in {files.THERMALS}, or leave this out"
                findings.add("reference", file, message, entity=entity, field=field, hint=hint)
    for plant in sorted(plants.values(), key=lambda plant: plant.id):
        if plant.anticipated_config is not None:
            _check_plant(case, plant, stages, changes.get("thermals", {}), findings)


def _check_later(case: CaseFiles, horizon: date, findings: Findings) -> None:
    """Note stages after the study that leave gaps, and cells of none of them."""
    if case.later is None:
        return
    expected = horizon
    for stage in sorted(case.later.stages, key=lambda stage: stage.start_date):
        if stage.start_date != expected:
            findings.add(
                "physics",
                files.LATER,
                f"a stage starts on {stage.start_date}, but the one before ends on {expected}",
                field="stages",
                hint="they follow one another from the day after the study's last",
            )
        days = int(stage.duration_hours // HOURS_PER_DAY)
        expected = date.fromordinal(min(stage.start_date.toordinal() + days, date.max.toordinal()))
    seen = set()
    for number, cell in enumerate(case.later.thermal_bounds):
        entity, field = name_entity("thermal", cell.thermal_id), f"thermal_bounds[{number}]"
        place = (cell.thermal_id, cell.post_study_stage_index)
        if cell.post_study_stage_index >= len(case.later.stages):
            message = f"stage {cell.post_study_stage_index} does not exist"
            known = list_ids(range(len(case.later.stages)))
            hint = f"stages after the study are counted from 0: {known or 'there are none'}"
            findings.add("reference", files.LATER, message, entity=entity, field=field, hint=hint)
        if cell.min_mw > cell.max_mw:
            message = f"the lower limit {cell.min_mw:g} MW is above the upper limit {cell.max_mw:g} MW"
            hint = "correct min_mw or max_mw"
            findings.add("physics", files.LATER, message, entity=entity, field=field, hint=hint)
        if place in seen:
            message = f"is given more than once for stage {place[1]}"
            findings.add("dimension", files.LATER, message, entity=entity, field=field, hint="keep one")
        seen.add(place)


def _check_plant(
    case: CaseFiles, plant: ThermalRecord, stages: list[StageRecord], changes: Changes, findings: Findings
) -> None:
    config, entity = plant.anticipated_config, name_entity("thermal", plant.id, plant.name)
    assert config is not None
    if (config.lead_stages is None) == (config.lead_time_hours is None):
        message = "needs lead_stages or lead_time_hours, and not both"
        findings.add("schema", files.THERMALS, message, entity=entity, field="anticipated_config")
        return
    later, before = later_stages(case), findings.count
    hours = [_hours(stage) for stage in stages] + [stage.hours for stage in later]
    who = deciders(Ahead(config.lead_stages, config.lead_time_hours), hours)
    decided = [t for m, t in enumerate(who) if t is not None and t < min(m, len(stages))]
    crowded = sorted({stages[t].id for t in decided if decided.count(t) > 1})
    if crowded:
        findings.add(
            "unsupported",
            files.THERMALS,
            f"stages {list_ids(crowded)} would decide more than one delivery each",
            entity=entity,
            field="anticipated_config.lead_time_hours",
            hint="use lead_stages, or stages of like lengths",
        )
    own = [stage.id for m, stage in enumerate(stages) if who[m] == m]
    if own:
        findings.warn(
            files.THERMALS,
            f"stages {list_ids(own)} are longer than the lead: there it is dispatched like any other plant",
            entity=entity,
            field="anticipated_config.lead_time_hours",
        )
    spans = {t: sum(hours[t:m]) for m, t in enumerate(who) if t is not None and t < len(stages)}
    if config.lead_stages is not None and spans and max(spans.values()) > UNEVEN * min(spans.values()):
        ends = sorted((min(spans, key=spans.__getitem__), max(spans, key=spans.__getitem__)))
        told = ", ".join(f"{spans[t]:g} h from stage {stages[t].id} on" for t in ends)
        findings.warn(
            files.THERMALS,
            f"{config.lead_stages} stages of unlike lengths are leads of {told}",
            entity=entity,
            field="anticipated_config.lead_stages",
            hint="lead_time_hours gives one that is the same everywhere",
        )
    if all(t is None for t in who[: len(stages)]) and not decided:
        message = "the study decides nothing of it: all its dispatch was decided before"
        findings.warn(files.THERMALS, message, entity=entity, field="anticipated_config")
    _check_past(case, plant, stages, who, changes, findings)
    if findings.count == before and later:
        _check_cells(case, plant, who[len(stages) :], len(stages), findings)


def _check_past(
    case: CaseFiles,
    plant: ThermalRecord,
    stages: list[StageRecord],
    who: list[int | None],
    changes: Changes,
    findings: Findings,
) -> None:
    """What was decided before the study covers the stages that were, within their limits, and no other."""
    entity, windows = name_entity("thermal", plant.id, plant.name), _windows(case, plant.id)

    def note(kind: str, message: str, hint: str | None = None) -> None:
        findings.add(kind, files.INITIAL, message, entity=entity, field=COMMITMENTS, hint=hint)

    for one, next_one in pairwise(windows):
        if next_one.start_date < one.end_date:
            note("physics", f"two windows hold {next_one.start_date}", "keep one of them")
    for window in windows:
        if window.end_date <= window.start_date:
            note(
                "physics",
                f"the window from {window.start_date} ends before it begins",
                "end_date is the day after the last",
            )
    if any(window.start_date < stages[0].start_date for window in windows):
        message = f"days before the study's first ({stages[0].start_date}) are no delivery of it"
        note("physics", message, "leave them out")
    missing, free = [], []
    for m, stage in enumerate(stages):
        days = _covered(windows, stage.start_date, stage.end_date)
        if who[m] is not None:
            free += [stage.id] if days else []
            continue
        mean = _mean(windows, stage.start_date, stage.end_date)
        if mean is None or days < (stage.end_date - stage.start_date).days:
            missing.append(stage.id)
            continue
        low, high = _limits(plant, stage, stages, changes)
        if not low - SAME_MW <= mean <= high + SAME_MW:
            message = f"{mean:g} MW in stage {stage.id} lies outside its limits, {low:g} to {high:g} MW"
            note("physics", message, f"correct value_mw, or the limits in {files.THERMALS}")
    if missing:
        message = f"nothing says what was decided for all days of stages {list_ids(missing)}"
        hint = "add {thermal_id, start_date, end_date, value_mw}; it may be 0 MW"
        note("dimension", message, hint)
    if free:
        message = f"stages {list_ids(free)} are decided in the study, not before it"
        note("physics", message, "shorten the window, or lengthen the lead")
    after = [window for window in windows if window.end_date > stages[-1].end_date and window.value_mw]
    if after:
        message = "what was decided for days after the study has no effect in it"
        findings.warn(files.INITIAL, message, entity=entity, field=COMMITMENTS)


def _check_cells(
    case: CaseFiles, plant: ThermalRecord, who: list[int | None], stages: int, findings: Findings
) -> None:
    """Stages after the study have limits where the study decides what they get, and nowhere else."""
    assert case.later is not None
    entity = name_entity("thermal", plant.id, plant.name)
    reached = {position for position, t in enumerate(who) if t is not None and t < stages}
    given = {
        _later_position(case, cell.post_study_stage_index)
        for cell in case.later.thermal_bounds
        if cell.thermal_id == plant.id and cell.post_study_stage_index < len(case.later.stages)
    }
    days = [stage.start_date for stage in later_stages(case)]
    for position in sorted(reached - given):
        findings.add(
            "dimension",
            files.LATER,
            f"the study decides what it delivers from {days[position]} on, and no limits are given for that",
            entity=entity,
            field="thermal_bounds",
            hint="add {thermal_id, post_study_stage_index, cost_per_mwh, min_mw, max_mw}",
        )
    for position in sorted(given - reached):
        message = f"the study does not decide what it delivers from {days[position]} on: this has no effect"
        findings.warn(files.LATER, message, entity=entity, field="thermal_bounds")
    if reached & given:
        findings.warn(
            files.LATER,
            "what is delivered after the study costs and saves nothing in it: the least is decided",
            entity=entity,
            field="thermal_bounds",
            hint="min_mw and max_mw alike give what you expect to be decided",
        )


def _later_position(case: CaseFiles, index: int) -> int:
    """Position by days of the stage with an index in the file."""
    assert case.later is not None
    stages = case.later.stages
    return sorted(range(len(stages)), key=lambda i: stages[i].start_date).index(index)


def _hours(stage: StageRecord) -> float:
    return sum(block.hours for block in stage.blocks)


def _windows(case: CaseFiles, id: int) -> list[Commitment]:
    items = case.initial.past_anticipated_commitments if case.initial else []
    return sorted((item for item in items if item.thermal_id == id), key=lambda item: item.start_date)


def _overlap(window: Commitment, start: date, end: date) -> int:
    return max((min(window.end_date, end) - max(window.start_date, start)).days, 0)


def _covered(windows: list[Commitment], start: date, end: date) -> int:
    return sum(_overlap(window, start, end) for window in windows)


def _mean(windows: list[Commitment], start: date, end: date) -> float | None:
    """Mean of the windows' values over days; ``None`` if they cover none."""
    days = _covered(windows, start, end)
    if days == 0:
        return None
    return sum(_overlap(window, start, end) * window.value_mw for window in windows) / days


def _limits(
    plant: ThermalRecord, stage: StageRecord, stages: list[StageRecord], changes: Changes
) -> tuple[float, float]:
    """Least and most mean generation of *plant* in *stage*."""
    service = service_of(plant, stages)
    entry, leave = service.entry_stage_id, service.exit_stage_id
    if (entry is not None and stage.id < entry) or (leave is not None and stage.id >= leave):
        return 0.0, 0.0
    own = {"generation_min_mw": plant.generation.min_mw, "generation_max_mw": plant.generation.max_mw}
    own |= changes.get((plant.id, stage.id, None), {})
    hours, low, high = _hours(stage), 0.0, 0.0
    for block in stage.blocks:
        here = {**own, **changes.get((plant.id, stage.id, block.id), {})}
        low += here["generation_min_mw"] * block.hours / hours
        high += here["generation_max_mw"] * block.hours / hours
    return low, high
