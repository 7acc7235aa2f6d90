"""Unit groups of hydro plants, and their limits in single stages and blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pycobre.case import files
from pycobre.case.entities import HydroRecord
from pycobre.case.entities import UnitGroup as GroupRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, name_entity
from pycobre.case.statistics import study_stages
from pycobre.case.tables import NULL_ID
from pycobre.system import UnitGroup
from pycobre.system.groups import GroupPlace

COLUMNS = {
    "min_turbined_m3s": "turbined_min_m3s",
    "max_turbined_m3s": "turbined_max_m3s",
    "min_generation_mw": "generation_min_mw",
    "max_generation_mw": "generation_max_mw",
}
"""Columns of the table of limits, and the names of a group's own, to what a system calls them."""

Changes = dict[tuple[int, int], dict[GroupPlace, dict[str, float]]]
"""Limits by (hydro id, group id), and place."""


def resolve_groups(case: CaseFiles, findings: Findings) -> dict[int, tuple[UnitGroup, ...]]:
    """Unit groups by hydro id, of plants that have several or whose limits change by stage.

    What is wrong with them is noted. The limits of all other groups are the plant's.
    """
    hydros = {hydro.id: hydro for hydro in case.hydros.hydros} if case.hydros else {}
    changes = _read(case, hydros, findings)
    changing = {hydro for hydro, _ in changes}
    result: dict[int, tuple[UnitGroup, ...]] = {}
    for id in sorted(hydros):
        hydro = hydros[id]
        _check_ids(hydro, findings)
        if len(hydro.unit_groups) > 1 or id in changing:
            groups = tuple(
                UnitGroup(
                    group.id, group.name, group.bus_id, **_own(group), changes=changes.get((id, group.id), {})
                )
                for group in hydro.unit_groups
            )
            # Of a table in which rows are wrong the others do not say what holds.
            for group in groups if files.GROUP_BOUNDS not in case.lost else ():
                _check_order(hydro, group, findings)
            result[id] = groups
    return result


def _own(group: GroupRecord) -> dict[str, float]:
    return {attribute: float(getattr(group, column)) for column, attribute in COLUMNS.items()}


def _check_ids(hydro: HydroRecord, findings: Findings) -> None:
    ids = [group.id for group in hydro.unit_groups]
    for id in sorted({id for id in ids if ids.count(id) > 1}):
        findings.add(
            "reference",
            files.HYDROS,
            f"unit group {id} is given {ids.count(id)} times",
            entity=name_entity("hydro", hydro.id, hydro.name),
            field="unit_groups",
            hint="ids of groups are unique within a plant",
        )


def _read(case: CaseFiles, hydros: dict[int, HydroRecord], findings: Findings) -> Changes:
    table = case.group_bounds
    if table is None:
        return {}
    blocks = {stage.id: {block.id for block in stage.blocks} for stage in study_stages(case)}
    names = ("hydro_id", "hydro_unit_group_id", "stage_id", "block_id")
    result: Changes = {}
    for row, (id, group, stage, block) in enumerate(
        zip(*(table.ints[name].tolist() for name in names), strict=True)
    ):
        place = (stage, None if block == NULL_ID else block)
        entity = _name(hydros.get(id), id, group, place)

        def note(kind: str, message: str, field: str, hint: str, entity: str = entity) -> None:
            findings.add(kind, files.GROUP_BOUNDS, message, entity=entity, field=field, hint=hint)

        if id not in hydros or stage not in blocks:
            continue  # noted with the other references
        own = {item.id: item for item in hydros[id].unit_groups}
        if group not in own:
            known = f"its groups are {', '.join(map(str, own))}"
            note("reference", "the plant has no such unit group", "hydro_unit_group_id", known)
        elif place[1] is not None and place[1] not in blocks[stage]:
            note("reference", f"block {block} does not exist in this stage", "block_id", "null is for all")
        else:
            values = {name: float(table.floats[name][row]) for name in COLUMNS}
            _collect(result.setdefault((id, group), {}).setdefault(place, {}), values, own[group], note)
    return result


def _collect(
    found: dict[str, float],
    values: dict[str, float],
    own: GroupRecord,
    note: Callable[[str, str, str, str], None],
) -> None:
    """Take the *values* of a row; those that are null say nothing."""
    for column, value in values.items():
        if np.isnan(value):
            continue
        if COLUMNS[column] in found:
            note("dimension", "is given more than once", column, "keep one")
        most = float(getattr(own, column))
        if column.startswith("max") and value > most:
            hint = f"give the group the most of any stage in {files.HYDROS}, and lower it in the others"
            note("physics", f"{value:g} is above the group's own {most:g}", column, hint)
        found[COLUMNS[column]] = value


def _check_order(hydro: HydroRecord, group: UnitGroup, findings: Findings) -> None:
    own = {attribute: float(getattr(group, attribute)) for attribute in COLUMNS.values()}
    for place, values in group.changes.items():
        whole = group.changes.get((place[0], None), {}) if place[1] is not None else {}
        held = {**own, **whole, **values}
        for name, unit in (("turbined", "m3s"), ("generation", "mw")):
            low, high = (held[f"{name}_{side}_{unit}"] for side in ("min", "max"))
            if low > high:
                findings.add(
                    "physics",
                    files.GROUP_BOUNDS,
                    f"the lower limit {low:g} is above the upper limit {high:g}",
                    entity=_name(hydro, hydro.id, group.id, place),
                    field=f"min_{name}_{unit}",
                    hint=f"a limit that is null here comes from {files.HYDROS}",
                )


def _name(hydro: HydroRecord | None, id: int, group: int, place: GroupPlace) -> str:
    name = name_entity("hydro", id, hydro.name if hydro else None)
    where = f"{name}, group {group}, stage {place[0]}"
    return where if place[1] is None else f"{where}, block {place[1]}"
