"""Stages and blocks of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

DAYS_PER_YEAR = 365.25
"""Days of the year that annual discount rates refer to (as Cobre 0.18 discounts)."""


@dataclass(frozen=True)
class Block:
    """Hours of a stage with the same demand level."""

    id: int
    name: str
    hours: float


@dataclass(frozen=True)
class Stage:
    """One decision period.

    Attributes
    ----------
    id
        The case's number of the stage.
    start_date, end_date
        First day, and the day after the last.
    season_id
        Season of the year, or ``None``.
    blocks
        Ascending by id.
    num_openings
        How many noise realisations the stage has in the tree.
    annual_discount_rate
        Rate at which costs of the following stages are discounted over this stage.
    sampling_method
        How the openings are spread: ``saa``, ``lhs``, ``qmc_sobol`` or ``qmc_halton``; or where those of the
        inflows come from: ``historical_residuals``.
    cvar_tail, cvar_weight
        The cost of the openings counts by (1 - weight) · expectation + weight · mean of the dearest *tail* of
        the probability; by the expectation with weight 0 or tail 1.
    chronological
        Whether the blocks follow one another, so that reservoirs balance in each of them; else they are
        parallel, and reservoirs balance over the stage.
    """

    id: int
    start_date: date
    end_date: date
    season_id: int | None
    blocks: tuple[Block, ...]
    num_openings: int
    annual_discount_rate: float
    sampling_method: str = "saa"
    cvar_tail: float = 1.0
    cvar_weight: float = 0.0
    chronological: bool = False

    @property
    def risk_averse(self) -> bool:
        """Whether the cost of the openings counts by more than their expectation."""
        return self.cvar_weight > 0.0 and self.cvar_tail < 1.0

    @property
    def hours(self) -> float:
        """Hours of all blocks."""
        return sum(block.hours for block in self.blocks)

    @property
    def discount_factor(self) -> float:
        """What a cost of one in the next stage is worth in this one."""
        days = (self.end_date - self.start_date).days
        return float((1.0 + self.annual_discount_rate) ** (-days / DAYS_PER_YEAR))


def season_occurrences(season_ids: Sequence[int | None]) -> list[range]:
    """Stages that are one occurrence of a season each: those of the same season that follow one another.

    A stage without a season is one of its own.
    """
    found: list[range] = []
    for position, season in enumerate(season_ids):
        if position and season is not None and season == season_ids[position - 1]:
            found[-1] = range(found[-1].start, position + 1)
        else:
            found.append(range(position, position + 1))
    return found
