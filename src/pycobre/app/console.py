"""What a person sees of a run: a live line on a terminal, a table in a pipe, a summary at the end."""

from __future__ import annotations

import math
import os
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from pycobre.lp import LADDER
from pycobre.sddp import IterationFinished, TrainingFinished
from pycobre.sddp.simulate import NORMAL_975
from pycobre.study import RunFinished, SimulationProgress, StudyEvent, StudyStarted

_HEADER = (
    f"{'iteration':>9}  {'lower bound':>15}  {'forward cost':>15}  {'± 95 %':>10}  {'time s':>8}  {'LP/s':>8}"
)


def console_of(as_json: bool, soft_wrap: bool = False) -> Console:
    """Where people read: standard output, or with *as_json*, whose lines are there, standard error."""
    # Open MPI gives every rank a terminal of its own, though its launcher may write to a file.
    is_rank = "OMPI_COMM_WORLD_RANK" in os.environ
    force = False if is_rank else None
    return Console(stderr=as_json, highlight=False, soft_wrap=soft_wrap, force_terminal=force)


class RunConsole:
    """Shows events as they come.

    Parameters
    ----------
    console
        Where to; a terminal gets the live line, anything else the table.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_terminal = console.is_terminal
        self._live: Live | None = None
        self._forward_passes = self._iteration_limit = 1
        self._last: IterationFinished | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_live()

    @property
    def iterations(self) -> int:
        """How many iterations have finished."""
        return self._last.iteration if self._last else 0

    def show(self, event: StudyEvent) -> None:
        """Show one event."""
        if isinstance(event, StudyStarted):
            self._started(event)
        elif isinstance(event, IterationFinished):
            self._iteration(event)
        elif isinstance(event, TrainingFinished):
            self._end_live()
        elif isinstance(event, SimulationProgress):
            self._simulation(event)
        elif isinstance(event, RunFinished):
            self._end_live()
            self._finished(event)

    def _print(self, text: str, style: str = "") -> None:
        if self._is_terminal:
            self._console.print(Text(text, style=style), soft_wrap=True)
        else:  # no more than the text: to render it takes as long as all of an iteration of a small case
            print(text, file=self._console.file, flush=True)

    def _started(self, event: StudyStarted) -> None:
        self._forward_passes, self._iteration_limit = event.forward_passes, event.iteration_limit
        self._print(f"pycobre: {event.case}", "bold")
        self._print(
            f"  {_count(event.stages, 'stage')}, {_count(event.hydros, 'hydro')},"
            f" {_count(event.thermals, 'thermal')}, {_count(event.buses, 'bus', 'buses')},"
            f" {_count(event.lines, 'line')}; {_count(event.states, 'state')}"
        )
        self._print(
            f"  at most {_count(event.iteration_limit, 'iteration')} of"
            f" {_count(event.forward_passes, 'forward pass', 'forward passes')},"
            f" then {_count(event.simulation_scenarios, 'simulated scenario')}"
        )
        self._print(
            f"  {_count(event.ranks, 'rank')} ({event.backend}), {_count(event.threads, 'thread')} each"
        )
        for warning in event.warnings:
            self._print(f"  warning: {warning}", "yellow")
        if not self._is_terminal:
            self._print(_HEADER)

    def _iteration(self, event: IterationFinished) -> None:
        seconds = event.elapsed_s - (self._last.elapsed_s if self._last else 0.0)
        solves = event.lp_solves - (self._last.lp_solves if self._last else 0)
        rate = solves / seconds if seconds > 0 else math.nan
        half = NORMAL_975 * event.forward_std / math.sqrt(self._forward_passes)
        interval = f"{half:10.3e}" if self._forward_passes > 1 else f"{'-':>10}"
        self._last = event
        if not self._is_terminal:
            self._print(
                f"{event.iteration:9d}  {event.lower_bound:15.8e}  {event.forward_mean:15.8e}  {interval}"
                f"  {event.elapsed_s:8.1f}  {rate:8.0f}"
            )
            return
        self._show_live(
            f"{event.iteration}/{self._iteration_limit}  bound {event.lower_bound:.6e}"
            f"  cost {event.forward_mean:.3e} ± {interval.strip()} (95 %)"
            f"  {event.elapsed_s:.1f} s  {rate:,.0f} LP/s"
        )

    def _simulation(self, event: SimulationProgress) -> None:
        text = (
            f"simulated {event.done} of {event.scenarios} scenarios"
            f"   cost {event.mean:,.2f} ± {event.ci95:,.2f}"
        )
        if self._is_terminal:
            self._show_live(text)
        else:
            self._print(text)

    def _finished(self, event: RunFinished) -> None:
        iterations = _count(event.iterations, "iteration")
        self._print(f"{event.status}: {event.reason} after {iterations}", "bold")
        kind = "risk-averse bound" if event.risk_averse else "lower bound"
        apart = "  not to be compared with a plain mean" if event.risk_averse else ""
        self._print(f"  {kind:19}{event.lower_bound:20,.4f}{apart}")
        if event.simulated_mean is not None and event.simulated_ci95 is not None:
            self._print(
                f"  {'simulated cost':19}{event.simulated_mean:20,.4f}  ± {event.simulated_ci95:,.4f} (95 %)"
            )
        if event.simulated_risk_adjusted is not None:
            self._print(
                f"  {'risk-adjusted cost':19}{event.simulated_risk_adjusted:20,.4f}"
                "  by the stages' measure, of the scenarios' totals"
            )
        if event.bound_holds is False:
            self._print(
                "  WARNING: the lower bound lies above the simulated cost and its interval. More scenarios"
                " may mend that; if not, the model or pycobre is wrong: please report it.",
                "bold red",
            )
        helped = [f"{step.name} {n}" for step, n in zip(LADDER, event.recoveries, strict=True) if n]
        told = [f"{', '.join(helped)} recovered"] if helped else []
        if event.handed_over:
            batches = _count(event.handed_over, "batch", "batches")
            told.append(f"{batches} left to HiGHS by the dense solver")
        recovered = f" ({'; '.join(told)})" if told else ""
        self._print(
            f"  {event.lp_solves:,} stage problems{recovered};"
            f" training {event.train_s:.1f} s, simulation {event.simulate_s:.1f} s, {event.cpu_s:.1f} CPU s"
        )
        self._print(f"  results in {event.output}")

    def _show_live(self, text: str) -> None:
        if self._live is None:
            self._live = Live(console=self._console, refresh_per_second=8, transient=False)
            self._live.start()
        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"))

    def _end_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
