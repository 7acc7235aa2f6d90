"""pycobre from Python: one call trains a case on any number of processes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from pycobre.app.execute import result_of, run_on_ranks
from pycobre.app.records import WorkerRecord
from pycobre.app.request import RunRequest
from pycobre.case import StudyOptions, given_case, write_case
from pycobre.lp import SolverKind
from pycobre.results import Results, StoredPolicy, read_policy
from pycobre.study import RunFinished, Study, StudyEvent
from pycobre.system import System


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """What :func:`train` returns.

    Attributes
    ----------
    summary
        Bound, costs, counts and times of the run.
    policy
        The cuts, in memory.
    results
        The results on disk, or ``None`` if no output was asked for.
    workers
        What every worker used, by rank; one record, of this process, with a single worker.
    """

    summary: RunFinished
    policy: StoredPolicy
    results: Results | None
    workers: tuple[WorkerRecord, ...]

    @property
    def lower_bound(self) -> float:
        """Lower bound after the last iteration."""
        return self.summary.lower_bound

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return self.summary.iterations

    def __repr__(self) -> str:
        summary = self.summary
        text = f"{summary.status} ({summary.reason}), {summary.iterations} iterations"
        text += f", lower bound {summary.lower_bound:.8g}"
        if summary.simulated_mean is not None:
            text += f", simulated cost {summary.simulated_mean:.8g} ± {summary.simulated_ci95:.3g}"
        return f"TrainingResult({text})"


def train(
    case: str | PathLike[str] | System,
    options: StudyOptions | None = None,
    *,
    num_workers: int = 1,
    backend: str = "auto",
    threads: int | None = None,
    solver: SolverKind = "auto",
    output: str | PathLike[str] | None = None,
    force: bool = False,
    simulation: bool = False,
    overrides: Mapping[str, object] | None = None,
    on_event: Callable[[StudyEvent], None] | None = None,
) -> TrainingResult:
    """Trained policy of a case directory or a system, with what the run came to.

    The processes are fresh interpreters: this works from a script without a ``__main__`` guard, from a
    notebook and from ``python -c``. The result has the same bits for any ``num_workers`` and ``threads``.

    Parameters
    ----------
    case
        Case directory, or a power system.
    options
        How a system is trained and simulated, their defaults if left out; a case directory says it itself.
    num_workers
        Processes that share the work; 1 works in this one. Several get a system as a case in a temporary
        directory, so :func:`pycobre.write_case` must be able to write it.
    backend
        How workers talk: ``shm``, ``tcp``, or ``auto``, which is shm on Linux; ``local`` for a single one.
        Ranks over mpi are started by ``mpiexec -n N pycobre run CASE``.
    threads
        Native threads of each; by default the cores are shared among them.
    solver
        Who solves stage problems: ``dense``, our own dual simplex; ``highs``; ``auto`` goes by their
        size.
    output
        Directory for results; nothing is kept on disk without one.
    force
        Replace results that are there already.
    simulation
        Also simulate, as the case says.
    overrides
        Settings on top of a directory's ``config.json`` by dotted key, such as
        ``{"training.iterations": 50}``.
    on_event
        Called in this process with every event of every worker; ``event.rank`` says whose it is. When it
        raises, the workers are ended and the exception goes on.

    Raises
    ------
    CaseError
        The case is wrong; ``problems`` lists everything.
    TypeError
        A directory with options, or a system with overrides.
    BackendError, ResultsError
        Before any work is done.
    StageProblemError, WorkerError
        The run failed; with several workers the error is a ``WorkerError`` that names the rank and holds
        the worker's own exception as its ``__cause__``.
    """
    if isinstance(case, System) and overrides:
        raise TypeError("overrides are for case directories: give a system other options")
    if not isinstance(case, System) and options is not None:
        raise TypeError("options are for systems: a case directory has its own, which overrides change")
    scratch = Path(tempfile.mkdtemp(prefix="pycobre-"))
    place = scratch / "results"
    request = RunRequest.of(
        scratch / "case" if isinstance(case, System) else Path(case),
        place if output is None else Path(output),
        force=force,
        threads=threads,
        solver=solver,
        simulation=simulation,
        overrides=dict(overrides or {}),
        is_copy=isinstance(case, System),
    )
    try:
        study = Study(given_case(case, options)) if isinstance(case, System) else None
        if study is not None and num_workers > 1:
            write_case(study.system, request.case, study.options)
        events = run_on_ranks(request, num_workers, backend, study=study)
        summary, workers = result_of(events, on_event)
        policy = read_policy(Path(request.output))
    finally:
        # A stage problem that was written down outlives the run: the error names its file.
        if not place.with_name("results.dump").exists():
            shutil.rmtree(scratch, ignore_errors=True)
    kept = Results.open(Path(request.output)) if output is not None else None
    return TrainingResult(summary, policy, kept, workers)
