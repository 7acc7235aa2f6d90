"""Running a request: in this process, or on ranks that are started for it. Both give the same events."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType

from pycobre.app.backend import backend_of
from pycobre.app.records import RunEvent, WorkerRecord, from_line
from pycobre.app.request import RunRequest
from pycobre.case import given_case, load_case
from pycobre.comm import Backend, LocalCommunicator, launch, launcher_pipe
from pycobre.errors import WorkerError
from pycobre.results import ResultsWriter
from pycobre.study import RunFinished, RunSettings, Study, StudyEvent

_GRACE_SECS = 30.0
"""How long ranks have, after one failed, to write down what there is."""


def run_here(
    request: RunRequest, comm: Backend, study: Study | None = None
) -> Generator[RunEvent, None, None]:
    """Events of the run in this process, alone or as one rank of *comm*.

    A *study* that is given stands for the case of the request.

    Raises
    ------
    PycobreError
        See :meth:`pycobre.study.Study.run`.
    """
    study = study or _study_of(request)
    interrupt = threading.Event()
    settings = RunSettings(
        output=Path(request.output),
        force=request.force,
        threads=request.threads,
        solver=request.solver,
        simulation=request.simulation,
        interrupt=interrupt,
    )
    began = time.process_time()
    with _polite_signals(interrupt):
        yield from study.run(comm, settings)
    yield WorkerRecord(
        rank=comm.rank,
        pid=os.getpid(),
        host=platform.node(),
        exit_code=0 if launcher_pipe() else None,
        cpu_s=time.process_time() - began,
        peak_rss_bytes=_peak_rss_bytes(),
    )


def run_alone(request: RunRequest, study: Study | None = None) -> Generator[RunEvent, None, None]:
    """Events of the run in this process, whatever group the environment says it is in."""
    with LocalCommunicator() as comm:
        yield from run_here(request, comm, study)


def run_on_ranks(
    request: RunRequest,
    ranks: int,
    backend: str,
    on_stderr: Callable[[int, bytes], None] | None = None,
    study: Study | None = None,
) -> Generator[RunEvent, None, None]:
    """Events of the run on *ranks* fresh processes of this machine, each with the rank that tells it.

    The case and the output are checked first, so that a mistake in them is told once and at once. A *study*
    that is given stands for the case where a single rank works in this process.

    Raises
    ------
    CaseError, ResultsError, BackendError
        Before any process is started.
    WorkerError
        A rank failed; it holds the first failure, with its rank and, as its cause, the rank's own exception.
    KeyboardInterrupt
        After Ctrl-C, once the ranks have ended.
    """
    chosen = backend_of(backend, ranks)
    if ranks == 1:
        yield from run_alone(request, study)
        return
    _study_of(request)
    ResultsWriter(request.output, force=request.force).abandon()
    command = [sys.executable, "-m", "pycobre.app.worker", request.to_text()]
    causes: dict[int, BaseException] = {}
    try:
        with launch(
            command,
            ranks,
            backend=chosen,
            grace_secs=_GRACE_SECS,
            on_stderr=on_stderr,
        ) as running:
            for rank, line in running:
                told = from_line(line, rank)
                if isinstance(told, BaseException):
                    causes[rank] = told
                else:
                    yield told
    except WorkerError as error:
        raise error from causes.get(error.rank)


def _study_of(request: RunRequest) -> Study:
    """The study of the case; of a copy that of the system in it, as if there were no directory."""
    case = load_case(request.case, request.overrides)
    if request.is_copy:
        case = given_case(case.system, case.options, case.openings)
    return Study(case, request.overrides)


def _peak_rss_bytes() -> int:
    """The most memory this process has held; unlike ``getrusage`` not that of the process it came from."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextlib.contextmanager
def _polite_signals(interrupt: threading.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM ask for a stop after the iteration at hand; a second SIGINT stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if interrupt.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        interrupt.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def result_of(
    events: Generator[RunEvent, None, None], on_event: Callable[[StudyEvent], None] | None
) -> tuple[RunFinished, tuple[WorkerRecord, ...]]:
    """Rank 0's result and what every worker used; each event is shown to *on_event* as it comes.

    When *on_event* raises, the run has ended, with its workers, before the exception goes on.
    """
    finished: RunFinished | None = None
    workers: list[WorkerRecord] = []
    # A generator that is merely dropped would live, and its workers with it, as long as the traceback.
    with contextlib.closing(events):
        for event in events:
            if isinstance(event, WorkerRecord):
                workers.append(event)
                continue
            if on_event is not None:
                on_event(event)
            if isinstance(event, RunFinished) and (event.rank == 0 or finished is None):
                finished = event
    assert finished is not None, "a run ends with a result or an error"
    return finished, tuple(sorted(workers, key=lambda worker: worker.rank))
