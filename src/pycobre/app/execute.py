"""Running a request: in this process, or on ranks that are started for it. Both give the same events."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from pycobre.app.records import from_line
from pycobre.app.request import RunRequest
from pycobre.comm import BackendKind, available_backends, create_communicator, launch
from pycobre.errors import BackendNotAvailable, InitializationFailed, InvalidBackend
from pycobre.results import ResultsWriter
from pycobre.study import RunFinished, RunSettings, Study, StudyEvent

_GRACE_SECS = 30.0
"""How long ranks have, after one failed, to write down what there is."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Ranks share the cores among them already; libraries must not each take them all again."""


def run_here(request: RunRequest, backend: str | None = None) -> Iterator[StudyEvent]:
    """Events of the run in this process, alone or as the rank that the environment says it is.

    Raises
    ------
    PycobreError
        See :meth:`pycobre.study.Study.run` and :func:`pycobre.comm.create_communicator`.
    """
    study = Study.load(request.case, request.overrides)
    interrupt = threading.Event()
    settings = RunSettings(
        output=Path(request.output),
        force=request.force,
        threads=request.threads,
        simulation=request.simulation,
        interrupt=interrupt,
    )
    with create_communicator(backend) as comm, _polite_signals(interrupt):
        yield from study.run(comm, settings)


def run_on_ranks(
    request: RunRequest, ranks: int, backend: str, on_stderr: Callable[[int, bytes], None] | None = None
) -> Iterator[StudyEvent]:
    """Events of the run on *ranks* fresh processes of this machine.

    The case and the output are checked first, so that a mistake in them is told once and at once.

    Raises
    ------
    CaseError, ResultsError, BackendError
        Before any process is started.
    WorkerError
        A rank failed; it holds the first failure, with its rank and what it printed last.
    KeyboardInterrupt
        After Ctrl-C, once the ranks have ended.
    """
    _check_backend(backend, ranks)
    if ranks == 1:
        yield from run_here(request, "local")
        return
    Study.load(request.case, request.overrides)
    ResultsWriter(request.output, force=request.force).abandon()
    command = [sys.executable, "-m", "pycobre.app.worker", request.to_text()]
    environment = {**os.environ, **_ONE_THREAD}
    with launch(
        command, ranks, environment=environment, grace_secs=_GRACE_SECS, on_stderr=on_stderr
    ) as running:
        for rank, line in running:
            if rank == 0:
                yield from_line(line)


def _check_backend(name: str, ranks: int) -> None:
    names = [kind.value for kind in BackendKind]
    if name.lower() not in names:
        raise InvalidBackend(name, [known for known in names if known != "auto"])
    if name.lower() == "local" and ranks > 1:
        raise InitializationFailed("local", f"it has one rank, not {ranks}; use shm")
    if name.lower() in ("mpi", "tcp"):
        raise BackendNotAvailable(name.lower(), available_backends(), "it is not part of this version")


@contextmanager
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


def result_of(events: Iterator[StudyEvent], on_event: Callable[[StudyEvent], None] | None) -> RunFinished:
    """The last of *events*, each shown to *on_event* as it comes."""
    finished: RunFinished | None = None
    for event in events:
        if on_event is not None:
            on_event(event)
        if isinstance(event, RunFinished):
            finished = event
    assert finished is not None, "a run ends with a result or an error"
    return finished
