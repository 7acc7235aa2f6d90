"""Limits, prices and presence that differ by stage and block, each with the value that follows from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pycobre.system import HydroPenalties, Line, Service, Thermal

MONTH = [730.0]
THERMAL = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)


@pytest.fixture
def dry(system, stages, bus, hydro):
    """The water of two months (load 80, inflow 40 and 10): changes and what is different of the plant."""

    def make(changes=None, **plant):
        return system(
            stages(MONTH, MONTH),
            [bus()],
            [THERMAL],
            [hydro(**plant)],
            [40.0, 10.0],
            [80.0, 80.0],
            changes={"hydros": changes or {}},
        )

    return make


BASE = 23635000.0 / 9.0
WATER_M3S = 100.0 / 2.628 + 50.0
"""All water there is, as a flow over one month."""


@pytest.mark.parametrize(
    ("values", "cost"),
    [
        # 10 MW can't be made by water in the first month, but can in the second: still less in all.
        ({"turbined_max_m3s": 10.0}, 36500.0 * (160.0 - 60.0)),
        ({"generation_max_mw": 10.0}, 36500.0 * (160.0 - 60.0)),
        # Minimum flows in the first month leave the total as it is, below the capacity of 50.
        ({"turbined_min_m3s": 48.0}, BASE),
        ({"outflow_min_m3s": 60.0}, BASE + 730.0 * (1e4 * 10.0)),
        ({"generation_min_mw": 60.0}, BASE + 730.0 * (1e4 * 10.0)),
        ({"outflow_max_m3s": 20.0}, 36500.0 * (160.0 - 70.0)),
        ({"storage_max_hm3": 50.0, "outflow_max_m3s": 100.0}, 36500.0 * (160.0 - 50.0 - 10.0 - 50.0 / 2.628)),
        ({"storage_min_hm3": 100.0}, 36500.0 * (160.0 - WATER_M3S)),
        ({"withdrawal_m3s": 20.0}, 36500.0 * (160.0 - WATER_M3S + 20.0)),
        ({"withdrawal_m3s": -5.0}, 36500.0 * (160.0 - WATER_M3S - 5.0)),
        ({"turbined_cost_per_m3s_h": 7.0, "spillage_cost_per_m3s_h": 9.0}, None),
    ],
)
def test_a_change_of_one_stage_is_paid_for_there(plan, dry, values, cost):
    bound, simulated, _ = plan(dry({(0, 0, None): values}))
    assert simulated == pytest.approx(bound, rel=1e-9)
    if cost is None:
        assert bound == pytest.approx(BASE + 730.0 * 7.0 * (WATER_M3S - 50.0), rel=1e-6)
        return
    slack = 730.0 * 0.01 * 60.0  # water that had to be spilled, at most
    assert cost - 1e-6 * cost <= bound <= cost + 1e-6 * cost + slack


def test_a_withdrawal_is_missed_down_to_nothing_and_not_beyond(plan, dry):
    cheap = {"withdrawal_below_cost_per_m3s_h": 1.0}
    bound, _, operation = plan(dry({(0, 0, None): {"withdrawal_m3s": 20.0, **cheap}}))
    assert operation[0].withdrawal_below_m3s[0, 0] == pytest.approx(20.0)
    assert operation[0].withdrawn_m3s[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert operation[0].costs["withdrawal_violation"][0] == pytest.approx(730.0 * 20.0)
    assert bound == pytest.approx(BASE + 730.0 * 20.0, rel=1e-6)


def test_water_that_is_brought_can_be_refused_up_to_what_is_brought(plan, dry):
    # Full, without turbines: every m³/s that comes is spilled at 9, or not brought at 2.
    full = {"turbined_max_m3s": 0.0, "spillage_cost_per_m3s_h": 9.0, "outflow_max_m3s": 100.0}
    cheap = {"withdrawal_m3s": -5.0, "withdrawal_above_cost_per_m3s_h": 2.0}
    _, _, operation = plan(dry({(0, 0, None): {**full, **cheap}, (0, 1, None): full}, initial=200.0))
    assert operation[0].withdrawal_above_m3s[0, 0] == pytest.approx(5.0)
    assert operation[0].withdrawn_m3s[0, 0] == pytest.approx(0.0, abs=1e-9)


def test_a_price_by_stage_belongs_to_the_penalties(dry):
    prices = dict.fromkeys(vars(HydroPenalties(*([0.0] * 8))), 3.5)
    built = dry({(0, 1, None): prices})
    assert built.hydros_in(built.stages[0]) == built.hydros
    assert set(vars(built.hydros_in(built.stages[1])[0].penalties).values()) == {3.5}


def test_limits_of_a_block_stand_above_those_of_its_stage(plan, system, stages, bus):
    (stage,) = one = stages([200.0, 530.0])
    changes = {
        "thermals": {(0, 0, None): {"generation_max_mw": 30.0}, (0, 0, 1): {"generation_max_mw": 70.0}},
        "lines": {(0, 0, 1): {"direct_max_mw": 4.0, "reverse_max_mw": 3.0}},
        "buses": {(0, 0, None): {"excess_cost_per_mwh": 9.0}},
    }
    line = Line(0, "L", 0, 1, 8.0, 8.0, 0.0, 0.5)
    built = system(one, [bus(), bus(1)], [THERMAL], [], [], [[60.0], [20.0]], lines=[line], changes=changes)
    bound, _, (operation,) = plan(built)
    assert operation.thermal_mw[0, 0].tolist() == [30.0, 64.0]
    assert operation.direct_mw[0, 0].tolist() == [0.0, 4.0]
    assert bound == pytest.approx(
        50.0 * (30.0 * 200.0 + 64.0 * 530.0) + 1000.0 * (50.0 * 200.0 + 16.0 * 530.0) + 0.5 * 4.0 * 530.0
    )
    assert built.buses_in(stage)[0].excess_cost_per_mwh == 9.0


def test_excess_costs_what_it_does_in_its_stage(plan, system, stages, bus):
    must_run = Thermal(0, "T0", 0, 30.0, 30.0, 50.0)
    changes = {"buses": {(0, 1, None): {"excess_cost_per_mwh": 2.0}}}
    two = system(stages(MONTH, MONTH), [bus()], [must_run], [], [], [20.0, 20.0], changes=changes)
    assert plan(two)[0] == pytest.approx(730.0 * (2 * 30.0 * 50.0 + 10.0 * (0.01 + 2.0)))


@pytest.mark.parametrize(
    ("absent", "service", "value"),
    [
        # Cobre 0.18.0 has the same values; an absent plant's river flows on to the next one.
        ("upper", Service(entry_stage_id=1), 2302833.333333),
        ("lower", Service(entry_stage_id=1), 2538888.888889),
        ("upper", Service(exit_stage_id=1), 3977555.555556),
        ("lower", Service(exit_stage_id=1), 3998888.888889),
        ("thermal", Service(exit_stage_id=1), 8325333.333333),
        ("thermal", Service(entry_stage_id=2), 8325333.333333),
    ],
)
def test_an_absent_plant_lets_its_river_pass(plan, system, stages, bus, hydro, absent, service, value):
    upper = hydro(0, flow=30.0, storage=150.0, initial=80.0, stages=3, downstream_id=1)
    lower = hydro(1, flow=40.0, storage=100.0, initial=50.0, stages=3)
    thermal = THERMAL
    if absent == "upper":
        upper = replace(upper, service=service)
    elif absent == "lower":
        lower = replace(lower, service=service)
    else:
        thermal = replace(thermal, service=service)
    inflow = [[25.0, 15.0, 5.0], [10.0, 5.0, 2.0]]
    built = system(stages(MONTH, MONTH, MONTH), [bus()], [thermal], [upper, lower], inflow, [75.0] * 3)
    bound, cost, operation = plan(built)
    assert bound == pytest.approx(value, rel=1e-9)
    assert cost == pytest.approx(bound, rel=1e-9)
    for t, stage in enumerate(operation):
        out = (stage.turbined_m3s + stage.spilled_m3s)[0, :, 0]
        arriving = [0.0, out[0]]
        for h, plant in enumerate(built.hydros):
            kept = stage.storage_final_hm3[0, h] - stage.storage_initial_hm3[0, h]
            assert kept == pytest.approx(2.628 * (stage.inflow_m3s[0, h] + arriving[h] - out[h]), abs=1e-6)
            if not plant.service.covers(built.stages[t]):
                assert kept == pytest.approx(0.0, abs=1e-9)
                assert stage.generation_mw[0, h, 0] == 0.0


def test_a_line_out_of_service_carries_nothing(plan, system, stages, bus):
    line = Line(0, "L", 0, 1, 8.0, 8.0, 0.0, 0.0, Service(entry_stage_id=1, exit_stage_id=2))
    three = stages(MONTH, MONTH, MONTH)
    built = system(three, [bus(), bus(1)], [THERMAL], [], [], [[0.0] * 3, [8.0] * 3], lines=[line])
    _, _, operation = plan(built)
    assert [stage.direct_mw[0, 0, 0] for stage in operation] == [0.0, 8.0, 0.0]
