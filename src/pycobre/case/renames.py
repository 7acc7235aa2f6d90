"""What fields of older Cobre formats are called in 0.18: hints for people who bring an old case."""

from __future__ import annotations

from pycobre.case import files

_SELECTION = 'write training.selection = {"method": "sampled", "forward_passes": N}'
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
    (files.CONFIG, "training.cut_formulation"): "removed in 0.18; leave it out",
    (files.CONFIG, "training.forward_pass"): "removed in 0.18; leave it out",
    (files.CONFIG, "training.seed"): "it is training.tree_seed",
    (files.CONFIG, "simulation.policy_type"): "removed in 0.18; leave it out",
    **{
        (files.CONFIG, f"exports.{name}"): "removed in 0.18; leave it out"
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
