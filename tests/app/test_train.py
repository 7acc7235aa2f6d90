"""``pycobre.train`` from scripts without a guard, from ``python -c``, from notebooks and from threads."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import pytest

import pycobre
from pycobre.comm import usable_cpus
from pycobre.errors import BackendError, CaseError, StageProblemError, WorkerError
from pycobre.sddp import IterationFinished
from pycobre.study import RunFinished, StudyStarted

TOY = Path(__file__).parents[2] / "examples" / "toy"
VALUE = 25000 / 3


@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_returns_policy_and_summary_and_leaves_no_files(num_workers, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = pycobre.train(TOY, num_workers=num_workers)
    assert result.lower_bound == pytest.approx(VALUE, abs=1e-4)
    assert result.policy.iterations == result.iterations
    assert result.policy.lower_bound == result.lower_bound
    assert result.results is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_events_and_records_of_all_workers_come_to_the_caller(backend):
    events = []
    result = pycobre.train(TOY, num_workers=2, backend=backend, on_event=events.append)
    for rank in range(2):
        own = [event for event in events if event.rank == rank]
        assert isinstance(own[0], StudyStarted)
        assert (own[0].ranks, own[0].backend) == (2, backend)
        assert own[0].threads == max(1, usable_cpus() // 2)
        assert isinstance(own[-1], RunFinished)
        numbers = [event.iteration for event in own if isinstance(event, IterationFinished)]
        assert numbers == list(range(1, result.iterations + 1))
    assert result.summary.rank == 0
    assert [worker.rank for worker in result.workers] == [0, 1]
    assert len({worker.pid for worker in result.workers} | {os.getpid()}) == 3
    assert all(worker.exit_code == 0 and worker.host == platform.node() for worker in result.workers)
    assert all(worker.cpu_s > 0 and worker.peak_rss_bytes > 10**7 for worker in result.workers)


def test_a_single_worker_is_this_process():
    [worker] = pycobre.train(TOY).workers
    assert (worker.rank, worker.pid, worker.exit_code) == (0, os.getpid(), None)


def children() -> list[str]:
    me = os.getpid()
    return Path(f"/proc/{me}/task/{threading.get_native_id()}/children").read_text().split()


@pytest.mark.parametrize(("num_workers", "backend"), [(1, "auto"), (2, "shm"), (2, "tcp")])
def test_an_exception_in_a_callback_ends_the_run_and_its_workers(num_workers, backend):
    def stop(event):
        if isinstance(event, IterationFinished) and event.iteration == 3:
            raise LookupError("enough")

    forever = {"training.iterations": 10**6}
    with pytest.raises(LookupError, match="enough"):
        pycobre.train(TOY, num_workers=num_workers, backend=backend, overrides=forever, on_event=stop)
    assert not children()


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_the_error_of_a_worker_is_the_cause_of_ours(infeasible, tmp_path, capfd, backend):
    with pytest.raises(WorkerError) as caught:
        pycobre.train(infeasible, num_workers=2, backend=backend, output=tmp_path / "out")
    error, cause = caught.value, caught.value.__cause__
    assert isinstance(cause, StageProblemError)
    assert error.exit_code == 4
    assert (cause.stage, cause.iteration, cause.status) == (0, 1, "infeasible")
    assert cause.rank == error.rank
    assert cause.conflict
    shown = "".join(traceback.format_exception(error))
    assert f"Traceback on rank {error.rank}" in shown
    assert "in walk" in shown


SCRIPT = f"""
import pycobre
result = pycobre.train({str(TOY)!r}, num_workers=2, backend=BACKEND)
print("bound", result.lower_bound)
"""


@pytest.mark.parametrize(
    ("how", "backend"),
    [("script", "shm"), ("command", "tcp"), ("interpreter", "shm"), ("interpreter", "tcp")],
)
def test_works_from_a_script_without_guard_a_command_and_a_live_interpreter(tmp_path, how, backend):
    """An interpreter that is typed into has no file for its main module."""
    text = SCRIPT.replace("BACKEND", repr(backend))
    script = tmp_path / "plan.py"
    script.write_text(text)
    if how == "interpreter":
        cells = f"import code; code.InteractiveInterpreter().runcode({text!r})\n"
        check([sys.executable, "-i", "-q"], cells)
    else:
        check([sys.executable, str(script)] if how == "script" else [sys.executable, "-c", text])


@pytest.mark.parametrize(("method", "backend"), [("fork", "shm"), ("spawn", "tcp"), ("forkserver", "shm")])
def test_works_whatever_the_start_method(method, backend):
    start = f"import multiprocessing; multiprocessing.set_start_method({method!r})\n"
    check([sys.executable, "-c", start + SCRIPT.replace("BACKEND", repr(backend))])


def check(command, typed=""):
    ran = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout.split("bound")[1].split()[0]) == pytest.approx(VALUE, abs=1e-4)
    assert ran.stdout.count("bound") == 1  # the script ran once, not once a worker


def test_works_in_a_cell_of_a_notebook(tmp_path):
    cell = {"cell_type": "code", "id": "plan", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = SCRIPT.replace("BACKEND", "'shm'")
    notebook = tmp_path / "plan.ipynb"
    notebook.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    places = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    ran = subprocess.run(
        [sys.executable, "-c", "from nbclient.cli import main; main()", "--inplace", str(notebook)],
        env={**os.environ, **dict.fromkeys(places, str(tmp_path / "jupyter"))},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    [output] = json.loads(notebook.read_text())["cells"][0]["outputs"]
    word, bound = "".join(output["text"]).split()
    assert (word, float(bound)) == ("bound", pytest.approx(VALUE, abs=1e-4))


def test_works_in_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(pycobre.train(TOY, num_workers=2)))
    thread.start()
    thread.join(100)
    assert found[0].lower_bound == pytest.approx(VALUE, abs=1e-4)


def test_wrong_input_raises_before_anything_starts(tmp_path):
    with pytest.raises(CaseError) as caught:
        pycobre.train(TOY, num_workers=2, overrides={"training.forward_passes": 0, "training.nothing": 1})
    assert len(caught.value.problems) == 2
    for backend, words in (("local", "shm or tcp"), ("mpi", "mpiexec"), ("smoke", "smoke")):
        with pytest.raises(BackendError, match=words):
            pycobre.train(TOY, num_workers=2, backend=backend, output=tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_same_result_for_any_number_of_workers_and_threads():
    results = [pycobre.train(TOY, num_workers=n, threads=t) for n, t in ((1, 1), (1, 3), (2, 1), (3, 2))]
    assert len({result.lower_bound for result in results}) == 1
    cuts = [result.policy.cuts for result in results]
    assert all(table.equals(cuts[0]) for table in cuts)
