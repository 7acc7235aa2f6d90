"""Water that takes time to the next plant: what was released before the study is still under way."""

from __future__ import annotations

import math
from datetime import timedelta

from pycobre.case import files
from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.initial import Defluence
from pycobre.case.statistics import study_stages
from pycobre.system import PastFlow

HOURS_PER_DAY = 24.0
RELEASES = "past_defluences"


def travels(hydro: HydroRecord) -> bool:
    """Whether the outflow of *hydro* is under way for a time."""
    return bool(hydro.travel_time_hours) and hydro.downstream_id is not None


def past_outflow(case: CaseFiles, hydro: HydroRecord) -> tuple[PastFlow, ...]:
    """Outflow of *hydro* before the study, by days."""
    if not travels(hydro):
        return ()
    return tuple(
        PastFlow(item.start_date, item.end_date, item.value_m3s) for item in _windows(case, hydro.id)
    )


def check_travel(case: CaseFiles, findings: Findings) -> None:
    """Note what is wrong with water that takes time to the next plant."""
    stages = study_stages(case)
    if case.hydros is None or case.initial is None or not stages:
        return
    known = {hydro.id for hydro in case.hydros.hydros}
    for id in sorted({item.hydro_id for item in case.initial.past_defluences} - known):
        findings.add(
            "reference",
            files.INITIAL,
            f"hydro {id} does not exist",
            entity=f"hydro {id}",
            field=RELEASES,
            hint=f"hydros are {list_ids(known)}",
        )
    whole = sum(block.hours for stage in stages for block in stage.blocks)
    for hydro in sorted(case.hydros.hydros, key=lambda hydro: hydro.id):
        entity, hours = name_entity("hydro", hydro.id, hydro.name), hydro.travel_time_hours or 0.0
        if not travels(hydro):
            if hours > 0.0:
                message = "has no effect: there is no plant below"
                findings.warn(files.HYDROS, message, entity=entity, field="travel_time_hours")
            if _windows(case, hydro.id):
                message = "has no effect: its water takes no time to the next plant"
                findings.warn(files.INITIAL, message, entity=entity, field=RELEASES, hint="leave it out")
        elif hours > whole:
            findings.add(
                "physics",
                files.HYDROS,
                f"water is under way for {hours:g} h, longer than the study ({whole:g} h)",
                entity=entity,
                field="travel_time_hours",
                hint="leave downstream_id out: nothing arrives in the study",
            )
        else:
            _check_windows(case, hydro, findings)


def _check_windows(case: CaseFiles, hydro: HydroRecord, findings: Findings) -> None:
    """Windows cover the travel time before the study, each day once."""
    first, entity = study_stages(case)[0].start_date, name_entity("hydro", hydro.id, hydro.name)
    assert hydro.travel_time_hours is not None
    needed = first - timedelta(days=math.ceil(hydro.travel_time_hours / HOURS_PER_DAY))

    def note(kind: str, message: str, hint: str | None = None) -> None:
        findings.add(kind, files.INITIAL, message, entity=entity, field=RELEASES, hint=hint)

    reached = needed
    for item in _windows(case, hydro.id):
        if item.end_date <= item.start_date or item.end_date > first:
            message = f"the window from {item.start_date} to {item.end_date} is no time before the study"
            note("physics", message, f"it ends on {first} at the latest; that day is not in it")
            return
        if item.start_date < reached and reached > needed:
            note("physics", f"two windows hold {item.start_date}", "keep one of them")
            return
        if item.start_date <= reached:
            reached = max(reached, item.end_date)
    if reached < first:
        note(
            "dimension",
            f"nothing says what was released from {reached} on: it arrives in the study",
            f"cover {needed} to {first} by {{hydro_id, start_date, end_date, value_m3s}}",
        )


def _windows(case: CaseFiles, id: int) -> list[Defluence]:
    items = case.initial.past_defluences if case.initial else []
    return sorted((item for item in items if item.hydro_id == id), key=lambda item: item.start_date)
