"""What fields of older Cobre formats are called in 0.18: hints for people who bring an old case.

:func:`pycobre.case.migrate` does all of it at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from pycobre.case import files
from pycobre.errors import Problem

_SELECTION = 'write training.selection = {"method": "sampled", "forward_passes": N}'
_REMOVED = "removed in 0.18; leave it out"
_VERSION = "0.18 has no field for its version; leave it out"
_CUT_SELECTION = 'write training.cut_selection.selection = {"method": ...}'

# By file and the field's path without list positions.
UNKNOWN: dict[tuple[str, str], str] = {
    (files.CONFIG, "training.forward_passes"): _SELECTION,
    (files.CONFIG, "simulation.num_scenarios"): (
        'write simulation.selection = {"method": "sampled", "num_scenarios": N}'
    ),
    (files.CONFIG, "modeling.inflow_non_negativity.penalty_cost"): (
        "it is hydro.inflow_nonnegativity_cost in penalties.json since 0.18"
    ),
    (files.CONFIG, "training.cut_selection.enabled"): _CUT_SELECTION,
    (files.CONFIG, "training.cut_selection.method"): _CUT_SELECTION,
    (files.CONFIG, "training.cut_formulation"): _REMOVED,
    (files.CONFIG, "training.forward_pass"): _REMOVED,
    (files.CONFIG, "training.seed"): "it is training.tree_seed",
    (files.CONFIG, "simulation.policy_type"): _REMOVED,
    **{
        (files.CONFIG, f"exports.{name}"): _REMOVED
        for name in (
            "training",
            "cuts",
            "vertices",
            "simulation",
            "forward_detail",
            "backward_detail",
            "compression",
        )
    },
    (files.CONFIG, "training.cut_selection.threshold"): _CUT_SELECTION,
    (files.CONFIG, "training.cut_selection.check_frequency"): _CUT_SELECTION,
    (files.CONFIG, "training.cut_selection.domination_epsilon"): (
        "it is domination_tolerance in training.cut_selection.selection"
    ),
    (files.CONFIG, "training.cut_selection.cut_activity_tolerance"): "it is row_activity_tolerance",
    (files.CONFIG, "training.cut_selection.memory_window"): _REMOVED,
    (files.CONFIG, "training.cut_selection.basis_activity_window"): _REMOVED,
    (files.CONFIG, "training.cut_selection.angular_pruning"): _REMOVED,
    (files.CONFIG, "simulation.output_mode"): _REMOVED,
    (files.CONFIG, "simulation.output_path"): _REMOVED,
    (files.CONFIG, "policy.validate_compatibility"): _REMOVED,
    (files.CONFIG, "policy.boundary.source_stage"): (
        "cuts of another study are found by date since 0.18; leave it out"
    ),
    (files.CONFIG, "version"): _VERSION,
    (files.PENALTIES, "version"): _VERSION,
    (files.STAGES, "scenario_source"): "it is training.scenario_source in config.json since 0.18",
    (files.THERMALS, "thermals.gnl_config"): (
        "it is anticipated_config since 0.18: lead_stages instead of lag_stages"
    ),
    (files.HYDROS, "hydros.filling.filling_inflow_m3s"): "it is filling_min_rate_m3s since 0.18",
    (files.HYDROS, "hydros.evaporation_coefficients_mm"): "it is evaporation.coefficients_mm",
    (files.PRODUCTION, "production_models.stage_ranges.productivity_override"): (
        "it is productivity_mw_per_m3s since 0.18"
    ),
    (files.CONSTRAINTS, "constraints.sense"): (
        "write bound_lower or bound_upper in constraints/generic_constraint_bounds.parquet instead, or a"
        " relation in the expression"
    ),
    (files.STAGES, "stages.num_scenarios"): "it is num_openings since 0.18",
    (files.HYDROS, "hydros.bus_id"): "a plant's bus is unit_groups[].bus_id since 0.18",
    (files.HYDROS, "hydros.generation.productivity_mw_per_m3s"): (
        "productivity is in system/hydro_production_models.json since 0.18"
    ),
    (files.PENALTIES, "hydro.fpha_turbined_cost"): (
        "it is hydro.turbined_cost since 0.18, and holds for every plant: to keep the old meaning, write 0"
        " there and the old value in the penalties of the plants with fpha"
    ),
    (files.INITIAL, "past_inflows"): (
        "write dated windows in recent_observations: hydro_id, start_date, end_date, value_m3s"
    ),
    (files.HYDROS, "hydros.penalties.fpha_turbined_cost"): "it is turbined_cost since 0.18",
}

# By file and column.
COLUMNS: dict[tuple[str, str], str] = {
    (files.INFLOW_HISTORY, "date"): "write start_date and end_date, the day after the last, since 0.18",
    (files.CONSTRAINT_BOUNDS, "bound"): "write bound_lower or bound_upper, by the constraint's sense",
    (files.HYDRO_BOUNDS, "filling_inflow_m3s"): "it is filling_min_rate_m3s since 0.18",
    (files.HYDRO_PENALTIES, "fpha_turbined_cost"): (
        "it is turbined_cost since 0.18, and holds for every plant: leave it null where there are no planes"
    ),
    (files.ENERGY, "reference_volume_hm3"): (
        "write reference_volume in system/hydro_production_models.json instead"
    ),
    **{
        (files.PLANES, f"valid_{name}"): "a plane holds everywhere; leave it out"
        for name in ("v_min_hm3", "v_max_hm3", "q_max_m3s")
    },
}

# Files that are not read any more, and where their content belongs.
FILES: dict[str, str] = {
    "constraints/exchange_factors.json": (
        f"write capacities by block in {files.LINE_BOUNDS} (capacity times factor), and remove the file"
    ),
    "system/scalar_parameters.json": f"move it to {files.PARAMETERS}: its content is the same",
}

MISSING: dict[str, str] = {
    "operational_start_date": 'the day it enters service, such as "1990-01-01"',
    "unit_groups": "at least one group with id, name, bus_id and the limits of turbined flow and generation",
    "num_openings": "how many noise realisations the stage has in the tree, such as 20",
    "turbined_cost": "cost of turbined flow of every plant; 0.0 if there is none",
    "filling_storage": "write [] if no reservoir is being filled",
    "storage": "write [] if there is no hydro plant",
    "selection": 'such as {"method": "sampled", "forward_passes": 1}',
    "stopping_rules": 'such as [{"type": "iteration_limit", "limit": 100}]',
    "method": "see the schema for the kinds that exist",
}

TAGS: dict[str, str] = {
    "simulation": "the simulation-based rule was removed in 0.18; use bound_stalling",
    "cholesky": "only spectral is left in 0.18; it gives the same distribution",
}


def seem_old(problems: Iterable[Problem]) -> bool:
    """Whether *problems* are those of a case of Cobre 0.5.1: its stages all have ``num_scenarios``."""
    return any(problem.hint == UNKNOWN[files.STAGES, "stages.num_scenarios"] for problem in problems)
