"""``config.json`` and ``stages.json`` of a system that is written as a case."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any

from pycobre.case.calendar import is_calendar_month
from pycobre.case.options import RowOption, Schemes, StudyOptions
from pycobre.system import Stage, System

Json = dict[str, Any]

EXACT_PERIOD = timedelta(days=32)
"""To multiply and divide by a power of two changes no number."""


def config_json(options: StudyOptions, system: System, openings: bool) -> Json:
    """Configuration that reads as *options*, with the inflow rule of *system*."""
    rules: list[Json] = [{"type": "iteration_limit", "limit": options.iteration_limit}]
    if options.time_limit_s is not None:
        rules.append({"type": "time_limit", "seconds": options.time_limit_s})
    if options.bound_stalling is not None:
        rules.append({"type": "bound_stalling", **vars(options.bound_stalling)})
    source = _source(options.forward_seed, options.training_schemes)
    if openings:
        source["openings"] = {"source": "file"}
    training: Json = {
        "selection": {"method": "sampled", "forward_passes": options.forward_passes},
        "stopping_rules": rules,
        "stopping_mode": options.stopping_mode,
        "tree_seed": options.tree_seed,
        "scenario_source": source,
        "cut_selection": _selection(options.rows),
    }
    if options.openings_a_part is not None:
        scheduler: Json = {"method": "by_node"}
        if options.openings_a_part != "half":
            scheduler["block_size"] = options.openings_a_part
        training["parallelism"] = {"backward_scheduler": scheduler}
    simulation: Json = {
        "enabled": options.simulation_scenarios > 0,
        "scenario_source": _source(options.simulation_seed, options.simulation_schemes),
    }
    if options.simulation_scenarios:
        simulation["selection"] = {"method": "sampled", "num_scenarios": options.simulation_scenarios}
    modeling: Json = {"inflow_non_negativity": {"method": _inflow_rule(system)}}
    if options.cost_scale_factor is not None:
        modeling["cost_scale_factor"] = options.cost_scale_factor
    return {
        "training": training,
        "simulation": simulation,
        "modeling": modeling,
        "exports": {
            "stochastic": options.export_stochastic,
            "fpha_deviation_points": options.export_fits,
        },
    }


def _source(seed: int, schemes: Schemes) -> Json:
    return {"seed": seed, **{name: {"scheme": scheme} for name, scheme in vars(schemes).items()}}


def _inflow_rule(system: System) -> str:
    priced = system.inflow.nonnegativity == "penalty"
    if system.inflow.truncated:
        return "truncation_with_penalty" if priced else "truncation"
    return "penalty" if priced else "none"


def _selection(rows: RowOption) -> Json:
    result: Json = {}
    if rows.most_rows is not None:
        result["max_active_per_stage"] = rows.most_rows
    if rows.method != "binding":
        method = "level1" if rows.method == "highest" else "lml1"
        result["selection"] = {
            "method": method,
            "check_frequency": rows.every,
            "tie_tolerance": rows.tolerance,
        }
    elif (rows.recent_iterations, rows.first_iteration) != (5, 1):
        # The format counts the iterations before the one at hand.
        window = rows.recent_iterations - 1
        result["selection"] = {
            "method": "dynamic",
            "seed_window": window,
            "start_iteration": rows.first_iteration,
        }
    return result


def stages_json(system: System, depth: int) -> Json:
    """Stages, seasons, and *depth* periods before the study."""
    lags = system.inflow.order > 0
    result: Json = {
        "policy_graph": {
            "type": "finite_horizon",
            "annual_discount_rate": system.later[0].annual_discount_rate if system.later else 0.0,
        },
        "stages": [_stage(stage, lags) for stage in system.stages],
    }
    seasons = _seasons(system)
    if seasons:
        result["season_definitions"] = seasons
    if depth:
        result["pre_study_stages"] = [
            {"id": -number, "start_date": start.isoformat(), "end_date": end.isoformat(), "season_id": None}
            for number, (start, end) in enumerate(periods_before(system, depth), start=1)
        ]
    return result


def _stage(stage: Stage, lags: bool) -> Json:
    risk: object = "expectation"
    if (stage.cvar_tail, stage.cvar_weight) != (1.0, 0.0):
        risk = {"cvar": {"alpha": stage.cvar_tail, "lambda": stage.cvar_weight}}
    return {
        "id": stage.id,
        "start_date": stage.start_date.isoformat(),
        "end_date": stage.end_date.isoformat(),
        "season_id": stage.season_id,
        "blocks": [vars(block) for block in stage.blocks],
        "block_mode": "chronological" if stage.chronological else "parallel",
        "num_openings": stage.num_openings,
        "annual_discount_rate_override": stage.annual_discount_rate,
        "sampling_method": stage.sampling_method,
        "risk_measure": risk,
        "state_variables": {"storage": True, "inflow_lags": lags},
    }


def _seasons(system: System) -> Json | None:
    """Seasons with the stages' ids: months where all stages are months, else spans of the year."""
    first: dict[int, Stage] = {}
    for stage in system.stages:
        if stage.season_id is not None:
            first.setdefault(stage.season_id, stage)
    if not first:
        return None
    with_season = [stage for stage in system.stages if stage.season_id is not None]
    months = {(stage.season_id, stage.start_date.month) for stage in with_season}
    one_each = len(months) == len(first) == len({month for _, month in months})
    if one_each and all(is_calendar_month(stage.start_date, stage.end_date) for stage in with_season):
        seasons: list[Json] = [
            {"id": id, "label": stage.start_date.strftime("%B"), "month_start": stage.start_date.month}
            for id, stage in sorted(first.items())
        ]
        return {"cycle_type": "monthly", "seasons": seasons}
    seasons = []
    for id, stage in sorted(first.items()):
        last = stage.end_date - timedelta(days=1)
        span = {"month_start": stage.start_date.month, "day_start": stage.start_date.day}
        span |= {"month_end": last.month, "day_end": last.day}
        seasons.append({"id": id, "label": f"season {id}", **span})
    return {"cycle_type": "custom", "seasons": seasons}


def periods_before(system: System, depth: int) -> list[tuple[date, date]]:
    """First day, and the day after the last, of *depth* periods before the study, the latest first.

    They are months, or as long as the first stage; but of so many days that the mean over them is exact,
    where it would not be over those.
    """
    first = system.stages[0]
    periods = _chain(first.start_date, first.end_date - first.start_date, depth)
    if is_calendar_month(first.start_date, first.end_date):
        periods, end = [], first.start_date
        for _ in range(depth):
            start = (end - timedelta(days=1)).replace(day=1)
            periods.append((start, end))
            end = start
    for number, (start, end) in enumerate(periods):
        days = (end - start).days
        for value in system.inflow.past_m3s[:, number].tolist():
            if days * averaged(value, days) / days != value:
                return _chain(first.start_date, EXACT_PERIOD, depth)
    return periods


def _chain(end: date, length: timedelta, count: int) -> list[tuple[date, date]]:
    return [(end - (number + 1) * length, end - number * length) for number in range(count)]


def averaged(value: float, days: int) -> float:
    """Number whose mean over *days* is the very *value*, if there is one: the reader's sum rounds."""
    tried = [value]
    for side in (-math.inf, math.inf):
        tried += [math.nextafter(value, side), math.nextafter(math.nextafter(value, side), side)]
    return next((number for number in tried if days * number / days == value), value)
