"""Contracts trade at their price, pumping stations move water at the price of power."""

from __future__ import annotations

import pytest

from pycobre.system import Contract, PumpingStation, Service, Thermal

MONTH = [730.0]
THERMAL = Thermal(0, "T0", 0, 0.0, 100.0, 50.0)


@pytest.fixture
def trading(system, stages, bus):
    def make(*contracts, changes=None):
        two = stages(MONTH, MONTH)
        return system(two, [bus()], [THERMAL], [], [], [80.0, 80.0], contracts=contracts,
                      changes={"contracts": changes or {}})  # fmt: skip

    return make


@pytest.mark.parametrize(
    ("contract", "changes", "power", "cost"),
    [
        (Contract(1, "in", 0, False, 0.0, 30.0, 40.0), {}, [30.0, 30.0], 2 * (50 * 50.0 + 30 * 40.0)),
        (Contract(1, "in", 0, False, 10.0, 30.0, 60.0), {}, [10.0, 10.0], 2 * (70 * 50.0 + 10 * 60.0)),
        (Contract(1, "out", 0, True, 0.0, 15.0, -60.0), {}, [15.0, 15.0], 2 * (95 * 50.0 - 15 * 60.0)),
        (Contract(1, "out", 0, True, 5.0, 15.0, -40.0), {}, [5.0, 5.0], 2 * (85 * 50.0 - 5 * 40.0)),
        (Contract(1, "in", 0, False, 0.0, 30.0, 40.0, Service(entry_stage_id=1)), {}, [0.0, 30.0],
         80 * 50.0 + 50 * 50.0 + 30 * 40.0),
        (Contract(1, "in", 0, False, 0.0, 30.0, 40.0),
         {(1, 1, 0): {"price_per_mwh": 90.0, "power_min_mw": 4.0}},
         [30.0, 4.0], 50 * 50.0 + 30 * 40.0 + 76 * 50.0 + 4 * 90.0),
    ],
)  # fmt: skip
def test_a_contract_is_used_as_far_as_it_pays(plan, trading, contract, changes, power, cost):
    bound, simulated, operation = plan(trading(contract, changes=changes))
    assert [stage.contract_mw[0, 0, 0] for stage in operation] == pytest.approx(power)
    assert bound == pytest.approx(730.0 * cost)
    assert simulated == pytest.approx(bound)


@pytest.fixture
def pumped(system, stages, bus, hydro):
    """Water below a plant that could use it: up it goes at 0.5 MW a m³/s, and makes 1 MW there."""

    def make(pump, **upper):
        one = stages(MONTH)
        low = hydro(0, stages=1, flow=0.0, outflow_max_m3s=1e3, initial=20.0)
        high = hydro(1, stages=1, flow=30.0, outflow_max_m3s=1e3, initial=0.0, **upper)
        return system(one, [bus()], [THERMAL], [low, high], [[0.0], [0.0]], [50.0], pumps=(pump,))

    return make


@pytest.mark.parametrize(
    ("pump", "flow"),
    [
        (PumpingStation(4, "up", 0, 0, 1, 0.0, 6.0, 0.5), 6.0),
        (PumpingStation(4, "up", 0, 0, 1, 0.0, 60.0, 0.5), 20.0 / 2.628),
        (PumpingStation(4, "up", 0, 0, 1, 2.0, 6.0, 1.5), 2.0),
        (PumpingStation(4, "up", 0, 0, 1, 2.0, 6.0, 0.5, Service(entry_stage_id=9)), 0.0),
    ],
)
def test_water_is_pumped_as_far_as_it_pays(plan, pumped, pump, flow):
    bound, _, (operation,) = plan(pumped(pump))
    assert operation.pumped_m3s[0, 0, 0] == pytest.approx(flow, abs=1e-9)
    assert operation.turbined_m3s[0, 1, 0] == pytest.approx(flow, abs=1e-9)
    assert operation.storage_final_hm3[0, 0] == pytest.approx(20.0 - 2.628 * flow, abs=1e-6)
    assert bound == pytest.approx(36500.0 * (50.0 - flow + pump.mw_per_m3s * flow))


def test_nothing_is_pumped_to_a_plant_that_is_not_there(plan, pumped):
    built = pumped(PumpingStation(4, "up", 0, 0, 1, 2.0, 6.0, 0.5), service=Service(entry_stage_id=9))
    _, _, (operation,) = plan(built)
    assert operation.pumped_m3s[0, 0, 0] == 0.0
