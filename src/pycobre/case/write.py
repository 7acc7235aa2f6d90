"""A power system written as a case directory that reads back equal, or refused with every reason."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pycobre.case import files
from pycobre.case.columns import ENERGY, TableSpec
from pycobre.case.findings import Findings
from pycobre.case.format import SCHEMA_FOLDER, schema_reference
from pycobre.case.given import given_case
from pycobre.case.load import TABLES, check_case
from pycobre.case.options import StudyOptions
from pycobre.case.schema import export_schemas
from pycobre.case.tables import FloatArray
from pycobre.case.unsupported import UNSUPPORTED
from pycobre.case.write_config import Json, config_json
from pycobre.case.write_constraints import constraint_files
from pycobre.case.write_entities import entity_files
from pycobre.case.write_inflow import inflow_tables, initial_lists, later_json, refuse_history
from pycobre.case.write_stages import periods_before, periods_json, reach_of, stages_json
from pycobre.case.write_tables import (
    Rows,
    change_tables,
    correlation_json,
    factor_files,
    group_rows,
    plant_tables,
    production_json,
    statistics_tables,
)
from pycobre.errors import CaseError, Problem
from pycobre.system import System

_ARROW = {"int32": pa.int32(), "uint32": pa.uint32(), "double": pa.float64()}


def write_case(
    system: System,
    directory: str | PathLike[str],
    options: StudyOptions | None = None,
    openings: Sequence[FloatArray] | None = None,
) -> Path:
    """Directory of a case in Cobre's 0.18 format that holds *system*; :func:`load_case` reads it back equal.

    Parameters
    ----------
    system
        The power system.
    directory
        Where the case goes: a directory that is empty or not there yet.
    options
        How the study is trained and simulated; their defaults if left out.
    openings
        Given noise, one (openings, noise dimension) array a stage; drawn if left out.

    Raises
    ------
    CaseError
        The format can't say all of it, or the system is none that could be planned; ``problems`` lists
        everything, and nothing is left in *directory*.
    FileExistsError
        The directory holds something.
    """
    target = Path(directory)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there and not empty: a case is written to a directory of its own")
    chosen, findings = given_case(system, options, openings).options, Findings()
    documents, tables = _content(system, chosen, openings, findings)
    if findings.errors:
        raise CaseError(findings.errors)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _write(scratch, documents, tables)
        problems = _unlike(scratch, system, chosen, openings)
        if problems:
            raise CaseError(problems)
        scratch.chmod(0o755)
        scratch.replace(target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return target


def _content(
    system: System, options: StudyOptions, openings: Sequence[FloatArray] | None, findings: Findings
) -> tuple[dict[str, Json], dict[str, Rows]]:
    """Content of every file, after noting what none of them can hold."""
    refuse_history(system, findings)
    documents = {
        files.CONFIG: config_json(options, system, openings is not None),
        files.STAGES: stages_json(system),
        **entity_files(system, findings),
        **factor_files(system),
        files.CORRELATION: correlation_json(system),
    }
    changes = change_tables(system, findings)
    reach = reach_of(system, documents[files.STAGES], findings)
    if reach is None:
        return {}, {}
    periods = periods_before(system, reach)
    if periods:
        documents[files.STAGES]["pre_study_stages"] = periods_json(periods)
    documents[files.INITIAL] |= initial_lists(system, reach, periods)
    later = later_json(system)
    if later is not None:
        documents[files.LATER] = later
    tables = {**plant_tables(system), **inflow_tables(system, reach), **statistics_tables(system)}
    tables |= {**changes, files.GROUP_BOUNDS: group_rows(system)}
    if system.hydros:
        documents[files.PRODUCTION] = production_json(system)
    if system.constraints:
        constraints, tables[files.CONSTRAINT_BOUNDS] = constraint_files(system)
        documents |= constraints
    if openings is not None:
        tables[files.NOISE_OPENINGS] = [
            {"stage_id": stage.id, "opening_index": w, "entity_index": d, "value": float(noise[w, d])}
            for stage, noise in zip(system.stages, openings, strict=True)
            for w in range(noise.shape[0])
            for d in range(noise.shape[1])
        ]
    if not system.noise_dimension:
        del documents[files.CORRELATION]
    always = {files.INFLOW_STATS, files.LOAD_STATS}
    return documents, {file: rows for file, rows in tables.items() if rows or file in always}


def _write(root: Path, documents: dict[str, Json], tables: dict[str, Rows]) -> None:
    specs = {file: spec for _, file, spec in TABLES}
    for folder in files.FOLDERS:
        (root / folder).mkdir()
    for file, content in documents.items():
        named = {"$schema": schema_reference(file), **content}
        text = json.dumps(named, indent=2, ensure_ascii=False, allow_nan=False)
        (root / file).write_text(text + "\n", encoding="utf-8")
    for file, rows in tables.items():
        pq.write_table(_table(rows, specs[file]), root / file, compression="zstd")  # Cobre reads no snappy
    export_schemas(root / SCHEMA_FOLDER)
    for folder in files.FOLDERS:
        if not any((root / folder).iterdir()):
            (root / folder).rmdir()


def _table(rows: Rows, spec: TableSpec) -> pa.Table:
    """Table of *rows* with the columns that it must have, and those that hold anything."""
    all_of_them = spec is ENERGY  # as Cobre wants it
    kept = [
        column
        for column in spec.columns
        if all_of_them or not column.optional or any(row.get(column.name) is not None for row in rows)
    ]
    return pa.table(
        {
            column.name: pa.array([row.get(column.name) for row in rows], _ARROW[column.type])
            for column in kept
        }
    )


def _unlike(
    root: Path, system: System, options: StudyOptions, openings: Sequence[FloatArray] | None
) -> list[Problem]:
    """What keeps the files in *root* from being read, and what would not be read as it is."""
    case, problems = check_case(root)
    if case is None:
        return [problem for problem in problems if problem.kind != "warning"]
    unlike = [(f"system, {text}", files.CONFIG) for text in system.differences(case.system)]
    unlike += [
        (f"options, {name}: {value!r}, not {getattr(case.options, name)!r}", files.CONFIG)
        for name, value in vars(options).items()
        if value != getattr(case.options, name)
    ]
    return [
        Problem(UNSUPPORTED, f"can't be said by the format, and would be read otherwise: {text}", file)
        for text, file in unlike
    ]
