"""Dates and hours of the stages, what follows what, and what was observed before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise

from pycobre.case import files
from pycobre.case.files import CaseFiles
from pycobre.case.findings import WARNING, Findings, list_ids, name_entity
from pycobre.case.initial import Window
from pycobre.case.stages import StageRecord
from pycobre.case.statistics import study_stages
from pycobre.case.unsupported import UNSUPPORTED

PHYSICS = "physics"
HOURS_PER_DAY = 24
# A twelfth of a year of 8,760 h or of 365.25 days: what planners call a month.
STANDARD_MONTHS_H = (730.0, 730.5)
HOURS_TOLERANCE = 1e-6


def check_calendar(case: CaseFiles, findings: Findings) -> None:
    """Note every impossible date, hour and order of time."""
    _check_stages(case, findings)
    if files.STAGES not in case.lost:
        _check_order(case, findings)
        _check_chain(case, findings)
    _check_windows(case, findings)


def first_of_next_month(day: date) -> date:
    """First day of the month after that of *day*."""
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def is_calendar_month(start: date, end: date) -> bool:
    """Whether a period is one whole month of the calendar."""
    return start.day == 1 and end == first_of_next_month(start)


def _check_stages(case: CaseFiles, findings: Findings) -> None:
    stages = study_stages(case)
    for stage in stages:
        if stage.end_date <= stage.start_date:
            findings.add(
                PHYSICS,
                files.STAGES,
                f"ends on {stage.end_date}, but starts on {stage.start_date}",
                entity=name_entity("stage", stage.id),
                field="end_date",
                hint="end_date is the day after the last",
            )
    _check_hours(stages, findings)


def _check_order(case: CaseFiles, findings: Findings) -> None:
    stages = study_stages(case)
    # Without lags nothing goes by the dates but each stage's own length and discount.
    lags = any(table is not None for table in (case.inflow_ar, case.inflow_history, case.inflow_annual))
    before: StageRecord | None = None
    for stage in stages:
        if before is not None and stage.start_date != before.end_date:
            word = "before" if stage.start_date < before.end_date else "after"
            findings.add(
                PHYSICS if lags else WARNING,
                files.STAGES,
                f"starts on {stage.start_date}, {word} stage {before.id} ends ({before.end_date})",
                entity=name_entity("stage", stage.id),
                field="start_date",
                hint="stages must follow one another without gap or overlap, in the order of their ids",
            )
        before = stage
    if case.stages is None:
        return
    past = sorted(case.stages.pre_study_stages or [], key=lambda stage: -stage.id)
    after = stages[0].start_date
    for position, period in enumerate(past):
        entity = name_entity("pre-study stage", period.id)
        if period.id != -1 - position:
            findings.add(
                PHYSICS,
                files.STAGES,
                f"must be -{position + 1}: periods before the study count backwards from -1",
                entity=entity,
                field="id",
                hint="the period right before the study is -1, the one before it -2",
            )
        if period.end_date != after or period.start_date >= period.end_date:
            findings.add(
                PHYSICS,
                files.STAGES,
                f"must be a period that ends on {after}, where the next one starts, got"
                f" {period.start_date} to {period.end_date}",
                entity=entity,
                field="end_date",
            )
        after = period.start_date


def _check_hours(stages: Sequence[StageRecord], findings: Findings) -> None:
    standard: dict[float, list[int]] = {}
    for stage in stages:
        days = (stage.end_date - stage.start_date).days
        hours = math.fsum(block.hours for block in stage.blocks)
        calendar = float(days * HOURS_PER_DAY)
        if days <= 0 or math.isclose(hours, calendar, rel_tol=HOURS_TOLERANCE):
            continue
        near = [month for month in STANDARD_MONTHS_H if math.isclose(hours, month, rel_tol=HOURS_TOLERANCE)]
        if near and is_calendar_month(stage.start_date, stage.end_date):
            standard.setdefault(near[0], []).append(stage.id)
            continue
        findings.add(
            PHYSICS,
            files.STAGES,
            f"block hours add up to {hours:g} h, but the stage has {days} days of 24 h = {calendar:g} h",
            entity=name_entity("stage", stage.id),
            field="blocks",
            hint="make the hours of its blocks add up to that; a whole month may also have 730 h",
        )
    for hours, ids in standard.items():
        findings.warn(
            files.STAGES,
            f"stages {list_ids(ids)} use the standard month of {hours:g} h instead of the calendar's",
            field="blocks",
        )


def _check_chain(case: CaseFiles, findings: Findings) -> None:
    """Transitions, if any, say what the order of the stages says already."""
    if case.stages is None or case.stages.policy_graph.nodes:
        return
    arcs = case.stages.policy_graph.transitions
    stages = study_stages(case)
    follower = {stage.id: after.id for stage, after in pairwise(stages)}
    own = {stage.id: stage.annual_discount_rate_override for stage in stages}
    seen: set[int] = set()
    for position, arc in enumerate(arcs):
        field = f"policy_graph.transitions[{position}]"
        if follower.get(arc.source_id) != arc.target_id or arc.probability != 1:
            findings.add(
                UNSUPPORTED,
                files.STAGES,
                f"{arc.source_id} to {arc.target_id} with probability {arc.probability:g}: only the plain"
                " chain, each stage to the next with probability 1, is modelled for now",
                field=field,
                hint="leave the transitions out: the stages then follow one another",
            )
        elif arc.source_id in seen:
            findings.add(
                "reference",
                files.STAGES,
                f"stage {arc.source_id} is left twice",
                field=field,
                hint="keep one",
            )
        rate = arc.annual_discount_rate_override
        if rate is not None and own.get(arc.source_id) not in (None, rate):
            findings.add(
                PHYSICS,
                files.STAGES,
                f"discounts stage {arc.source_id} at {rate:g}, but the stage itself says"
                f" {own[arc.source_id]:g}",
                field=f"{field}.annual_discount_rate_override",
                hint="give one of them",
            )
        seen.add(arc.source_id)
    if arcs:
        for source in sorted(set(follower) - seen):
            findings.add(
                PHYSICS,
                files.STAGES,
                f"no transition leads from it to stage {follower[source]}",
                entity=name_entity("stage", source),
                field="policy_graph.transitions",
                hint="give all transitions, or none",
            )


def _check_windows(case: CaseFiles, findings: Findings) -> None:
    """Note observed windows that are empty, overlap, or lie within the study."""
    if case.initial is None:
        return
    stages = study_stages(case)
    first = stages[0].start_date if stages and files.STAGES not in case.lost else None
    by_hydro: dict[int, list[Window]] = {}
    for item in case.initial.recent_observations:
        entity = name_entity("hydro", item.hydro_id)
        if item.end_date <= item.start_date:
            findings.add(
                PHYSICS,
                files.INITIAL,
                f"the window {item.start_date} to {item.end_date} is empty",
                entity=entity,
                field="recent_observations",
                hint="end_date is the day after the last",
            )
            continue
        if first is not None and item.end_date > first:
            findings.add(
                PHYSICS,
                files.INITIAL,
                f"the window {item.start_date} to {item.end_date} reaches into the study, which starts on"
                f" {first}",
                entity=entity,
                field="recent_observations",
                hint="inflows of the study are drawn, not observed",
            )
        by_hydro.setdefault(item.hydro_id, []).append(item)
    for id, windows in by_hydro.items():
        windows.sort(key=lambda window: window.start_date)
        for one, other in pairwise(windows):
            if other.start_date < one.end_date:
                findings.add(
                    PHYSICS,
                    files.INITIAL,
                    f"the windows {one.start_date} to {one.end_date} and {other.start_date} to"
                    f" {other.end_date} overlap",
                    entity=name_entity("hydro", id),
                    field="recent_observations",
                )
