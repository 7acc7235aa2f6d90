"""What the command line does with case directories: tells their problems, migrates them, and their format."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from pycobre.app.console import console_of
from pycobre.app.records import dump, tell
from pycobre.case import check_case, export_schemas, migrate, seem_old
from pycobre.errors import CaseError
from pycobre.study import Study


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
            tell(dump({"type": "problem", **vars(problem)}))
        tell(dump({"type": "result", "status": "done" if found else "failed", "problems": len(problems)}))
    console = console_of(as_json, soft_wrap=True)
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


def tell_migration(old: Path, new: Path, as_json: bool) -> None:
    """Migrate *old* to *new*, print what was done and the problems of *new*; end with 3 if it can't run."""
    try:
        changes = migrate(old, new)
    except CaseError as error:
        if as_json:
            for problem in error.problems:
                tell(dump({"type": "problem", **vars(problem)}))
            tell(dump({"type": "result", "status": "failed", "problems": len(error.problems)}))
        sys.stderr.write(f"pycobre: {error}\n")
        raise typer.Exit(error.exit_code) from None
    console = console_of(as_json, soft_wrap=True)
    for file in dict.fromkeys(change.file for change in changes):
        console.print(file, markup=False, style="bold")
        for change in changes:
            if change.file == file:
                console.print(f"  {change}", markup=False)
                if as_json:
                    tell(dump({"type": "change", **vars(change)}))
    console.print(f"{len(changes)} changes; the new case is in {new}\n", markup=False)
    tell_problems(new, {}, as_json)


def write_format(directory: Path) -> None:
    """Write the format of cases to *directory*; end with 2 if that can't be done."""
    try:
        written = export_schemas(directory)
    except OSError as error:
        sys.stderr.write(f"pycobre schema export: {error}\n")
        raise typer.Exit(2) from None
    sys.stdout.write(f"{len(written)} files are in {directory}\n")
