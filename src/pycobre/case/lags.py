"""What autoregressive lags reach: its statistics, and what its inflows were before the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pycobre.case import files
from pycobre.case.calendar import is_calendar_month
from pycobre.case.estimation import EstimatedInflow
from pycobre.case.files import CaseFiles
from pycobre.case.findings import WARNING, Findings, list_ids, name_entity
from pycobre.case.inflow import StageInflow
from pycobre.case.observed import past_inflows
from pycobre.case.reach import Reach, find_reach
from pycobre.case.stages import StageRecord
from pycobre.case.statistics import hydro_ids, read_coefficients, spread, study_stages
from pycobre.case.tables import BoolArray, FloatArray, Table
from pycobre.stochastic import ImpossibleModel, residual_ratio


@dataclass(frozen=True, eq=False)
class Lags:
    """Statistics of the periods that lags reach, (H, T, P), and inflows of those before the study, (H, L).

    *weights* (T, P, L) and *residual_ratio* (H, T) are those of
    :class:`~pycobre.system.InflowStatistics`.
    """

    mean_m3s: FloatArray
    std_m3s: FloatArray
    past_m3s: FloatArray
    weights: FloatArray | None
    residual_ratio: FloatArray | None


def resolve_lags(
    case: CaseFiles, inflow: StageInflow | None, estimated: EstimatedInflow | None, findings: Findings
) -> Lags | None:
    """Everything the inflow models need about lags, or ``None`` where files are missing or wrong."""
    stages, ids = study_stages(case), hydro_ids(case)
    if case.stages is None or case.hydros is None or files.INFLOW_AR in case.broken:
        return None
    # Coefficients without statistics are still checked: what they reach does not depend on these.
    used = inflow.used if inflow is not None else read_coefficients(case) != 0
    reach = find_reach(case.stages, used)
    _check_seasons(case, stages, used.shape[2], reach, findings)
    weights = reach.weights()
    length = used.shape[2] if weights is None else weights.shape[2]
    past = past_inflows(case, reach.depth(used), reach.before, length, estimated, findings)
    if inflow is None:
        return None
    if case.inflow_stats is not None and case.whole(files.CONFIG, files.INFLOW_HISTORY, files.INFLOW_ANNUAL):
        _warn_of_unreached(case.inflow_stats, reach, findings)
    mean, std, known = _reach_statistics(case, inflow, estimated, ids, stages, reach)
    _check_reached(case, inflow, ids, stages, known, std, reach, findings)
    ratio = _residual_ratio(case, inflow, stages, reach, findings)
    return Lags(mean, std, past, weights, ratio)


def _residual_ratio(
    case: CaseFiles, inflow: StageInflow, stages: list[StageRecord], reach: Reach, findings: Findings
) -> FloatArray | None:
    """Residual over total deviation (H, T) where several cycles of seasons have models of their own."""
    if inflow.residual_ratio is not None or not reach.mixed:
        return inflow.residual_ratio
    ratio = np.ones(inflow.mean_m3s.shape)
    for cycle in np.unique(reach.cycles):
        mine = np.flatnonzero(reach.cycles == cycle)
        try:
            ratio[:, mine] = residual_ratio(
                inflow.coefficients[:, mine], [stages[position].season_id for position in mine]
            )
        except ImpossibleModel as error:
            note_impossible(case, error.hydro, int(mine[error.stage]), findings)
    return ratio


def note_impossible(case: CaseFiles, hydro: int, stage: int, findings: Findings) -> None:
    """Note that the coefficients of the hydro and stage at these positions belong to no process."""
    assert case.hydros is not None
    id = hydro_ids(case)[hydro]
    name = next(record.name for record in case.hydros.hydros if record.id == id)
    findings.add(
        "physics",
        files.INFLOW_AR,
        "the autoregressive coefficients imply a negative residual variance",
        entity=f"{name_entity('hydro', id, name)}, stage {study_stages(case)[stage].id}",
        field="coefficient",
        hint="no process has them: lower them until their autocorrelations fit together",
    )


def _check_seasons(
    case: CaseFiles, stages: list[StageRecord], order: int, reach: Reach, findings: Findings
) -> None:
    if order == 0:
        return
    without = [stage.id for stage in stages if stage.season_id is None]
    if (order > 1 or reach.mixed) and without:
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
                hint="give the season that starts in this month",
            )


def _warn_of_unreached(table: Table, reach: Reach, findings: Findings) -> None:
    stage_ids = table.ints["stage_id"]
    if reach.mixed:  # several seasons that are reached as one have that one's statistics
        numbers = [reached.same for row in reach.lags for reached in row if reached is not None]
        idle = stage_ids[(stage_ids < 0) & ~np.isin(stage_ids, [n for n in numbers if n is not None])]
    else:
        idle = stage_ids[stage_ids < -len(reach.before)]
    if idle.size:
        findings.warn(
            files.INFLOW_STATS,
            f"no autoregressive lag reaches the periods {list_ids(idle.tolist())} before the study",
            field="stage_id",
            hint="leave the rows out",
        )


def _reach_statistics(
    case: CaseFiles,
    inflow: StageInflow,
    estimated: EstimatedInflow | None,
    ids: list[int],
    stages: list[StageRecord],
    reach: Reach,
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Mean, deviation, and whether they are known, of the period that each lag reaches: (H, T, P).

    Of a season of the study: its own. Of any other: as given, else of the first stage in its season, else of
    the history.
    """
    past_ids = list(range(-len(reach.before), 0))
    own = {"mean_m3s": inflow.mean_m3s, "std_m3s": inflow.std_m3s}
    before, used = {name: np.full((len(ids), len(past_ids)), np.nan) for name in own}, inflow.used
    if case.inflow_stats is not None:
        before = {name: spread(case.inflow_stats, "hydro_id", name, ids, past_ids) for name in own}
    by_season: Mapping[int | None, int] = {
        stage.season_id: position
        for position, stage in reversed(list(enumerate(stages)))
        if stage.season_id is not None
    }
    result = {name: np.zeros(used.shape) for name in own}
    known = np.ones(used.shape, dtype=np.bool_)
    for position, row in enumerate(reach.lags):
        for lag, reached in enumerate(row):
            if reached is None:
                continue
            for name, values in result.items():
                if reached.same is not None and reached.same >= 0:
                    values[:, position, lag] = own[name][:, reach.starts[reached.same]]
                    continue
                season = reached.period.season_id
                fallback = np.full(len(ids), np.nan)
                if season in by_season:
                    fallback = own[name][:, by_season[season]]
                elif estimated is not None and season in estimated.season_ids:
                    fallback = getattr(estimated, name)[:, estimated.season_ids.index(season)]
                given = fallback if reached.same is None else before[name][:, reached.same]
                values[:, position, lag] = np.where(np.isnan(given), fallback, given)
            known[:, position, lag] = ~np.isnan(result["mean_m3s"][:, position, lag])
    for values in result.values():
        values[~used | ~known] = 0.0
    # Of an infinite deviation no inflow is far: the period counts as at its mean.
    result["std_m3s"][used & ~known] = np.inf
    return result["mean_m3s"], result["std_m3s"], known


def _check_reached(
    case: CaseFiles,
    inflow: StageInflow,
    ids: list[int],
    stages: list[StageRecord],
    known: BoolArray,
    std: FloatArray,
    reach: Reach,
    findings: Findings,
) -> None:
    assert case.hydros is not None
    names, used, own = (
        {hydro.id: hydro.name for hydro in case.hydros.hydros},
        inflow.used,
        inflow.coefficients,
    )
    numbers = np.array([stage.id for stage in stages])
    # Where a stage's own statistics are missing that is said already.
    before = np.array(
        [[reached is not None and (reached.same or 0) < 0 for reached in row] for row in reach.lags],
        dtype=np.bool_,
    ).reshape(used.shape[1:])
    _check_joined(inflow, stages, known, reach, findings)
    for row, id in enumerate(ids):
        entity = name_entity("hydro", id, names[id])
        lost = used[row] & ~known[row] & before
        if lost.any():
            found = [reach.lags[t][lag] for t, lag in np.argwhere(lost).tolist()]
            reached = {item.same for item in found if item is not None and item.same is not None}
            # The annual component needs no deviation, but the mean.
            annual = inflow.annual is not None and bool((inflow.annual.coefficient[row] != 0.0).any())
            findings.add(
                "dimension" if annual else WARNING,
                files.INFLOW_STATS,
                f"its lags reach periods before the study ({list_ids(reached)}), whose mean and standard"
                " deviation are not known"
                + ("" if annual else ": they are taken to have been at their mean"),
                entity=entity,
                field="stage_id",
                hint="add rows with these stage ids, or let their seasons come again in the study"
                " (season_definitions and season_id)",
            )
        flat = (used[row].any(axis=1)) & (inflow.std_m3s[row] == 0)
        flat_lag = ((own[row] != 0) & known[row] & (std[row] == 0)).any(axis=1) & ~flat
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


def _check_joined(
    inflow: StageInflow, stages: list[StageRecord], known: BoolArray, reach: Reach, findings: Findings
) -> None:
    """Note lags that reach several seasons as one whose statistics nothing tells."""
    for t, row in enumerate(reach.lags):
        for lag, reached in enumerate(row):
            if reached is None or reached.same is not None:
                continue
            if not known[inflow.used[:, t, lag], t, lag].all():
                findings.add(
                    "dimension",
                    files.INFLOW_STATS,
                    f"lag {lag + 1} reaches {reached.period.start} to {reached.period.end}, whose mean and"
                    " standard deviation are not known",
                    entity=name_entity("stage", stages[t].id),
                    field="stage_id",
                    hint="let a stage have the season of these days (season_definitions), or give"
                    f" {files.INFLOW_HISTORY}",
                )
