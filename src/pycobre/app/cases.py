"""What the command line does with case directories: tells their problems, migrates them, and their format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pycobre.app.records import dump
from pycobre.case import check_case, export_schemas, seem_old
from pycobre.case import migrate as migrate_case
from pycobre.errors import CaseError
from pycobre.study import Study

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line on stdout, prose on stderr.")]

schema = typer.Typer(help="The case format, for editors and other programs.", no_args_is_help=True)


def tell_problems(case: Path, overrides: dict[str, object], as_json: bool) -> None:
    """Print every problem of *case*, grouped by file, or as records; end with exit code 3 if it can't run."""
    found, problems = check_case(case, overrides)
    if found is not None:
        try:
            Study(found)
        except CaseError as error:  # scenarios that the inflow models can't replay
            found, problems = None, error.problems + problems
    if as_json:
        for problem in problems:
            _line(dump({"type": "problem", **vars(problem)}))
        _line(dump({"type": "result", "status": "done" if found else "failed", "problems": len(problems)}))
    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    for file in dict.fromkeys(problem.file for problem in problems):
        console.print(file, markup=False, style="bold")
        for problem in problems:
            if problem.file == file:
                console.print(f"  {problem.kind}: {problem}", markup=False)
    if found is None:
        errors = sum(problem.kind != "warning" for problem in problems)
        console.print(f"{errors} problem{'s' if errors != 1 else ''}: the case can't run", style="bold red")
        if seem_old(problems):
            console.print("it seems to be of Cobre 0.5.1: pycobre migrate OLD NEW makes a 0.18 case of it")
        raise typer.Exit(3)
    console.print(f"the case is sound: {found.system.contents}", style="bold green")


def migrate(
    old: Annotated[Path, typer.Argument(help="Case directory of Cobre 0.5.1.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="Where the 0.18 case goes.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Turn OLD, a case of Cobre 0.5.1, into the 0.18 case NEW; tell what was done, and check NEW."""
    try:
        changes = migrate_case(old, new)
    except CaseError as error:
        if as_json:
            for problem in error.problems:
                _line(dump({"type": "problem", **vars(problem)}))
            _line(dump({"type": "result", "status": "failed", "problems": len(error.problems)}))
        sys.stderr.write(f"pycobre: {error}\n")
        raise typer.Exit(error.exit_code) from None
    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    for file in dict.fromkeys(change.file for change in changes):
        console.print(file, markup=False, style="bold")
        for change in changes:
            if change.file == file:
                console.print(f"  {change}", markup=False)
                if as_json:
                    _line(dump({"type": "change", **vars(change)}))
    console.print(f"{len(changes)} changes; the new case is in {new}\n", markup=False)
    tell_problems(new, {}, as_json)


@schema.command("export")
def export_format(
    directory: Annotated[Path, typer.Argument(help="Where the files go.", show_default=False)],
) -> None:
    """Write the JSON Schemas of the case files, and the Parquet columns in tables.csv, to DIRECTORY."""
    try:
        written = export_schemas(directory)
    except OSError as error:
        sys.stderr.write(f"pycobre schema export: {error}\n")
        raise typer.Exit(2) from None
    sys.stdout.write(f"{len(written)} files are in {directory}\n")


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
