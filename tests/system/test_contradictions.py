"""A system names everything that contradicts itself, and every difference to another."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from pycobre.system import (
    Block,
    Bus,
    ConstantProductivity,
    DeficitSegment,
    Hydro,
    HydroPenalties,
    InflowStatistics,
    Line,
    LoadStatistics,
    Source,
    Stage,
    System,
    Thermal,
)

STAGES = tuple(
    Stage(t, date(2025, t + 1, 1), date(2025, t + 2, 1), None, (Block(0, "all", 700.0),), 2, 0.0)
    for t in (0, 1)
)


def _bus(id: int) -> Bus:
    return Bus(id, f"B{id}", (DeficitSegment(math.inf, 1000.0),), 0.0)


def _hydro(id: int, downstream_id: int | None = None) -> Hydro:
    limits = (0.0, 10.0, 5.0, 0.0, math.inf, 0.0, 10.0, 0.0, 10.0)
    production = (ConstantProductivity(1.0),) * 2
    return Hydro(id, "Ilha", 0, downstream_id, *limits, production, HydroPenalties(*[1.0] * 8))


@pytest.fixture
def small() -> System:
    """Two buses, a line, two thermals that come out of order, a cascade and a source."""
    return System(
        STAGES,
        (_bus(0), _bus(4)),
        (Line(2, "L", 0, 4, 5.0, 5.0, 0.0, 0.0),),
        (Thermal(9, "oil", 4, 0.0, 5.0, 80.0), Thermal(1, "gas", 0, 0.0, 5.0, 50.0)),
        (_hydro(3, 7), _hydro(7)),
        sources=(Source(5, "wind", 4, 8.0, True, 0.1),),
    )


def test_what_is_left_out_is_none_and_other_entities_are_put_in_order(small: System) -> None:
    assert [plant.id for plant in small.thermals] == [1, 9]
    assert small.load.mean_mw.tolist() == [[0.0, 0.0]] * 2
    assert small.inflow.mean_m3s.shape == (2, 2)
    assert small.availability.mean.tolist() == [[1.0, 1.0]]
    assert [profile.tolist() for profile in small.correlation.profiles] == [np.eye(2).tolist()]
    assert repr(small) == (
        "System(2 stages from 2025-01-01 to 2025-03-01, 2 buses, 1 line, 2 thermals, 2 hydros, 1 source)"
    )


WRONG: dict[str, tuple[Callable[[System], dict[str, Any]], str]] = {
    "a bus that is not there": (
        lambda s: {"thermals": (replace(s.thermals[0], bus_id=8),)},
        r"thermal 1 \(gas\), bus_id: bus 8 does not exist",
    ),
    "a river into nothing": (
        lambda s: {"hydros": (replace(s.hydros[0], downstream_id=8), s.hydros[1])},
        r"hydro 3 \(Ilha\), downstream_id: hydro 8 does not exist",
    ),
    "a river in a circle": (
        lambda s: {"hydros": (s.hydros[0], replace(s.hydros[1], downstream_id=3))},
        r"hydro 3, downstream_id: water flows in a circle: 3 -> 7 -> 3",
    ),
    "an id twice": (lambda s: {"lines": s.lines * 2}, "line 2, id: is given 2 times"),
    "rows that nobody can tell": (
        lambda s: {"buses": s.buses[::-1]}, r"buses must be ascending by a unique id.*\[4, 0\]",
    ),
    "negative capacity": (
        lambda s: {"sources": (replace(s.sources[0], generation_max_mw=-8.0),)},
        r"source 5 \(wind\), generation_max_mw: must be at least 0, got -8",
    ),
    "no number": (
        lambda s: {"lines": (replace(s.lines[0], direct_max_mw=math.nan),)},
        r"line 2 \(L\), direct_max_mw: must be a finite number, got nan",
    ),
    "infinite storage": (
        lambda s: {"hydros": (replace(s.hydros[0], storage_max_hm3=math.inf), s.hydros[1])},
        r"hydro 3 \(Ilha\), storage_max_hm3: must be a finite number, got inf",
    ),
    "limits that cross": (
        lambda s: {"thermals": (replace(s.thermals[0], generation_min_mw=6.0),)},
        r"thermal 1 \(gas\), generation_max_mw: the upper limit 5 is below the lower limit 6",
    ),
    "negative prices": (
        lambda s: {"hydros": (replace(s.hydros[0], penalties=HydroPenalties(-1.0, *[0.0] * 7)), s.hydros[1])},
        r"hydro 3 \(Ilha\), penalties, spillage_cost_per_m3s_h: must be at least 0, got -1",
    ),
    "negative hours": (
        lambda s: {"stages": (replace(s.stages[0], blocks=(Block(0, "all", -7.0),)), s.stages[1])},
        r"stage 0, block 0, hours: must be above 0 h, got -7",
    ),
    "a stage that ends before it starts": (
        lambda s: {"stages": (replace(s.stages[0], end_date=date(2024, 1, 1)), s.stages[1])},
        r"stage 0, end_date: 2024-01-01 is not after the first day, 2025-01-01",
    ),
    "rows of another system": (
        lambda s: {"load": LoadStatistics.certain([[1.0, 2.0]])},
        r"load, mean_mw: must have the shape \(2, 2\), got \(1, 2\) \(rows ascend by id\)",
    ),
    "negative deviation": (
        lambda s: {"inflow": InflowStatistics.independent(np.ones((2, 2)), -np.ones((2, 2)))},
        r"inflow, std_m3s: holds a deviation below 0",
    ),
    "too few models": (
        lambda s: {"hydros": (replace(s.hydros[0], production=s.hydros[0].production[:1]), s.hydros[1])},
        r"hydro 3 \(Ilha\), production: needs a model for each of 2 stages, got 1",
    ),
    "a change of nothing": (
        lambda s: {"changes": {"thermals": {(8, 5, None): {"cost_per_mwh": 1.0}}}},
        r"changes of thermal 8 in stage 5: thermal 8 does not exist\n.*: stage 5 does not exist",
    ),
    "a change of no attribute": (
        lambda s: {"changes": {"thermals": {(1, 0, None): {"colour": 1.0}}}},
        r"changes of thermal 1 in stage 0: a thermal has no colour",
    ),
    "residuals that are not there": (
        lambda s: {"stages": tuple(replace(t, sampling_method="historical_residuals") for t in s.stages)},
        r"stage 1, sampling_method: there are no residuals of its season",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_it_is_refused_with_entity_and_field(name: str, small: System) -> None:
    change, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        replace(small, **change(small))


def test_all_of_it_is_told_at_once(small: System) -> None:
    thermals = (replace(small.thermals[0], bus_id=8), replace(small.thermals[1], cost_per_mwh=-1.0))
    with pytest.raises(ValueError, match=r"3 problems(.*\n.*)*bus 8(.*\n.*)*cost_per_mwh(.*\n.*)*mean_mw"):
        replace(
            small,
            thermals=thermals,
            load=LoadStatistics(np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 2, 1))),
        )


def test_differences_name_entity_field_and_values(small: System) -> None:
    assert small.differences(replace(small)) == []
    hydros = (replace(small.hydros[0], penalties=HydroPenalties(2.0, *[1.0] * 7)), small.hydros[1])
    mean = np.array([[0.0, 3.0], [0.0, 4.0]])
    other = replace(small, thermals=small.thermals[1:], hydros=hydros, load=LoadStatistics.certain(mean))
    assert small.differences(other) == [
        "thermal 1: only in this",
        "hydro 3, penalties, spillage_cost_per_m3s_h: 1.0, not 2.0",
        "load, mean_mw[0, 1]: 0.0, not 3.0 (and 1 more)",
    ]
