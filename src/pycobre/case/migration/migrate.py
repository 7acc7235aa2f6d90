"""A case of Cobre 0.5.1 read, changed in memory, and written anew."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from pycobre.case import files
from pycobre.case.documents import UNREADABLE, read_json
from pycobre.case.findings import Findings
from pycobre.case.format import FORMAT_VERSION, SCHEMA_FOLDER, schema_reference
from pycobre.case.load import DOCUMENTS
from pycobre.case.migration.draft import Change, Draft
from pycobre.case.migration.plants import migrate_plants
from pycobre.case.migration.settings import migrate_settings
from pycobre.case.migration.tables import EXCHANGE, OLD_PARAMETERS, migrate_tables
from pycobre.case.schema import export_schemas
from pycobre.errors import CaseError, Problem

_REQUIRED = (
    files.CONFIG,
    files.STAGES,
    files.PENALTIES,
    files.INITIAL,
    files.BUSES,
    files.LINES,
    files.THERMALS,
    files.HYDROS,
)


def migrate(old: str | PathLike[str], new: str | PathLike[str]) -> list[Change]:
    """Everything that was done to turn the case in *old*, of Cobre 0.5.1, into the 0.18 one in *new*.

    Values stay what they are: a price that was for some plants stays with them, and what 0.5.1 did without
    being told is written down. What 0.18 can't say is left out, and the list tells what that means. The new
    files name their version in ``$schema``, beside JSON Schemas for editors.

    Parameters
    ----------
    old
        The case directory as it is; nothing in it is changed.
    new
        Where the new case goes; it must not exist, or be empty.

    Raises
    ------
    CaseError
        *old* can't be read, is not of that format, or *new* is in the way; ``problems`` lists everything.
    """
    source, target = Path(old), Path(new)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        _refuse(str(target), "exists and is not empty", "choose another directory: nothing is overwritten")
    if target.resolve().is_relative_to(source.resolve()):
        _refuse(str(target), "lies inside the old case", "choose a directory beside it")
    draft = _read(source)
    try:
        migrate_settings(draft)
        migrate_plants(draft)
        migrate_tables(draft)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        _refuse(
            str(source),
            f"does not hold what a case of 0.5.1 does ({type(error).__name__}: {error})",
            "see that Cobre 0.5.1 reads it",
        )
    _write(draft, source, target)
    return draft.changes


def _refuse(place: str, message: str, hint: str) -> NoReturn:
    raise CaseError([Problem("structure", place, message, hint=hint)])


def _read(source: Path) -> Draft:
    findings = Findings()
    documents: dict[str, object] = {}
    tables: dict[str, pa.Table] = {}
    if not source.is_dir():
        _refuse(str(source), "is no directory", "give the directory that holds config.json")
    for file in sorted({file for _, file, _, _ in DOCUMENTS} | {EXCHANGE, OLD_PARAMETERS}):
        if (source / file).is_file():
            content = read_json(source, file, findings)
            if content is not UNREADABLE:
                documents[file] = content
        elif file in _REQUIRED:
            findings.add("structure", file, "the file is missing", hint="every case needs it")
    for path in sorted(path for folder in files.FOLDERS for path in (source / folder).glob("*.parquet")):
        file = path.relative_to(source).as_posix()
        try:
            tables[file] = pq.ParquetFile(path).read()
        except (OSError, pa.ArrowException) as error:
            findings.add("structure", file, f"can't be read as Parquet: {str(error).splitlines()[0]}")
    if findings.errors:
        raise CaseError(findings.errors)
    draft = Draft(documents, tables)
    if "selection" in draft.section(files.CONFIG, "training"):
        _refuse(files.CONFIG, f"is of format {FORMAT_VERSION} already", "use the case as it is")
    return draft


def _write(draft: Draft, source: Path, target: Path) -> None:
    """Write all of it beside *target* first: a case is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as scratch:
        place = Path(scratch) / "case"
        shutil.copytree(source, place, ignore=_beside_the_case(source))
        for file in draft.dropped:
            (place / file).unlink(missing_ok=True)
        for file, content in draft.documents.items():
            if isinstance(content, dict):
                body = {name: value for name, value in content.items() if name != "$schema"}
                content = {"$schema": schema_reference(file), **body}
            text = json.dumps(content, indent=2, ensure_ascii=False)
            (place / file).parent.mkdir(exist_ok=True)
            (place / file).write_text(f"{text}\n", encoding="utf-8")
        for file, table in draft.changed_tables.items():
            (place / file).parent.mkdir(exist_ok=True)
            pq.write_table(table, place / file, compression="zstd")  # Cobre reads no snappy
        export_schemas(place / SCHEMA_FOLDER)
        if target.exists():
            target.rmdir()
        place.rename(target)


def _beside_the_case(source: Path) -> Callable[[str, list[str]], set[str]]:
    """What is not copied: results of earlier runs, and other folders that are no part of the format."""

    def ignore(folder: str, names: list[str]) -> set[str]:
        if Path(folder) != source:
            return set()
        return {name for name in names if (source / name).is_dir() and name not in files.FOLDERS}

    return ignore
