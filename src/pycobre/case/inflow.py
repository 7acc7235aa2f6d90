"""Inflow models of the stages: from the case's own tables, and what they leave out from its history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycobre.case import files
from pycobre.case.estimation import EstimatedInflow
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, name_entity
from pycobre.case.statistics import hydro_ids, read_coefficients, spread, study_stages
from pycobre.case.tables import BoolArray, FloatArray
from pycobre.stochastic import YEAR
from pycobre.system import AnnualComponent


@dataclass(frozen=True, eq=False)
class StageInflow:
    """Statistics and models of H hydros in T stages, P lags.

    Attributes
    ----------
    mean_m3s, std_m3s : (H, T)
    coefficients : (H, T, P)
        Standardised; at least as many lags as an annual component needs.
    annual
        The annual component, if any plant has one.
    residual_ratio : (H, T)
        Residual over total deviation; ``None`` if it follows from the coefficients of the stages.
    residuals : each (n, H)
        Residuals of each stage's season over their deviation; ``None`` without a history.
    """

    mean_m3s: FloatArray
    std_m3s: FloatArray
    coefficients: FloatArray
    annual: AnnualComponent | None
    residual_ratio: FloatArray | None
    residuals: tuple[FloatArray, ...] | None

    @property
    def used(self) -> BoolArray:
        """Which lags matter to the inflow of each hydro and stage, (H, T, P)."""
        used: BoolArray = self.coefficients != 0.0
        if self.annual is not None:
            used[:, :, :YEAR] |= (self.annual.coefficient != 0.0)[:, :, None]
        return used


def stage_inflow(case: CaseFiles, estimated: EstimatedInflow | None) -> StageInflow | None:
    """Inflow models of the stages; ``None`` where neither tables nor history say anything."""
    if case.inflow_stats is None and estimated is None:
        return None
    mean, std = _statistics(case, estimated)
    if case.inflow_ar is not None or estimated is None:
        annual = _given_annual(case)
        coefficients = _widen(read_coefficients(case), annual)
        return StageInflow(mean, std, coefficients, annual, None, _stage_residuals(case, estimated))
    at = [estimated.season_ids.index(stage.season_id or 0) for stage in study_stages(case)]
    models = [[of_plant[season] for season in at] for of_plant in estimated.models]
    order = max((len(model.coefficients) for of_plant in models for model in of_plant), default=0)
    coefficients = np.zeros((len(models), len(at), order))
    for row, of_plant in enumerate(models):
        for column, model in enumerate(of_plant):
            coefficients[row, column, : len(model.coefficients)] = model.coefficients
    annual = AnnualComponent(*(
        np.array([[getattr(model, name) for model in of_plant] for of_plant in models]).reshape(mean.shape)
        for name in ("annual", "annual_std_m3s")
    ))  # fmt: skip
    kept = annual if (annual.coefficient != 0.0).any() else None
    ratio = estimated.residual_ratio
    return StageInflow(
        mean,
        std,
        _widen(coefficients, kept),
        kept,
        None if ratio is None else ratio[:, at].reshape(mean.shape),
        _stage_residuals(case, estimated),
    )


def _stage_residuals(case: CaseFiles, estimated: EstimatedInflow | None) -> tuple[FloatArray, ...] | None:
    """Residuals of every stage's season, in the years that all plants have one, with deviation one.

    Their deviation is the models' own; that of the residuals themselves where models are given.
    """
    if estimated is None:
        return None
    result = []
    for stage in study_stages(case):
        season = estimated.season_ids.index(stage.season_id or 0)
        left = estimated.residuals[:, estimated.history.season == season]
        whole = left[:, ~np.isnan(left).any(axis=0)]
        if estimated.residual_ratio is not None:
            scale = estimated.residual_ratio[:, season]
        else:
            scale = np.sqrt((whole * whole).mean(axis=1)) if whole.size else np.ones(len(whole))
        result.append(np.ascontiguousarray((whole / np.where(scale > 0.0, scale, 1.0)[:, None]).T))
    return tuple(result)


def check_residuals(case: CaseFiles, inflow: StageInflow | None, findings: Findings) -> None:
    """Note every stage whose openings are to be residuals that no year has for all plants."""
    if inflow is None or inflow.residuals is None:
        return
    for stage, residuals in zip(study_stages(case), inflow.residuals, strict=True):
        if stage.sampling_method == "historical_residuals" and len(residuals) == 0:
            findings.add(
                "dimension",
                files.INFLOW_HISTORY,
                "no year has a residual of every plant",
                entity=name_entity("stage", stage.id),
                hint="choose another sampling_method, or fill the gaps of the history",
            )


def _statistics(case: CaseFiles, estimated: EstimatedInflow | None) -> tuple[FloatArray, FloatArray]:
    ids, stages = hydro_ids(case), study_stages(case)
    if case.inflow_stats is not None:
        stage_ids = [stage.id for stage in stages]
        return (
            spread(case.inflow_stats, "hydro_id", "mean_m3s", ids, stage_ids),
            spread(case.inflow_stats, "hydro_id", "std_m3s", ids, stage_ids),
        )
    assert estimated is not None
    at = [estimated.season_ids.index(stage.season_id or 0) for stage in stages]
    return estimated.mean_m3s[:, at], estimated.std_m3s[:, at]


def _given_annual(case: CaseFiles) -> AnnualComponent | None:
    table = case.inflow_annual
    if table is None or not (table.floats["annual_coefficient"] != 0.0).any():
        return None
    ids, stage_ids = hydro_ids(case), [stage.id for stage in study_stages(case)]
    coefficient, std = (
        np.nan_to_num(spread(table, "hydro_id", name, ids, stage_ids))
        for name in ("annual_coefficient", "annual_std_m3s")
    )
    return AnnualComponent(coefficient, std)


def _widen(coefficients: FloatArray, annual: AnnualComponent | None) -> FloatArray:
    """Coefficients with room for the lags that an annual component reaches."""
    missing = YEAR - coefficients.shape[2] if annual is not None else 0
    return np.pad(coefficients, ((0, 0), (0, 0), (0, max(missing, 0))))
