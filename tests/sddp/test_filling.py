"""A reservoir that is being filled keeps its turbines still and its water back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pycobre.system import Filling, Service, Thermal

MONTH = [730.0]
HM3 = 2.628


@pytest.fixture
def dam(system, stages, bus, hydro):
    """A dam that fills for two months above a plant that could use its water, then generates."""

    def make(filling, price=1e6, **upper):
        penalties = replace(hydro().penalties, filling_below_cost_per_hm3=price)
        first = hydro(0, flow=30.0, storage=150.0, initial=20.0, stages=3, downstream_id=1,
                      filling=filling, penalties=penalties, outflow_max_m3s=1e3,
                      **{"storage_min_hm3": 60.0, **upper})  # fmt: skip
        lower = hydro(1, flow=40.0, storage=100.0, initial=50.0, stages=3, outflow_max_m3s=1e3)
        inflow = [[25.0, 15.0, 5.0], [10.0, 5.0, 2.0]]
        thermal = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)
        return system(stages(*[MONTH] * 3), [bus()], [thermal], [first, lower], inflow, [75.0] * 3)

    return make


def test_a_dam_fills_generates_later_and_costs_what_cobre_says(plan, dam):
    # Cobre 0.18.0, filling from stage 0 at 10 m³/s, in service from stage 2.
    bound, cost, operation = plan(dam(Filling(0, 2, 10.0)))
    assert bound == pytest.approx(4482442.833333, rel=1e-9)
    assert cost == pytest.approx(bound)
    assert [stage.turbined_m3s[0, 0, 0] for stage in operation] == pytest.approx([0.0, 0.0, 30.0])
    assert [stage.generation_mw[0, 0, 0] for stage in operation] == pytest.approx([0.0, 0.0, 30.0])


def test_a_target_that_can_not_be_met_is_paid_for_by_the_hm3(plan, dam):
    target = 20.0 + HM3 * 25.0 + 7.0  # seven more than comes
    filling = Filling(0, 1, (target - 20.0) / HM3)
    _, _, operation = plan(dam(filling, price=2e5, storage_min_hm3=100.0))
    assert operation[0].storage_final_hm3[0, 0] == pytest.approx(target - 7.0)
    assert operation[0].storage_below_hm3[0, 0] == pytest.approx(7.0)
    assert operation[0].costs["storage_violation"][0] == pytest.approx(7.0 * 2e5)


def test_before_the_filling_the_river_passes(plan, dam):
    _, _, operation = plan(dam(Filling(1, 2, 10.0 / HM3), service=Service(entry_stage_id=1)))
    assert operation[0].storage_final_hm3[0, 0] == pytest.approx(20.0)
    assert operation[0].spilled_m3s[0, 0, 0] == pytest.approx(25.0)
    assert operation[1].storage_final_hm3[0, 0] >= 30.0 - 1e-6
