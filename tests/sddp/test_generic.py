"""Generic constraints bind what they name, at the price of their slack."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pycobre.system import (
    VARIABLES,
    Ahead,
    ConstraintRow,
    ConstraintTerm,
    Contract,
    Evaporation,
    GenericConstraint,
    LaterDelivery,
    LaterStage,
    Line,
    PumpingStation,
    Source,
    SourceStatistics,
    Thermal,
)

MONTH = [200.0, 530.0]
INFLOW = [[25.0, 15.0, 5.0], [10.0, 5.0, 2.0]]


@pytest.fixture
def cascade(system, stages, bus, hydro):
    """Two plants in a river over three months, of one or two blocks."""

    def make(constraint, hours=MONTH):
        upper = hydro(0, flow=30.0, storage=150.0, initial=80.0, stages=3, downstream_id=1,
                      outflow_max_m3s=math.inf)  # fmt: skip
        lower = hydro(1, flow=40.0, storage=100.0, initial=50.0, stages=3, outflow_max_m3s=math.inf)
        thermal = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)
        return system(stages(hours, hours, hours), [bus()], [thermal], [upper, lower], INFLOW, [75.0] * 3,
                      constraints=(constraint,))  # fmt: skip

    return make


def rule(terms, lower=-math.inf, upper=math.inf, *, block=None, price=5000.0):
    row = ConstraintRow(lower, upper, tuple(ConstraintTerm(*term) for term in terms))
    return GenericConstraint(1, "c", price, {(0, block): row})


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        # Cobre 0.18.0 has the same values.
        (rule([(1.0, "hydro_turbined", 0)], upper=10.0), 1588984.1666667),
        (rule([(1.0, "hydro_turbined", 0)], upper=10.0, block=1), 1390333.3333333),
        (rule([(1.0, "hydro_turbined", 0, 0)], upper=10.0), 1390333.3333333),
        (rule([(1.0, "hydro_storage_final", 0)], 300.0, price=0.001), 1390475.5957333),
        (rule([(1.0, "hydro_storage", 0), (2.0, "hydro_turbined", 0)], 175.0, price=0.001), 1390361.8012889),
        (rule([(1.0, "hydro_inflow", 0), (-1.0, "hydro_turbined", 0)], 5.0), 1390333.3333333),
        (rule([(1.0, "hydro_turbined", 0)], 100.0, 100.0), 256890333.3333333),
        (rule([(1.0, "bus_deficit", 0), (1.0, "thermal_generation", 0)], upper=1.0, price=0.5),
         1391793.3333333),
        (rule([(1.0, "hydro_turbined", 0), (1.0, "hydro_turbined", 1), (-1.0, "thermal_generation", 0)],
              upper=10.0), 1551250.0),
    ],
)  # fmt: skip
def test_a_constraint_costs_what_it_should(plan, cascade, constraint, value):
    bound, cost, _ = plan(cascade(constraint))
    assert bound == pytest.approx(value, rel=1e-7)
    assert cost == pytest.approx(bound, rel=1e-9)


def test_a_slack_is_shown_where_it_is_used(plan, cascade):
    _, _, operation = plan(cascade(rule([(1.0, "hydro_turbined", 0)], 100.0, price=3.0)))
    assert operation[0].generic_below[0, 0].tolist() == pytest.approx([70.0, 70.0])
    assert operation[0].costs["generic_violation"][0] == pytest.approx(3.0 * 70.0 * 730.0)
    assert operation[1].generic_below.sum() == 0.0
    _, _, operation = plan(cascade(rule([(1.0, "hydro_storage", 0)], 300.0, price=0.001)))
    missing = 300.0 - operation[0].storage_final_hm3[0, 0]
    assert operation[0].generic_below[0, 0].tolist() == pytest.approx([missing, missing])
    assert operation[0].costs["generic_violation"][0] == pytest.approx(0.001 * missing * 730.0)


@pytest.fixture
def whole(system, stages, bus, hydro):
    """One stage that has everything a constraint may speak of."""

    def make(constraint=None):
        line = Line(0, "L", 0, 1, 30.0, 30.0, 0.0, 0.1)
        sources = (Source(0, "wind", 0, 10.0, True, 0.1), Source(1, "sun", 0, 10.0, False, 0.1))
        share = SourceStatistics(np.full((2, 1), 0.5), np.zeros((2, 1)), np.ones((2, 1, 2)))
        plant = hydro(
            0,
            stages=1,
            storage_min_hm3=20.0,
            withdrawal_m3s=2.0,
            evaporation=(Evaporation(0.3, 0.01),),
            diversion_to_id=1,
            diversion_min_m3s=1.0,
            diversion_max_m3s=3.0,
            outflow_max_m3s=math.inf,
        )
        thermal = Thermal(0, "T", 0, 0.0, 40.0, 50.0)
        contracts = (Contract(0, "in", 0, False, 1.0, 2.0, 9.0), Contract(1, "out", 0, True, 3.0, 4.0, 9.0))
        pumps = (PumpingStation(0, "up", 0, 0, 1, 0.5, 1.0, 0.4),)
        other = hydro(1, stages=1)
        ahead = Ahead(lead_stages=1, past_mw={0: 3.0}, later={0: LaterDelivery(2.0, 7.0, 10.0)})
        shipped = Thermal(2, "LNG", 0, 0.0, 5.0, 50.0, ahead=ahead)
        months = stages(MONTH)
        inflow, load = [[40.0], [0.0]], [[110.0], [20.0]]
        return system(months, [bus(), bus(1)], [thermal, shipped], [plant, other], inflow, load,
                      later=(LaterStage(months[0].end_date, 720.0, 0.0),), lines=[line], sources=sources,
                      contracts=contracts, pumps=pumps, availability=share,
                      constraints=() if constraint is None else (constraint,))  # fmt: skip

    return make


@pytest.mark.parametrize("variable", VARIABLES)
def test_every_variable_is_the_quantity_that_it_is_called(plan, whole, variable):
    """A constraint that asks for a million of it misses a million less what there is."""
    much = 1e6
    of = {"contract_export": 1, "anticipated_decision": 2}.get(variable, 0)
    built = whole(rule([(1.0, variable, of)], much, price=1e-7))
    _, _, (operation,) = plan(built)
    missing = operation.generic_below[0, 0]
    o = operation
    storage, made = o.storage_final_hm3[0, 0], o.turbined_m3s[0, 0]
    expected = {
        "hydro_storage": storage, "hydro_storage_final": storage, "hydro_storage_initial": 100.0,
        "hydro_useful_volume_final": storage - 20.0, "hydro_useful_volume_initial": 80.0,
        "hydro_inflow": 40.0, "hydro_evaporation": 0.3 + 0.01 * (100.0 + storage) / 2.0,
        "hydro_diversion": o.diverted_m3s[0, 0], "hydro_withdrawal": 2.0, "hydro_turbined": made,
        "hydro_spillage": o.spilled_m3s[0, 0], "hydro_outflow": made + o.spilled_m3s[0, 0],
        "anticipated_decision": o.committed_mw[0, 0],
        "hydro_generation": o.generation_mw[0, 0], "thermal_generation": o.thermal_mw[0, 0],
        "line_direct": o.direct_mw[0, 0], "line_reverse": o.reverse_mw[0, 0],
        "line_exchange": o.direct_mw[0, 0] - o.reverse_mw[0, 0],
        "bus_deficit": o.deficit_mw[0, 0].sum(axis=1),
        "pumping_flow": o.pumped_m3s[0, 0], "pumping_power": 0.4 * o.pumped_m3s[0, 0],
        "contract_import": o.contract_mw[0, 0], "contract_export": o.contract_mw[0, 1],
        "bus_excess": o.excess_mw[0, 0], "non_controllable_generation": o.source_mw[0, 0],
        "non_controllable_curtailment": o.available_mw[0, 0] - o.source_mw[0, 0],
    }[variable]  # fmt: skip
    assert much - missing == pytest.approx(np.broadcast_to(expected, 2), abs=1e-5)


def test_a_must_run_source_counts_with_what_is_available(plan, whole):
    for variable, value in (("non_controllable_generation", 5.0), ("non_controllable_curtailment", 0.0)):
        _, _, (operation,) = plan(whole(rule([(1.0, variable, 1)], 1e6, price=1e-7)))
        assert 1e6 - operation.generic_below[0, 0] == pytest.approx([value] * 2, abs=1e-5)
