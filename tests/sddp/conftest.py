"""Small power systems built in Python."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pycobre.system import (
    Block,
    Bus,
    ConstantProductivity,
    DeficitSegment,
    Hydro,
    HydroPenalties,
    InflowStatistics,
    LoadStatistics,
    Stage,
    System,
    Thermal,
)

PENALTIES = HydroPenalties(
    spillage_cost_per_m3s_h=0.01,
    turbined_cost_per_m3s_h=0.0,
    storage_below_cost_per_hm3=1e4,
    turbined_below_cost_per_m3s_h=1e4,
    outflow_below_cost_per_m3s_h=1e4,
    outflow_above_cost_per_m3s_h=1e4,
    generation_below_cost_per_mwh=1e4,
    inflow_nonnegativity_cost_per_m3s_h=1000.0,
)


@pytest.fixture
def stages() -> Callable[..., tuple[Stage, ...]]:
    """Stages of a study: one list of block hours each."""

    def make(*hours: list[float], rate: float = 0.0) -> tuple[Stage, ...]:
        start = dt.date(2024, 1, 1)
        result = []
        for t, of_blocks in enumerate(hours):
            end = start + dt.timedelta(hours=round(sum(of_blocks)))
            blocks = tuple(Block(k, f"b{k}", h) for k, h in enumerate(of_blocks))
            result.append(Stage(t, start, end, None, blocks, 1, rate))
            start = end
        return tuple(result)

    return make


@pytest.fixture
def bus() -> Callable[..., Bus]:
    """A bus; deficit segments as (depth, cost)."""

    def make(id: int = 0, segments: tuple[tuple[float, float], ...] = ((math.inf, 1000.0),)) -> Bus:
        return Bus(id, f"B{id}", tuple(DeficitSegment(*segment) for segment in segments), 0.01)

    return make


@pytest.fixture
def hydro() -> Callable[..., Hydro]:
    """A hydro plant: turbine and outflow limit *flow*, 1 MW a m³/s unless told otherwise."""

    def make(id: int = 0, *, flow: float = 50.0, storage: float = 200.0, initial: float = 100.0,
             stages: int = 2, **changes: Any) -> Hydro:  # fmt: skip
        values: dict[str, Any] = {
            "id": id,
            "name": f"H{id}",
            "bus_id": 0,
            "downstream_id": None,
            "storage_min_hm3": 0.0,
            "storage_max_hm3": storage,
            "storage_initial_hm3": initial,
            "outflow_min_m3s": 0.0,
            "outflow_max_m3s": flow,
            "turbined_min_m3s": 0.0,
            "turbined_max_m3s": flow,
            "generation_min_mw": 0.0,
            "generation_max_mw": flow,
            "production": (ConstantProductivity(1.0),) * stages,
            "penalties": PENALTIES,
        }
        return Hydro(**{**values, **changes})

    return make


@pytest.fixture
def system() -> Callable[..., System]:
    """A deterministic system: inflow (H, T) in m³/s, load (B, T) in MW."""

    def make(
        stages: tuple[Stage, ...],
        buses: list[Bus],
        thermals: list[Thermal],
        hydros: list[Hydro],
        inflow: Any,
        load: Any,
        lines: Any = (),
        block_factor: Any = None,
        **more: Any,
    ) -> System:
        shape = (len(hydros), len(stages))
        mean = np.asarray(inflow, dtype=float).reshape(shape)
        demand = np.asarray(load, dtype=float).reshape(len(buses), len(stages))
        most = max(len(stage.blocks) for stage in stages)
        factor = np.ones((*demand.shape, most)) if block_factor is None else np.asarray(block_factor)
        none, past = np.zeros((*shape, 0)), np.zeros((len(hydros), 0))
        return System(
            stages=stages,
            buses=tuple(buses),
            lines=tuple(lines),
            thermals=tuple(thermals),
            hydros=tuple(hydros),
            inflow=InflowStatistics(mean, np.zeros(shape), none, none, none, past, "none"),
            load=LoadStatistics(demand, np.zeros(demand.shape), factor),
            **more,
        )

    return make


@pytest.fixture
def plan(train_graph: Callable[..., Any]) -> Callable[..., Any]:
    """Bound, simulated cost and operation of every stage of a system, after training."""
    from pycobre.comm import LocalCommunicator
    from pycobre.lp import StateLayout, build_stages, recover
    from pycobre.sddp import Node, PolicyGraph, simulate
    from pycobre.stochastic import inflow_recursion, sample_openings

    def run(system: System, *, iterations: int = 10, scenarios: int = 1) -> tuple[float, float, list[Any]]:
        recursion = inflow_recursion(system.inflow, system.stages)
        models = build_stages(system, recursion)
        openings = [system.within_reach(t, noise) for t, noise in enumerate(sample_openings(system, 1))]
        nodes = [Node(m.template, w) for m, w in zip(models, openings, strict=True)]
        factors = [stage.discount_factor for stage in system.stages[:-1]]
        graph = PolicyGraph.line(nodes, StateLayout.of(recursion, system).initial(system), factors)
        policy, solvers = train_graph(graph, iterations=iterations)
        (found,) = simulate(policy, solvers, scenarios, 1, LocalCommunicator())
        operation = []
        for t, (step,) in enumerate(found.walk.steps):
            operation.append(recover(system, recursion, models[t], t, step.state, step.noise, step.dispatch))
        return policy.lower_bound, float(np.mean(found.cost)), operation

    return run
