"""The power system's records: order, cascade, overrides, units."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import pytest

from pycobre.system import (
    Block,
    Bus,
    ConstantProductivity,
    Correlation,
    DeficitSegment,
    Hydro,
    HydroPenalties,
    InflowStatistics,
    LoadStatistics,
    Stage,
    System,
    Thermal,
    hm3_per_m3s,
)

STAGE = Stage(
    0, date(2024, 1, 1), date(2024, 2, 1), None, (Block(0, "A", 700.0), Block(1, "B", 44.0)), 1, 0.1
)


def _hydro(id: int, downstream_id: int | None) -> Hydro:
    return Hydro(
        id=id,
        name=str(id),
        bus_id=0,
        downstream_id=downstream_id,
        storage_min_hm3=0.0,
        storage_max_hm3=1.0,
        storage_initial_hm3=0.0,
        outflow_min_m3s=0.0,
        outflow_max_m3s=1.0,
        turbined_min_m3s=0.0,
        turbined_max_m3s=1.0,
        generation_min_mw=0.0,
        generation_max_mw=1.0,
        production=(ConstantProductivity(1.0),),
        penalties=HydroPenalties(*[0.0] * 8),
    )


def _system(hydros: tuple[Hydro, ...]) -> System:
    count = len(hydros)
    return System(
        stages=(STAGE,),
        buses=(Bus(0, "B", (DeficitSegment(math.inf, 1000.0),), 0.0),),
        lines=(),
        thermals=(Thermal(2, "Gas", 0, 0.0, 10.0, 50.0),),
        hydros=hydros,
        inflow=InflowStatistics(
            np.zeros((count, 1)),
            np.zeros((count, 1)),
            np.zeros((count, 1, 0)),
            np.zeros((count, 1, 0)),
            np.zeros((count, 1, 0)),
            np.zeros((count, 0)),
            "none",
        ),
        load=LoadStatistics.certain([[0.0]], blocks=2),
        correlation=Correlation((np.eye(count),), (0,)),
        changes={"thermals": {(2, 0, None): {"cost_per_mwh": 60.0}, (2, 0, 1): {"generation_max_mw": 7.0}}},
    )


def test_a_cascade_knows_what_is_upstream() -> None:
    system = _system((_hydro(1, 7), _hydro(4, 7), _hydro(7, None)))
    assert system.upstream == ((), (), (0, 1))
    assert system.hydro_position == {1: 0, 4: 1, 7: 2}
    assert system.noise_dimension == 3


@pytest.mark.parametrize("ids", [(2, 1), (1, 1)])
def test_entities_out_of_order_or_twice_are_refused(ids: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="ascending by a unique id"):
        _system(tuple(_hydro(id, None) for id in ids))


def test_an_override_changes_one_stage_and_keeps_the_rest() -> None:
    (thermal,) = _system(()).thermals_in(STAGE)
    assert (thermal.generation_max_mw, thermal.cost_per_mwh) == (10.0, 60.0)
    (thermal,) = _system(()).thermals_in(STAGE, STAGE.blocks[1])
    assert (thermal.generation_max_mw, thermal.cost_per_mwh) == (7.0, 60.0)


def test_a_stage_adds_up_its_hours_and_discounts_by_days() -> None:
    assert STAGE.hours == 744.0
    assert STAGE.discount_factor == pytest.approx(1.1 ** (-31 / 365.25), rel=1e-15)


def test_water_is_converted_once() -> None:
    assert hm3_per_m3s(730.0) == pytest.approx(2.628, rel=1e-15)
