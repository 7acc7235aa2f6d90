"""The small case of the tests, for a short run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from case.exercise.paths import CONFIG

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


def long(directory: Any) -> None:
    """The small case for a run with more cuts than it needs."""
    train(directory, iterations=6)
