"""Cobre's deterministic cases, rebuilt small: analytic values (2 stages of 730 h unless said)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pycobre.lp import ABSENT, build_stages
from pycobre.stochastic import inflow_recursion
from pycobre.system import (
    ConstantProductivity,
    Line,
    ProductionPlane,
    ProductionPlanes,
    Thermal,
)

MONTH = [730.0]


def check(planned, value, tolerance):
    bound, cost, operation = planned
    assert bound == pytest.approx(value, abs=tolerance)
    assert cost == pytest.approx(bound, rel=1e-9)
    return operation


def test_d01_dispatches_thermals_by_cost(plan, system, stages, bus):
    thermals = [Thermal(0, "T0", 0, 0.0, 15.0, 5.0), Thermal(1, "T1", 0, 0.0, 15.0, 10.0)]
    two = stages(MONTH, MONTH)
    check(plan(system(two, [bus()], thermals, [], [], [20.0, 20.0])), 182500.0, 1e-6)


def test_d02_keeps_water_for_the_dry_month(plan, system, stages, bus, hydro):
    thermal = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)
    operation = check(
        plan(system(stages(MONTH, MONTH), [bus()], [thermal], [hydro()], [40.0, 10.0], [80.0, 80.0])),
        23635000.0 / 9.0,
        1e-4,
    )
    # The water balance holds with 2.628 hm³ for a m³/s over 730 h.
    for stage in operation:
        released = 2.628 * (stage.turbined_m3s + stage.spilled_m3s)[0, 0, 0]
        gained = 2.628 * stage.inflow_m3s[0, 0]
        assert stage.storage_final_hm3[0, 0] == pytest.approx(
            stage.storage_initial_hm3[0, 0] + gained - released
        )
        assert stage.price_per_mwh[0, 0, 0] == pytest.approx(50.0)


def test_d03_uses_released_water_again_downstream(plan, system, stages, bus, hydro):
    three = stages(MONTH, MONTH, MONTH)
    upper = hydro(0, flow=30.0, storage=150.0, initial=80.0, stages=3, downstream_id=1)
    lower = hydro(1, flow=40.0, storage=100.0, initial=50.0, stages=3)
    thermal = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)
    inflow = [[25.0, 15.0, 5.0], [10.0, 5.0, 2.0]]
    check(plan(system(three, [bus()], [thermal], [upper, lower], inflow, [75.0] * 3)), 4171000.0 / 3.0, 1e-4)


def two_bus_system(system, stages, bus, hydro, losses):
    plants = [
        hydro(0, initial=100.0),
        hydro(1, flow=20.0, storage=100.0, initial=50.0, bus_id=1),
    ]
    line = Line(0, "B0_B1", 0, 1, 15.0, 15.0, losses, 0.01)
    return system(
        stages(MONTH, MONTH),
        [bus(0), bus(1)],
        [Thermal(0, "T0", 0, 0.0, 100.0, 50.0)],
        plants,
        [[35.0, 20.0], [15.0, 5.0]],
        [[30.0, 30.0], [40.0, 40.0]],
        lines=[line],
    )


def test_d04_is_limited_by_its_line(plan, system, stages, bus, hydro):
    check(plan(two_bus_system(system, stages, bus, hydro, 0.0)), 5263443883.0 / 657.0, 1e-4)


def test_line_losses_are_in_the_balance(plan, system, stages, bus, hydro):
    """The peer only reports them: with 10 % lost, 1.5 of 15 MW never arrive and become deficit at 1000."""
    bound, _, _ = plan(two_bus_system(system, stages, bus, hydro, 0.0))
    lossy, _, operation = plan(two_bus_system(system, stages, bus, hydro, 0.1))
    assert lossy > bound + 2 * 1.4 * 730 * 1000
    for stage in operation:
        arrived = 0.9 * stage.direct_mw[0, 0, 0] - stage.reverse_mw[0, 0, 0]
        made = stage.generation_mw[0, 1, 0] + stage.deficit_mw[0, 1, 0, 0] - stage.excess_mw[0, 1, 0]
        assert made + arrived == pytest.approx(40.0)


def test_d05_a_plane_of_constant_head_equals_constant_productivity(plan, system, stages, bus, hydro):
    planes = ProductionPlanes((ProductionPlane(0.0, 0.0, 1.0, 0.0),))
    thermal = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)
    plant = hydro(production=(planes, planes))
    found = plan(system(stages(MONTH, MONTH), [bus()], [thermal], [plant], [40.0, 10.0], [80.0, 80.0]))
    check(found, 23635000.0 / 9.0, 1e-4)


def test_planes_see_the_mean_of_incoming_and_final_storage(plan, system, stages, bus, hydro):
    """Generation at most 0.2 MW a hm³ of mean storage: with nothing to gain from water, v stays at 100."""
    plane = ProductionPlane(0.0, 0.2, 0.0, 0.0)
    plant = hydro(production=(ProductionPlanes((plane,)),), stages=1, flow=0.0, generation_max_mw=50.0)
    thermal = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)
    bound, _, _ = plan(system(stages(MONTH), [bus()], [thermal], [plant], [0.0], [80.0]))
    assert bound == pytest.approx((80.0 - 0.2 * 100.0) * 730 * 50)


def test_d09_deficit_fills_its_segments_in_order(plan, system, stages, bus):
    segments = ((10.0, 500.0), (math.inf, 5000.0))
    thermal = Thermal(0, "T0", 0, 0.0, 30.0, 10.0)
    two = stages(MONTH, MONTH)
    check(plan(system(two, [bus(segments=segments)], [thermal], [], [], [50.0, 50.0])), 80738000.0, 1e-6)


def test_d14_follows_the_demand_of_its_blocks(plan, system, stages, bus):
    thermals = [Thermal(0, "T0", 0, 0.0, 15.0, 5.0), Thermal(1, "T1", 0, 0.0, 15.0, 10.0)]
    two = stages([400.0, 330.0], [400.0, 330.0])
    factor = np.array([[[0.8, 1.2], [0.8, 1.2]]])
    check(plan(system(two, [bus()], thermals, [], [], [20.0, 20.0], block_factor=factor)), 176900.0, 1e-4)


def test_d24_productivity_changes_by_stage(plan, system, stages, bus, hydro):
    plant = hydro(production=(ConstantProductivity(0.8), ConstantProductivity(1.2)))
    thermal = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)
    found = plan(system(stages(MONTH, MONTH), [bus()], [thermal], [plant], [40.0, 10.0], [80.0, 80.0]))
    check(found, 23945000.0 / 9.0, 1e-4)


def test_d27_thermal_cost_changes_by_stage(plan, system, stages, bus):
    thermals = [Thermal(0, "T1", 0, 0.0, 60.0, 50.0), Thermal(1, "T2", 0, 0.0, 80.0, 80.0)]
    dearer = {"thermals": {(0, 1, None): {"cost_per_mwh": 120.0}}}
    found = plan(system(stages(MONTH, MONTH), [bus()], thermals, [], [], [100.0, 100.0], changes=dearer))
    check(found, 10950000.0, 1e-2)


def test_what_can_only_be_zero_has_no_column(plan, system, stages, bus, hydro):
    """A plant and a line direction without capacity are left out of the LP, and come back as zeros."""
    thermals = [Thermal(0, "T0", 0, 0.0, 100.0, 50.0), Thermal(1, "T1", 0, 0.0, 0.0, 1.0)]
    line = Line(0, "B0_B1", 0, 1, 15.0, 0.0, 0.0, 0.01)
    small = system(
        stages(MONTH), [bus(0), bus(1)], thermals, [hydro(stages=1)], [40.0], [[80.0], [10.0]], lines=[line]
    )
    (model,) = build_stages(small, inflow_recursion(small.inflow, small.stages))
    assert model.layout.thermal[1, 0] == model.layout.reverse[0, 0] == ABSENT
    assert not [name for name in model.template.column_names if "thermal 1" in name or "reverse" in name]
    _, _, (operation,) = plan(small)
    assert operation.thermal_mw[0, 1, 0] == operation.reverse_mw[0, 0, 0] == 0.0
    assert operation.direct_mw[0, 0, 0] == pytest.approx(10.0)
