"""Tables hold what the stage problems decided, in a fixed order."""

from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pytest

from pycobre.lp import COST_TERMS
from pycobre.results import TABLES
from pycobre.results.tabulate import operate, simulation_tables, system_tables, training_tables


@pytest.fixture(scope="module")
def operation(study):
    return operate(study.system, study.recursion, study.models, study.round)


@pytest.fixture(scope="module")
def tables(study, operation):
    return simulation_tables(study.system, operation)


def cells(table, stage, block=None):
    """Rows of one stage (and block), as (scenario, entity) arrays by column."""
    mask = np.asarray(table["stage_id"]) == stage.id
    if block is not None:
        mask &= np.asarray(table["block_id"]) == block.id
    scenarios = len(np.unique(np.asarray(table["scenario_id"])))
    return {name: np.asarray(table[name])[mask].reshape(scenarios, -1) for name in table.column_names}


@pytest.mark.parametrize(
    "name", ["hydros", "thermals", "buses", "exchanges", "reservoirs", "costs", "scenarios"]
)
def test_rows_stand_by_scenario_stage_block_and_entity(tables, name):
    index = TABLES[name].metadata[b"pycobre.index"].decode().split(",")
    rows = list(zip(*(tables[name][column].to_pylist() for column in index), strict=True))
    assert rows == sorted(set(rows))
    assert tables[name].schema.equals(TABLES[name], check_metadata=True)
    assert all(column.null_count == 0 for column in tables[name].columns)


def test_block_tables_hold_the_operation(study, operation, tables):
    direct = {
        "hydros": {
            c: c for c in TABLES["hydros"].names if c.endswith(("_m3s", "_mw")) and c != "outflow_m3s"
        },
        "thermals": {"generation_mw": "thermal_mw"},
        "buses": {c: c for c in ("load_mw", "excess_mw", "price_per_mwh")},
        "exchanges": {c: c for c in ("direct_mw", "reverse_mw")},
    }
    for t, stage in enumerate(study.system.stages):
        for k, block in enumerate(stage.blocks):
            for name, columns in direct.items():
                found = cells(tables[name], stage, block)
                for column, part in columns.items():
                    np.testing.assert_array_equal(
                        found[column], getattr(operation.stages[t], part)[:, :, k], err_msg=f"{name}.{column}"
                    )


def test_stage_tables_hold_the_operation(study, operation, tables):
    for t, stage in enumerate(study.system.stages):
        operated = operation.stages[t]
        found = cells(tables["reservoirs"], stage)
        for column in TABLES["reservoirs"].names[3:]:
            np.testing.assert_array_equal(found[column], getattr(operated, column), err_msg=column)
        found = cells(tables["costs"], stage)
        for term, cost in operated.costs.items():
            np.testing.assert_array_equal(found[f"{term}_cost"][:, 0], cost, err_msg=term)
        np.testing.assert_array_equal(found["stage_cost"][:, 0], study.round.walk.cost[:, t])
        np.testing.assert_array_equal(
            found["future_cost"][:, 0], study.round.walk.steps[t][0].dispatch.future
        )
        np.testing.assert_array_equal(found["discount_factor"][:, 0], study.round.walk.discount[:, t])


def test_no_scenario_has_other_bits_for_those_beside_it(study, cut_round):
    random, count, walk = np.random.default_rng(1), 40, study.round.walk

    def drawn(dispatch):
        """Dispatches of the same columns with any numbers."""
        parts = {f.name: getattr(dispatch, f.name).shape[1:] for f in fields(dispatch)}
        return replace(
            dispatch, **{name: random.normal(size=(count, *shape)) for name, shape in parts.items()}
        )

    def tables_of(round_):
        return simulation_tables(study.system, operate(study.system, study.recursion, study.models, round_))

    steps = tuple(
        tuple(
            replace(
                step,
                members=np.arange(count),
                opening=np.zeros(count, dtype=np.int32),
                state=random.normal(size=(count, step.state.shape[1])),
                noise=random.normal(size=(count, step.noise.shape[1])),
                dispatch=drawn(step.dispatch),
            )
            for step in level
        )
        for level in walk.steps
    )
    places = np.arange(count) % len(walk.cost)
    walk = replace(
        walk, node=walk.node[places], state=walk.state[places], cost=walk.cost[places],
        discount=walk.discount[places], steps=steps,
    )  # fmt: skip
    whole = replace(study.round, walk=walk, cost=study.round.cost[places])
    together = tables_of(whole)
    for starts in (range(count), range(0, count, 3)):
        parts = [tables_of(cut_round(whole, k, min(k + starts.step, count))) for k in starts]
        for name, table in together.items():
            apart = pa.concat_tables([part[name] for part in parts])
            differing = [c for c in table.column_names if not table[c].equals(apart[c])]
            assert not differing, f"{name}: {differing} by {starts.step}"


def test_sums_of_derived_columns_are_the_stage_costs(study, tables):
    for stage in study.system.stages:
        costs = cells(tables["costs"], stage)
        pairs = {
            "thermal_cost": ("thermals", "generation_cost"),
            "deficit_cost": ("buses", "deficit_cost"),
            "exchange_cost": ("exchanges", "exchange_cost"),
        }
        for term, (name, column) in pairs.items():
            summed = cells(tables[name], stage)[column].sum(axis=1)
            np.testing.assert_allclose(summed, costs[term][:, 0], rtol=1e-12, atol=1e-9)
        terms = sum(costs[f"{term}_cost"][:, 0] for term in COST_TERMS)
        np.testing.assert_allclose(terms, costs["stage_cost"][:, 0], rtol=1e-9, atol=1e-6)


def test_scenarios_hold_the_discounted_sum_of_stage_costs(tables, study):
    costs = tables["costs"]
    weighted = (
        (np.asarray(costs["stage_cost"]) * np.asarray(costs["discount_factor"])).reshape(-1, 3).sum(axis=1)
    )
    np.testing.assert_allclose(np.asarray(tables["scenarios"]["cost"]), weighted, rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(tables["scenarios"]["cost"]), study.round.cost)


def test_the_study_uses_what_the_tables_show(tables):
    """Or the tests here would compare zeros."""
    used = {
        "buses": ("deficit_mw", "deficit_cost", "price_per_mwh"),
        "exchanges": ("losses_mw", "exchange_cost"),
        "hydros": ("spilled_m3s", "turbined_below_m3s", "outflow_below_m3s", "generation_mw"),
        "thermals": ("generation_cost",),
        "reservoirs": ("water_value_per_hm3", "storage_below_hm3"),
    }
    for name, column in ((name, column) for name, columns in used.items() for column in columns):
        assert np.abs(np.asarray(tables[name][column])).max() > 1e-3, (name, column)


def test_training_tables_hold_the_history(study):
    tables = training_tables(study.policy.history)
    last = study.policy.history[-1]
    row = tables["convergence"].to_pylist()[-1] | tables["timing"].to_pylist()[-1]
    for name, value in row.items():
        if not name.startswith("recoveries_"):
            assert value == getattr(last, name)
    assert tuple(v for name, v in row.items() if name.startswith("recoveries_")) == last.recoveries
    assert training_tables([])["convergence"].num_rows == 0


def test_system_tables_explain_the_ids(study):
    tables = system_tables(study.system)
    assert tables["stages"].num_rows == 5
    entities = {(row["kind"], row["id"]): row for row in tables["entities"].to_pylist()}
    assert entities["hydro", 7]["downstream_id"] == 9
    assert entities["line", 3] == {
        "kind": "line", "id": 3, "name": "north-south", "bus_id": 1, "target_bus_id": 4,
        "upstream_id": None, "downstream_id": None, "diversion_id": None, "losses_fraction": 0.05,
    }  # fmt: skip


def test_two_rounds_make_the_rows_of_one(study, tables, cut_round):
    halves = [
        simulation_tables(
            study.system, operate(study.system, study.recursion, study.models, cut_round(study.round, *part))
        )
        for part in ((0, 3), (3, 7))
    ]
    for name, whole in tables.items():
        assert pa.concat_tables([half[name] for half in halves]).equals(whole), name


def test_a_graph_that_is_no_line_is_refused(study):
    walk = replace(study.round.walk, steps=study.round.walk.steps[::-1])
    with pytest.raises(ValueError, match="line of its stages"):
        operate(study.system, study.recursion, study.models, replace(study.round, walk=walk))
