"""The dense solver beside HiGHS: the same stage problems, value by value and slope by slope.

``python bench/solvers.py CASE... [--iterations N] [--problems N]`` trains each case with the dense solver and
solves every stage problem of its backward passes by HiGHS as well, with the same cuts. Where slopes differ
the problem has several optimal duals; then both cuts must lie below the values at all other states met.
``helped`` counts what each step of HiGHS's recovery ladder solved; the last one has wider tolerances.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from pycobre.comm import LocalCommunicator
from pycobre.lp import DenseSolver, Expectation, HighsSolver, Starts
from pycobre.study import RunSettings, Study


class Comparison:
    """Differences met so far in one case."""

    def __init__(self, most: int) -> None:
        self.most, self.problems = most, 0
        self.value, self.slope, self.other_duals, self.wrong = 0.0, 0.0, 0, 0
        self.handed_over = 0
        self._references: set[HighsSolver] = set()

    @property
    def helped(self) -> str:
        """How often each step of the recovery ladder was what solved a problem by HiGHS."""
        steps = zip(*(reference.counts.recoveries for reference in self._references), strict=True)
        return " ".join(str(sum(step)) for step in steps)

    def watch(self, solver: DenseSolver, states: Any, openings: Any, starts: Starts, part: Any) -> None:
        """Solve the batch by both, opening by opening."""
        if self.problems >= self.most:
            return
        own = solver.by_opening(states, openings, starts, part)
        self._references.add(solver.reference())
        reference = solver.reference().by_opening(states, openings, starts, part)
        solved = np.arange(own.value.shape[1]) < (part[1] - part[0])[:, None]
        scale = np.maximum(1.0, np.abs(reference.value))
        self.value = max(self.value, float((np.abs(own.value - reference.value) / scale)[solved].max()))
        size = np.maximum(1.0, np.abs(reference.slope).max(axis=2, initial=0.0))
        differs = np.abs(own.slope - reference.slope).max(axis=2, initial=0.0) / size
        same = differs <= 1e-6
        self.slope = max(self.slope, float(differs[solved & same].max(initial=0.0)))
        self.other_duals += int((solved & ~same).sum())
        self.problems += int(solved.sum())
        # Cuts of one opening at one state hold at the other states with the same opening.
        for opening in range(own.value.shape[1]):
            if not same[:, opening].all() and (part[0] == part[0][0]).all():
                here = own.value[:, opening] - np.einsum("mx,mx->m", own.slope[:, opening], states)
                heights = here[:, None] + own.slope[:, opening] @ states.T
                self.wrong += int((heights > own.value[:, opening] + 1e-6 * scale[:, opening]).sum())


def compare(path: Path, iterations: int, most: int) -> Comparison:
    """What the two solvers differ by on *path*."""
    found = Comparison(most)
    expectation, by_opening = DenseSolver.expectation, DenseSolver.by_opening

    def watched(
        self: DenseSolver, states: Any, openings: Any, probability: Any, starts: Starts, part: Any = None
    ) -> Expectation:
        if part is None:
            part = (
                np.zeros(len(states), dtype=np.int32),
                np.full(len(states), len(openings), dtype=np.int32),
            )
        found.watch(self, states, openings, starts, part)
        return expectation(self, states, openings, probability, starts, part)

    def watched_apart(self: DenseSolver, states: Any, openings: Any, starts: Starts, part: Any) -> Any:
        with patch.object(DenseSolver, "by_opening", by_opening):
            found.watch(self, states, openings, starts, part)
        return by_opening(self, states, openings, starts, part)

    changes = {"training.stopping_rules": [{"type": "iteration_limit", "limit": iterations}]}
    study = Study.load(path, changes)
    with tempfile.TemporaryDirectory() as place, patch.object(DenseSolver, "expectation", watched):
        averse = any(stage.risk_averse for stage in study.system.stages)
        apart = patch.object(DenseSolver, "by_opening", watched_apart) if averse else patch.dict({}, {})
        with apart:
            settings = RunSettings(output=Path(place) / "output", threads=1, solver="dense", simulation=False)
            for event in study.run(LocalCommunicator(), settings):
                found.handed_over = getattr(event, "handed_over", found.handed_over)
    return found


def main() -> None:
    """Print a table, a row a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--problems", type=int, default=10_000, help="most a case")
    given = parser.parse_args()
    table = Table(
        "case", "problems", "objective", "slope", "other duals", "wrong cuts", "left to HiGHS", "helped"
    )
    for path in given.cases:
        found = compare(path, given.iterations, given.problems)
        table.add_row(
            path.name,
            f"{found.problems:,}",
            f"{found.value:.1e}",
            f"{found.slope:.1e}",
            f"{found.other_duals:,}",
            f"{found.wrong:,}",
            f"{found.handed_over:,}",
            found.helped,
        )
        Console(width=110).print(path.name, found.problems, found.value, found.other_duals, found.wrong)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
