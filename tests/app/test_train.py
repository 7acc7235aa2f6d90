"""``pycobre.train`` from scripts without a guard, from ``python -c`` and from threads, as notebooks do."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pycobre
from pycobre.errors import BackendNotAvailable, CaseError
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


def test_events_of_workers_come_to_the_caller():
    events = []
    pycobre.train(TOY, num_workers=2, on_event=events.append)
    assert isinstance(events[0], StudyStarted)
    assert events[0].ranks == 2
    assert isinstance(events[-1], RunFinished)
    numbers = [event.iteration for event in events if isinstance(event, IterationFinished)]
    assert numbers == list(range(1, events[-1].iterations + 1))


SCRIPT = f"""
import pycobre
result = pycobre.train({str(TOY)!r}, num_workers=2)
print("bound", result.lower_bound)
"""


def test_works_from_a_script_without_guard(tmp_path):
    script = tmp_path / "plan.py"
    script.write_text(SCRIPT)
    check([sys.executable, str(script)])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_works_from_a_command_whatever_the_start_method(method):
    start = f"import multiprocessing; multiprocessing.set_start_method({method!r})\n"
    check([sys.executable, "-c", start + SCRIPT])


def check(command):
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout.split("bound")[1]) == pytest.approx(VALUE, abs=1e-4)
    assert ran.stdout.count("bound") == 1  # the script ran once, not once a worker


def test_works_in_a_thread_as_in_a_notebook_kernel():
    found = []
    thread = threading.Thread(target=lambda: found.append(pycobre.train(TOY, num_workers=2)))
    thread.start()
    thread.join(100)
    assert found[0].lower_bound == pytest.approx(VALUE, abs=1e-4)


def test_wrong_input_raises_before_anything_starts(tmp_path):
    with pytest.raises(CaseError) as caught:
        pycobre.train(TOY, num_workers=2, overrides={"training.forward_passes": 0, "training.nothing": 1})
    assert len(caught.value.problems) == 2
    with pytest.raises(BackendNotAvailable):
        pycobre.train(TOY, num_workers=2, backend="tcp", output=tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_same_result_for_any_number_of_workers_and_threads():
    results = [pycobre.train(TOY, num_workers=n, threads=t) for n, t in ((1, 1), (1, 3), (2, 1), (3, 2))]
    assert len({result.lower_bound for result in results}) == 1
    cuts = [result.policy.cuts for result in results]
    assert all(table.equals(cuts[0]) for table in cuts)
