"""Inflow models and what was observed before the study, of a system that is written as a case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycobre.case import files
from pycobre.case.findings import Findings
from pycobre.case.reach import Reach
from pycobre.case.unsupported import UNSUPPORTED
from pycobre.case.write_config import Json
from pycobre.case.write_stages import Span, averaged, lags_used, observations
from pycobre.case.write_tables import Rows
from pycobre.system import System


def refuse_history(system: System, findings: Findings) -> None:
    """Note what comes from a history alone: files of statistics can't say it."""
    for field, what in (
        ("residual_ratio", "the format works it out from the coefficients"),
        ("residuals", "they come from a history of inflows"),
    ):
        # Lags over several lengths have a ratio in any case: it may be the one that is worked out.
        usual = field == "residual_ratio" and system.inflow.lag_weights is not None
        if getattr(system.inflow, field) is not None and not usual:
            findings.add(
                UNSUPPORTED,
                files.INFLOW_AR,
                f"can't be written: {what}",
                entity="inflow",
                field=field,
                hint=f"dataclasses.replace(system.inflow, {field}=None) leaves it out",
            )


def inflow_tables(system: System, reach: Reach) -> dict[str, Rows]:
    """Means, deviations, coefficients and annual component; of periods before the study, too."""
    inflow, used = system.inflow, lags_used(system)
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
                reached = reach.lags[t][lag]
                if reached is not None and reached.same is not None and reached.same < 0:
                    own = inflow.lag_mean_m3s[h, t, lag], inflow.lag_std_m3s[h, t, lag]
                    before.setdefault(reached.same, (float(own[0]), float(own[1])))
            if inflow.annual is not None and inflow.annual.coefficient[h, t] != 0.0:
                weight, spread = (float(of[h, t]) for of in vars(inflow.annual).values())
                own_year = {"annual_coefficient": weight, "annual_mean_m3s": 0.0, "annual_std_m3s": spread}
                annual.append({**where, **own_year})
        for number, (mean, std) in before.items():
            if math.isfinite(std):
                where = {"hydro_id": hydro.id, "stage_id": number}
                stats.append({**where, "mean_m3s": mean, "std_m3s": std})
    return {files.INFLOW_STATS: stats, files.INFLOW_AR: coefficients, files.INFLOW_ANNUAL: annual}


def initial_lists(system: System, reach: Reach, periods: Sequence[Span]) -> Json:
    """What was observed in the *periods* before the study, and released and decided before it."""
    observed, released, decided = [], [], []
    for h, (hydro, depth) in enumerate(zip(system.hydros, reach.depth(lags_used(system)), strict=True)):
        for number, period in enumerate(periods[:depth]):
            for (start, end), value in observations(float(system.inflow.past_m3s[h, number]), period):
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
