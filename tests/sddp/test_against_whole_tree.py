"""Training against the deterministic equivalent: the whole scenario tree as one LP, solved by scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from pycobre.lp import Assembly
from pycobre.sddp import Cvar, Node, PolicyGraph

STAGES, OPENINGS, STATES, LAGS = 3, 3, 2, 1
DISCOUNT = 0.9


def random_stage(rng, t):
    """Two reservoirs in a random system with one autoregressive inflow that is carried on."""
    lp = Assembly(f"stage {t}")
    storages = [lp.column(f"v{r}", upper=rng.uniform(20, 60)) for r in range(STATES)]
    flows = [lp.column(f"q{r}", cost=rng.uniform(0, 0.1), upper=rng.uniform(10, 40)) for r in range(STATES)]
    spills = [lp.column(f"s{r}", cost=0.5) for r in range(STATES)]
    thermals = [lp.column(f"g{j}", cost=rng.uniform(5, 50), upper=rng.uniform(5, 20)) for j in range(3)]
    deficit = lp.column("deficit", cost=200.0)
    demand = lp.row("demand", 60.0, 60.0)
    for column in (*thermals, deficit):
        lp.add(demand, column, 1.0)
    for column in flows:
        lp.add(demand, column, rng.uniform(0.5, 1.5))
    lp.move_by_noise(demand, 2, rng.uniform(1, 5))
    weight, base = rng.uniform(0.2, 0.8), rng.uniform(5, 15)
    for r in range(STATES):
        water = lp.row(f"water{r}", base, base)
        for column in (storages[r], flows[r], spills[r]):
            lp.add(water, column, 1.0)
        if r:
            lp.add(water, flows[r - 1], -1.0)
            lp.add(water, spills[r - 1], -1.0)
        lp.move_by_state(water, r, 1.0)
        lp.move_by_noise(water, r, 4.0)
        if r == 0:
            lp.move_by_state(water, STATES, weight)
    return lp.template(
        states_in=STATES + LAGS,
        noises=3,
        state_columns=storages,
        carried_constant=[base],
        carried_state=[(0, STATES, weight)],
        carried_noise=[(0, 0, 4.0)],
    )


def whole_tree_value(stages, openings, initial):
    """Expected discounted cost of the best policy, by one LP over all nodes of the scenario tree.

    The carried part of a state is a number at every node of the tree, so only the decided part is
    among its variables.
    """
    cost, lower, upper, rows = [], [], [], []  # rows: (entries, lower, upper)

    def grow(t, parent, fixed, probability, discount):
        stage = stages[t]
        t_matrix, n_matrix, a = stage.row_state.toarray(), stage.row_noise.toarray(), stage.matrix.toarray()
        for noise in openings[t]:
            first = len(cost)
            share = probability / len(openings[t])
            cost.extend(share * discount * stage.cost)
            lower.extend(stage.column_lower)
            upper.extend(stage.column_upper)
            for i in range(len(stage.row_lower)):
                entries = {first + j: a[i, j] for j in range(len(stage.cost)) if a[i, j]}
                shift = n_matrix[i] @ noise
                for s in range(stage.states_in):
                    if parent is not None and s < STATES:
                        if t_matrix[i, s]:
                            entries[parent[s]] = entries.get(parent[s], 0.0) - t_matrix[i, s]
                    else:
                        shift += t_matrix[i, s] * fixed[s]
                rows.append((entries, stage.row_lower[i] + shift, stage.row_upper[i] + shift))
            if t + 1 < len(stages):
                carried = (
                    stage.carried_constant
                    + stage.carried_state.toarray() @ fixed
                    + stage.carried_noise.toarray() @ noise
                )
                columns = [first + int(j) for j in stage.state_columns]
                grow(t + 1, columns, np.concatenate([np.zeros(STATES), carried]), share, discount * DISCOUNT)

    grow(0, None, initial, 1.0, 1.0)
    a_ub, b_ub, a_eq, b_eq = [], [], [], []
    for entries, low, high in rows:
        line = np.zeros(len(cost))
        for column, value in entries.items():
            line[column] = value
        if low == high:
            a_eq.append(line)
            b_eq.append(low)
            continue
        if math.isfinite(high):
            a_ub.append(line)
            b_ub.append(high)
        if math.isfinite(low):
            a_ub.append(-line)
            b_ub.append(-low)
    found = linprog(
        cost,
        A_ub=np.array(a_ub) if a_ub else None,
        b_ub=b_ub or None,
        A_eq=np.array(a_eq),
        b_eq=b_eq,
        bounds=list(zip(lower, upper, strict=True)),
        method="highs",
    )
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("seed", range(20))
def test_training_reaches_the_value_of_the_whole_tree(train_graph, seed):
    rng = np.random.default_rng(seed)
    stages = [random_stage(rng, t) for t in range(STAGES)]
    openings = [rng.standard_normal((1 if t == 0 else OPENINGS, 3)) for t in range(STAGES)]
    initial = np.array([15.0, 10.0, 8.0])
    value = whole_tree_value(stages, openings, initial)
    nodes = [Node(stage, opening) for stage, opening in zip(stages, openings, strict=True)]
    graph = PolicyGraph.line(nodes, initial, [DISCOUNT] * (STAGES - 1))
    policy, _ = train_graph(graph, iterations=30, forward_passes=3)
    assert policy.lower_bound == pytest.approx(value, rel=1e-7)


def nested_value(stages, openings, initial, measures):
    """Nested risk-adjusted cost of the best policy, by one LP over all nodes of the scenario tree.

    Every node has a variable for its cost, with what follows; a stage's measure is written by its own
    definition, min over h of h + E[(cost - h)+]/tail.
    """
    cost, lower, upper, rows = [], [], [], []

    def variable(low=-np.inf, high=np.inf):
        lower.append(low)
        upper.append(high)
        return len(lower) - 1

    def measure(t, parent, fixed):
        """Variable that is at least the measure of stage t's openings."""
        tail, weight = measures[t]
        share = 1.0 / len(openings[t])
        threshold, total = variable(), variable()
        entries = {total: 1.0, threshold: -weight}
        for noise in openings[t]:
            value, excess = variable(), variable(0.0)
            rows.append(({excess: 1.0, value: -1.0, threshold: 1.0}, 0.0, np.inf))
            entries[value] = -(1.0 - weight) * share
            entries[excess] = -weight * share / tail
            node(t, parent, fixed, noise, value)
        rows.append((entries, 0.0, np.inf))
        return total

    def node(t, parent, fixed, noise, value):
        stage = stages[t]
        a, n, s = stage.matrix.toarray(), stage.row_noise.toarray(), stage.row_state.toarray()
        x = [variable(*bounds) for bounds in zip(stage.column_lower, stage.column_upper, strict=True)]
        for i in range(len(stage.row_lower)):
            entries = {x[j]: a[i, j] for j in range(len(x)) if a[i, j]}
            shift = n[i] @ noise + s[i, STATES:] @ fixed[STATES:]
            for k in range(STATES):
                if parent is None:
                    shift += s[i, k] * fixed[k]
                elif s[i, k]:
                    entries[parent[k]] = -s[i, k]
            rows.append((entries, stage.row_lower[i] + shift, stage.row_upper[i] + shift))
        entries = {value: 1.0, **{x[j]: -c for j, c in enumerate(stage.cost)}}
        if t + 1 < len(stages):
            carried = (
                stage.carried_constant
                + stage.carried_state.toarray() @ fixed
                + stage.carried_noise.toarray() @ noise
            )
            following = measure(
                t + 1, [x[int(j)] for j in stage.state_columns], np.concatenate([np.zeros(STATES), carried])
            )
            entries[following] = -DISCOUNT
        rows.append((entries, 0.0, np.inf))

    total = measure(0, None, initial)
    cost = np.zeros(len(lower))
    cost[total] = 1.0
    matrix, sides = [], []
    for entries, low, high in rows:
        line = np.zeros(len(lower))
        for column, weight in entries.items():
            line[column] = weight
        for sign, side in ((1.0, high), (-1.0, -low)):
            if math.isfinite(side):
                matrix.append(sign * line)
                sides.append(side)
    bounds = list(zip(lower, upper, strict=True))
    found = linprog(cost, A_ub=np.array(matrix), b_ub=sides, bounds=bounds, method="highs")
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize(("tail", "weight"), [(0.34, 1.0), (0.5, 0.4), (0.15, 0.4), (1.0, 1.0), (0.2, 0.0)])
@pytest.mark.parametrize("seed", range(2))
def test_risk_averse_training_reaches_the_value_of_the_whole_tree(train_graph, seed, tail, weight):
    rng = np.random.default_rng(seed)
    stages = [random_stage(rng, t) for t in range(STAGES)]
    openings = [rng.standard_normal((OPENINGS, 3)) for t in range(STAGES)]
    initial = np.array([15.0, 10.0, 8.0])
    measures = [(tail, weight), (0.6, 0.3), (tail, weight)]  # it may change by stage, and holds at the root
    value = nested_value(stages, openings, initial, measures)
    nodes = [
        Node(stage, opening, risk=Cvar(*measure))
        for stage, opening, measure in zip(stages, openings, measures, strict=True)
    ]
    graph = PolicyGraph.line(nodes, initial, [DISCOUNT] * (STAGES - 1))
    policy, _ = train_graph(graph, iterations=40, forward_passes=3)
    assert policy.lower_bound == pytest.approx(value, rel=1e-7)
    if weight == 0.0 or tail == 1.0:
        assert nested_value(stages, openings, initial, [(1.0, 1.0)] * 3) == pytest.approx(
            whole_tree_value(stages, openings, initial), rel=1e-9
        )
