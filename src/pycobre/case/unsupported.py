"""The one list of what the format knows and this version can't honour: refused by file and field.

A setting, field or file leaves this list when the engine honours it, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycobre.case.record import Record
from pycobre.case.stages import StageRecord

UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Refusal:
    """Why something is refused, what to do, and which values are fine because they change nothing."""

    reason: str
    hint: str
    accepted: tuple[object, ...] = (None,)


_SOLVER = Refusal(
    "the LP solver's options can't be set; pycobre chooses them by the size of the problem",
    "leave it out",
)
_ENUMERATED = Refusal("paths can't be enumerated for now", 'use "sampled"', ("sampled",))
_EXPORTS = Refusal("this export is not written for now", "set it to false", (False,))
_CHECKPOINTS = Refusal("no checkpoints are written during the training for now", "leave it out", (False,))

# By dotted key of config.json; the longest key that fits decides. Defaults are never refused.
SETTINGS: Mapping[str, Refusal] = {
    "training.enabled": Refusal(
        "a study without training needs a stored policy, which can't be loaded for now", "set it to true"
    ),
    "training.selection.method": _ENUMERATED,
    "training.stopping_rules.gap": Refusal(
        "the gap rule needs an exact upper bound, which is not computed for now",
        "use bound_stalling or time_limit",
    ),
    "training.cut_selection.selection.candidate_recency": Refusal(
        "old cuts are never left out, because bound and policy would suffer", "leave it out"
    ),
    "training.cut_selection.selection.max_added_per_round": Refusal(
        "cuts that are violated join one by one", "leave it out", (10,)
    ),
    "training.cut_selection.selection.violation_tolerance": Refusal(
        "cuts join where they are violated by more than rounding", "leave it out", (1e-10,)
    ),
    "training.solver": _SOLVER,
    "simulation.selection.method": _ENUMERATED,
    "simulation.solver": _SOLVER,
    "simulation.io_channel_capacity": Refusal(
        "results are written without such a channel", "leave it out", (64,)
    ),
    "policy.path": Refusal(
        "the policy is always in the folder policy of the results",
        "leave it out, and choose the results' directory by --out",
        ("./policy", "policy"),
    ),
    "policy.mode": Refusal(
        "the training can't start from a stored policy for now", 'use "fresh"', ("fresh",)
    ),
    "policy.boundary": Refusal("cuts of another study can't be loaded for now", "leave it out"),
    "policy.checkpointing": _CHECKPOINTS,
    "exports.states": _EXPORTS,
    "upper_bound_evaluation": Refusal(
        "no upper bound is computed by inner approximation for now", "leave it out", (False,)
    ),
}

# Settings that are honoured, so that a test can tell that every setting is one or the other.
HONOURED_SETTINGS = frozenset(
    {
        "training.selection.forward_passes",
        "training.stopping_rules",
        "training.stopping_mode",
        "training.cut_selection.max_active_per_stage",
        "training.cut_selection.row_activity_tolerance",
        "training.cut_selection.selection.check_frequency",
        "training.cut_selection.selection.domination_tolerance",
        "training.cut_selection.selection.method",
        "training.cut_selection.selection.seed_window",
        "training.cut_selection.selection.start_iteration",
        "training.cut_selection.selection.tie_tolerance",
        "training.parallelism",
        "training.tree_seed",
        "training.scenario_source.seed",
        "training.scenario_source.openings.source",
        "simulation.enabled",
        "simulation.selection.num_scenarios",
        "simulation.scenario_source.seed",
        "simulation.scenario_source.inflow",
        "simulation.scenario_source.load",
        "simulation.scenario_source.ncs",
        "simulation.scenario_source.historical_years",
        "training.scenario_source.inflow",
        "training.scenario_source.load",
        "training.scenario_source.ncs",
        "training.scenario_source.historical_years",
        "simulation.scenario_source.openings.source",
        "modeling.cost_scale_factor",
        "modeling.inflow_non_negativity.method",
        "estimation",
        "exports.stochastic",
        "exports.fpha_deviation_points",
    }
)

FIELDS: Mapping[type[Record], Mapping[str, Refusal]] = {
    StageRecord: {
        "sampling_method": Refusal(
            "openings can't be chosen by clusters for now",
            'use "lhs" or "qmc_sobol", or give them in scenarios/noise_openings.parquet',
            ("saa", "lhs", "qmc_sobol", "qmc_halton", "historical_residuals"),
        ),
    },
}


def find_refusal(key: str) -> Refusal | None:
    """Refusal that a dotted key of the configuration falls under."""
    parts = key.split(".")
    for length in range(len(parts), 0, -1):
        refusal = SETTINGS.get(".".join(parts[:length]))
        if refusal is not None:
            return refusal
    return None
