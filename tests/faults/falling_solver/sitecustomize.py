"""On PYTHONPATH it makes the solvers of rank 1 fall, whatever has started that rank."""

import os
from typing import Any

if "1" in (
    os.environ.get(f"{prefix}RANK") for prefix in ("COBRE_SHM_", "COBRE_TCP_", "", "PMI_", "OMPI_COMM_WORLD_")
):
    from pycobre.lp import DenseSolver, HighsSolver

    def fall(*arguments: Any, **options: Any) -> None:
        raise ArithmeticError("the solver has fallen")

    for solver in (DenseSolver, HighsSolver):
        solver.expectation = fall  # type: ignore[method-assign, assignment]
