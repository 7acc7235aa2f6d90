"""The command line, ``pycobre --help``: flags say how, a case what."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

import pycobre
from pycobre.app.cases import Json, migrate, schema, tell_problems
from pycobre.app.console import RunConsole
from pycobre.app.execute import backend_of, result_of, run_here, run_on_ranks
from pycobre.app.records import dump, failure_line, to_line
from pycobre.app.request import RunRequest
from pycobre.app.templates import TEMPLATES, copy_template
from pycobre.comm import available_backends, create_communicator, launch
from pycobre.errors import CaseError, CollectiveFailed, PycobreError, ResultsError, WorkerError
from pycobre.lp import SolverKind, solver_version
from pycobre.results import Results
from pycobre.study import StudyEvent

app = typer.Typer(
    name="pycobre",
    help="Plan hydrothermal power systems under uncertainty: the same bits on any number of ranks.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)

app.command()(migrate)
app.add_typer(schema, name="schema")

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
        SolverKind,
        typer.Option(
            help="Of stage problems: dense (our own, for small ones), highs, or auto, by their size."
        ),
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
    request = RunRequest.of(
        case,
        out,
        force=force,
        threads=threads,
        solver=solver,
        simulation=not no_simulation,
        overrides=_overrides(settings or []),
    )
    rank, finished = 0, None
    with RunConsole(Console(stderr=as_json, highlight=False)) as shown:

        def show(event: StudyEvent) -> None:
            if event.rank == 0:
                shown.show(event)
                if as_json:
                    _line(to_line(event))

        try:
            if ranks is not None:
                finished, _ = result_of(run_on_ranks(request, ranks, backend), show)
            else:
                with create_communicator(None if backend.lower() == "auto" else backend) as comm:
                    rank = comm.rank
                    finished, _ = result_of(run_here(request, comm), show)
        except KeyboardInterrupt:
            if as_json and rank == 0:
                _line(failure_line("interrupted", "interrupted", 130, request.output))
        except BrokenPipeError:
            raise  # nobody reads what we say any more: main knows
        except Exception as error:
            _fail(error, rank, request, as_json, shown.iterations)
    if finished is None or finished.status == "interrupted":
        raise typer.Exit(130)


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
    tell_problems(case, _overrides(settings or []), as_json)


@app.command()
def check(
    results: Annotated[Path, typer.Argument(help="Results directory of a run.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Check RESULTS: files are as they were written, and power, water, storage and costs add up."""
    try:
        opened = Results.open(results)
        opened.verify()
        balances = opened.check()
    except ResultsError as error:
        sys.stderr.write(f"pycobre: {error}\n")
        raise typer.Exit(error.exit_code) from None
    broken = [balance for balance in balances if not balance.holds]
    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    for balance in balances:
        if as_json:
            _line(dump({"type": "balance", "holds": balance.holds, **vars(balance)}))
        console.print(str(balance), markup=False, style=None if balance.holds else "bold red")
    if as_json:
        _line(dump({"type": "result", "status": "failed" if broken else "done", "broken": len(broken)}))
    if broken:
        raise typer.Exit(ResultsError.exit_code)


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
    facts: dict[str, object] = {
        "pycobre": pycobre.__version__,
        "highs": solver_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "backends": list(available_backends()),
    }
    if as_json:
        _line(dump({"type": "result", "status": "done", **facts}))
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


def _fail(error: Exception, rank: int, request: RunRequest, as_json: bool, iterations: int = 0) -> NoReturn:
    """Say what went wrong, unless rank 0 does, and what is left of *iterations*; leave with its exit code."""
    code = error.exit_code if isinstance(error, PycobreError) else 1
    if not isinstance(error, PycobreError):
        traceback.print_exc()
        sys.stderr.write("this is a bug of pycobre's, please report it with the lines above\n")
    elif rank == 0 or not _told_by_rank_0(error):
        told = error if not isinstance(error, WorkerError) else str(error).partition("\n")[0]
        # Some errors name their rank themselves.
        whose = "" if rank == 0 or getattr(error, "rank", None) == rank else f"rank {rank}: "
        sys.stderr.write(f"pycobre: {whose}{told}\n")
    if iterations and rank == 0 and (left := _left_behind(request.output)):
        sys.stderr.write(f"the policy of {iterations} finished iterations is in {left}\n")
    if as_json and rank == 0:
        more: dict[str, object] = {"error": type(error).__name__}
        if isinstance(error, WorkerError):
            cause = error.__cause__
            more |= {"rank": error.rank, "details": error.details}
            more |= {"cause": None if cause is None else f"{type(cause).__name__}: {cause}"}
        _line(failure_line("failed", str(error), code, request.output, **more))
    sys.last_value = error  # what ends this program: a group over MPI ends with its exit code
    raise typer.Exit(code)


def _left_behind(output: str) -> str | None:
    """Where a run that failed has written its policy: complete results stay in their place."""
    for place in (output, f"{output}.failed"):
        try:
            left = Results.open(place)
        except ResultsError:
            continue
        if left.status == "failed" and "policy" in left.manifest:
            return place
    return None


def _told_by_rank_0(error: PycobreError) -> bool:
    """Whether rank 0 of the group has this error too, or hears of it as the reason of an abort."""
    if isinstance(error, CollectiveFailed):
        return 0 not in error.ranks
    return isinstance(error, (CaseError, ResultsError))


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the command line; a reader that closed the pipe is no error of ours."""
    try:
        app()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


if __name__ == "__main__":
    main()
