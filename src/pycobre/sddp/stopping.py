"""When training stops: rules, and how they combine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pycobre.sddp.events import IterationFinished

History = Sequence[IterationFinished]


@dataclass(frozen=True)
class IterationLimit:
    """Stop after *limit* iterations."""

    limit: int
    name = "iteration_limit"

    def met(self, history: History) -> bool:
        """Whether the rule holds after the last of *history*."""
        return len(history) >= self.limit


@dataclass(frozen=True)
class TimeLimit:
    """Stop when *seconds* of rank 0's wall time have passed since training began."""

    seconds: float
    name = "time_limit"

    def met(self, history: History) -> bool:
        """Whether the rule holds after the last of *history*."""
        return history[-1].elapsed_s >= self.seconds


@dataclass(frozen=True)
class BoundStalling:
    """Stop when the bound rose by less than *tolerance*, relative, over the last *iterations*."""

    iterations: int
    tolerance: float
    name = "bound_stalling"

    def met(self, history: History) -> bool:
        """Whether the rule holds after the last of *history*."""
        if len(history) <= self.iterations:
            return False
        now, then = history[-1].lower_bound, history[-1 - self.iterations].lower_bound
        return now - then < self.tolerance * max(1.0, abs(now))


Rule = IterationLimit | TimeLimit | BoundStalling


@dataclass(frozen=True)
class Stopping:
    """Rules and how they combine.

    ``mode`` ``any``: the first rule that holds stops training. ``all``: every rule but the iteration
    limits must hold at once; a limit still caps the run.
    """

    rules: tuple[Rule, ...]
    mode: str = "any"

    def reason(self, history: History) -> str | None:
        """Name of the rule that ends training after the last of *history*, or ``None``."""
        met = [rule for rule in self.rules if rule.met(history)]
        limits = [rule for rule in met if isinstance(rule, IterationLimit)]
        if self.mode == "any":
            return met[0].name if met else None
        others = [rule for rule in self.rules if not isinstance(rule, IterationLimit)]
        if others and all(rule in met for rule in others):
            return "+".join(rule.name for rule in others)
        return limits[0].name if limits else None

    @property
    def iteration_limit(self) -> int:
        """Most iterations that training can take."""
        limits = [rule.limit for rule in self.rules if isinstance(rule, IterationLimit)]
        if not limits:
            raise ValueError("training needs an iteration limit")
        return min(limits) if self.mode == "any" else max(limits)
