"""The stage problem of a real system holds what is decided and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pycobre.case import load_case
from pycobre.lp import HighsSolver, StateLayout, build_stages
from pycobre.stochastic import inflow_recursion

BRAZIL = Path(__file__).parents[2] / "examples" / "brazil-4"
DECIDED = {
    "storage_hm3", "bought_inflow_m3s", "turbined_m3s", "spilled_m3s", "generation_mw", "deficit_mw",
    "excess_mw", "direct_mw", "reverse_mw", "outflow_below", "outflow_above", "turbined_below",
    "generation_below", "storage_below_hm3",
}  # fmt: skip
BALANCES = {"water_hm3", "balance_mw", "outflow_min", "outflow_max", "turbined_min", "generation_min",
            "storage_min_hm3"}  # fmt: skip


def check_compact(path: Path, dump: Path) -> None:
    system = load_case(path).system
    recursion = inflow_recursion(system.inflow, system.stages)
    states = StateLayout.of(recursion)
    for t, model in enumerate(build_stages(system, recursion)):
        template = model.template
        kinds = {name.partition("[")[0] for name in template.column_names}
        assert kinds <= DECIDED
        assert {name.partition("[")[0] for name in template.row_names} <= BALANCES
        assert len(template.state_columns) == len(system.hydros)
        assert template.states_in == template.states_out == states.size
        # A column for every final storage, none for an incoming one or for a lag.
        assert sum(name.startswith("storage_hm3") for name in template.column_names) == len(system.hydros)
        if t > 0:
            continue
        solver = HighsSolver(template, future_lower=0.0)
        solver.add_cuts(np.array([100.0]), -np.arange(1.0, states.size + 1).reshape(1, -1))
        noise = np.zeros(system.noise_dimension)
        solver.explain(states.initial(system), noise, str(dump))
        columns = dump.read_text().partition("COLUMNS")[2].partition("RHS")[0]
        assert len(re.findall(r"\bcut_0\b", columns)) == len(system.hydros) + 1


def test_brazil_stage_has_no_incoming_storage_and_no_lag(tmp_path):
    check_compact(BRAZIL, tmp_path / "stage.mps")


def test_4ree_stage_has_no_incoming_storage_and_nine_rows(tmp_path, shared_cases):
    case = shared_cases / "cobre-0.18" / "4ree"
    check_compact(case, tmp_path / "stage.mps")
    system = load_case(case).system
    models = build_stages(system, inflow_recursion(system.inflow, system.stages))
    assert {len(model.template.row_lower) for model in models} == {len(system.buses) + len(system.hydros)}
