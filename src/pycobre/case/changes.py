"""Limits and penalties of single stages and blocks: checked, and given to the system as its changes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from pycobre.case import files
from pycobre.case.entities import HydroRecord
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.limits import CHANGE_TABLES, ChangeTable, Changing
from pycobre.case.service import entities_of
from pycobre.case.statistics import study_stages
from pycobre.case.tables import NULL_ID, Table
from pycobre.system.changes import Changes, Place

PHYSICS = "physics"


def resolve_changes(case: CaseFiles, apart: Collection[int], findings: Findings) -> dict[str, Changes]:
    """Changes by kind of entity, after noting what is wrong with them.

    *apart* are the hydro plants whose unit groups have limits of their own.
    """
    found: dict[str, dict[Place, dict[str, float]]] = {}
    for table in CHANGE_TABLES:
        rows: Table | None = getattr(case, table.name)
        if rows is not None:
            _check_blocks(case, table, rows, findings)
            _check_emptiness(table, rows, findings)
            _collect(case, table, rows, found.setdefault(table.kind, {}), findings)
    if case.hydros is not None and "hydros" in found:
        _keep_group_limits([plant for plant in case.hydros.hydros if plant.id not in apart], found["hydros"])
        _check_diversions(case.hydros.hydros, found["hydros"], findings)
        _check_fillings(case.hydros.hydros, found["hydros"], findings)
    for table in CHANGE_TABLES:
        # Of a table in which rows are wrong the others do not say what holds.
        if table.pairs and getattr(case, table.name) is not None and table.file not in case.lost:
            _check_order(case, table, apart, found[table.kind], findings)
    return {kind: dict(sorted(changes.items(), key=_order)) for kind, changes in found.items() if changes}


def _order(item: tuple[Place, object]) -> tuple[int, int, int]:
    entity, stage, block = item[0]
    return entity, stage, NULL_ID if block is None else block


def _places(table: ChangeTable, rows: Table) -> list[Place]:
    blocks = rows.ints["block_id"] if table.blocks else np.full(rows.rows, NULL_ID)
    columns = (rows.ints[table.key].tolist(), rows.ints["stage_id"].tolist(), blocks.tolist())
    return [(e, s, None if b == NULL_ID else b) for e, s, b in zip(*columns, strict=True)]


def _name(case: CaseFiles, table: ChangeTable, place: Place) -> str:
    entity, stage, block = place
    records = next(records for kind, _, records in entities_of(case) if kind == table.noun)
    known = next((record.name for record in records if record.id == entity), None)
    name = f"{name_entity(table.noun, entity, known)}, stage {stage}"
    return name if block is None else f"{name}, block {block}"


def _check_blocks(case: CaseFiles, table: ChangeTable, rows: Table, findings: Findings) -> None:
    known = {stage.id: {block.id for block in stage.blocks} for stage in study_stages(case)}
    for place in _places(table, rows):
        _, stage, block = place
        if block is not None and stage in known and block not in known[stage]:
            findings.add(
                "reference",
                table.file,
                f"block {block} does not exist in this stage",
                entity=_name(case, table, place),
                field="block_id",
                hint=f"blocks are {list_ids(known[stage])}; null stands for all of them",
            )


def _check_emptiness(table: ChangeTable, rows: Table, findings: Findings) -> None:
    empty = np.all([np.isnan(rows.floats[column.column]) for column in table.columns], axis=0)
    if rows.rows and empty.any():
        findings.warn(table.file, f"{int(empty.sum())} rows change nothing")
    idle = [
        column.column
        for column in table.columns
        if not column.attributes and not np.isnan(rows.floats[column.column]).all()
    ]
    for name in idle:
        findings.warn(
            table.file,
            "prices something that is not modelled for now, so it has no effect",
            field=name,
            hint="leave the column out",
        )


def _collect(
    case: CaseFiles,
    table: ChangeTable,
    rows: Table,
    changes: dict[Place, dict[str, float]],
    findings: Findings,
) -> None:
    places = _places(table, rows)
    for column in table.columns:
        values = rows.floats[column.column]
        seen: set[Place] = set()
        for row in np.flatnonzero(~np.isnan(values)).tolist():
            place = places[row]
            if place in seen:
                _note_twice(case, table, column, place, findings)
            seen.add(place)
            if place[2] is not None and not column.by_block:
                findings.add(
                    "dimension",
                    table.file,
                    "holds for a whole stage and can't differ between blocks",
                    entity=_name(case, table, place),
                    field=column.column,
                    hint="give it in a row whose block_id is null",
                )
            for attribute in column.attributes:
                changes.setdefault(place, {})[attribute] = float(values[row])


def _note_twice(
    case: CaseFiles, table: ChangeTable, column: Changing, place: Place, findings: Findings
) -> None:
    findings.add(
        "dimension",
        table.file,
        "is given more than once",
        entity=_name(case, table, place),
        field=column.column,
        hint="keep one",
    )


def _check_diversions(
    hydros: list[HydroRecord], changes: Mapping[Place, Mapping[str, float]], findings: Findings
) -> None:
    """Note channels' limits of plants without a channel."""
    without = {hydro.id: hydro for hydro in hydros if hydro.diversion is None}
    for (id, _, _), values in changes.items():
        if id in without and not {"diversion_min_m3s", "diversion_max_m3s"}.isdisjoint(values):
            findings.add(
                "reference",
                files.HYDRO_BOUNDS,
                "has no diversion channel",
                entity=name_entity("hydro", id, without[id].name),
                field="max_diversion_m3s",
                hint=f"give it one in {files.HYDROS}, or leave the limit out",
            )


def _check_fillings(
    hydros: list[HydroRecord], changes: Mapping[Place, Mapping[str, float]], findings: Findings
) -> None:
    """Note rates of reservoirs that are not being filled in the stage."""
    plants = {hydro.id: hydro for hydro in hydros}
    for (id, stage, _), values in changes.items():
        if "rate_min_m3s" not in values or id not in plants:
            continue
        filling, entry = plants[id].filling, plants[id].entry_stage_id
        if filling is None or not filling.start_stage_id <= stage < (stage if entry is None else entry):
            findings.add(
                "reference",
                files.HYDRO_BOUNDS,
                "is not being filled then",
                entity=f"{name_entity('hydro', id, plants[id].name)}, stage {stage}",
                field="filling_min_rate_m3s",
                hint="leave it out, or fill the reservoir from an earlier stage on",
            )


def _keep_group_limits(hydros: list[HydroRecord], changes: dict[Place, dict[str, float]]) -> None:
    """A unit group's own limits hold beside what a table says of its plant."""
    groups = {hydro.id: hydro.unit_groups[0] for hydro in hydros}
    for (id, _, _), values in changes.items():
        group = groups.get(id)
        if group is None:
            continue
        for name in ("turbined", "generation"):
            unit = "m3s" if name == "turbined" else "mw"
            low, high = f"{name}_min_{unit}", f"{name}_max_{unit}"
            if low in values:
                values[low] = max(values[low], float(getattr(group, f"min_{name}_{unit}")))
            if high in values:
                values[high] = min(values[high], float(getattr(group, f"max_{name}_{unit}")))


def _check_order(
    case: CaseFiles,
    table: ChangeTable,
    apart: Collection[int],
    changes: Mapping[Place, Mapping[str, float]],
    findings: Findings,
) -> None:
    own = _own_limits(case, table.kind, apart)
    for place, values in changes.items():
        entity, stage, block = place
        if entity not in own:
            continue
        whole = changes.get((entity, stage, None), {}) if block is not None else {}
        held = {**own[entity], **whole, **values}
        for low, high, unit in table.pairs:
            if (low in values or high in values) and held[low] > held[high]:
                column = next(column.column for column in table.columns if low in column.attributes)
                findings.add(
                    PHYSICS,
                    table.file,
                    f"the lower limit {held[low]:g} {unit} is above the upper limit {held[high]:g} {unit}",
                    entity=_name(case, table, place),
                    field=column,
                    hint=f"a limit that is null here comes from {files.ENTITY_FILES[table.kind]}",
                )


def _own_limits(case: CaseFiles, kind: str, apart: Collection[int]) -> dict[int, dict[str, float]]:
    """Limits that entities have of themselves, by the names of their attributes."""
    if kind == "thermals":
        return {
            plant.id: {
                "generation_min_mw": plant.generation.min_mw,
                "generation_max_mw": plant.generation.max_mw,
            }
            for plant in (case.thermals.thermals if case.thermals else [])
        }
    if kind == "hydros":
        return {
            hydro.id: hydro_limits(hydro, apart=hydro.id in apart)
            for hydro in (case.hydros.hydros if case.hydros else [])
        }
    if kind == "contracts":
        return {
            contract.id: {"power_min_mw": contract.limits.min_mw, "power_max_mw": contract.limits.max_mw}
            for contract in (case.contracts.contracts if case.contracts else [])
        }
    return {
        pump.id: {"flow_min_m3s": pump.flow.min_m3s, "flow_max_m3s": pump.flow.max_m3s}
        for pump in (case.pumping.pumping_stations if case.pumping else [])
    }


def hydro_limits(hydro: HydroRecord, *, apart: bool = False) -> dict[str, float]:
    """Limits of a hydro plant that hold where nothing else is said.

    Those of its unit group are among them, unless its groups' limits are kept *apart*.
    """
    flow, limits = hydro.outflow, {}
    for name in ("turbined_m3s", "generation_mw"):
        quantity, unit = name.split("_")
        owners = (hydro.generation,) if apart else (hydro.generation, hydro.unit_groups[0])
        limits[f"{quantity}_min_{unit}"] = max(float(getattr(owner, f"min_{name}")) for owner in owners)
        limits[f"{quantity}_max_{unit}"] = min(float(getattr(owner, f"max_{name}")) for owner in owners)
    return {
        "storage_min_hm3": hydro.reservoir.min_storage_hm3,
        "storage_max_hm3": hydro.reservoir.max_storage_hm3,
        "outflow_min_m3s": flow.min_outflow_m3s,
        "outflow_max_m3s": math.inf if flow.max_outflow_m3s is None else flow.max_outflow_m3s,
        "diversion_min_m3s": 0.0,
        "diversion_max_m3s": 0.0 if hydro.diversion is None else hydro.diversion.max_flow_m3s,
        **limits,
    }
