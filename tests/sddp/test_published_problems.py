"""Linear multistage problems with published values, built by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pycobre.lp import Assembly
from pycobre.sddp import ROOT, Arc, Node, PolicyGraph

NO_NOISE = np.zeros((1, 0))


def template(lp, *, states_in=1, noises=0, state_columns=(0,)):
    return lp.template(
        states_in=states_in,
        noises=noises,
        state_columns=list(state_columns),
        carried_constant=[],
        carried_state=[],
        carried_noise=[],
    )


def fast_hydro_thermal_stage():
    lp = Assembly("stage")
    x, p, y = lp.column("x", upper=8.0), lp.column("p", cost=5.0), lp.column("y")
    demand = lp.row("demand", 6.0, math.inf)
    lp.add(demand, p, 1.0)
    lp.add(demand, y, 1.0)
    water = lp.row("water", -math.inf, 0.0)
    lp.add(water, x, 1.0)
    lp.add(water, y, 1.0)
    lp.move_by_state(water, 0, 1.0)
    lp.move_by_noise(water, 0, 1.0)
    return template(lp, noises=1)


def test_fast_hydro_thermal_costs_ten(train_graph):
    """SDDP.jl examples, FAST: 2 stages, inflow 6 then 2 or 10."""
    stage = fast_hydro_thermal_stage()
    nodes = [Node(stage, np.array([[6.0]])), Node(stage, np.array([[2.0], [10.0]]))]
    policy, _ = train_graph(PolicyGraph.line(nodes, np.zeros(1)), iterations=10)
    assert policy.lower_bound == pytest.approx(10.0, abs=1e-6)


def test_a_node_at_several_depths_has_cuts_of_all_that_come_by(train_graph):
    """Water is worth most at once: 0 at first, 20 where inflow is 2, and 10 where it is 2 or 10, at the end.

    Half of the scenarios go to the end at once, half by a stage more.
    """
    stage = fast_hydro_thermal_stage()
    nodes = [Node(stage, np.array(inflow)) for inflow in ([[6.0]], [[2.0]], [[2.0], [10.0]])]
    arcs = [Arc(ROOT, 0), Arc(0, 1, 0.5), Arc(0, 2, 0.5), Arc(1, 2)]
    policy, _ = train_graph(PolicyGraph(nodes, arcs, np.zeros(1)), iterations=10, forward_passes=5)
    assert policy.lower_bound == pytest.approx(0.5 * 10.0 + 0.5 * (20.0 + 10.0), abs=1e-6)


def test_fast_quickstart_earns_two(train_graph):
    """SDDP.jl examples, FAST quickstart: s <= x, s <= 2 or 3, maximise 2 s - x... minimised here."""
    first = Assembly("first")
    first.column("x", cost=1.0, upper=10.0)
    second = Assembly("second")
    second.column("x", upper=10.0)
    s = second.column("s", cost=-2.0, upper=3.0)
    bought = second.row("bought", -math.inf, 0.0)
    second.add(bought, s, 1.0)
    second.move_by_state(bought, 0, 1.0)
    demand = second.row("demand", -math.inf, 0.0)
    second.add(demand, s, 1.0)
    second.move_by_noise(demand, 0, 1.0)
    nodes = [Node(template(first), NO_NOISE), Node(template(second, noises=1), np.array([[2.0], [3.0]]))]
    policy, _ = train_graph(PolicyGraph.line(nodes, np.zeros(1)), iterations=10)
    assert policy.lower_bound == pytest.approx(-2.0, abs=1e-6)


def test_stock_problem_of_stochdynamicprogramming(train_graph):
    """StochDynamicProgramming.jl's stock example, in SDDP.jl's tests: -1.471075."""
    noise = (np.arange(10) / 30.0).reshape(-1, 1)
    nodes = []
    for t in range(1, 6):
        lp = Assembly(f"t{t}")
        x, u = lp.column("x", upper=1.0), lp.column("u", cost=math.sin(3 * t) - 1.0, upper=0.5)
        balance = lp.row("balance", 0.0, 0.0)
        lp.add(balance, x, 1.0)
        lp.add(balance, u, -1.0)
        lp.move_by_state(balance, 0, 1.0)
        lp.move_by_noise(balance, 0, -1.0)
        nodes.append(Node(template(lp, noises=1), noise))
    policy, _ = train_graph(PolicyGraph.line(nodes, np.array([0.5])), iterations=50)
    assert policy.lower_bound == pytest.approx(-1.471075, abs=1e-5)


def test_first_steps_with_water_costs_a_third_of_25000(train_graph):
    """SDDP.jl's first steps: 3 stages, demand 150, thermal 50/100/150, inflow 0, 50 or 100."""
    nodes = []
    for cost in (50.0, 100.0, 150.0):
        lp = Assembly(f"cost {cost}")
        volume, thermal = lp.column("volume", upper=200.0), lp.column("thermal", cost=cost)
        hydro, spill = lp.column("hydro"), lp.column("spill")
        demand = lp.row("demand", 150.0, 150.0)
        lp.add(demand, thermal, 1.0)
        lp.add(demand, hydro, 1.0)
        water = lp.row("water", 0.0, 0.0)
        for column in (volume, hydro, spill):
            lp.add(water, column, 1.0)
        lp.move_by_state(water, 0, 1.0)
        lp.move_by_noise(water, 0, 1.0)
        nodes.append(Node(template(lp, noises=1), np.array([[0.0], [50.0], [100.0]])))
    policy, _ = train_graph(PolicyGraph.line(nodes, np.array([200.0])), iterations=10)
    assert policy.lower_bound == pytest.approx(25000.0 / 3.0, abs=1e-4)


def test_asset_management_on_a_markov_chain(train_graph):
    """Birge and Louveaux, simple version in SDDP.jl: 4 stages, 2 Markov states from stage 2, 1.514085."""
    stocks_return, bonds_return = (1.25, 1.06), (1.14, 1.12)

    def invest(name, returns):
        lp = Assembly(name)
        stocks, bonds = lp.column("stocks", upper=1e3), lp.column("bonds", upper=1e3)
        budget = lp.row("budget", 55.0 if returns is None else 0.0, 55.0 if returns is None else 0.0)
        lp.add(budget, stocks, 1.0)
        lp.add(budget, bonds, 1.0)
        if returns is not None:
            for state, factor in enumerate(returns):
                lp.move_by_state(budget, state, factor)
        return Node(template(lp, states_in=2, state_columns=(0, 1)), NO_NOISE)

    def finish(name, returns):
        lp = Assembly(name)
        over, under = lp.column("over", cost=-1.0, upper=1e3), lp.column("under", cost=4.0)
        goal = lp.row("goal", -80.0, -80.0)
        lp.add(goal, over, 1.0)
        lp.add(goal, under, -1.0)
        for state, factor in enumerate(returns):
            lp.move_by_state(goal, state, factor)
        return Node(template(lp, states_in=2, state_columns=(0, 1)), NO_NOISE)

    returns = list(zip(stocks_return, bonds_return, strict=True))
    nodes = [invest("t1", None)]
    nodes += [invest(f"t{t} {m}", returns[m]) for t in (2, 3) for m in (0, 1)]
    nodes += [finish(f"t4 {m}", returns[m]) for m in (0, 1)]
    arcs = [Arc(ROOT, 0)]
    arcs += [Arc(0, m, 0.5) for m in (1, 2)]
    arcs += [Arc(n, m, 0.5) for n in (1, 2) for m in (3, 4)]
    arcs += [Arc(n, m, 0.5) for n in (3, 4) for m in (5, 6)]
    policy, _ = train_graph(PolicyGraph(nodes, arcs, np.zeros(2)), iterations=40, forward_passes=3)
    assert policy.lower_bound == pytest.approx(1.514085, abs=1e-5)


def test_air_conditioning_relaxed(train_graph):
    """SDDP.jl's air conditioning: 62500 at p = 0.5, 68200 at p(100) = 0.4."""
    for low_demand, value in ((0.5, 62500.0), (0.4, 68200.0)):
        nodes = []
        for t in range(3):
            lp = Assembly(f"period {t}")
            store = lp.column("store", upper=100.0)
            # Storage is paid when it is carried on: the state's cost is this period's 50 a unit kept.
            made = lp.column("made", cost=100.0, upper=200.0)
            over = lp.column("over", cost=300.0)
            kept = lp.column("kept", cost=50.0)
            balance = lp.row("balance", 0.0, 0.0)
            for column, factor in ((store, -1.0), (made, 1.0), (over, 1.0)):
                lp.add(balance, column, factor)
            lp.move_by_state(balance, 0, -1.0)
            lp.move_by_noise(balance, 0, 1.0)
            same = lp.row("same", 0.0, 0.0)
            lp.add(same, store, 1.0)
            lp.add(same, kept, -1.0)
            openings = np.array([[100.0]]) if t == 0 else np.array([[100.0], [300.0]])
            weights = None if t == 0 else np.array([low_demand, 1.0 - low_demand])
            nodes.append(Node(template(lp, noises=1), openings, weights))
        policy, _ = train_graph(PolicyGraph.line(nodes, np.zeros(1)), iterations=20)
        assert policy.lower_bound == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(
    ("inflows", "value"), [([(0.0, 0.0)], 835.0), ([(0, 0), (20, 0), (50, 20)], 838.3333)]
)
def test_hydro_valley_earns_its_published_revenue(train_graph, inflows, value):
    """SDDP.jl's hydro valley: 2 reservoirs in cascade, piecewise turbines, prices 1, 2, 3."""
    flow_knots, power_knots = (50.0, 60.0, 70.0), (55.0, 65.0, 70.0)
    nodes = []
    for t, price in enumerate((1.0, 2.0, 3.0)):
        lp = Assembly(f"stage {t}")
        volumes = [lp.column(f"volume {r}", upper=200.0) for r in range(2)]
        generation = lp.column("generation", cost=-price, upper=140.0)
        power = lp.row("power", 0.0, 0.0)
        lp.add(power, generation, -1.0)
        flows = []
        for r in range(2):
            outflow, spill = lp.column(f"outflow {r}"), lp.column(f"spill {r}", cost=1000.0)
            flows.append((outflow, spill))
            link, share = lp.row(f"link {r}", 0.0, 0.0), lp.row(f"share {r}", -math.inf, 1.0)
            lp.add(link, outflow, -1.0)
            for flow, made in zip(flow_knots, power_knots, strict=True):
                level = lp.column(f"dispatch {r} {flow}", upper=1.0)
                lp.add(link, level, flow)
                lp.add(power, level, made)
                lp.add(share, level, 1.0)
        for r in range(2):
            water = lp.row(f"water {r}", 0.0, 0.0)
            lp.add(water, volumes[r], 1.0)
            for column in flows[r]:
                lp.add(water, column, 1.0)
            for column in flows[r - 1] if r else ():
                lp.add(water, column, -1.0)
            lp.move_by_state(water, r, 1.0)
            taken, rain = lp.column(f"inflow {r}"), lp.row(f"rain {r}", -math.inf, 0.0)
            lp.add(water, taken, -1.0)
            lp.add(rain, taken, 1.0)
            lp.move_by_noise(rain, r, 1.0)
        openings = np.array([(0.0, 0.0)] if t == 0 else inflows, dtype=float)
        nodes.append(Node(template(lp, states_in=2, noises=2, state_columns=volumes), openings))
    policy, _ = train_graph(PolicyGraph.line(nodes, np.array([200.0, 200.0])), iterations=20)
    assert -policy.lower_bound == pytest.approx(value, abs=1e-4)
