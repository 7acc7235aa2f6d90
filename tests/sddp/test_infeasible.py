"""A stage without solution is explained: what is asked for, what can be had, and where it started."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pycobre.errors import StageProblemError
from pycobre.lp.words import phrase
from pycobre.system import Thermal

MONTH = [730.0]
HM3 = 730.0 * 3600.0 / 1e6  # of a m³/s


@pytest.fixture
def fails(plan):
    def error(system):
        with pytest.raises(StageProblemError) as caught:
            plan(system)
        assert caught.value.status == "infeasible"
        return caught.value

    return error


def hard(plant, **prices):
    """*plant* with limits that no price lets it miss."""
    return replace(plant, penalties=replace(plant.penalties, **prices))


def test_a_minimum_outflow_beyond_all_water_is_told_with_what_there_is(fails, system, stages, bus, hydro):
    plant = hydro(7, initial=12.0 * HM3, outflow_min_m3s=30.0)
    plant = hard(plant, outflow_below_cost_per_m3s_h=math.inf, inflow_nonnegativity_cost_per_m3s_h=math.inf)
    error = fails(system(stages(MONTH, MONTH), [bus()], [], [plant], [0.0, 0.0], [0.0, 0.0]))
    assert (error.stage, error.scenario) == (0, 0)
    assert error.reason == (
        "minimum outflow of hydro 7 in block 0 needs 30 m³/s, but no more than 12 m³/s can be had with"
        " the water balance of hydro 7, the final storage of hydro 7 (0 to 200 hm³)"
    )
    assert error.states == {"storage_hm3[7]": pytest.approx(12.0 * HM3)}
    assert error.reason in str(error)
    assert "incoming state: storage_hm3[7] = 31.536" in str(error)


def test_demand_that_may_not_be_cut_is_told_with_the_capacity(fails, system, stages, bus):
    small = bus(segments=((5.0, 1000.0),))
    plant = Thermal(0, "T0", 0, 0.0, 20.0, 10.0)
    error = fails(system(stages(MONTH, MONTH), [small], [plant], [], [], [20.0, 40.0]))
    assert error.stage == 1
    assert error.reason.startswith(
        "power balance of bus 0 in block 0 needs 40 MW, but no more than 25 MW can be had"
    )
    assert "the generation of thermal 0 in block 0 (0 to 20 MW)" in error.reason
    assert error.states == {}


def test_water_that_is_not_there_is_what_the_balance_allows(fails, system, stages, bus, hydro):
    plant = hard(hydro(7, initial=12.0 * HM3), inflow_nonnegativity_cost_per_m3s_h=math.inf)
    error = fails(system(stages(MONTH, MONTH), [bus()], [], [plant], [-32.0, 0.0], [0.0, 0.0]))
    assert error.reason.startswith(
        "water balance of hydro 7 allows -52.56 hm³, but no less than 0 hm³ can be had with"
        " the final storage of hydro 7 (0 to 200 hm³)"
    )


def test_names_are_told_as_people_say_them():
    assert phrase("storage_min_hm3[hydro 3]") == "minimum storage of hydro 3"
    assert phrase("pumped_m3s[pumping station 2, block 1]") == "pumped flow of pumping station 2 in block 1"
    assert phrase("deficit_mw[bus 1, block 0, segment 2]") == "deficit of bus 1 in block 0, segment 2"
    assert phrase("cut_4") == "cut 4"
