"""Parquet files, and what belongs to generic constraints, on their way from 0.5.1 to 0.18."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa

from pycobre.case import files
from pycobre.case.migration.draft import Draft
from pycobre.case.migration.plants import fpha_ids
from pycobre.case.migration.settings import month_of

EXCHANGE = "constraints/exchange_factors.json"
OLD_PARAMETERS = "system/scalar_parameters.json"


def migrate_tables(draft: Draft) -> None:
    """Change the tables of *draft*, and the documents that became tables."""
    _history(draft)
    _drop_columns(
        draft, files.INFLOW_AR, ("residual_std_ratio",), "it follows from the coefficients since 0.18"
    )
    _drop_columns(
        draft,
        files.PLANES,
        ("valid_v_min_hm3", "valid_v_max_hm3", "valid_q_max_m3s"),
        "a plane holds everywhere; 0.5.1 read these without effect",
    )
    _planes(draft)
    _rename(draft, files.HYDRO_BOUNDS, "filling_inflow_m3s", "filling_min_rate_m3s")
    _turbined_cost(draft)
    _constraints(draft)
    _exchange(draft)
    _energy(draft)
    if OLD_PARAMETERS in draft.documents:
        draft.documents.setdefault(files.PARAMETERS, draft.documents.pop(OLD_PARAMETERS))
        draft.dropped.add(OLD_PARAMETERS)
        draft.note(files.PARAMETERS, None, f"was {OLD_PARAMETERS}")


def _set_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    if name in table.schema.names:
        return table.set_column(table.schema.names.index(name), name, values)
    return table.append_column(name, values)


def _drop_columns(draft: Draft, file: str, names: tuple[str, ...], reason: str) -> None:
    table = draft.tables.get(file)
    there = [] if table is None else [name for name in names if name in table.schema.names]
    for name in there:
        draft.note(file, name, f"left out: {reason}")
    if table is not None and there:
        draft.tables[file] = table.drop_columns(there)


def _rename(draft: Draft, file: str, old: str, new: str) -> None:
    table = draft.tables.get(file)
    if table is not None and old in table.schema.names:
        draft.tables[file] = table.rename_columns(
            [new if name == old else name for name in table.schema.names]
        )
        draft.note(file, new, f"was {old}")


def _history(draft: Draft) -> None:
    table = draft.tables.get(files.INFLOW_HISTORY)
    if table is None or "date" not in table.schema.names:
        return
    monthly = draft.section(files.STAGES, "season_definitions").get("cycle_type", "monthly") == "monthly"
    starts: list[date] = table.column("date").to_pylist()
    plants: list[int] = table.column("hydro_id").to_pylist()
    if monthly:
        ends = [month_of(day)[1] for day in starts]
        starts = [month_of(day)[0] for day in starts]
        told = "each date stands for its month"
    else:
        ends = _next_dates(plants, starts)
        told = "each observation lasts until the plant's next one, the last as long as the one before"
    columns = {name: table.column(name) for name in table.schema.names if name != "date"}
    columns |= {"start_date": pa.array(starts, pa.date32()), "end_date": pa.array(ends, pa.date32())}
    draft.tables[files.INFLOW_HISTORY] = pa.table(columns)
    draft.note(files.INFLOW_HISTORY, "start_date, end_date", f"were date: {told}")


def _next_dates(plants: list[int], starts: list[date]) -> list[date]:
    by_plant: dict[int, list[date]] = {}
    for plant, start in zip(plants, starts, strict=True):
        by_plant.setdefault(plant, []).append(start)
    following: dict[tuple[int, date], date] = {}
    for plant, days in by_plant.items():
        days.sort()
        for k, day in enumerate(days):
            last = day + (day - days[k - 1]) if k else month_of(day)[1]
            following[plant, day] = days[k + 1] if k + 1 < len(days) else last
    return [following[key] for key in zip(plants, starts, strict=True)]


def _planes(draft: Draft) -> None:
    table = draft.tables.get(files.PLANES)
    if table is None:
        return
    there = "kappa" in table.schema.names
    given = table.column("kappa").to_pylist() if there else [None] * table.num_rows
    if None in given:
        filled = pa.array([1.0 if value is None else value for value in given], pa.float64())
        draft.tables[files.PLANES] = _set_column(table, "kappa", filled)
        draft.note(files.PLANES, "kappa", "is 1 where it was not given")


def _turbined_cost(draft: Draft) -> None:
    table = draft.tables.get(files.HYDRO_PENALTIES)
    if table is None or "fpha_turbined_cost" not in table.schema.names:
        return
    with_planes = fpha_ids(draft)
    plants, prices = (table.column(name).to_pylist() for name in ("hydro_id", "fpha_turbined_cost"))
    kept = [price if plant in with_planes else None for plant, price in zip(plants, prices, strict=True)]
    rest = table.drop_columns(["fpha_turbined_cost"])
    draft.tables[files.HYDRO_PENALTIES] = _set_column(rest, "turbined_cost", pa.array(kept, pa.float64()))
    draft.note(
        files.HYDRO_PENALTIES,
        "turbined_cost",
        "was fpha_turbined_cost, and is null for plants without planes",
    )


def _constraints(draft: Draft) -> None:
    senses: dict[int, str] = {}
    for record in draft.items(files.CONSTRAINTS, "constraints"):
        sense = record.pop("sense", None)
        if sense is not None:
            senses[record["id"]] = sense
            draft.note(
                files.CONSTRAINTS,
                "constraints[].sense",
                f"is in the columns of {files.CONSTRAINT_BOUNDS} now",
            )
    table = draft.tables.get(files.CONSTRAINT_BOUNDS)
    if table is None or "bound" not in table.schema.names:
        return
    ids, bounds = (table.column(name).to_pylist() for name in ("constraint_id", "bound"))
    pairs = list(zip(ids, bounds, strict=True))
    lower = [bound if senses.get(id) in (">=", "==") else None for id, bound in pairs]
    upper = [bound if senses.get(id) in ("<=", "==") else None for id, bound in pairs]
    table = _set_column(table.drop_columns(["bound"]), "bound_lower", pa.array(lower, pa.float64()))
    draft.tables[files.CONSTRAINT_BOUNDS] = _set_column(table, "bound_upper", pa.array(upper, pa.float64()))
    draft.note(
        files.CONSTRAINT_BOUNDS,
        "bound_lower, bound_upper",
        "were bound, on the side of the constraint's sense",
    )


def _exchange(draft: Draft) -> None:
    """Capacity factors of blocks become capacities of blocks."""
    content = draft.documents.pop(EXCHANGE, None)
    if content is None:
        return
    draft.dropped.add(EXCHANGE)
    own = {line["id"]: line["capacity"] for line in draft.items(files.LINES, "lines")}
    table = draft.tables.get(files.LINE_BOUNDS)
    rows = [] if table is None else table.to_pylist()
    by_stage = {(row["line_id"], row["stage_id"]): row for row in rows if row.get("block_id") is None}
    for entry in content.get("exchange_factors") or []:
        key = entry["line_id"], entry["stage_id"]
        for block in entry["block_factors"]:
            row: dict[str, Any] = {"line_id": key[0], "stage_id": key[1], "block_id": block["block_id"]}
            for way in ("direct", "reverse"):
                changed = by_stage.get(key, {}).get(f"{way}_mw")
                base = own[key[0]][f"{way}_mw"] if changed is None else changed
                row[f"{way}_mw"] = base * block[f"{way}_factor"]
            rows.append(row)
    names = {"line_id": pa.int32(), "stage_id": pa.int32(), "block_id": pa.int32()}
    schema = pa.schema([*names.items(), ("direct_mw", pa.float64()), ("reverse_mw", pa.float64())])
    draft.tables[files.LINE_BOUNDS] = pa.Table.from_pylist(rows, schema)
    draft.note(files.LINE_BOUNDS, "direct_mw, reverse_mw", f"have rows by block, were factors in {EXCHANGE}")


def _energy(draft: Draft) -> None:
    """Productivities of the plants with planes, which 0.18 wants for its energies."""
    wanted = sorted(fpha_ids(draft))
    if not wanted or files.ENERGY in draft.tables:
        return
    rows: list[dict[str, Any]] = []
    for hydro in draft.hydros:
        limits = hydro["generation"]
        if hydro["id"] in wanted and limits["max_turbined_m3s"] > 0:
            rows.append(
                {
                    "hydro_id": hydro["id"],
                    "stage_id": None,
                    "equivalent_productivity_mw_per_m3s": limits["max_generation_mw"]
                    / limits["max_turbined_m3s"],
                    "reference_outflow_m3s": None,
                    "specific_productivity_mw_per_m3s_per_m": None,
                }
            )
    number = pa.float64()
    schema = pa.schema(
        [
            ("hydro_id", pa.int32()),
            ("stage_id", pa.int32()),
            ("equivalent_productivity_mw_per_m3s", number),
            ("reference_outflow_m3s", number),
            ("specific_productivity_mw_per_m3s_per_m", number),
        ]
    )
    draft.tables[files.ENERGY] = pa.Table.from_pylist(rows, schema)
    draft.note(
        files.ENERGY,
        "equivalent_productivity_mw_per_m3s",
        "is the largest generation over the largest turbined flow of plants with planes: 0.18 asks for it,"
        " and their planes do not use it",
    )
