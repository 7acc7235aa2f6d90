"""What a run shows on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from pycobre.app.console import RunConsole
from pycobre.study import RunFinished


def test_a_bound_of_a_national_study_is_told_apart_from_its_label():
    shown = io.StringIO()
    finished = RunFinished(
        rank=0, status="done", reason="iteration_limit", iterations=5, lower_bound=142375538706.4378,
        simulated_mean=171349804022.9464, simulated_std=1e11, simulated_ci95=35230810206.9007,
        simulated_risk_adjusted=262345678901.2345,
        bound_holds=None, risk_averse=True, lp_solves=56100, recoveries=(128, 0, 34, 20, 0, 0, 0),
        handed_over=0, train_s=1418.9, simulate_s=320.4, cpu_s=2185.2, output="study",
    )  # fmt: skip
    RunConsole(Console(file=shown)).show(finished)
    lines = shown.getvalue().splitlines()
    told = ["risk-averse bound", "142,375,538,706.4378", "not to be compared with a plain mean"]
    assert [part.strip() for part in lines[1].split("  ") if part] == told
    assert lines[3].startswith("  risk-adjusted cost 262,345,678,901.2345  by the stages' measure")
    assert lines[1].index("142,") == lines[2].index("171,")
