"""Settings on top of the configuration hold, and wrong ones are problems like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("overrides", "option", "value"),
    [
        ({"training.selection.forward_passes": 8}, "forward_passes", 8),
        ({"training.forward_passes": 8}, "forward_passes", 8),
        ({"training.stopping_rules.0.limit": 50}, "iteration_limit", 50),
        ({"training.iterations": 50}, "iteration_limit", 50),
        ({"training.stopping_rules": [{"type": "time_limit", "seconds": 1.0}], "training.iterations": 3},
         "iteration_limit", 3),
        ({"simulation.num_scenarios": 3}, "simulation_scenarios", 3),
        ({"simulation.enabled": False}, "simulation_scenarios", 0),
        ({"training.scenario_source.seed": 5}, "forward_seed", 5),
        ({"modeling.cost_scale_factor": 10.0}, "cost_scale_factor", 10.0),
    ],
)  # fmt: skip
def test_an_override_holds(
    reload: Callable[..., Any], overrides: dict[str, object], option: str, value: object
) -> None:
    case, problems = reload(overrides)
    assert problems == ()
    assert getattr(case.options, option) == value


@pytest.mark.parametrize(
    ("overrides", "kind", "field"),
    [
        ({"training.selection.forward_pases": 8}, "schema", "training.selection.forward_pases"),
        ({"trainig.selection": 8}, "schema", "trainig"),
        ({"training.stopping_rules.3.limit": 1}, "schema", "training.stopping_rules.3.limit"),
        ({"training.tree_seed.deep": 1}, "schema", "training.tree_seed"),
        ({"simulation.enabled.deep": 1}, "schema", "simulation.enabled.deep"),
        ({"training.forward_passes": 0}, "schema", "training.selection.forward_passes"),
        ({"training.iterations": np.int64(3)}, "schema", "training.iterations"),
        ({"training..limit": 3}, "schema", "training..limit"),
        ({"exports.states": True}, "unsupported", "exports.states"),
    ],
)
def test_a_wrong_override_is_a_problem_that_says_so(
    reload: Callable[..., Any], overrides: dict[str, object], kind: str, field: str
) -> None:
    case, problems = reload(overrides)
    assert case is None
    assert [(p.kind, p.file, p.entity, p.field) for p in problems] == [
        (kind, "config.json", "override", field)
    ]


def test_a_key_of_stages_holds_in_every_stage(reload: Callable[..., Any]) -> None:
    averse = {"cvar": {"alpha": 0.25, "lambda": 0.5}}
    case, problems = reload({"stages.risk_measure": averse, "stages.num_openings": 3})
    assert problems == ()
    stages = case.system.stages
    assert {(s.cvar_tail, s.cvar_weight, s.num_openings) for s in stages} == {(0.25, 0.5, 3)}
    plain, problems = reload({"stages.risk_measure": "expectation"})
    assert problems == ()
    assert not any(stage.risk_averse for stage in plain.system.stages)


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ({"stages.risk_measure": "neutral"}, "risk_measure"),
        ({"stages.risk_measure": {"cvar": {"alpha": 2.0, "lambda": 0.5}}}, "risk_measure.cvar.alpha"),
        ({"stages.openings": 3}, "openings"),
    ],
)
def test_a_wrong_key_of_stages_is_one_problem_of_the_override(
    reload: Callable[..., Any], overrides: dict[str, object], field: str
) -> None:
    case, problems = reload(overrides)
    assert case is None
    assert [(p.kind, p.file, p.entity, p.field) for p in problems] == [
        ("schema", "stages.json", "override", field)
    ]


def test_scenarios_without_a_simulation_are_warned_of(reload: Callable[..., Any]) -> None:
    case, problems = reload({"simulation.enabled": False, "simulation.num_scenarios": 5})
    assert case.options.simulation_scenarios == 0
    assert [(p.kind, p.entity) for p in problems] == [("warning", "override")]


def test_overrides_leave_the_file_alone(reload: Callable[..., Any], directory: Any) -> None:
    reload({"training.iterations": 50})
    assert reload()[0].options.iteration_limit == 10
