"""Rows of what says how a study is run, over which stages, and with what noise."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from case import exercise as e
from case.row import Row, changes, columns, fields, key, refused

SOLVER = {
    "cost_perturbation": 0.5,
    "dual_edge_weight": "devex",
    "dual_feasibility_tolerance": 1e-5,
    "factor_pivot_threshold": 0.2,
    "presolve": "on",
    "price": "row",
    "primal_feasibility_tolerance": 1e-5,
    "refactor_error_tolerance": 1e-5,
    "scale": "off",
    "simplex_update_limit": 9,
    "steepest_edge_devex_fallback_threshold": 9.0,
    "use_warm_start": True,
}
RULES, SOURCE, SIM, CUTS = (
    "training.stopping_rules",
    "training.scenario_source",
    "simulation.scenario_source",
    "training.cut_selection",
)
LIMIT = {"type": "iteration_limit", "limit": 4}
RANGE = {"from": 1990, "to": 1993}


def rules(**rule: Any) -> tuple[str, object]:
    return RULES, [LIMIT, rule]


def config() -> Iterator[Row]:
    small, file = e.small, e.CONFIG
    for place in ("training.solver.forward", "training.solver.backward"):
        for name, value in SOLVER.items():
            yield refused(small, file, f"{place}.{name}", value, ("training.solver", {place[16:]: {}}))
    for name, value in SOLVER.items():
        yield refused(small, file, f"simulation.solver.{name}", value, ("simulation.solver", {}))
    yield refused(small, file, "training.solver.retry_max_attempts", 6, ("training.solver", {}))
    yield refused(small, file, "training.solver.retry_time_budget_seconds", 9.0, ("training.solver", {}))
    yield refused(small, file, "training.enabled", False)
    yield changes(small, file, "training.selection.forward_passes", 3)
    yield refused(
        small, file, "training.selection", {"method": "enumerated"}, leaf="training.selection.method"
    )
    yield changes(small, file, f"{RULES}.0.limit", 3)
    yield refused(small, file, RULES, [LIMIT, {"type": "gap", "tolerance": 1.0}], leaf=f"{RULES}[].type")
    yield refused(
        small,
        file,
        RULES,
        [LIMIT, {"type": "gap", "relative_tolerance": 1.0}],
        leaf=f"{RULES}[].relative_tolerance",
    )
    stalling = {"type": "bound_stalling"}
    yield changes(small, file, f"{RULES}.1.iterations", 1, rules(**stalling, iterations=9, tolerance=1e9))
    yield changes(small, file, f"{RULES}.1.tolerance", 1e9, rules(**stalling, iterations=1, tolerance=0.0))
    yield changes(small, file, f"{RULES}.1.seconds", 1e-9, rules(type="time_limit", seconds=1e9))
    yield changes(small, file, "training.stopping_mode", "all", rules(type="iteration_limit", limit=3))
    yield changes(small, file, "training.tree_seed", 7)
    for place in (SOURCE, SIM):
        yield changes(small, file, f"{place}.seed", 7, (place, {}))
        for kind, base in (("inflow", small), ("load", small), ("ncs", e.network)):
            scheme = (place, {kind: {"scheme": "in_sample"}})
            yield changes(base, file, f"{place}.{kind}.scheme", "out_of_sample", scheme)
        years = (place, {"inflow": {"scheme": "historical"}, "historical_years": [1990, 1991]})
        ranged = (f"{place}.historical_years", RANGE)
        yield changes(e.history, file, f"{place}.historical_years", [1999, 2000], years)
        yield changes(e.history, file, f"{place}.historical_years.from", 1985, years, ranged)
        yield changes(e.history, file, f"{place}.historical_years.to", 1990, years, ranged)
    yield changes(e.openings, file, f"{SOURCE}.openings.source", "generated")
    yield refused(
        e.openings, file, f"{SIM}.openings.source", "generated", (SIM, {"openings": {"source": "file"}})
    )
    yield changes(small, file, "simulation.enabled", False)
    yield changes(small, file, "simulation.selection.num_scenarios", 4)
    yield refused(
        small, file, "simulation.selection", {"method": "enumerated"}, leaf="simulation.selection.method"
    )
    yield refused(small, file, "simulation.io_channel_capacity", 9)
    yield changes(
        small,
        file,
        "modeling.inflow_non_negativity.method",
        "truncation",
        ("modeling", {"inflow_non_negativity": {}}),
        (e.INITIAL, "recent_observations.1.value_m3s", -400.0),
    )
    yield from fields(
        changes,
        e.history,
        file,
        "estimation",
        order_selection="pacf_annual",
        max_order=0,
        min_observations_per_season=60,
        max_coefficient_magnitude=0.01,
    )
    yield from fields(refused, small, file, "exports", states=True)
    yield from fields(refused, small, file, "policy", path="elsewhere", mode="resume")
    for name, more in (("path", {"path": "x"}), ("strict", {"path": "x", "strict": True})):
        yield refused(small, file, "policy.boundary", more, leaf=f"policy.boundary.{name}")
    yield from fields(
        refused,
        small,
        file,
        "policy.checkpointing",
        enabled=True,
        initial_iteration=3,
        interval_iterations=3,
        store_basis=True,
        compress=True,
    )
    yield from fields(
        refused,
        small,
        file,
        "upper_bound_evaluation",
        enabled=True,
        initial_iteration=3,
        interval_iterations=3,
    )
    yield from fields(
        refused,
        small,
        file,
        "upper_bound_evaluation.lipschitz",
        mode="auto",
        fallback_value=2.0,
        scale_factor=2.0,
    )
    level1 = (CUTS, {"selection": {"method": "level1", "check_frequency": 1}})
    domination = {"method": "domination", "domination_tolerance": 0.0, "check_frequency": 1}
    dynamic = (CUTS, {"selection": {"method": "dynamic", "seed_window": 0}})
    yield changes(e.long, file, f"{CUTS}.max_active_per_stage", 1)
    yield changes(e.long, file, f"{CUTS}.selection.method", "lml1", level1)
    yield changes(e.long, file, f"{CUTS}.selection.check_frequency", 4, level1)
    yield changes(e.long, file, f"{CUTS}.selection.tie_tolerance", 1e9, level1)
    yield changes(
        e.long, file, f"{CUTS}.selection.domination_tolerance", 1e12, (CUTS, {"selection": domination})
    )
    yield changes(e.long, file, f"{CUTS}.selection.seed_window", 9, dynamic)
    yield changes(e.long, file, f"{CUTS}.selection.start_iteration", 9, dynamic)
    for name, value in (("candidate_recency", 3), ("max_added_per_round", 3), ("violation_tolerance", 1e-3)):
        yield refused(small, file, f"{CUTS}.selection.{name}", value, dynamic)


WEEKS = {
    "cycle_type": "custom",
    "seasons": [
        {"id": 0, "label": "a", "month_start": 1, "month_end": 1, "day_start": 1, "day_end": 31},
        {"id": 1, "label": "b", "month_start": 2, "month_end": 2, "day_start": 1, "day_end": 29},
        {"id": 2, "label": "c", "month_start": 3, "month_end": 3, "day_start": 1, "day_end": 31},
        {"id": 3, "label": "d", "month_start": 4, "month_end": 12, "day_start": 1, "day_end": 31},
    ],
}
CVAR = {"cvar": {"alpha": 0.5, "lambda": 0.5}}
CHAIN = [
    {"source_id": 0, "target_id": 1, "probability": 1.0},
    {"source_id": 1, "target_id": 2, "probability": 1.0},
]
BEFORE = [{"id": -1, "start_date": "2023-12-01", "end_date": "2024-01-01", "season_id": 11}]


def stages() -> Iterator[Row]:
    small, file = e.small, e.STAGES
    yield refused(small, file, "policy_graph.type", "cyclic")
    yield changes(small, file, "policy_graph.annual_discount_rate", 0.3)
    for name in ("id", "stage_id", "label", "scenario_id"):
        node = {"id": 0, "stage_id": 0, "label": "a", "scenario_id": 0}
        yield refused(small, file, "policy_graph.nodes", [node], leaf=f"policy_graph.nodes[].{name}")
    chain = ("policy_graph.transitions", CHAIN)
    yield changes(small, file, "policy_graph.transitions.0.annual_discount_rate_override", 0.9, chain)
    yield from (
        refused(small, file, f"policy_graph.transitions.0.{name}", value, chain)
        for name, value in (("probability", 0.5), ("source_id", 2), ("target_id", 2))
    )
    before = ("pre_study_stages", BEFORE)
    yield refused(small, file, "pre_study_stages.0.id", -2, before)
    yield refused(small, file, "pre_study_stages.0.end_date", "2023-12-30", before)
    days = (("2023-12-01", "2023-12-11"), ("2023-12-11", "2024-01-01"))
    windows = [
        {"hydro_id": id, "start_date": first, "end_date": end, "value_m3s": 10.0 * id + k}
        for id in (3, 5)
        for k, (first, end) in enumerate(days)
    ]
    yield changes(
        small,
        file,
        "pre_study_stages.0.start_date",
        "2023-12-11",
        before,
        (e.INITIAL, "recent_observations", windows),
    )
    yield changes(e.history, file, "pre_study_stages.0.season_id", 9, before)
    seasons = "season_definitions.seasons"
    yield key(e.history, file, "season_definitions.cycle_type", "weekly")
    yield key(e.history, file, f"{seasons}.0.id", 77)
    yield key(e.history, file, f"{seasons}.1.month_start", 5)
    custom = ("season_definitions", WEEKS)
    yield changes(e.history, file, f"{seasons}.3.day_start", 20, custom)
    yield changes(e.history, file, f"{seasons}.2.day_end", 20, custom)
    yield key(e.history, file, f"{seasons}.2.month_end", 4, custom)
    yield key(small, file, "stages.0.id", 9)
    yield key(small, file, "stages.0.start_date", "2024-01-02")
    yield key(small, file, "stages.2.end_date", "2024-04-02")
    yield key(e.history, file, "stages.2.season_id", 7)
    yield refused(small, file, "stages.0.blocks.0.id", 5)
    yield changes(
        small,
        file,
        "stages.0.blocks",
        [{"id": 0, "name": "A", "hours": 344.0}, {"id": 1, "name": "B", "hours": 400.0}],
        leaf="stages[].blocks[].hours",
    )
    yield changes(small, file, "stages.0.num_openings", 3)
    yield changes(small, file, "stages.0.annual_discount_rate_override", 0.5)
    yield changes(small, file, "stages.1.sampling_method", "lhs")
    yield refused(small, file, "stages.1.sampling_method", "selective")
    yield changes(small, file, "stages.1.risk_measure", CVAR)
    yield changes(small, file, "stages.1.risk_measure.cvar.alpha", 0.75, ("stages.1.risk_measure", CVAR))
    yield changes(small, file, "stages.1.risk_measure.cvar.lambda", 0.75, ("stages.1.risk_measure", CVAR))
    yield refused(small, file, "stages.1.state_variables.storage", False)
    yield refused(small, file, "stages.1.state_variables.inflow_lags", False)


def initial() -> Iterator[Row]:
    file = e.INITIAL
    yield key(e.small, file, "storage.0.hydro_id", 8)
    yield changes(e.scarce, file, "storage.0.value_hm3", 90.0)
    yield key(e.water, file, "filling_storage.0.hydro_id", 3)
    yield changes(e.water, file, "filling_storage.0.value_hm3", 2.0)
    yield key(e.small, file, "recent_observations.0.hydro_id", 5)
    yield key(e.small, file, "recent_observations.0.start_date", "2023-12-05")
    yield refused(e.small, file, "recent_observations.0.end_date", "2024-01-05")
    yield changes(e.scarce, file, "recent_observations.0.value_m3s", 90.0)


def scenarios() -> Iterator[Row]:
    group = "profiles.default.correlation_groups.0"
    yield changes(e.small, e.CORRELATION, f"{group}.matrix", [[1.0, -0.5], [-0.5, 1.0]])
    yield key(e.small, e.CORRELATION, f"{group}.entities.0.id", 9)
    yield key(e.small, e.CORRELATION, f"{group}.entities.0.type", "load")
    yield refused(e.small, e.CORRELATION, "method", "cholesky")
    flat = {"correlation_groups": []}
    yield changes(
        e.small,
        e.CORRELATION,
        "schedule.0.profile_name",
        "flat",
        ("profiles.flat", flat),
        ("schedule", [{"stage_id": 1, "profile_name": "default"}]),
    )
    yield changes(
        e.small,
        e.CORRELATION,
        "schedule.0.stage_id",
        2,
        ("profiles.flat", flat),
        ("schedule", [{"stage_id": 1, "profile_name": "flat"}]),
    )
    yield from columns(key, e.small, e.INFLOW_STATS, 1, hydro_id=5, stage_id=7)
    yield from columns(changes, e.scarce, e.INFLOW_STATS, 1, mean_m3s=33.0, std_m3s=1.0)
    yield from columns(key, e.small, e.LAGS, hydro_id=9, stage_id=7, lag=2)
    yield from columns(changes, e.scarce, e.LAGS, coefficient=0.5)
    yield from columns(key, e.history, e.HISTORY, hydro_id=5, start_date=date(1979, 1, 1))
    yield from columns(changes, e.history, e.HISTORY, value_m3s=90.0)
    yield from columns(key, e.history, e.HISTORY, end_date=date(1980, 1, 20))
    yield from columns(key, e.annual, e.ANNUAL, hydro_id=5, stage_id=7)
    yield from columns(changes, e.annual, e.ANNUAL, annual_coefficient=0.2, annual_std_m3s=5.0)
    for kind, entity, other, value in (
        ("inflow", "hydro_id", 5, "value_m3s"),
        ("load", "bus_id", 4, "value_mw"),
        ("ncs", "ncs_id", 3, "value"),
    ):
        file = e.EXTERNAL.format(kind)
        yield from columns(key, e.external, file, stage_id=7, scenario_id=7, **{entity: other})
        row, given = (0, 0.5) if kind == "ncs" else (2, 88.0)
        yield from columns(changes, e.external, file, row, **{value: given})
    yield from columns(key, e.openings, e.OPENINGS, stage_id=2, opening_index=7, entity_index=7)
    yield from columns(changes, e.openings, e.OPENINGS, 8, value=0.25)
