"""A hydro plant whose unit groups feed several buses, against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from pycobre.system import (
    ConstraintRow,
    ConstraintTerm,
    GenericConstraint,
    ProductionPlane,
    ProductionPlanes,
    Thermal,
    UnitGroup,
)

HOURS = [730.0]
CHEAP, DEAR = Thermal(0, "cheap", 0, 0.0, 100.0, 50.0), Thermal(1, "dear", 1, 0.0, 100.0, 80.0)


def group(id, bus, flow, power=100.0, **more):
    limits = {"turbined_min_m3s": 0.0, "generation_min_mw": 0.0, **more}
    return UnitGroup(id, f"G{id}", bus, turbined_max_m3s=flow, generation_max_mw=power, **limits)


@pytest.fixture
def split(system, stages, bus, hydro):
    """Two buses with 50 MW of demand each and no line, and a plant with 25 m³/s to turbine in a stage."""

    def make(*groups, constraints=(), hours=HOURS, inflow=25.0, **plant):
        owner = hydro(stages=1, storage=0.0, initial=0.0, unit_groups=groups, **plant)
        return system(stages(hours), [bus(0), bus(1)], [CHEAP, DEAR], [owner], [inflow], [[50.0], [50.0]],
                      constraints=constraints)  # fmt: skip

    return make


def cost(at_cheap, at_dear):
    """Of the thermals, where the plant gives so much to the buses."""
    return 730.0 * (50.0 * (50.0 - at_cheap) + 80.0 * (50.0 - at_dear))


def test_each_bus_gets_what_its_groups_can_make_and_the_water_is_one(plan, split):
    bound, _, (operation,) = plan(split(group(4, 0, 10.0), group(2, 1, 30.0, power=20.0)))
    assert bound == pytest.approx(cost(5.0, 20.0))
    assert operation.fed_turbined_m3s[0, :, 0] == pytest.approx([5.0, 20.0])
    assert operation.fed_generation_mw[0, :, 0] == pytest.approx([5.0, 20.0])
    assert operation.turbined_m3s[0, 0, 0] == pytest.approx(25.0)
    assert operation.generation_mw[0, 0, 0] == pytest.approx(25.0)


def test_groups_at_one_bus_add_up_each_at_its_own_tighter_side(plan, split):
    # One is held back by its turbines (4 m³/s), the other by its generator (6 MW): 10 together.
    groups = (group(3, 0, 50.0), group(1, 1, 4.0, power=9.0), group(2, 1, 9.0, power=6.0))
    bound, _, (operation,) = plan(split(*groups))
    assert bound == pytest.approx(cost(15.0, 10.0))
    assert operation.fed_turbined_m3s.shape == (1, 2, 1)


def test_the_plant_holds_its_groups_together(plan, split):
    bound, _, (operation,) = plan(
        split(group(1, 0, 20.0), group(2, 1, 20.0), flow=22.0, outflow_max_m3s=99.0)
    )
    assert bound == pytest.approx(cost(2.0, 20.0) + 730.0 * 0.01 * 3.0)  # 3 m³/s are spilled
    assert operation.spilled_m3s[0, 0, 0] == pytest.approx(3.0)


def test_minima_of_groups_are_missed_at_the_plants_price(plan, split):
    groups = (group(1, 0, 20.0, turbined_min_m3s=18.0), group(2, 1, 20.0, generation_min_mw=10.0))
    bound, _, (operation,) = plan(split(*groups))
    # Of 28 wanted 3 are missing, at 1e4 each; the dear bus gets its 10 either way, and its last 3 then pay.
    assert operation.turbined_below_m3s[0, 0, 0] + operation.generation_below_mw[0, 0, 0] == pytest.approx(
        3.0
    )
    assert bound == pytest.approx(cost(15.0, 10.0) + 730.0 * 3e4)
    assert operation.costs["turbined_violation"][0] == pytest.approx(730.0 * 3e4)


def test_a_minimum_of_the_plant_is_not_paid_for_twice(plan, split):
    groups = (group(1, 0, 20.0, turbined_min_m3s=15.0), group(2, 1, 20.0, turbined_min_m3s=15.0))
    bound, _, _ = plan(split(*groups, turbined_min_m3s=30.0))
    assert bound == pytest.approx(cost(10.0, 15.0) + 730.0 * 5e4)
    more, _, _ = plan(split(*groups, turbined_min_m3s=31.0))
    assert more == pytest.approx(cost(10.0, 15.0) + 730.0 * (5e4 + 6e4))


def test_planes_are_shared_by_what_the_groups_can_turbine(plan, split):
    # Of 4 + 0.5 q the groups get 1 + 0.5 q and 3 + 0.5 q; all of the water goes to the dear bus.
    planes = ProductionPlanes((ProductionPlane(4.0, 0.0, 0.5, 0.0), ProductionPlane(0.0, 0.0, 2.0, 0.0)))
    bound, _, (operation,) = plan(split(group(1, 0, 10.0), group(2, 1, 30.0), production=(planes,)))
    # The second plane keeps a group without water from making anything: 2 q = 1 + 0.5 q at q = 2/3.
    at_cheap = 1.0 + 0.5 * 2.0 / 3.0
    at_dear = 3.0 + 0.5 * (25.0 - 2.0 / 3.0)
    assert bound == pytest.approx(cost(at_cheap, at_dear))
    assert operation.generation_mw[0, 0, 0] == pytest.approx(at_cheap + at_dear)
    assert operation.fed_generation_mw[0, :, 0] == pytest.approx([at_cheap, at_dear])


@pytest.mark.parametrize("what", ["hydro_generation", "hydro_turbined"])
@pytest.mark.parametrize("model", [None, ProductionPlanes((ProductionPlane(0.0, 0.0, 1.0, 0.0),))])
def test_a_constraint_may_speak_of_one_bus(plan, split, what, model):
    row = ConstraintRow(-math.inf, 12.0, (ConstraintTerm(1.0, what, 0, bus_id=1),))
    rule = GenericConstraint(1, "c", 1e5, {(0, None): row})
    more = {} if model is None else {"production": (model,)}
    bound, _, _ = plan(split(group(1, 0, 30.0), group(2, 1, 30.0), constraints=(rule,), **more))
    assert bound == pytest.approx(cost(13.0, 12.0))


def test_limits_of_groups_change_by_stage_and_block(plan, split):
    changes = {(0, None): {"turbined_max_m3s": 8.0}, (0, 1): {"turbined_max_m3s": 4.0}}
    groups = (group(1, 0, 50.0), group(2, 1, 30.0, changes=changes))
    _, _, (operation,) = plan(split(*groups, hours=[365.0, 365.0]))
    assert operation.fed_turbined_m3s[0, 1] == pytest.approx([8.0, 4.0])


def test_a_single_group_may_change_by_stage_too(plan, split):
    changes = {(0, 1): {"generation_max_mw": 4.0}}
    plant = split(group(1, 0, 30.0, power=9.0, changes=changes), hours=[365.0, 365.0])
    assert plant.feeds == ()
    _, _, (operation,) = plan(plant)
    assert operation.generation_mw[0, 0] == pytest.approx([9.0, 4.0])
