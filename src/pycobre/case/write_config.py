"""``config.json`` of a system that is written as a case."""

from __future__ import annotations

from typing import Any

from pycobre.case.options import RowOption, Schemes, StudyOptions
from pycobre.system import System

Json = dict[str, Any]


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
