"""Turbines of a hydro plant that have limits of their own, and the buses that they feed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pycobre.system.calendar import Block, Stage

GroupPlace = tuple[int, int | None]
"""(stage id, block id); block ``None`` for the whole stage."""


@dataclass(frozen=True)
class UnitGroup:
    """Turbines of a hydro plant that feed one bus.

    Its limits hold beside the plant's; those from below are soft, at the plant's prices. ``changes`` says
    which of them differ in single stages and blocks; those of a block stand above those of its stage. ``id``
    is unique within the plant.
    """

    id: int
    name: str
    bus_id: int
    turbined_min_m3s: float
    turbined_max_m3s: float
    generation_min_mw: float
    generation_max_mw: float
    changes: Mapping[GroupPlace, Mapping[str, float]] = field(default_factory=dict)

    def within(self, stage: Stage, block: Block | None = None) -> UnitGroup:
        """The group with the limits that hold in *stage*, or in a *block* of it."""
        values: dict[str, Any] = dict(self.changes.get((stage.id, None), {}))
        if block is not None:
            values |= self.changes.get((stage.id, block.id), {})
        return replace(self, changes={}, **values) if self.changes else self


@dataclass(frozen=True)
class Feed:
    """What a hydro plant gives to one of its buses, through all of its unit groups there.

    Attributes
    ----------
    hydro
        Position of the plant.
    bus_id
        The bus.
    groups
        Positions of the groups among the plant's.
    share
        Their part of what all the plant's groups can turbine.
    """

    hydro: int
    bus_id: int
    groups: tuple[int, ...]
    share: float


def feeds_of(hydro: int, groups: tuple[UnitGroup, ...]) -> tuple[Feed, ...]:
    """Feeds of the plant in position *hydro*, ascending by bus; a single group is the plant itself."""
    if len(groups) < 2:
        return ()
    total = sum(group.turbined_max_m3s for group in groups)
    found = []
    for bus in sorted({group.bus_id for group in groups}):
        here = tuple(number for number, group in enumerate(groups) if group.bus_id == bus)
        capacity = sum(groups[number].turbined_max_m3s for number in here)
        found.append(Feed(hydro, bus, here, capacity / total if total > 0.0 else 0.0))
    return tuple(found)
