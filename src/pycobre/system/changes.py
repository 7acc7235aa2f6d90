"""When an entity is there, and which of its numbers differ in single stages and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pycobre.system.calendar import Block, Stage


@dataclass(frozen=True)
class Service:
    """The stages in which an entity is there: from the entry on, and before the exit.

    ``None`` stands for "always" and "never". Stages are named by their ids.
    """

    entry_stage_id: int | None = None
    exit_stage_id: int | None = None

    def covers(self, stage: Stage) -> bool:
        """Whether the entity is there in *stage*."""
        if self.entry_stage_id is not None and stage.id < self.entry_stage_id:
            return False
        return self.exit_stage_id is None or stage.id < self.exit_stage_id


ALWAYS = Service()

Place = tuple[int, int, int | None]
"""(entity id, stage id, block id); block ``None`` for the whole stage."""
Changes = Mapping[Place, Mapping[str, float]]
"""Attributes that differ in a place; those of a block stand above those of its stage."""

INSIDE = ("penalties", "filling")
"""Records inside an entity whose numbers may differ too."""

EntityT = TypeVar("EntityT", bound=Any)


def changed(entity: EntityT, changes: Changes, stage: Stage, block: Block | None = None) -> EntityT:
    """*entity* with the numbers that hold in *stage*, or in a *block* of it."""
    values = dict(changes.get((entity.id, stage.id, None), {}))
    if block is not None:
        values |= changes.get((entity.id, stage.id, block.id), {})
    return _replaced(entity, values) if values else entity


def _replaced(record: EntityT, values: Mapping[str, float]) -> EntityT:
    """*record* with *values*; what is not its own attribute belongs to a record inside."""
    direct: dict[str, Any] = {name: value for name, value in values.items() if name in vars(record)}
    for name in INSIDE:
        inside: Any = getattr(record, name, None)
        inner = {key: value for key, value in values.items() if inside and key in vars(inside)}
        if inner:
            direct[name] = replace(inside, **inner)
    return replace(record, **direct)
