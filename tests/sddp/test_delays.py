"""Decisions that reach into later stages: dispatch ahead, water under way, blocks one after the other."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from pycobre.lp import StateLayout
from pycobre.stochastic import inflow_recursion, sample_openings
from pycobre.system import (
    Ahead,
    Evaporation,
    LaterDelivery,
    LaterStage,
    PastFlow,
    ProductionPlane,
    ProductionPlanes,
    Service,
    Thermal,
    hm3_per_m3s,
)

HOURS = 730.0
HM3 = hm3_per_m3s(HOURS)
OIL = Thermal(0, "oil", 0, 0.0, 100.0, 50.0)
BLOCKS = [330.0, 400.0]
PEAK_LAST = [0.4, 1.495]
PEAK_FIRST = [1.6, 0.505]
INFLOW = [[25.0, 15.0, 5.0], [10.0, 5.0, 2.0]]
STD = [2.0, 0.4]


def shipped(ahead, **limits):
    """A plant on shipped gas: 15 MW at 20 a MWh."""
    return replace(Thermal(1, "LNG", 0, 0.0, 15.0, 20.0, ahead=ahead), **limits)


def before(rate):
    """An outflow of *rate* m³/s in the three months before the study."""
    return (PastFlow(dt.date(2023, 10, 1), dt.date(2024, 1, 1), rate),)


@pytest.fixture
def cascade(system, stages, bus, hydro):
    """Two plants in a river over three months, the upper one's water taking some hours to the lower."""

    def make(hours=0.0, rate=20.0, blocks=None, factors=None, ordered=False, ahead=None, oil=100.0,
             storage=((80.0, 150.0), (50.0, 100.0)), discount=0.0, least=(0.0, 0.0), **upper):  # fmt: skip
        months = [
            replace(stage, chronological=ordered) for stage in stages(*[blocks or [HOURS]] * 3, rate=discount)
        ]
        plants = [
            hydro(k, flow=(30.0, 40.0)[k], initial=storage[k][0], storage=storage[k][1], stages=3,
                  downstream_id=(1, None)[k], storage_min_hm3=least[k],
                  **({"travel_hours": hours, "past_outflow": before(rate)} | upper if k == 0 else {}))
            for k in (0, 1)
        ]  # fmt: skip
        thermals = [replace(OIL, generation_max_mw=oil), *([shipped(ahead)] if ahead else [])]
        factor = None if factors is None else np.broadcast_to(factors, (1, 3, len(factors)))
        return system(tuple(months), [bus()], thermals, plants, INFLOW, [75.0] * 3, block_factor=factor)

    return make


TIGHT = {"storage": ((10.0, 20.0), (8.0, 15.0)), "oil": 30.0, "rate": 6.0, "blocks": BLOCKS}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        # Cobre 0.18.0 has the same values.
        ({"hours": 200.0}, 1344747.3363774738),
        ({"hours": 730.0}, 1223944.444444444),
        ({"hours": 900.0}, 1308944.4444444436),
        ({**TIGHT, "hours": 200.0, "factors": PEAK_LAST}, 22206507.56727263),
        ({**TIGHT, "hours": 900.0, "factors": PEAK_LAST}, 24736294.520547953),
        ({**TIGHT, "hours": 500.0, "factors": PEAK_FIRST}, 23859897.260273967),
        ({**TIGHT, "factors": PEAK_LAST}, 23832222.22222224),
        ({**TIGHT, "factors": PEAK_LAST, "ordered": True}, 34924746.22222225),
        ({**TIGHT, "factors": PEAK_FIRST, "ordered": True}, 27062222.222222235),
        ({"ahead": Ahead(lead_stages=1, past_mw={0: 7.0}), "discount": 0.1}, 472048.00607567787),
        ({"ahead": Ahead(lead_stages=2, past_mw={0: 7.0, 1: 3.0}), "discount": 0.1}, 686554.0868259117),
        ({"ahead": Ahead(lead_stages=3, past_mw={0: 7.0, 1: 3.0, 2: 5.0}), "discount": 0.1},
         830286.0098164239),
    ],
)  # fmt: skip
def test_a_study_costs_what_cobre_says(plan, cascade, given, value):
    built = cascade(**given)
    if given.get("discount"):  # over calendar months
        days = [dt.date(2024, month, 1) for month in (1, 2, 3, 4)]
        spans = zip(built.stages, pairwise(days), strict=True)
        dated = [replace(stage, start_date=start, end_date=end) for stage, (start, end) in spans]
        built = replace(built, stages=tuple(dated))
    bound, cost, _ = plan(built)
    assert bound == pytest.approx(value, rel=1e-9)
    assert cost == pytest.approx(bound, rel=1e-9)


def test_minimum_storage_holds_at_the_end_of_every_chronological_block(plan, cascade):
    dear = replace(cascade().hydros[0].penalties, storage_below_cost_per_hm3=1e7)
    built = cascade(**TIGHT, factors=PEAK_FIRST, ordered=True, least=(9.0, 7.0))
    built = replace(built, hydros=tuple(replace(plant, penalties=dear) for plant in built.hydros))
    bound, _, operation = plan(built)
    assert bound == pytest.approx(38766671.833333336, rel=1e-9)  # Cobre 0.18.0, where it can't be missed
    assert min(stage.storage_hm3[0, 0].min() for stage in operation) >= 9.0 - 1e-6
    # At a low price the worst moment is paid for, once.
    cheap = replace(dear, storage_below_cost_per_hm3=1.0)
    built = replace(built, hydros=tuple(replace(plant, penalties=cheap) for plant in built.hydros))
    _, _, operation = plan(built)
    for stage in operation:
        missing = np.maximum(np.array([9.0, 7.0]) - stage.storage_hm3[0].min(axis=-1), 0.0)
        assert stage.storage_below_hm3[0] == pytest.approx(missing, abs=1e-6)
        assert stage.costs["storage_violation"][0] == pytest.approx(missing.sum(), abs=1e-6)


def test_a_commitment_costs_at_its_decision_what_it_will_at_its_delivery(plan, system, stages, bus):
    plant = shipped(Ahead(lead_stages=1, past_mw={0: 7.0}))
    months = stages([HOURS], [HOURS], rate=0.1)
    bound, _, operation = plan(system(months, [bus()], [OIL, plant], [], [], [50.0, 80.0]))
    worth = months[0].discount_factor
    decided = 15.0 * 20.0 * HOURS * worth
    assert bound == pytest.approx(43.0 * 50.0 * HOURS + decided + worth * 65.0 * 50.0 * HOURS, rel=1e-9)
    assert [stage.committed_mw[0, 0] for stage in operation] == pytest.approx([15.0, 0.0])
    assert [stage.thermal_mw[0, 1, 0] for stage in operation] == pytest.approx([7.0, 15.0])
    assert operation[0].costs["commitment"][0] == pytest.approx(decided)
    assert operation[0].costs["thermal"][0] == pytest.approx(43.0 * 50.0 * HOURS)  # 7 MW are sunk


def test_what_was_committed_may_differ_between_blocks_but_not_in_the_mean(plan, system, stages, bus):
    plant = shipped(Ahead(lead_stages=1, past_mw={0: 6.0}))
    factor = np.array([[[0.0, 0.4]]])
    _, _, (stage,) = plan(
        system(stages([365.0, 365.0]), [bus()], [OIL, plant], [], [], [50.0], block_factor=factor)
    )
    assert stage.thermal_mw[0, 1] @ [0.5, 0.5] == pytest.approx(6.0)
    assert stage.thermal_mw[0, 1].tolist() == pytest.approx([0.0, 12.0])


def test_a_lead_in_hours_is_measured_from_the_end_of_the_delivery(plan, system, stages, bus):
    # Weeks, then a month longer than the lead: it is decided in its own days.
    months = stages([168.0], [168.0], [168.0], [168.0], [720.0])
    plant = shipped(Ahead(lead_hours=300.0, past_mw={0: 1.0, 1: 2.0}))
    built = system(months, [bus()], [OIL, plant], [], [], [50.0] * 5)
    (plan_of,) = built.deliveries
    assert plan_of.decided_by == (None, 0, 1, 2, 4)
    assert plan_of.target == (1, 2, 3, None, None)
    built = replace(built, thermals=(OIL, replace(plant, ahead=Ahead(lead_hours=300.0, past_mw={0: 1.0}))))
    _, _, operation = plan(built)
    assert [stage.thermal_mw[0, 1, 0] for stage in operation] == pytest.approx([1.0, 15.0, 15.0, 15.0, 15.0])
    # In the stage that decides its own delivery the plant costs like any other.
    assert operation[4].costs["thermal"][0] == pytest.approx((35.0 * 50.0 + 15.0 * 20.0) * 720.0)


def test_deliveries_after_the_study_are_decided_within_their_limits(plan, system, stages, bus):
    later = {0: LaterDelivery(4.0, 9.0, 30.0)}
    plant = shipped(Ahead(lead_stages=1, past_mw={0: 7.0}, later=later))
    months = stages([HOURS], rate=0.1)
    after = (LaterStage(months[0].end_date, 720.0, 0.1),)
    bound, _, (stage,) = plan(system(months, [bus()], [OIL, plant], [], [], [50.0], later=after))
    assert stage.committed_mw[0, 0] == pytest.approx(4.0)
    price = 4.0 * 30.0 * 720.0 * months[0].discount_factor
    assert bound == pytest.approx(43.0 * 50.0 * HOURS + price, rel=1e-9)


def test_what_was_released_before_the_study_arrives_in_it(plan, cascade):
    # Nothing else is there: 900 h of 6 m³/s arrive over 730 h of the first month and 170 h of the second.
    empty = {"storage": ((0.0, 150.0), (0.0, 100.0))}
    built = cascade(hours=900.0, rate=6.0, **empty)
    built = replace(built, inflow=replace(built.inflow, mean_m3s=np.zeros((2, 3))))
    bound, _, operation = plan(built)
    assert [stage.arrived_hm3[0, 0] for stage in operation] == pytest.approx(
        [6.0 * HM3, 6.0 * HM3 * 170.0 / HOURS, 0.0]
    )
    made = 6.0 * 900.0
    assert bound == pytest.approx((3 * 75.0 * HOURS - made) * 50.0, rel=1e-9)


def test_water_arrives_late_by_the_hours_it_travels(plan, cascade):
    # The upper reservoir can hold nothing: all that comes goes on, 292 of 730 h later.
    built = cascade(hours=292.0, rate=0.0, storage=((0.0, 0.0), (0.0, 1000.0)))
    _, _, operation = plan(built)
    first, second, third = (stage.arrived_hm3[0, 0] / HM3 for stage in operation)
    assert first == pytest.approx(0.6 * 25.0)
    assert second == pytest.approx(0.4 * 25.0 + 0.6 * 15.0)
    assert third == pytest.approx(0.4 * 15.0 + 0.6 * 5.0)
    assert operation[2].in_transit_final_hm3[0, 0] == pytest.approx(0.4 * 5.0 * HM3)


def test_chronological_blocks_can_not_use_water_before_it_comes(plan, system, stages, bus, hydro):
    def run(ordered):
        (month,) = stages([365.0, 365.0])
        built = system((replace(month, chronological=ordered),), [bus()], [OIL],
                       [hydro(stages=1, initial=0.0)], [[10.0]], [10.0],
                       block_factor=np.array([[[2.0, 0.0]]]))  # fmt: skip
        return plan(built)

    bound, _, _ = run(False)
    assert bound == pytest.approx(0.0, abs=1e-6)
    bound, _, (stage,) = run(True)
    assert bound == pytest.approx(10.0 * 50.0 * 365.0, rel=1e-9)
    assert stage.storage_hm3[0, 0].tolist() == pytest.approx([0.0, 10.0 * HM3 / 2.0])


def test_chronological_blocks_evaporate_by_their_own_mean_storage(plan, system, stages, bus, hydro):
    (month,) = stages([300.0, 430.0])
    plant = hydro(stages=1, initial=100.0, evaporation=(Evaporation(0.5, 0.02),))
    built = system((replace(month, chronological=True),), [bus()], [OIL], [plant], [[3.0]], [40.0],
                   block_factor=np.array([[[1.3, 0.8]]]))  # fmt: skip
    _, _, (stage,) = plan(built)
    storage = [100.0, *stage.storage_hm3[0, 0]]
    mean = [(a + b) / 2.0 for a, b in pairwise(storage)]
    each = [0.5 + 0.02 * volume for volume in mean]
    assert stage.evaporated_m3s[0, 0] == pytest.approx((300.0 * each[0] + 430.0 * each[1]) / 730.0)
    for k, length in enumerate((300.0, 430.0)):
        gone = stage.turbined_m3s[0, 0, k] + stage.spilled_m3s[0, 0, k]
        moved = hm3_per_m3s(length) * (3.0 - each[k] - gone)
        assert storage[k + 1] == pytest.approx(storage[k] + moved, abs=1e-6)


def test_planes_of_a_chronological_block_see_its_own_mean_storage(plan, system, stages, bus, hydro):
    (month,) = stages([300.0, 430.0])
    planes = ProductionPlanes((ProductionPlane(2.0, 0.3, 0.0, 0.0),))
    built = system((replace(month, chronological=True),), [bus()], [OIL],
                   [hydro(stages=1, initial=60.0, production=(planes,), generation_max_mw=90.0)],
                   [[15.0]], [90.0], block_factor=np.array([[[1.0, 1.0]]]))  # fmt: skip
    _, _, (stage,) = plan(built)
    storage = [60.0, *stage.storage_hm3[0, 0]]
    made = [2.0 + 0.3 * (a + b) / 2.0 for a, b in pairwise(storage)]
    assert stage.generation_mw[0, 0].tolist() == pytest.approx(made)
    assert storage == pytest.approx([60.0, 60.0 + hm3_per_m3s(300.0) * 15.0, 60.0 + HM3 * 15.0])


@pytest.mark.parametrize("ordered", [False, True])
def test_water_that_comes_to_an_absent_plant_flows_on(plan, cascade, ordered):
    built = cascade(hours=292.0, rate=10.0, blocks=BLOCKS, ordered=ordered)
    lower = replace(built.hydros[1], service=Service(entry_stage_id=1))
    _, _, operation = plan(replace(built, hydros=(built.hydros[0], lower)))
    volume = [hm3_per_m3s(length) for length in BLOCKS]
    passed = operation[0].spilled_m3s[0, 1] @ volume
    assert passed == pytest.approx(operation[0].arrived_hm3[0, 0] + HM3 * INFLOW[1][0])
    assert operation[0].storage_final_hm3[0, 1] == pytest.approx(50.0)
    for stage in operation:
        kept = stage.in_transit_initial_hm3 + stage.released_hm3 - stage.arrived_hm3
        assert stage.in_transit_final_hm3 == pytest.approx(kept)


def test_states_stand_in_one_order_and_have_names(cascade):
    built = cascade(hours=900.0, rate=6.0, ahead=Ahead(lead_stages=2, past_mw={0: 7.0, 1: 3.0}))
    layout = StateLayout.of(inflow_recursion(built.inflow, built.stages), built)
    assert layout.names(built) == (
        "storage_hm3[0]",
        "storage_hm3[1]",
        "committed_mw[1, last]",
        "in_transit_hm3[0, 1 ahead]",
        "in_transit_hm3[0, 2 ahead]",
        "committed_mw[1, 1 ahead]",
    )
    under_way = [6.0 * HM3, 6.0 * hm3_per_m3s(170.0)]
    assert layout.initial(built).tolist() == pytest.approx([80.0, 50.0, 3.0, *under_way, 7.0])


class Program:
    """A linear program put together by hand."""

    def __init__(self):
        self.cost, self.bounds, self.rows, self.sides = [], [], [], []

    def variable(self, cost=0.0, high=math.inf):
        self.cost.append(cost)
        self.bounds.append((0.0, high))
        return len(self.cost) - 1

    def equal(self, terms, side):
        self.rows.append(terms)
        self.sides.append(side)

    def value(self):
        matrix = np.zeros((len(self.rows), len(self.cost)))
        for row, terms in enumerate(self.rows):
            for column, factor in terms:
                matrix[row, column] += factor
        found = linprog(self.cost, A_eq=matrix, b_eq=self.sides, bounds=self.bounds, method="highs")
        assert found.status == 0
        return found.fun


# Of water that takes 200 h: what arrives in the first and second block and in the next month, by block of its
# release; then what of last month's arrives in which block.
SHARES = {True: ([[130 / 330, 200 / 330, 0.0], [0.0, 0.5, 0.5]], [1.0, 0.0]),
          False: ([[53 / 73 * 33 / 73, 53 / 73 * 40 / 73, 20 / 73]] * 2, [33 / 73, 40 / 73])}  # fmt: skip


def whole_tree(built, noise, ordered, travels, ahead):
    """Expected discounted cost of the best policy over the tree of openings, from the physics alone."""
    program = Program()
    volume = [hm3_per_m3s(length) for length in BLOCKS]
    factor = built.stages[0].discount_factor

    def grow(t, probability, stored, transit, due):
        for omega in noise[t]:
            share = probability / len(noise[t])
            inflow = [INFLOW[0][t] + STD[0] * omega[0], INFLOW[1][t] + STD[1] * omega[1]]
            weight = share * factor**t
            release, turbined, final = [], [], []
            for i, most in enumerate((30.0, 40.0)):
                turbined.append([program.variable(0.0, most) for _ in BLOCKS])
                spilled = [program.variable(0.01 * length * weight) for length in BLOCKS]
                release.append(list(zip(turbined[i], spilled, strict=True)))
            gas = [program.variable(0.0, 15.0) if ahead else None for _ in BLOCKS]
            for k, length in enumerate(BLOCKS):
                oil = program.variable(50.0 * length * weight, 30.0)
                deficit = program.variable(1000.0 * length * weight)
                excess = program.variable(0.01 * length * weight)
                supply = [(turbined[0][k], 1.0), (turbined[1][k], 1.0), (oil, 1.0), (deficit, 1.0)]
                supply += [(excess, -1.0)] + ([(gas[k], 1.0)] if ahead else [])
                program.equal(supply, 75.0 * PEAK_LAST[k])
            coming = [[(c, volume[k]) for c in release[0][k]] for k in range(2)]
            later = []
            if travels:
                shares, arrival = SHARES[ordered]
                coming = [[] for _ in BLOCKS]
                for k in range(2):
                    for place in range(2):
                        coming[place] += [(c, volume[k] * shares[k][place]) for c in release[0][k]]
                    later += [(c, volume[k] * shares[k][2]) for c in release[0][k]]
                coming = [part + [(c, f * arrival[k]) for c, f in transit] for k, part in enumerate(coming)]
            for i, most in enumerate((20.0, 15.0)):
                before_, flows = stored[i], []
                for k in range(2):
                    flows += [(c, volume[k]) for c in release[i][k]]
                    flows += [(c, -f) for c, f in (coming[k] if i == 1 else [])]
                    if ordered or k == 1:
                        after = program.variable(0.0, most)
                        come = inflow[i] * (volume[k] if ordered else sum(volume))
                        program.equal([(after, 1.0), (before_, -1.0), *flows], come)
                        before_, flows = after, []
                final.append(before_)
            decided = None
            if ahead:
                program.equal([(gas[k], BLOCKS[k] / HOURS) for k in range(2)] + [(due, -1.0)], 0.0)
                decided = program.variable(20.0 * HOURS * weight * factor, 15.0 if t < 2 else 0.0)
            if t < 2:
                grow(t + 1, share, final, later, decided)

    def fixed(value):
        column = program.variable()
        program.equal([(column, 1.0)], value)
        return column

    start = [(fixed(6.0 * hm3_per_m3s(200.0)), 1.0)]
    grow(0, 1.0, [fixed(10.0), fixed(8.0)], start, fixed(7.0))
    return program.value()


@pytest.mark.parametrize(
    ("ordered", "travels", "ahead"),
    [(True, False, False), (False, True, False), (False, False, True), (True, True, True)],
)
def test_training_reaches_the_value_of_the_whole_tree(plan, cascade, ordered, travels, ahead):
    given = {**TIGHT, "factors": PEAK_LAST, "ordered": ordered, "discount": 0.1}
    given |= {"hours": 200.0 if travels else 0.0, "outflow_max_m3s": math.inf}
    given |= {"ahead": Ahead(lead_stages=1, past_mw={0: 7.0}) if ahead else None}
    built = cascade(**given)
    std = np.repeat(np.array(STD)[:, None], 3, axis=1)
    lower = replace(built.hydros[1], outflow_max_m3s=math.inf)
    built = replace(
        built,
        hydros=(built.hydros[0], lower),
        inflow=replace(built.inflow, std_m3s=std),
        stages=tuple(replace(s, num_openings=n) for s, n in zip(built.stages, (1, 3, 3), strict=True)),
    )
    bound, _, _ = plan(built, iterations=40)
    value = whole_tree(built, sample_openings(built, 1), ordered, travels, ahead)
    assert bound == pytest.approx(value, rel=1e-7)
