"""What a history of inflows says where a case does not: statistics, inflow models, correlation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycobre.case import files
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.history import check_coarseness, check_windows, read_history
from pycobre.case.seasons import SeasonCalendar
from pycobre.case.statistics import hydro_ids, read_coefficients, spread, study_stages
from pycobre.case.tables import FloatArray
from pycobre.stochastic import (
    EstimationSettings,
    InflowHistory,
    PlantMoments,
    Remark,
    SeasonModel,
    estimate,
    moments_of,
    residual_correlation,
    residuals,
)


@dataclass(frozen=True, eq=False)
class EstimatedInflow:
    """What a history says of the inflows, by season.

    H hydros, and M seasons in the order of the cycle, whose ids are ``season_ids``.

    Attributes
    ----------
    mean_m3s, std_m3s : (H, M)
        Of the history.
    models
        By hydro and season; the case's own if it gives coefficients.
    residual_ratio : (H, M)
        Residual over total deviation; ``None`` if the models are the case's own.
    history
        The history itself.
    residuals : (H, N)
        What the models leave of it, over each season's deviation.
    correlation, correlation_of_season
        Of the residuals: in all seasons together, and in those that have enough of them.
    """

    season_ids: tuple[int, ...]
    mean_m3s: FloatArray
    std_m3s: FloatArray
    models: list[list[SeasonModel]]
    residual_ratio: FloatArray | None
    history: InflowHistory
    residuals: FloatArray
    correlation: FloatArray
    correlation_of_season: list[FloatArray | None]


def estimate_inflow(case: CaseFiles, findings: Findings) -> EstimatedInflow | None:
    """What the history says, or ``None`` where there is none or it can't be used, noting why.

    Seasons that share days, as months and quarters, are cycles of their own: each has models of its own,
    of the same history averaged over its seasons.
    """
    calendars = _calendars(case, findings)
    before = findings.count
    if case.inflow_history is None or not calendars or not check_windows(case, findings):
        return None
    observed = []
    for calendar in calendars:
        check_coarseness(case, calendar, findings)
        history = read_history(case, calendar)
        moments = moments_of(history)
        _check_observed(case, calendar, moments, findings)
        observed.append((calendar, history, moments))
    if findings.count > before:
        return None
    return _join([_estimate_cycle(case, *cycle, findings) for cycle in observed])


def _estimate_cycle(
    case: CaseFiles,
    calendar: SeasonCalendar,
    history: InflowHistory,
    moments: list[PlantMoments],
    findings: Findings,
) -> EstimatedInflow:
    mean, std = (np.array([getattr(plant, name) for plant in moments]) for name in ("mean", "std"))
    used = _given_std(case, calendar, std)
    ratio = None
    if case.inflow_ar is None:
        models, ratio, remarks = estimate(moments, _settings(case), used)
        _tell(case, calendar, remarks, findings)
    else:
        models = _given_models(case, calendar)
    left = residuals(history, models, moments)
    pooled, by_season = residual_correlation(left, history)
    season_ids = calendar.season_ids
    return EstimatedInflow(season_ids, mean, std, models, ratio, history, left, pooled, by_season)


def _join(cycles: list[EstimatedInflow]) -> EstimatedInflow:
    """The seasons of all *cycles*, one after the other; those of a season stay as they are."""
    if len(cycles) == 1:
        return cycles[0]
    offsets = np.cumsum([0, *(len(cycle.season_ids) for cycle in cycles)])
    history = InflowHistory(
        np.hstack([cycle.history.inflow_m3s for cycle in cycles]),
        np.hstack([cycle.history.season + offset for cycle, offset in zip(cycles, offsets, strict=False)]),
        int(offsets[-1]),
    )
    left = np.hstack([cycle.residuals for cycle in cycles])
    ratios = [cycle.residual_ratio for cycle in cycles if cycle.residual_ratio is not None]
    pooled, by_season = residual_correlation(left, history)
    return EstimatedInflow(
        tuple(id for cycle in cycles for id in cycle.season_ids),
        np.hstack([cycle.mean_m3s for cycle in cycles]),
        np.hstack([cycle.std_m3s for cycle in cycles]),
        [[model for of_cycle in of_plant for model in of_cycle]
         for of_plant in zip(*(cycle.models for cycle in cycles), strict=True)],
        np.hstack(ratios) if ratios else None,
        history,
        left,
        pooled,
        by_season,
    )  # fmt: skip


def _calendars(case: CaseFiles, findings: Findings) -> list[SeasonCalendar]:
    """Cycles of seasons that the study has stages in; none where a history can't be used."""
    if case.inflow_history is None or case.config is None or case.stages is None or case.hydros is None:
        return []
    definitions = case.stages.season_definitions
    if definitions is None or any(stage.season_id is None for stage in study_stages(case)):
        findings.add(
            "dimension",
            files.STAGES,
            "a history of inflows needs season_definitions, and the season of every stage",
            field="season_id",
        )
        return []
    ids = [season.id for season in definitions.seasons]
    if len(set(ids)) < len(ids) or {stage.season_id for stage in study_stages(case)} - set(ids):
        return []  # which is said already
    if case.config.estimation.order_selection == "pacf_annual" and definitions.cycle_type != "monthly":
        findings.add(
            "dimension",
            files.CONFIG,
            f"an annual component needs monthly seasons, but the case has {definitions.cycle_type} ones",
            field="estimation.order_selection",
            hint='use "pacf"',
        )
        return []
    used = {stage.season_id for stage in study_stages(case)}
    return [cycle for cycle in SeasonCalendar(definitions).split() if used.intersection(cycle.season_ids)]


def _check_observed(
    case: CaseFiles, calendar: SeasonCalendar, moments: list[PlantMoments], findings: Findings
) -> None:
    """Note every plant without observations in a season of the study."""
    assert case.hydros is not None
    names = {hydro.id: hydro.name for hydro in case.hydros.hydros}
    wanted = {stage.season_id for stage in study_stages(case)}
    for id, plant in zip(hydro_ids(case), moments, strict=True):
        empty = [season for season, count in zip(calendar.season_ids, plant.count, strict=True) if count == 0]
        if wanted.intersection(empty):
            findings.add(
                "dimension",
                files.INFLOW_HISTORY,
                f"has no period that is observed in full in seasons {list_ids(empty)}",
                entity=name_entity("hydro", id, names[id]),
                hint="add windows that cover whole periods, or give statistics and coefficients instead",
            )


def _given_std(case: CaseFiles, calendar: SeasonCalendar, std_m3s: FloatArray) -> FloatArray:
    """Deviations (H, M) that the models are used with: the case's own where a stage has that season."""
    used = std_m3s.copy()
    if case.inflow_stats is None:
        return used
    stages = study_stages(case)
    own = spread(case.inflow_stats, "hydro_id", "std_m3s", hydro_ids(case), [stage.id for stage in stages])
    for column, stage in reversed(list(enumerate(stages))):
        if stage.season_id in calendar.season_ids:
            season = calendar.season_ids.index(stage.season_id)
            used[:, season] = np.where(np.isnan(own[:, column]), used[:, season], own[:, column])
    return used


def _settings(case: CaseFiles) -> EstimationSettings:
    assert case.config is not None
    given = case.config.estimation
    return EstimationSettings(
        max_order=given.max_order,
        min_observations=given.min_observations_per_season,
        annual=given.order_selection == "pacf_annual",
        max_coefficient=given.max_coefficient_magnitude,
    )


def _tell(case: CaseFiles, calendar: SeasonCalendar, remarks: list[Remark], findings: Findings) -> None:
    """Warn of what was done to keep the models sound, by plant."""
    assert case.hydros is not None
    names = {hydro.id: hydro.name for hydro in case.hydros.hydros}
    ids = hydro_ids(case)
    seasons: dict[tuple[int, str], list[int]] = {}
    for remark in remarks:
        seasons.setdefault((remark.hydro, remark.what), []).append(calendar.season_ids[remark.season])
    for (row, what), where in seasons.items():
        findings.warn(
            files.INFLOW_HISTORY,
            f"in season{'s' * (len(where) > 1)} {list_ids(where)} {what}",
            entity=name_entity("hydro", ids[row], names[ids[row]]),
        )


def _given_models(case: CaseFiles, calendar: SeasonCalendar) -> list[list[SeasonModel]]:
    """Models that the case's own coefficients are: those of the first stage of each season."""
    stages = study_stages(case)
    coefficients = read_coefficients(case)
    first = {stage.season_id: column for column, stage in reversed(list(enumerate(stages)))}
    return [
        [
            SeasonModel([float(value) for value in of_plant[first[season]]] if season in first else [])
            for season in calendar.season_ids
        ]
        for of_plant in coefficients
    ]
