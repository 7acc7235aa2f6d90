"""Observed inflows, from windows of days to periods of the seasons."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from pycobre.case import files
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, name_entity
from pycobre.case.seasons import SeasonCalendar
from pycobre.case.statistics import hydro_ids, positions
from pycobre.case.tables import FloatArray, IntArray, Table
from pycobre.stochastic import InflowHistory

EPOCH = date(1970, 1, 1)


def check_windows(case: CaseFiles, findings: Findings) -> bool:
    """Whether every window of the history ends after it starts, and none overlaps another of its plant."""
    table = case.inflow_history
    if table is None:
        return True
    hydro, start, end = (table.ints[name] for name in ("hydro_id", "start_date", "end_date"))
    order = np.lexsort((start, hydro))
    hydro, start, end = hydro[order], start[order], end[order]
    backward = end <= start
    overlap = np.zeros(len(hydro), dtype=np.bool_)
    overlap[1:] = (hydro[1:] == hydro[:-1]) & (start[1:] < end[:-1])
    for wrong, message in (
        (backward, "a window ends on or before its first day"),
        (overlap & ~backward, "two windows overlap"),
    ):
        for id in np.unique(hydro[wrong]).tolist():
            day = day_of(int(start[wrong & (hydro == id)][0]))
            findings.add(
                "physics",
                files.INFLOW_HISTORY,
                f"{message} ({day})",
                entity=name_entity("hydro", id),
                field="end_date",
                hint="end_date is the day after the last",
            )
    return not (backward | overlap).any()


def check_coarseness(case: CaseFiles, calendar: SeasonCalendar, findings: Findings) -> None:
    """Note windows that hold more than one season: what each of these had can't be told."""
    assert case.inflow_history is not None
    table = case.inflow_history
    hydro, start, end = (table.ints[name] for name in ("hydro_id", "start_date", "end_date"))
    first, last = day_of(int(start.min(initial=0))), day_of(int(end.max(initial=0)))
    periods = [period for period in calendar.periods(first, last) if period.season_id is not None]
    starts = np.array([number_of(period.start) for period in periods], dtype=np.int64)
    # A window that is one period holds the start of that one and of the next.
    held = np.searchsorted(starts, end, "right") - np.searchsorted(starts, start, "left")
    for id in np.unique(hydro[held > 2]).tolist():
        longest = int(np.argmax(np.where(hydro == id, end - start, 0)))
        findings.add(
            "dimension",
            files.INFLOW_HISTORY,
            f"the window {day_of(int(start[longest]))} to {day_of(int(end[longest]))} holds several seasons,"
            " and can't be told apart into them",
            entity=name_entity("hydro", id),
            field="end_date",
            hint="give windows no longer than a season",
        )


def day_of(number: int) -> date:
    """Day of a date32 *number*."""
    return EPOCH + timedelta(days=number)


def number_of(day: date) -> int:
    """The date32 number of *day*."""
    return (day - EPOCH).days


def read_history(case: CaseFiles, calendar: SeasonCalendar) -> InflowHistory:
    """Inflows of the periods that the history spans, by hydro; NaN where a period is not covered in full."""
    assert case.inflow_history is not None
    table, ids = case.inflow_history, hydro_ids(case)
    first, last = day_of(int(table.ints["start_date"].min())), day_of(int(table.ints["end_date"].max()))
    periods = [period for period in calendar.periods(first, last) if period.season_id is not None]
    starts = np.array([number_of(period.start) for period in periods], dtype=np.int64)
    ends = np.array([number_of(period.end) for period in periods], dtype=np.int64)
    place = {id: position for position, id in enumerate(calendar.season_ids)}
    season = np.array([place[int(period.season_id or 0)] for period in periods], dtype=np.int64)
    return InflowHistory(
        average(table, positions(ids, table.ints["hydro_id"]), len(ids), starts, ends), season, len(place)
    )


def average(table: Table, rows: IntArray, hydros: int, starts: IntArray, ends: IntArray) -> FloatArray:
    """Mean inflow (H, N) of periods by days, NaN where one is not covered in full.

    Parameters
    ----------
    rows
        Position of the plant that each row of *table* is about; -1 for none.
    starts, ends : (N,)
        First day of each period and the day after its last, as date32 numbers, ascending.
    """
    volume, days = np.zeros((hydros, len(starts))), np.zeros((hydros, len(starts)), dtype=np.int64)
    start, end, value = table.ints["start_date"], table.ints["end_date"], table.floats["value_m3s"]
    first = np.searchsorted(ends, start, side="right")
    known = np.flatnonzero((rows >= 0) & (first < len(starts)))
    offset = 0
    while known.size:  # a window reaches a few periods at most: one step a period
        period = first[known] + offset
        overlap = np.minimum(end[known], ends[period]) - np.maximum(start[known], starts[period])
        overlap = np.maximum(overlap, 0)
        np.add.at(volume, (rows[known], period), overlap * value[known])
        np.add.at(days, (rows[known], period), overlap)
        offset += 1
        known = known[(end[known] > ends[period]) & (period + 1 < len(starts))]
    length = ends - starts
    return np.where(days == length, volume / length, np.nan)


def window_mean(case: CaseFiles, hydro_id: int, start: date, end: date) -> float | None:
    """Mean inflow of a plant from *start* to *end* if the history covers it in full."""
    table = case.inflow_history
    if table is None:
        return None
    mine = table.ints["hydro_id"] == hydro_id
    a, b = table.ints["start_date"][mine], table.ints["end_date"][mine]
    overlap = np.maximum(np.minimum(b, number_of(end)) - np.maximum(a, number_of(start)), 0)
    days = (end - start).days
    if int(overlap.sum()) != days:
        return None
    return float((overlap * table.floats["value_m3s"][mine]).sum() / days)
