"""The dense solver finds what HiGHS finds, problem by problem of a training; bench/solvers.py tells more."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"


def test_every_problem_of_a_training_has_the_value_that_highs_finds(tmp_path):
    """With lags of six months cuts are dense; here a weight below zero once hid a plane that was violated."""
    case = tmp_path / "case"
    sizes = {"hydros": 8, "stages": 8, "lags": 6, "seed": 6}
    told = [text for name, value in sizes.items() for text in (f"--{name}", str(value))]
    subprocess.run(
        [sys.executable, BENCH / "generate.py", case, *told], check=True, capture_output=True, timeout=60
    )
    spec = importlib.util.spec_from_file_location("solvers", BENCH / "solvers.py")
    assert spec is not None
    assert spec.loader is not None
    solvers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(solvers)
    found = solvers.compare(case, iterations=3, most=2000)
    assert found.problems >= 2000
    assert found.value <= 1e-9
    assert found.wrong == 0
