"""Reservoirs that are being filled before their plants enter service."""

from __future__ import annotations

import numpy as np

from pycobre.case import files
from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.statistics import study_stages
from pycobre.system import Filling, hm3_per_m3s

ROUNDING = 1e-9
"""What a rate that was worked out from the volume may miss of it, over the volume."""


def filling_of(hydro: HydroRecord) -> Filling | None:
    """How the reservoir of *hydro* is filled, if it is."""
    if hydro.filling is None or hydro.entry_stage_id is None:
        return None
    filling = hydro.filling
    return Filling(filling.start_stage_id, hydro.entry_stage_id, filling.filling_min_rate_m3s)


def _rates(case: CaseFiles, hydro: int) -> dict[int, float]:
    """Least rates of a reservoir, in m³/s, that single stages have of their own, by stage id."""
    table = case.hydro_bounds
    if table is None:
        return {}
    rates = table.floats["filling_min_rate_m3s"]
    own = (table.ints["hydro_id"] == hydro) & ~np.isnan(rates)
    return dict(zip(table.ints["stage_id"][own].tolist(), rates[own].tolist(), strict=True))


def check_filling(case: CaseFiles, findings: Findings) -> None:
    """Note what contradicts itself about reservoirs that are being filled."""
    stages = study_stages(case)
    if case.hydros is None or case.initial is None or not stages:
        return
    started = {item.hydro_id: item.value_hm3 for item in case.initial.filling_storage}
    known = [stage.id for stage in stages]
    for hydro in sorted(case.hydros.hydros, key=lambda hydro: hydro.id):
        entity = name_entity("hydro", hydro.id, hydro.name)

        def note(file: str, field: str, message: str, hint: str | None = None, entity: str = entity) -> None:
            findings.add("physics", file, message, entity=entity, field=field, hint=hint)

        if hydro.filling is None:
            if hydro.id in started:
                message = "is not being filled: its initial storage belongs to storage"
                note(
                    files.INITIAL,
                    "filling_storage",
                    message,
                    f"move it there, or give it filling in {files.HYDROS}",
                )
            continue
        start, entry = hydro.filling.start_stage_id, hydro.entry_stage_id
        if start not in known:
            note(files.HYDROS, "filling.start_stage_id", f"stage {start} does not exist", list_ids(known))
        if entry is None or entry <= start:
            message = "must be given, and be later than the first stage of filling"
            note(files.HYDROS, "entry_stage_id", message, f"filling begins in stage {start}")
        elif entry > known[-1]:
            findings.warn(
                files.HYDROS,
                f"is being filled, but enters service in stage {entry}, after the study",
                entity=entity,
                field="entry_stage_id",
            )
        if hydro.id not in started:
            message = "is being filled: its initial storage belongs to filling_storage"
            note(files.INITIAL, "storage", message, "move it there")
            continue
        low = hydro.reservoir.min_storage_hm3
        if not 0.0 <= started[hydro.id] <= low:
            message = f"starts at {started[hydro.id]:g} hm³, beyond its minimum of {low:g} hm³"
            note(files.INITIAL, "filling_storage", message, "it is full enough: leave filling out")
        filled = [stage for stage in stages if start <= stage.id < (entry or start)]
        rates = {stage.id: hydro.filling.filling_min_rate_m3s for stage in filled} | _rates(case, hydro.id)
        brought = started[hydro.id] + sum(
            hm3_per_m3s(sum(block.hours for block in stage.blocks)) * rates[stage.id] for stage in filled
        )
        little = brought < low * (1.0 - ROUNDING) and case.whole(files.HYDRO_BOUNDS)
        if filled and entry is not None and entry <= known[-1] and little:
            findings.warn(
                files.HYDROS,
                f"brings {brought:g} hm³ until stage {entry}, but the minimum is {low:g} hm³:"
                " the rest is left to the river, or to the penalties",
                entity=entity,
                field="filling.filling_min_rate_m3s",
                hint="raise it, or begin the filling earlier",
            )
        if start > known[0] and started[hydro.id] > 0.0:
            note(files.INITIAL, "filling_storage", "holds water before its filling begins", "give 0 hm³")
