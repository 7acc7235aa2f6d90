"""Ranks and launchers struck in every phase of every operation, in namespaces where leaks can be counted.

A part of the matrix runs here; ``PYCOBRE_FAULT_CELLS`` is how many of each backend, or ``all``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from faults.box import in_a_box
from faults.cells import CODES, PHASES, RANKS, Cell, matrix, sample
from faults.metronome import Metronome

BACKENDS = ("shm", "tcp")
COUNT = os.environ.get("PYCOBRE_FAULT_CELLS", "110")
pytestmark = pytest.mark.xdist_group("cells")  # one test starts the cells of all
AT_ONCE = 6  # a cell is starting or waiting most of its time
A_BOX = 14
CELLS = [
    cell
    for backend in BACKENDS
    for cell in sample(backend, len(matrix(backend)) if COUNT == "all" else int(COUNT))
]


def outcomes(cells: list[Cell]) -> dict[str, dict[str, Any]]:
    lines = in_a_box("1m", sys.executable, "-m", "faults.rig", *map(str, cells), limit_secs=70 * len(cells))
    records = [json.loads(line) for line in lines]
    return {record["cell"]: record for record in records}


@pytest.fixture(scope="module")
def metronome() -> Metronome:
    return Metronome()


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest, metronome: Metronome) -> Iterator[Callable[[Cell], dict[str, Any]]]:
    """What was seen of a cell; the first test starts the boxes of all cells that this run asks for."""
    specs = [getattr(item, "callspec", None) for item in request.session.items]
    cells = [spec.params["cell"] for spec in specs if spec is not None and "cell" in spec.params]
    running: dict[Cell, Future[dict[str, dict[str, Any]]]] = {}
    with metronome, ThreadPoolExecutor(AT_ONCE) as pool:
        for at in range(0, len(cells), A_BOX):
            share = cells[at : at + A_BOX]
            running |= dict.fromkeys(share, pool.submit(outcomes, share))
        yield lambda cell: running[cell].result()[str(cell)]


def test_every_cell_is_run_or_said_to_mean_nothing():
    for backend in BACKENDS:
        cells = matrix(backend)
        assert len(cells) == 8 * 6 * 4 * 4
        meaningful = [cell for cell in cells if not cell.meaningless]
        assert set(sample(backend, len(cells))) == set(meaningful)
        phases = set(PHASES) if backend == "shm" else set(PHASES) - {"direct"}
        assert {cell.phase for cell in sample(backend, 30)} == phases


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.victim != "launcher"], ids=str)
def test_survivors_and_launcher_name_the_victim(
    cell: Cell, seen: Callable[[Cell], dict[str, Any]], metronome: Metronome
):
    record = seen(cell)
    victim, survivors = int(cell.victim), record["survivors"]
    assert record["wrong"] == [], "a rank went on with wrong numbers"
    assert record["struck"] is not None, record
    error = record["error"]
    if cell.phase == "joining":
        # Who is not there to be watched is missed at the limit; the launcher ends the others before.
        assert {told["reason"] for told in survivors.values()} <= {"not joined"}, record
        ends = {code for rank, code in enumerate(record["codes"]) if rank != victim}
        assert ends <= {5, 128 + signal.SIGTERM}, record  # raised, or ended by the launcher; not by the rig
    else:
        assert sorted(survivors) == [str(rank) for rank in range(RANKS) if rank != victim], record
        for told in survivors.values():
            assert told["ranks"] == [victim], told
            assert told["reason"] in cell.reasons, told
            assert told["operation"] == cell.operation.partition("-")[0], told
            # Who calls after the strike starts to wait only then.
            begin = max(record["struck"], told["entered"])
            waited = metronome.waited_secs(begin, told["when"])
            assert told["when"] - begin <= cell.limit_secs + waited, (told, waited)
        # Over tcp rank 0 alone can give all the same word, and it tells one after the other that it closes:
        # struck amid that it has closed for some, and is gone for the others.
        amid_its_word = (cell.backend, cell.phase, victim) == ("tcp", "closing", 0)
        texts = {told["text"] for told in survivors.values()}
        assert len(texts) == 1 or (amid_its_word and len(texts) == 2), survivors
        assert len(record["poisoned"]) == RANKS - 1
    if cell.action == "SIGSTOP":
        assert f"rank {victim}" in error["text"], error
        assert error["code"] == 5
    else:
        assert (error["rank"], error["code"]) == (victim, CODES[cell.action]), record
    if cell.action == "exception":
        assert "the reservoir is dry" in error["text"], error
    assert not any(record["left"].values()), record["left"]


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.victim == "launcher"], ids=str)
def test_nothing_outlives_a_killed_launcher(cell: Cell, seen: Callable[[Cell], dict[str, Any]]):
    record = seen(cell)
    assert record["ready"] == "ready"
    assert record["gone_after"] <= 2.0
    assert not any(record["left"].values()), record["left"]
