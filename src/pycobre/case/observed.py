"""Inflows before the study: as observed, averaged over the periods that lags reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pycobre.case import files
from pycobre.case.estimation import EstimatedInflow
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.history import window_mean
from pycobre.case.initial import Observation
from pycobre.case.seasons import Period
from pycobre.case.statistics import hydro_ids
from pycobre.case.tables import FloatArray, IntArray

FIELD = "recent_observations"


def past_inflows(
    case: CaseFiles,
    depth: IntArray,
    periods: Sequence[Period],
    length: int,
    estimated: EstimatedInflow | None,
    findings: Findings,
) -> FloatArray:
    """Inflows (H, L) of as many *periods* before the study as each plant's *depth*: observed, or recorded.

    Where models are estimated, a period that neither covers is taken at its season's mean.
    """
    ids = hydro_ids(case)
    past = np.zeros((len(ids), length))
    if case.initial is None or case.hydros is None:
        return past
    windows: dict[int, list[Observation]] = {}
    for item in case.initial.recent_observations:
        windows.setdefault(item.hydro_id, []).append(item)
    entities = {hydro.id: name_entity("hydro", hydro.id, hydro.name) for hydro in case.hydros.hydros}
    idle: list[int] = []
    for row, id in enumerate(ids):
        ours, touched, unknown = windows.get(id, []), False, []
        for number, period in enumerate(periods[: depth[row]], start=1):
            whole = (period.end - period.start).days
            days, volume = _seen(ours, period)
            touched = touched or days > 0
            mean = volume / whole if days >= whole else window_mean(case, id, period.start, period.end)
            if mean is None:
                mean = _season_mean(estimated, row, period)
                if mean is None:
                    _miss(entities[id], number, period, days, findings)
                    continue
                unknown.append(number)
            past[row, number - 1] = mean
        if unknown:
            findings.warn(
                files.INITIAL,
                f"the inflows of lags {list_ids(unknown)} were not observed; their seasons' means are used",
                entity=entities[id],
                field=FIELD,
                hint="add {hydro_id, start_date, end_date, value_m3s}",
            )
        if ours and not touched:
            idle.append(id)
    if idle and case.whole(files.CONFIG, files.INFLOW_HISTORY, files.INFLOW_ANNUAL):
        findings.warn(
            files.INITIAL,
            f"no autoregressive lag reaches the observed inflows of hydros {list_ids(idle)}",
            field=FIELD,
            hint="leave them out",
        )
    return past


def _seen(windows: Sequence[Observation], period: Period) -> tuple[int, float]:
    """Days of the *period* that observations cover, and the sum of the flows over these days."""
    overlaps = [
        max((min(item.end_date, period.end) - max(item.start_date, period.start)).days, 0) for item in windows
    ]
    return sum(overlaps), sum(days * item.value_m3s for days, item in zip(overlaps, windows, strict=True))


def _season_mean(estimated: EstimatedInflow | None, row: int, period: Period) -> float | None:
    if estimated is None or period.season_id not in estimated.season_ids:
        return None
    mean = float(estimated.mean_m3s[row, estimated.season_ids.index(period.season_id)])
    return None if np.isnan(mean) else mean


def _miss(entity: str, number: int, period: Period, days: int, findings: Findings) -> None:
    whole = (period.end - period.start).days
    findings.add(
        "dimension",
        files.INITIAL,
        f"observed inflows cover {days} of the {whole} days of lag {number} ({period.start} to {period.end})",
        entity=entity,
        field=FIELD,
        hint="its inflow model needs the mean inflow of that whole period: add"
        " {hydro_id, start_date, end_date, value_m3s}",
    )
