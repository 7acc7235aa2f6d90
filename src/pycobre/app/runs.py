"""What the command line does with a run and its results: shows them, and tells what went wrong."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import NoReturn

import typer

from pycobre.app.console import RunConsole, console_of
from pycobre.app.execute import result_of, run_here, run_on_ranks
from pycobre.app.records import dump, failure_line, tell, to_line
from pycobre.app.request import RunRequest
from pycobre.comm import create_communicator
from pycobre.errors import CaseError, CollectiveFailed, PycobreError, ResultsError, WorkerError
from pycobre.results import Results
from pycobre.study import StudyEvent


def show_run(request: RunRequest, ranks: int | None, backend: str, as_json: bool) -> None:
    """Run *request* and show how it goes; end with the exit code of what went wrong."""
    rank, finished = 0, None
    with RunConsole(console_of(as_json)) as shown:

        def show(event: StudyEvent) -> None:
            if event.rank == 0:
                shown.show(event)
                if as_json:
                    tell(to_line(event))

        try:
            if ranks is not None:
                finished, _ = result_of(run_on_ranks(request, ranks, backend), show)
            else:
                with create_communicator(None if backend.lower() == "auto" else backend) as comm:
                    rank = comm.rank
                    finished, _ = result_of(run_here(request, comm), show)
        except KeyboardInterrupt:
            if as_json and rank == 0:
                tell(failure_line("interrupted", "interrupted", 130, request.output))
        except BrokenPipeError:
            raise  # nobody reads what we say any more: main knows
        except Exception as error:
            _fail(error, rank, request, as_json, shown.iterations)
    if finished is None or finished.status == "interrupted":
        raise typer.Exit(130)


def tell_balances(results: Path, as_json: bool) -> None:
    """Print whether the files of *results* are as written and what adds up; end with 7 if something isn't."""
    try:
        opened = Results.open(results)
        opened.verify()
        balances = opened.check()
    except ResultsError as error:
        sys.stderr.write(f"pycobre: {error}\n")
        raise typer.Exit(error.exit_code) from None
    broken = [balance for balance in balances if not balance.holds]
    console = console_of(as_json, soft_wrap=True)
    for balance in balances:
        if as_json:
            tell(dump({"type": "balance", "holds": balance.holds, **vars(balance)}))
        console.print(str(balance), markup=False, style=None if balance.holds else "bold red")
    if as_json:
        tell(dump({"type": "result", "status": "failed" if broken else "done", "broken": len(broken)}))
    if broken:
        raise typer.Exit(ResultsError.exit_code)


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
        tell(failure_line("failed", str(error), code, request.output, **more))
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
