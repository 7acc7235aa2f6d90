"""How a study runs, and what it tells while it does; every event begins with the ``rank`` that tells it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from pycobre.lp import SolverKind
from pycobre.sddp import TrainingEvent


@dataclass(frozen=True)
class RunSettings:
    """How a study runs, as opposed to what it is.

    Attributes
    ----------
    output
        Directory that the results go to.
    force
        Replace results that are there already.
    threads
        Native threads of this rank; ``None`` shares the usable cores among the ranks of this machine.
    solver
        Who solves stage problems: ``dense``, our own dual simplex; ``highs``; ``auto`` goes by their size.
    simulation
        Whether to simulate after training, if the case asks for it.
    interrupt
        Set it, on any rank, to stop all ranks together after the iteration at hand.
    """

    output: Path
    force: bool = False
    threads: int | None = None
    solver: SolverKind = "auto"
    simulation: bool = True
    interrupt: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class StudyStarted:
    """What is about to run, and on what."""

    rank: int
    case: str
    output: str
    backend: str
    ranks: int
    threads: int
    stages: int
    buses: int
    lines: int
    thermals: int
    hydros: int
    states: int
    forward_passes: int
    iteration_limit: int
    simulation_scenarios: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class SimulationProgress:
    """Cost over the scenarios simulated so far, with the half width of its 95 % interval."""

    rank: int
    done: int
    scenarios: int
    mean: float
    ci95: float


@dataclass(frozen=True)
class RunFinished:
    """What came out.

    Attributes
    ----------
    status
        ``done`` or ``interrupted``.
    reason
        The rule that ended training, or ``interrupted``.
    simulated_risk_adjusted
        The stages' risk measure, taken of scenarios' total costs; ``None`` unless all stages have one, and
        the same. It is not nested, so that the bound is not compared with it either.
    bound_holds
        Whether the lower bound lies below the simulated mean plus the half width of its 95 % interval;
        ``None`` without a simulation, or if the two can't be compared. If it does not, something is wrong
        with the model or with us.
    risk_averse
        Whether the bound is one of a risk measure: it may lie above the simulated mean, which is a plain one.
    train_s, simulate_s
        Wall time.
    cpu_s
        Processor time of all ranks.
    """

    rank: int
    status: str
    reason: str
    iterations: int
    lower_bound: float
    simulated_mean: float | None
    simulated_std: float | None
    simulated_ci95: float | None
    simulated_risk_adjusted: float | None
    bound_holds: bool | None
    risk_averse: bool
    lp_solves: int
    recoveries: tuple[int, ...]
    handed_over: int
    train_s: float
    simulate_s: float
    cpu_s: float
    output: str


StudyEvent = StudyStarted | TrainingEvent | SimulationProgress | RunFinished
