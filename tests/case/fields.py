"""What each field of the format promises: a row for every one of them.

``changes``: the new value changes the result of a small study. ``refused``: it is refused by name.
``key``: it names something, so a new value changes the result or leaves a reference without its target.
:data:`LISTED` are accepted without effect, each for a reason. :data:`ELSEWHERE` have an effect that these
studies don't show, and a test of their own. Where a field becomes honoured, its row turns to ``changes``.
"""

from __future__ import annotations

from case import exercise as e
from case.delay_fields import LATER, delays
from case.network_fields import generic, network, stage_limits
from case.plant_fields import heads, hydros, penalties, production
from case.study_fields import CUTS, config, initial, scenarios, stages

ROWS = [
    *config(), *stages(), *initial(), *scenarios(),
    *penalties(), *hydros(), *production(), *heads(),
    *network(), *stage_limits(), *generic(), *delays(),
]  # fmt: skip

_FOR_PEOPLE = "for people: it is shown in messages and results"
LISTED: dict[tuple[str, str], str] = {
    **dict.fromkeys(
        (
            (e.STAGES, "stages[].blocks[].name"),
            (e.STAGES, "season_definitions.seasons[].label"),
            (e.BUSES, "buses[].name"),
            (e.LINES, "lines[].name"),
            (e.THERMALS, "thermals[].name"),
            (e.HYDROS, "hydros[].name"),
            (e.HYDROS, "hydros[].unit_groups[].name"),
            (e.CONTRACTS, "contracts[].name"),
            (e.PUMPING, "pumping_stations[].name"),
            (e.SOURCES, "non_controllable_sources[].name"),
            (e.CONSTRAINTS, "constraints[].name"),
            (e.CONSTRAINTS, "constraints[].description"),
            (e.CONSTRAINTS, "expressions[].description"),
            (e.CORRELATION, "profiles.*.correlation_groups[].name"),
        ),
        _FOR_PEOPLE,
    ),
    (e.CONFIG, f"{CUTS}.row_activity_tolerance"): "warned of",
    (e.TAILRACES, "segment_id"): "it tells the parts of a curve apart, which are ordered by their outflows",
    (e.LAGS, "residual_std_ratio"): "warned of",
    (LATER, "thermal_bounds[].max_mw"): "warned of: what is delivered after the study saves nothing in it",
    (e.ANNUAL, "annual_mean_m3s"): "warned of",
    **{
        (
            e.PRODUCTION,
            f"production_models[].{place}[].fpha_config.spillage_discretization_points",
        ): "the slope in the spill is exact"
        for place in ("stage_ranges", "seasons")
    },
}
ELSEWHERE: dict[tuple[str, str], str] = {
    (e.CONFIG, "exports.fpha_deviation_points"): "test_fits_are_written_if_asked_for",
    (e.CONFIG, "modeling.cost_scale_factor"): "test_a_cost_scale_is_used_in_every_problem",
    (e.CONFIG, "exports.stochastic"): "test_inflow_models_and_openings_are_written_if_asked_for",
    (e.CONFIG, "training.parallelism.backward_scheduler.method"): "test_a_scheduler_deals_out_other_parts",
    (
        e.CONFIG,
        "training.parallelism.backward_scheduler.block_size",
    ): "test_a_scheduler_deals_out_other_parts",
}
"""By the test, in the same file as that of the rows."""
