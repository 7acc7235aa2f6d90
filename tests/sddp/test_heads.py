"""Generation that follows the head: at a reference in training, at each scenario's storage in simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pycobre.comm import LocalCommunicator
from pycobre.lp import HeadSolver, HighsSolver, StateLayout, build_stages, recover
from pycobre.sddp import Node, PolicyGraph, simulate
from pycobre.stochastic import inflow_recursion, sample_openings
from pycobre.system import ConstantProductivity, LinearizedHead, Thermal, UnitGroup

HOURS = [730.0, 730.0]
# 1 MW a m³/s at 100 hm³, and 0.002 more for each hm³ above.
LINE = LinearizedHead(1.0, 0.002, 100.0)
THERMALS = [Thermal(0, "T0", 0, 0.0, 100.0, 50.0), Thermal(1, "T1", 1, 0.0, 100.0, 50.0)]


@pytest.fixture
def study(system, stages, bus, hydro):
    """A reservoir of 150 hm³ whose 30 m³/s of a month and a half can't be kept: what is made is known."""

    def make(model=LINE, groups=(), **plant):
        owner = hydro(initial=150.0, storage=150.0, production=(model,) * 2, outflow_max_m3s=math.inf,
                      turbined_max_m3s=30.0, unit_groups=groups,
                      **{"generation_max_mw": 99.0, **plant})  # fmt: skip
        return system(stages(HOURS, HOURS), [bus(0), bus(1)], THERMALS, [owner], [60.0, 60.0],
                      [[50.0, 50.0], [20.0, 20.0]])  # fmt: skip

    return make


@pytest.fixture
def simulated(train_graph):
    """Bound, cost and operation of a system whose simulation takes the heads at hand."""

    def run(system):
        recursion = inflow_recursion(system.inflow, system.stages)
        models = build_stages(system, recursion)
        nodes = [Node(m.template, w) for m, w in zip(models, sample_openings(system, 1), strict=True)]
        graph = PolicyGraph.line(nodes, StateLayout.of(recursion, system).initial(system), [1.0])
        policy, solvers = train_graph(graph, iterations=4)
        cuts = policy.pool.of(0)
        first = HeadSolver(
            solvers[0], lambda t: HighsSolver(t, future_lower=0.0), (cuts.intercept, cuts.slope)
        )
        none = np.empty(0), np.empty((0, solvers[1].template.states_out))
        second = HeadSolver(solvers[1], lambda t: HighsSolver(t, future_lower=None), none)
        (found,) = simulate(policy, [first, second], 2, 1, LocalCommunicator())
        operation = [
            recover(system, recursion, models[t], t, step.state, step.noise, step.dispatch)
            for t, (step,) in enumerate(found.walk.steps)
        ]
        return policy.lower_bound, float(found.cost[0]), operation

    return run


def test_training_takes_the_reference_and_simulation_the_storage_at_hand(simulated, study):
    bound, cost, operation = simulated(study())
    # 30 m³/s at 1 MW, or at 1.1 MW with 150 hm³ in the reservoir; 30 m³/s are spilled for want of room.
    spill = 0.01 * 30.0
    assert bound == pytest.approx(2 * 1460.0 * (50.0 * (20.0 + 20.0) + spill))
    assert operation[0].generation_mw[0, 0] == pytest.approx([33.0, 33.0])
    assert operation[1].generation_mw[0, 0] == pytest.approx(
        [30.0 * (1.0 + 0.002 * (operation[1].storage_initial_hm3[0, 0] - 100.0))] * 2
    )
    assert operation[1].storage_initial_hm3[0, 0] == pytest.approx(150.0)
    assert cost == pytest.approx(2 * 1460.0 * (50.0 * (17.0 + 20.0) + spill))


def test_a_flat_line_is_a_constant_productivity(simulated, plan, study):
    flat = simulated(study(LinearizedHead(0.9, 0.0, 100.0)))
    bound, mean, _ = plan(study(ConstantProductivity(0.9)))
    assert flat[:2] == pytest.approx((bound, mean))


def test_generators_limit_what_a_full_reservoir_makes(simulated, study):
    _, _, (first, _) = simulated(study(generation_max_mw=31.0))
    assert first.generation_mw[0, 0] == pytest.approx([31.0, 31.0])
    assert first.turbined_m3s[0, 0] == pytest.approx([31.0 / 1.1] * 2)


def test_a_head_below_nothing_makes_nothing(simulated, study):
    _, _, (first, _) = simulated(study(LinearizedHead(1.0, 0.5, 153.0)))
    assert first.generation_mw[0, 0] == pytest.approx([0.0, 0.0])


def test_every_bus_of_a_plant_has_the_head(simulated, study):
    limits = {"turbined_min_m3s": 0.0, "generation_min_mw": 0.0, "generation_max_mw": 99.0}
    groups = tuple(UnitGroup(b, f"G{b}", b, turbined_max_m3s=15.0, **limits) for b in (0, 1))
    _, _, (first, _) = simulated(study(groups=groups))
    assert first.fed_generation_mw[0, :, 0] == pytest.approx([16.5, 16.5])
    assert first.generation_mw[0, 0, 0] == pytest.approx(33.0)
