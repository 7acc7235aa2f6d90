"""What evaporates and what is diverted, against values worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pycobre.system import Evaporation, Service, Thermal

MONTH = [730.0]
THERMAL = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)


@pytest.fixture
def evaporating(system, stages, bus, hydro):
    def make(*lines, **plant):
        return system(stages(MONTH, MONTH), [bus()], [THERMAL], [hydro(evaporation=lines, **plant)],
                      [40.0, 10.0], [80.0, 80.0])  # fmt: skip

    return make


def test_d08_evaporates_by_the_mean_of_both_storages(plan, evaporating):
    jan, feb = 100e3 / (31 * 86400), 100e3 / (29 * 86400)
    bound, _, operation = plan(
        evaporating(Evaporation(0.5 * jan, 0.005 * jan), Evaporation(0.5 * feb, 0.005 * feb))
    )
    assert bound == pytest.approx(2628380.531119, rel=1e-9)  # as Cobre 0.18.0
    for stage in operation:
        mean = (stage.storage_initial_hm3 + stage.storage_final_hm3)[0, 0] / 2.0
        share = 0.5 + 0.005 * mean
        assert stage.evaporated_m3s[0, 0] in (pytest.approx(jan * share), pytest.approx(feb * share))


def test_evaporation_is_missed_down_to_nothing_and_not_beyond(plan, evaporating, hydro):
    cheap = replace(hydro().penalties, evaporation_below_cost_per_m3s_h=1e-3,
                    evaporation_above_cost_per_m3s_h=1e9)  # fmt: skip
    bound, _, operation = plan(evaporating(Evaporation(4.0, 0.0), Evaporation(0.0, 0.0), penalties=cheap))
    assert operation[0].evaporation_below_m3s[0, 0] == pytest.approx(4.0)
    assert operation[0].evaporated_m3s[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert operation[0].costs["evaporation_violation"][0] == pytest.approx(730.0 * 4e-3)
    assert bound == pytest.approx(23635000.0 / 9.0 + 730.0 * 4e-3, rel=1e-9)


def test_more_evaporates_than_does_where_that_is_the_cheapest_way_for_water_to_go(plan, evaporating, hydro):
    # Full and without turbines: what comes beyond 4 m³/s in the first month goes into the air at 2, in either
    # month, and not down the river at 9.
    prices = replace(hydro().penalties, evaporation_above_cost_per_m3s_h=2.0, spillage_cost_per_m3s_h=9.0)
    full = {"initial": 200.0, "turbined_max_m3s": 0.0, "outflow_max_m3s": 1e3, "penalties": prices}
    bound, _, operation = plan(evaporating(Evaporation(4.0, 0.0), Evaporation(0.0, 0.0), **full))
    assert sum(stage.evaporation_above_m3s[0, 0] for stage in operation) == pytest.approx(46.0)
    assert sum(stage.evaporated_m3s[0, 0] for stage in operation) == pytest.approx(50.0)
    assert bound == pytest.approx(36500.0 * 160.0 + 730.0 * 2.0 * 46.0, rel=1e-9)


@pytest.fixture
def channel(system, stages, bus, hydro):
    """An upper plant without turbines worth using, and a channel to one that makes 1 MW a m³/s."""

    def make(**upper):
        plant = {"diversion_to_id": 1, "diversion_max_m3s": 6.0, **upper}
        first = hydro(0, stages=1, flow=0.0, outflow_max_m3s=1e3, initial=20.0, **plant)
        other = hydro(1, stages=1, flow=30.0, outflow_max_m3s=1e3, initial=0.0)
        return system(stages(MONTH), [bus()], [THERMAL], [first, other], [[0.0], [0.0]], [50.0])

    return make


@pytest.mark.parametrize(
    ("upper", "price", "flow"),
    [
        ({}, 0.0, 6.0),
        ({"diversion_max_m3s": 60.0}, 2.0, 20.0 / 2.628),
        ({"diversion_min_m3s": 1.0}, 70.0, 1.0),
        ({"service": Service(entry_stage_id=9)}, 0.0, 0.0),
    ],
)
def test_water_is_diverted_as_far_as_it_pays(plan, channel, hydro, upper, price, flow):
    penalties = replace(hydro().penalties, diversion_cost_per_m3s_h=price)
    bound, _, (operation,) = plan(channel(penalties=penalties, **upper))
    assert operation.diverted_m3s[0, 0, 0] == pytest.approx(flow, abs=1e-9)
    assert operation.turbined_m3s[0, 1, 0] == pytest.approx(flow, abs=1e-9)
    assert operation.costs["diversion"][0] == pytest.approx(730.0 * price * flow)
    assert bound == pytest.approx(730.0 * (50.0 * (50.0 - flow) + price * flow))
