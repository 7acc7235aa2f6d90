"""The small case of the tests, for a short run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from case.exercise.paths import CONFIG, HYDROS, LINES, LOADS, PENALTIES

Base = Callable[[Any], None]
"""What makes the small case of the tests one that exercises something."""


def train(directory: Any, iterations: int = 2) -> None:
    """Make runs short."""
    directory.put(CONFIG, "training.selection.forward_passes", 2)
    directory.put(CONFIG, "training.stopping_rules.0.limit", iterations)
    directory.put(CONFIG, "simulation.selection.num_scenarios", 3)


def small(directory: Any) -> None:
    """The small case as it is, for a short run."""
    train(directory)


def scarce(directory: Any) -> None:
    """The small case with more load, and machines for more water than there is: every drop counts."""
    train(directory)
    for plant in directory.documents[HYDROS]["hydros"]:
        for owner in (plant["generation"], plant["unit_groups"][0]):
            owner |= {"max_turbined_m3s": 300.0, "max_generation_mw": 300.0}
    directory.put(LINES, "lines.0.capacity.direct_mw", 300.0)
    directory.documents[PENALTIES]["hydro"] |= {
        "storage_violation_below_cost": 1e6,
        "inflow_nonnegativity_cost": 1e6,
    }
    directory.tables[LOADS]["mean_mw"] = [160.0] * 3


def long(directory: Any) -> None:
    """The small case for a run with more cuts than it needs."""
    train(directory, iterations=6)
    directory.put(CONFIG, "training.tree_seed", 3)  # of some, cuts that are no rows lead to the same optima
