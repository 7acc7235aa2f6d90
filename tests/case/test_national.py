"""The Brazilian national case, read by path: sound as it is, its oddities few and named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pycobre.case import Case, check_case, write_case
from pycobre.lp import HighsSolver, StateLayout, build_stages, cost_scale_of, recover
from pycobre.stochastic import inflow_recursion, raisable


@pytest.fixture(scope="module")
def national(shared_cases: Path) -> Case:
    case, problems = check_case(shared_cases / "national" / "brazil-2025-01")
    assert case is not None
    assert {problem.kind for problem in problems} == {"warning"}
    assert len(problems) <= 15
    return case


def test_estimate_that_can_not_be_is_mended_and_named(national: Case) -> None:
    (mended,) = [str(warning) for warning in national.warnings if "residual variance" in warning.message]
    assert mended.startswith("hydro 153 (JURUENA): in seasons 5, 6 ")


def test_national_case_has_all_its_parts(national: Case) -> None:
    system = national.system
    parts = (system.stages, system.hydros, system.thermals, system.sources, system.buses, system.lines)
    assert [len(part) for part in parts] == [120, 159, 108, 32, 5, 6]
    assert all(stage.risk_averse for stage in system.stages)
    assert national.options.training_schemes.inflow == "out_of_sample"


def test_its_system_without_estimates_is_written_and_reads_back_equal(national: Case, tmp_path: Path) -> None:
    given = replace(national.system.inflow, residual_ratio=None, residuals=None)
    system = replace(national.system, inflow=given)
    written = write_case(system, tmp_path / "case", national.options)  # reads it back itself, or raises
    assert (written / "config.json").is_file()


def test_first_stage_is_dispatched_and_meets_its_demand(national: Case) -> None:
    system = national.system
    recursion = raisable(inflow_recursion(system.inflow, system.stages))
    model = build_stages(system, recursion)[0]
    state = StateLayout.of(recursion, system).initial(system)[None]
    noise = np.zeros((1, system.noise_dimension))
    solver = HighsSolver(model.template, future_lower=0.0, cost_scale=cost_scale_of([model.template]))
    dispatch = solver.dispatch(state, noise, np.empty((1, 0), dtype=np.int8), full=True)
    told = recover(system, recursion, model, 0, state, noise, dispatch)
    made = sum(power[0].sum(axis=0) for power in (told.generation_mw, told.thermal_mw, told.source_mw))
    met = told.load_mw[0].sum(axis=0) - told.deficit_mw[0].sum(axis=(0, 2)) + told.excess_mw[0].sum(axis=0)
    assert made == pytest.approx(met, rel=1e-9)
    assert sum(cost[0] for cost in told.costs.values()) + dispatch.future[0] == pytest.approx(
        dispatch.objective[0], rel=1e-9
    )
