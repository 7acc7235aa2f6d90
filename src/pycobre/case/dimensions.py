"""Every plant, bus and stage that needs data has it, as often as it must."""

from __future__ import annotations

import numpy as np

from pycobre.case import files
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.statistics import bus_ids, hydro_ids, spread, study_stages

DIMENSION = "dimension"


def check_dimensions(case: CaseFiles, findings: Findings) -> None:
    """Note everything that is missing or that nothing uses."""
    _check_inflow_stats(case, findings)
    _check_load_stats(case, findings)
    _check_autoregression(case, findings)
    _check_storage(case, findings)
    _check_load_factors(case, findings)
    _check_openings(case, findings)


def _check_inflow_stats(case: CaseFiles, findings: Findings) -> None:
    if case.hydros is None or case.stages is None or files.INFLOW_STATS in case.broken:
        return
    ids = hydro_ids(case)
    stage_ids = [stage.id for stage in study_stages(case)]
    if not ids:
        return
    names = {hydro.id: hydro.name for hydro in case.hydros.hydros}
    hint = "give its mean and standard deviation (0 if certain) for every stage"
    if case.inflow_stats is None:
        if (case.root / files.INFLOW_HISTORY).is_file():
            return  # they are estimated from it
        for id in ids:
            findings.add(
                "physics",
                files.INFLOW_STATS,
                "has no inflow data: the file is missing",
                entity=name_entity("hydro", id, names[id]),
                hint=hint,
            )
        return
    absent = np.isnan(spread(case.inflow_stats, "hydro_id", "mean_m3s", ids, stage_ids))
    for id, gaps in zip(ids, absent, strict=True):
        if gaps.any():
            missing = [stage for stage, gap in zip(stage_ids, gaps, strict=True) if gap]
            where = "any stage" if gaps.all() else f"stage{'s' * (len(missing) > 1)} {list_ids(missing)}"
            findings.add(
                "physics",
                files.INFLOW_STATS,
                f"has no inflow data for {where}",
                entity=name_entity("hydro", id, names[id]),
                field="stage_id",
                hint=hint,
            )


def _check_load_stats(case: CaseFiles, findings: Findings) -> None:
    if case.buses is None or case.stages is None or files.LOAD_STATS in case.broken:
        return
    if case.load_stats is None or case.load_stats.rows == 0:
        findings.warn(
            files.LOAD_STATS,
            "no bus has any demand: the file is missing or empty",
            hint="give mean_mw and std_mw by bus and stage",
        )
        return
    ids = bus_ids(case)
    stage_ids = [stage.id for stage in study_stages(case)]
    names = {bus.id: bus.name for bus in case.buses.buses}
    absent = np.isnan(spread(case.load_stats, "bus_id", "mean_mw", ids, stage_ids))
    for id, gaps in zip(ids, absent, strict=True):
        if gaps.any() and not gaps.all():
            missing = [stage for stage, gap in zip(stage_ids, gaps, strict=True) if gap]
            findings.add(
                DIMENSION,
                files.LOAD_STATS,
                f"has demand in some stages, but no row for {list_ids(missing)}",
                entity=name_entity("bus", id, names[id]),
                field="stage_id",
                hint="give a row for every stage (0 MW where there is no demand), or none at all",
            )


def _check_autoregression(case: CaseFiles, findings: Findings) -> None:
    table = case.inflow_ar
    seasons = case.stages.season_definitions if case.stages else None
    if case.inflow_annual is not None and seasons is not None and seasons.cycle_type != "monthly":
        findings.add(
            DIMENSION,
            files.INFLOW_ANNUAL,
            f"an annual component needs monthly seasons, but the case has {seasons.cycle_type} ones",
            hint="remove the file, or make the seasons months",
        )
    if table is None and case.inflow_annual is not None and case.inflow_history is not None:
        findings.add(
            DIMENSION,
            files.INFLOW_ANNUAL,
            "gives an annual component, but the coefficients beside it are estimated",
            hint=f"give {files.INFLOW_AR} too, or remove this file and set estimation.order_selection to"
            ' "pacf_annual"',
        )
    if table is None:
        return
    if "residual_std_ratio" in table.present:
        findings.warn(
            files.INFLOW_AR,
            "is not read since 0.18: it follows from the coefficients",
            field="residual_std_ratio",
            hint="leave the column out",
        )
    before = table.ints["stage_id"] < 0
    if before.any():
        findings.warn(
            files.INFLOW_AR,
            f"coefficients of pre-study stages are never used: {list_ids(table.ints['stage_id'][before])}",
            field="stage_id",
            hint="leave the rows out",
        )
    lags: dict[tuple[int, int], list[int]] = {}
    keys = (table.ints[name].tolist() for name in ("hydro_id", "stage_id", "lag"))
    for hydro, stage, lag in zip(*keys, strict=True):
        lags.setdefault((hydro, stage), []).append(lag)
    for (hydro, stage), given in lags.items():
        missing = set(range(1, max(given) + 1)) - set(given)
        if missing:
            findings.add(
                DIMENSION,
                files.INFLOW_AR,
                f"has a coefficient for lag {max(given)}, but none for {list_ids(missing)}",
                entity=f"{name_entity('hydro', hydro)}, stage {stage}",
                field="lag",
                hint="write 0.0 for a lag that has no weight",
            )


def _check_storage(case: CaseFiles, findings: Findings) -> None:
    if case.initial is None or case.hydros is None:
        return
    given = {item.hydro_id for item in case.initial.storage}
    given |= {item.hydro_id for item in case.initial.filling_storage}
    for hydro in sorted(case.hydros.hydros, key=lambda hydro: hydro.id):
        if hydro.id not in given:
            findings.add(
                DIMENSION,
                files.INITIAL,
                "has no initial storage",
                entity=name_entity("hydro", hydro.id, hydro.name),
                field="storage",
                hint="add {hydro_id, value_hm3}",
            )


def _check_load_factors(case: CaseFiles, findings: Findings) -> None:
    if case.load_factors is None or case.load_stats is None:
        return
    loaded = set(case.load_stats.ints["bus_id"].tolist())
    idle = {factor.bus_id for factor in case.load_factors.load_factors} - loaded
    if idle:
        findings.warn(
            files.LOAD_FACTORS,
            f"factors of buses without demand have no effect: {list_ids(idle)}",
            field="bus_id",
            hint=f"give these buses rows in {files.LOAD_STATS}",
        )


def _check_openings(case: CaseFiles, findings: Findings) -> None:
    for stage in study_stages(case):
        if (
            stage.sampling_method == "historical_residuals"
            and not (case.root / files.INFLOW_HISTORY).is_file()
        ):
            findings.add(
                DIMENSION,
                files.STAGES,
                "has openings of historical residuals, but there is no history",
                entity=name_entity("stage", stage.id),
                field="sampling_method",
                hint=f"add {files.INFLOW_HISTORY}, or choose another method",
            )
        if stage.sampling_method == "qmc_sobol" and stage.num_openings & (stage.num_openings - 1):
            findings.warn(
                files.STAGES,
                "Sobol points are only balanced if their number is a power of two",
                entity=name_entity("stage", stage.id),
                field="num_openings",
                hint="use 16, 32, 64, ...",
            )
