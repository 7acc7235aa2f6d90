"""Buses that come later, with all that is there."""

from __future__ import annotations

import pytest

from pycobre.system import Contract, Line, Service, Source, Thermal

MONTH = [730.0]
LATER = Service(entry_stage_id=1)


@pytest.fixture
def grid(system, stages, bus, hydro):
    """A bus with 30 MW of demand, and one with 20 that comes with the second month."""
    from dataclasses import replace

    def make(service=LATER, **more):
        near, far = bus(0), replace(bus(1), service=service)
        thermals = [Thermal(0, "T0", 0, 0.0, 100.0, 50.0), Thermal(1, "must", 1, 5.0, 9.0, 10.0)]
        line = Line(0, "L", 0, 1, 7.0, 7.0, 0.0, 0.0)
        owner = hydro(bus_id=1, flow=4.0, storage=0.0, initial=0.0)
        return system(stages(MONTH, MONTH), [near, far], thermals, [owner], [4.0, 4.0],
                      [[30.0, 30.0], [20.0, 20.0]], lines=[line], **more)  # fmt: skip

    return make


def test_a_bus_that_is_not_there_yet_asks_for_nothing_and_gives_nothing(plan, grid):
    bound, mean, (first, second) = plan(grid())
    # First the near bus alone; then 20 MW of which the far plants make 13 and the line brings 7.
    assert bound == pytest.approx(730.0 * (50.0 * 30.0 + 0.01 * 4.0) + 730.0 * (50.0 * 37.0 + 10.0 * 9.0))
    assert mean == pytest.approx(bound)
    assert first.load_mw[0, :, 0].tolist() == [30.0, 0.0]
    assert first.thermal_mw[0, 1, 0] == 0.0
    # Nobody takes what the river could make: it is excess, or spilled.
    assert first.excess_mw[0, 1, 0] + first.spilled_m3s[0, 0, 0] == pytest.approx(4.0)
    assert second.load_mw[0, :, 0].tolist() == [30.0, 20.0]


def test_a_bus_may_leave_too(plan, grid):
    _, _, (first, second) = plan(grid(Service(exit_stage_id=1)))
    assert first.load_mw[0, :, 0].tolist() == [30.0, 20.0]
    assert second.load_mw[0, :, 0].tolist() == [30.0, 0.0]
    assert second.direct_mw[0, 0, 0] == second.deficit_mw[0, 1, 0].sum() == 0.0


def test_contracts_and_sources_wait_for_their_bus(plan, grid):
    more = {
        "contracts": (Contract(0, "sale", 1, True, 2.0, 3.0, -1.0),),
        "sources": (Source(0, "wind", 1, 6.0, True, 0.1),),
    }
    _, _, (first, second) = plan(grid(**more))
    assert first.contract_mw[0, 0, 0] == first.source_mw[0, 0, 0] == 0.0
    assert second.contract_mw[0, 0, 0] >= 2.0
    assert second.source_mw[0, 0, 0] == pytest.approx(6.0)
