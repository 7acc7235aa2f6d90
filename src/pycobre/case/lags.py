"""What autoregressive lags reach: their statistics, and the inflows observed before the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from pycobre.case import files
from pycobre.case.calendar import is_calendar_month
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.initial import Observation
from pycobre.case.stages import StageRecord
from pycobre.case.statistics import hydro_ids, positions, spread, study_stages
from pycobre.case.tables import BoolArray, FloatArray, IntArray, Table


@dataclass(frozen=True, eq=False)
class Lags:
    """Autoregressive coefficients (H, T, P), the statistics they reach (H, T, P), past inflows (H, P)."""

    coefficients: FloatArray
    mean_m3s: FloatArray
    std_m3s: FloatArray
    past_m3s: FloatArray


@dataclass(frozen=True)
class Period:
    """A period before the study, as an inflow model counts them backwards."""

    start: date
    end: date
    season_id: int | None


def resolve_lags(case: CaseFiles, findings: Findings) -> Lags | None:
    """Everything the inflow models need about lags, or ``None`` where files are missing or wrong."""
    stages, ids = study_stages(case), hydro_ids(case)
    if not stages or case.hydros is None or files.INFLOW_AR in case.broken:
        return None
    coefficients = _read_coefficients(case.inflow_ar, ids, [stage.id for stage in stages])
    used = coefficients != 0
    depth = _depth_before_study(used)
    _check_seasons(case, stages, coefficients.shape[2], findings)
    periods = _periods_before(case, stages[0], int(depth.max(initial=0)))
    past = _past_inflows(case, ids, depth, periods, coefficients.shape[2], findings)
    if case.inflow_stats is None:
        return None
    _warn_of_unreached(case.inflow_stats, len(periods), findings)
    mean, std, known = _reach(case, case.inflow_stats, ids, stages, periods, used)
    _check_reached(case, ids, stages, used, known, std, findings)
    return Lags(coefficients, mean, std, past)


def _read_coefficients(table: Table | None, ids: list[int], stage_ids: list[int]) -> FloatArray:
    shape = (len(ids), len(stage_ids))
    if table is None:
        return np.zeros((*shape, 0))
    rows, columns = positions(ids, table.ints["hydro_id"]), positions(stage_ids, table.ints["stage_id"])
    lags, values = table.ints["lag"], table.floats["coefficient"]
    known = (rows >= 0) & (columns >= 0) & (values != 0)
    order = int(lags[known].max(initial=0))
    coefficients = np.zeros((*shape, order))
    coefficients[rows[known], columns[known], lags[known] - 1] = values[known]
    return coefficients


def _depth_before_study(used: BoolArray) -> IntArray:
    """How many periods before the study each plant's lags reach, (H,)."""
    _, stages, order = used.shape
    reach = np.arange(1, order + 1)[None, :] - np.arange(stages)[:, None]
    depth: IntArray = np.where(used, reach[None], 0).max(axis=(1, 2), initial=0)
    return depth


def _check_seasons(case: CaseFiles, stages: list[StageRecord], order: int, findings: Findings) -> None:
    if order == 0:
        return
    without = [stage.id for stage in stages if stage.season_id is None]
    if order > 1 and without:
        findings.add(
            "dimension",
            files.STAGES,
            f"inflow models of order {order} need the season of every stage; stages {list_ids(without)}"
            " have none",
            field="season_id",
            hint="give season_id and season_definitions",
        )
    definitions = case.stages.season_definitions if case.stages else None
    if definitions is None or definitions.cycle_type != "monthly":
        return
    month_of = {season.id: season.month_start for season in definitions.seasons}
    for stage in stages:
        month = month_of.get(stage.season_id) if stage.season_id is not None else None
        whole = is_calendar_month(stage.start_date, stage.end_date)
        if month is not None and whole and month != stage.start_date.month:
            findings.add(
                "physics",
                files.STAGES,
                f"is month {stage.start_date.month} of the year, but season {stage.season_id} starts in"
                f" month {month}",
                entity=name_entity("stage", stage.id),
                field="season_id",
            )


def _periods_before(case: CaseFiles, first: StageRecord, depth: int) -> list[Period]:
    """Periods before the study, *depth* of them, the latest first.

    Pre-study stages say so; else they are months before a calendar month, and otherwise as long as
    the first stage.
    """
    assert case.stages is not None
    given = {stage.id: stage for stage in case.stages.pre_study_stages or []}
    definitions = case.stages.season_definitions
    monthly = definitions.seasons if definitions and definitions.cycle_type == "monthly" else []
    season_of_month = {season.month_start: season.id for season in monthly}
    months = is_calendar_month(first.start_date, first.end_date)
    length = first.end_date - first.start_date
    periods: list[Period] = []
    end = first.start_date
    for number in range(1, depth + 1):
        stage = given.get(-number)
        if stage is not None:
            start, season = stage.start_date, stage.season_id
            end = stage.end_date
        else:
            season = None
            start = (end - timedelta(days=1)).replace(day=1) if months and end.day == 1 else end - length
        if season is None and is_calendar_month(start, end):
            season = season_of_month.get(start.month)
        periods.append(Period(start, end, season))
        end = start
    return periods


def _past_inflows(
    case: CaseFiles,
    ids: list[int],
    depth: IntArray,
    periods: list[Period],
    order: int,
    findings: Findings,
) -> FloatArray:
    past = np.zeros((len(ids), order))
    if case.initial is None or case.hydros is None:
        return past
    windows: dict[int, list[Observation]] = {}
    for item in case.initial.recent_observations:
        windows.setdefault(item.hydro_id, []).append(item)
    names = {hydro.id: hydro.name for hydro in case.hydros.hydros}
    idle: list[int] = []
    for row, id in enumerate(ids):
        ours, used = windows.get(id, []), False
        for number, period in enumerate(periods, start=1):
            if number > depth[row]:
                break
            overlaps = [
                max((min(item.end_date, period.end) - max(item.start_date, period.start)).days, 0)
                for item in ours
            ]
            days = (period.end - period.start).days
            used = used or sum(overlaps) > 0
            if sum(overlaps) < days:
                findings.add(
                    "dimension",
                    files.INITIAL,
                    f"observed inflows cover {sum(overlaps)} of the {days} days of lag {number}"
                    f" ({period.start} to {period.end})",
                    entity=name_entity("hydro", id, names[id]),
                    field="recent_observations",
                    hint="its inflow model needs the mean inflow of that whole period: add"
                    " {hydro_id, start_date, end_date, value_m3s}",
                )
                continue
            volume = sum(days * item.value_m3s for days, item in zip(overlaps, ours, strict=True))
            past[row, number - 1] = volume / days
        if ours and not used:
            idle.append(id)
    # With a history to estimate from, which is refused, lags are not known yet.
    if idle and not (case.root / files.INFLOW_HISTORY).is_file():
        findings.warn(
            files.INITIAL,
            f"no autoregressive lag reaches the observed inflows of hydros {list_ids(idle)}",
            field="recent_observations",
            hint="leave them out",
        )
    return past


def _warn_of_unreached(table: Table, depth: int, findings: Findings) -> None:
    stage_ids = table.ints["stage_id"]
    idle = stage_ids[stage_ids < -depth]
    if idle.size:
        findings.warn(
            files.INFLOW_STATS,
            f"no autoregressive lag reaches the periods {list_ids(idle.tolist())} before the study",
            field="stage_id",
            hint="leave the rows out",
        )


def _reach(
    case: CaseFiles,
    table: Table,
    ids: list[int],
    stages: list[StageRecord],
    periods: list[Period],
    used: BoolArray,
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Mean, deviation, and whether they are known, of the period that each lag reaches: (H, T, P)."""
    stage_ids = [stage.id for stage in stages]
    past_ids = list(range(-len(periods), 0))
    own = {name: spread(table, "hydro_id", name, ids, stage_ids) for name in ("mean_m3s", "std_m3s")}
    before = {name: spread(table, "hydro_id", name, ids, past_ids) for name in ("mean_m3s", "std_m3s")}
    by_season: Mapping[int, int] = {
        stage.season_id: position
        for position, stage in reversed(list(enumerate(stages)))
        if stage.season_id is not None
    }
    result = {name: np.zeros(used.shape) for name in own}
    known = np.ones(used.shape, dtype=np.bool_)
    for position in range(len(stages)):
        for lag in range(1, used.shape[2] + 1):
            reached = position - lag
            if not used[:, position, lag - 1].any():
                continue
            for name, values in result.items():
                if reached >= 0:
                    values[:, position, lag - 1] = own[name][:, reached]
                    continue
                season = periods[-reached - 1].season_id
                same = by_season.get(season) if season is not None else None
                fallback = own[name][:, same] if same is not None else np.full(len(ids), np.nan)
                given = before[name][:, reached]
                values[:, position, lag - 1] = np.where(np.isnan(given), fallback, given)
            known[:, position, lag - 1] = ~np.isnan(result["mean_m3s"][:, position, lag - 1])
    for values in result.values():
        values[~used | ~known] = 0.0
    return result["mean_m3s"], result["std_m3s"], known


def _check_reached(
    case: CaseFiles,
    ids: list[int],
    stages: list[StageRecord],
    used: BoolArray,
    known: BoolArray,
    std: FloatArray,
    findings: Findings,
) -> None:
    assert case.hydros is not None
    assert case.inflow_stats is not None
    names = {hydro.id: hydro.name for hydro in case.hydros.hydros}
    stage_ids = [stage.id for stage in stages]
    own_std = spread(case.inflow_stats, "hydro_id", "std_m3s", ids, stage_ids)
    numbers = np.array(stage_ids)
    # Where a stage's own statistics are missing that is said already.
    before = np.arange(1, used.shape[2] + 1)[None, :] > np.arange(len(stages))[:, None]
    for row, id in enumerate(ids):
        entity = name_entity("hydro", id, names[id])
        lost = used[row] & ~known[row] & before
        if lost.any():
            reached = {int(position - lag - 1) for position, lag in zip(*np.nonzero(lost), strict=True)}
            findings.add(
                "dimension",
                files.INFLOW_STATS,
                f"its lags reach periods before the study ({list_ids(reached)}), whose mean and standard"
                " deviation are not known",
                entity=entity,
                field="stage_id",
                hint="add rows with these stage ids, or let their seasons come again in the study"
                " (season_definitions and season_id)",
            )
        flat = (used[row].any(axis=1)) & (own_std[row] == 0)
        flat_lag = (used[row] & known[row] & (std[row] == 0)).any(axis=1) & ~flat
        for bad, what in ((flat, "their own"), (flat_lag, "that of a period their lags reach")):
            if bad.any():
                findings.add(
                    "physics",
                    files.INFLOW_STATS,
                    f"stages {list_ids(numbers[bad].tolist())} have autoregressive coefficients, but"
                    f" {what} standard deviation is zero",
                    entity=entity,
                    field="std_m3s",
                    hint=f"give a positive deviation, or no coefficients in {files.INFLOW_AR}",
                )
