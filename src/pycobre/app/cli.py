"""The command line, ``pycobre --help``: flags say how, a case what.

What a command needs is imported when it runs: the case reader and the solvers take half a second, and
``pycobre launch`` has other programs to start.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

import pycobre
from pycobre.app.backend import backend_of
from pycobre.app.templates import TEMPLATES, copy_template
from pycobre.comm import available_backends, launch
from pycobre.errors import PycobreError

if TYPE_CHECKING:
    from pycobre.lp import SolverKind

app = typer.Typer(
    name="pycobre",
    help="Plan hydrothermal power systems under uncertainty: the same bits on any number of ranks.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)

schema = typer.Typer(help="The case format, for editors and other programs.", no_args_is_help=True)
app.add_typer(schema, name="schema")

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line on stdout, prose on stderr.")]
CasePath = Annotated[Path, typer.Argument(help="Case directory (Cobre 0.18 format).", show_default=False)]


@app.command()
def run(
    case: CasePath,
    ranks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes to start on this machine; without it, this process is one rank of the group that"
            " mpiexec, srun, torchrun or the COBRE_ variables make it part of, or runs alone.",
            show_default=False,
        ),
    ] = None,
    backend: Annotated[
        str, typer.Option(help="How ranks talk: auto, shm, tcp, local; without --ranks also mpi.")
    ] = "auto",
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads a rank; by default the cores are shared.", show_default=False),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(help="Of stage problems: dense (our own simplex), highs, or auto, by their size."),
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Results directory; CASE/output by default.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
    no_simulation: Annotated[bool, typer.Option("--no-simulation", help="Train only.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a key of config.json, or as stages.KEY one of every stage, for this run.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a policy for CASE, simulate it and write the results. Rank 0 of a group speaks for all."""
    from pycobre.app.request import RunRequest
    from pycobre.app.runs import show_run

    request = RunRequest.of(
        case,
        out,
        force=force,
        threads=threads,
        solver=_solver(solver),
        simulation=not no_simulation,
        overrides=_overrides(settings or []),
    )
    show_run(request, ranks, backend, as_json)


@app.command()
def validate(
    case: CasePath,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a key of config.json, or as stages.KEY one of every stage, first.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check CASE: every problem at once, with file, entity, field and a hint."""
    from pycobre.app.cases import tell_problems

    tell_problems(case, _overrides(settings or []), as_json)


@app.command()
def migrate(
    old: Annotated[Path, typer.Argument(help="Case directory of Cobre 0.5.1.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="Where the 0.18 case goes.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Turn OLD, a case of Cobre 0.5.1, into the 0.18 case NEW; tell what was done, and check NEW."""
    from pycobre.app.cases import tell_migration

    tell_migration(old, new, as_json)


@schema.command("export")
def export_format(
    directory: Annotated[Path, typer.Argument(help="Where the files go.", show_default=False)],
) -> None:
    """Write the JSON Schemas of the case files, and the Parquet columns in tables.csv, to DIRECTORY."""
    from pycobre.app.cases import write_format

    write_format(directory)


@app.command()
def check(
    results: Annotated[Path, typer.Argument(help="Results directory of a run.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Check RESULTS: files are as they were written, and power, water, storage and costs add up."""
    from pycobre.app.runs import tell_balances

    tell_balances(results, as_json)


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(help="Where the new case goes.", show_default=False)],
    template: Annotated[str, typer.Option(help=f"One of {', '.join(TEMPLATES)}.")] = "toy",
) -> None:
    """Write a bundled case to DIRECTORY, to start one's own from."""
    try:
        copy_template(template, directory)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"pycobre init: {error}\n")
        raise typer.Exit(2) from None
    sys.stdout.write(f"{template} is in {directory}; try: pycobre run {directory}\n")


@app.command("launch", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def launch_program(
    program: Annotated[
        list[str], typer.Argument(help="Program and its arguments: python script.py ...", show_default=False)
    ],
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="Processes to start on this machine.")],
    backend: Annotated[str, typer.Option(help="How ranks talk: auto, shm or tcp.")] = "auto",
    timeout: Annotated[
        float | None,
        typer.Option(help="Limit of the start and of each collective in seconds.", show_default=False),
    ] = None,
) -> None:
    """Start any program as ranks that find each other by ``create_communicator()``, without MPI."""
    try:
        with launch(program, ranks, backend=backend_of(backend, ranks), timeout_secs=timeout) as running:
            for rank, line in running:
                sys.stdout.write(f"[rank {rank}] {line.decode(errors='replace')}\n")
    except PycobreError as error:
        sys.stderr.write(f"pycobre: {str(error).partition(chr(10))[0]}\n")
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


@app.command()
def version(as_json: Json = False) -> None:
    """Versions of pycobre and of what its results depend on."""
    from pycobre.app.records import dump, tell
    from pycobre.lp import solver_version

    facts: dict[str, object] = {
        "pycobre": pycobre.__version__,
        "highs": solver_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "backends": list(available_backends()),
    }
    if as_json:
        tell(dump({"type": "result", "status": "done", **facts}))
        return
    for name, value in facts.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        sys.stdout.write(f"{name:9} {shown}\n")


def _overrides(settings: list[str]) -> dict[str, object]:
    """Values of ``KEY=VALUE``: JSON where it is JSON, else text."""
    found: dict[str, object] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"'{setting}' is not KEY=VALUE", param_hint="--set")
        try:
            found[key] = json.loads(text)
        except json.JSONDecodeError:
            found[key] = text
    return found


def _solver(name: str) -> SolverKind:
    """Who is meant by *name*."""
    from pycobre.lp import SolverKind

    kinds: tuple[SolverKind, ...] = get_args(SolverKind)
    for kind in kinds:
        if kind == name.strip().lower():
            return kind
    raise typer.BadParameter(f"'{name}' is not one of {', '.join(kinds)}", param_hint="--solver")


def main() -> None:
    """Run the command line; a reader that closed the pipe is no error of ours."""
    try:
        app()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


if __name__ == "__main__":
    main()
