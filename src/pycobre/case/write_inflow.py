"""Inflow models and what was observed before the study, of a system that is written as a case."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pycobre.case import files
from pycobre.case.findings import Findings
from pycobre.case.unsupported import UNSUPPORTED
from pycobre.case.write_config import Json, averaged, periods_before
from pycobre.case.write_tables import Rows
from pycobre.stochastic import YEAR
from pycobre.system import System, season_occurrences


def refuse_history(system: System, findings: Findings) -> None:
    """Note what comes from a history alone: files of statistics can't say it."""
    for field, what in (
        ("residual_ratio", "the format works it out from the coefficients"),
        ("residuals", "they come from a history of inflows"),
    ):
        if getattr(system.inflow, field) is not None:
            findings.add(
                UNSUPPORTED,
                files.INFLOW_AR,
                f"can't be written: {what}",
                entity="inflow",
                field=field,
                hint=f"dataclasses.replace(system.inflow, {field}=None) leaves it out",
            )
    if system.inflow.lag_weights is not None:
        findings.add(
            UNSUPPORTED,
            files.STAGES,
            "can't be written: the stages alone do not tell which seasons the lags reach",
            entity="inflow",
            field="lag_weights",
            hint="change the case that it was read from, or leave out the coefficients",
        )


def depth_before(system: System) -> int:
    """How many periods before the study the lags reach."""
    used, occurrence = _used(system), _occurrence(system)
    reach = [lag + 1 - occurrence[t] for t, lag in np.argwhere(used.any(axis=0)).tolist()]
    return max([*reach, 0])


def inflow_tables(system: System) -> dict[str, Rows]:
    """Means, deviations, coefficients and annual component."""
    inflow, used, occurrence = system.inflow, _used(system), _occurrence(system)
    stats, coefficients, annual = [], [], []
    for h, hydro in enumerate(system.hydros):
        before: dict[int, tuple[float, float]] = {}
        for t, stage in enumerate(system.stages):
            where = {"hydro_id": hydro.id, "stage_id": stage.id}
            mean, std = float(inflow.mean_m3s[h, t]), float(inflow.std_m3s[h, t])
            stats.append({**where, "mean_m3s": mean, "std_m3s": std})
            orders = np.flatnonzero(inflow.coefficients[h, t])
            for lag in range(int(orders[-1]) + 1 if orders.size else 0):
                value = float(inflow.coefficients[h, t, lag])
                coefficients.append({**where, "lag": lag + 1, "coefficient": value})
            for lag in np.flatnonzero(used[h, t]).tolist():
                reached = occurrence[t] - lag - 1
                if reached < 0:
                    own = inflow.lag_mean_m3s[h, t, lag], inflow.lag_std_m3s[h, t, lag]
                    before.setdefault(reached, (float(own[0]), float(own[1])))
            if inflow.annual is not None and inflow.annual.coefficient[h, t] != 0.0:
                weight, spread = (float(of[h, t]) for of in vars(inflow.annual).values())
                own_year = {"annual_coefficient": weight, "annual_mean_m3s": 0.0, "annual_std_m3s": spread}
                annual.append({**where, **own_year})
        for reached, (mean, std) in before.items():
            if math.isfinite(std):
                where = {"hydro_id": hydro.id, "stage_id": reached}
                stats.append({**where, "mean_m3s": mean, "std_m3s": std})
    return {files.INFLOW_STATS: stats, files.INFLOW_AR: coefficients, files.INFLOW_ANNUAL: annual}


def initial_lists(system: System) -> Json:
    """What was observed, released and decided before the study."""
    used, occurrence = _used(system), _occurrence(system)
    observed, released, decided = [], [], []
    periods = periods_before(system, depth_before(system))
    for h, hydro in enumerate(system.hydros):
        own = [lag + 1 - occurrence[t] for t, lag in np.argwhere(used[h]).tolist()]
        for number, (start, end) in enumerate(periods[: max([*own, 0])]):
            value = averaged(float(system.inflow.past_m3s[h, number]), (end - start).days)
            window = {"start_date": start.isoformat(), "end_date": end.isoformat()}
            observed.append({"hydro_id": hydro.id, **window, "value_m3s": value})
        released += [
            {
                "hydro_id": hydro.id,
                "start_date": flow.start_date.isoformat(),
                "end_date": flow.end_date.isoformat(),
                "value_m3s": flow.mean_m3s,
            }
            for flow in hydro.past_outflow
        ]
    stages = {stage.id: stage for stage in system.stages}
    for plant in system.thermals:
        for id, value in plant.ahead.past_mw.items() if plant.ahead is not None else ():
            stage = stages[id]
            window = {"start_date": stage.start_date.isoformat(), "end_date": stage.end_date.isoformat()}
            whole = averaged(value, (stage.end_date - stage.start_date).days)
            decided.append({"thermal_id": plant.id, **window, "value_mw": whole})
    return {
        "recent_observations": observed,
        "past_defluences": released,
        "past_anticipated_commitments": decided,
    }


def later_json(system: System) -> Json | None:
    """Stages after the study, and what may be delivered in them."""
    if not system.later:
        return None
    stages = [
        {"start_date": stage.start_date.isoformat(), "duration_hours": stage.hours} for stage in system.later
    ]
    cells: list[dict[str, Any]] = []
    for plant in system.thermals:
        for index, cell in plant.ahead.later.items() if plant.ahead is not None else ():
            limits = {"min_mw": cell.generation_min_mw, "max_mw": cell.generation_max_mw}
            where = {"thermal_id": plant.id, "post_study_stage_index": index}
            cells.append({**where, "cost_per_mwh": cell.cost_per_mwh, **limits})
    return {"stages": stages, "thermal_bounds": cells}


def _used(system: System) -> np.ndarray:
    """Which lags matter to each hydro and stage, (H, T, P)."""
    used: np.ndarray = system.inflow.coefficients != 0.0
    if system.inflow.annual is not None:
        used[:, :, :YEAR] |= (system.inflow.annual.coefficient != 0.0)[:, :, None]
    return used


def _occurrence(system: System) -> list[int]:
    spans = season_occurrences([stage.season_id for stage in system.stages])
    return [number for number, span in enumerate(spans) for _ in span]
