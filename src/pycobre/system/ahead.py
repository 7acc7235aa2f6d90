"""Dispatch that is decided stages before it is delivered, such as that of plants on shipped gas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import accumulate

from pycobre.system.calendar import DAYS_PER_YEAR

HOURS_PER_YEAR = 24.0 * DAYS_PER_YEAR
SAME_MOMENT_H = 1e-6
"""Hours that sums of block lengths may be off."""


@dataclass(frozen=True)
class LaterStage:
    """A stage after the study, in which something is delivered that the study decides."""

    start_date: date
    hours: float
    annual_discount_rate: float

    @property
    def discount_factor(self) -> float:
        """What a cost of one in the next stage is worth in this one."""
        return float((1.0 + self.annual_discount_rate) ** (-self.hours / HOURS_PER_YEAR))


@dataclass(frozen=True)
class LaterDelivery:
    """Limits and cost of what a plant delivers in a stage after the study."""

    generation_min_mw: float
    generation_max_mw: float
    cost_per_mwh: float


@dataclass(frozen=True)
class Ahead:
    """How long before a stage its mean generation is decided: either so many stages, or so many hours.

    Attributes
    ----------
    lead_stages, lead_hours
        One of them. With hours the stage decides that holds the moment so long before the delivery's end;
        of two that meet in this moment, the earlier one.
    past_mw
        What was decided before the study, by the id of the stage of delivery. Its cost is sunk.
    later
        By position in :attr:`System.later`, what may be delivered there.
    """

    lead_stages: int | None = None
    lead_hours: float | None = None
    past_mw: Mapping[int, float] = field(default_factory=dict)
    later: Mapping[int, LaterDelivery] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.lead_stages is None) == (self.lead_hours is None):
            raise ValueError("dispatch is ahead by lead_stages or by lead_hours: give one of them")


def deciders(ahead: Ahead, hours: Sequence[float]) -> list[int | None]:
    """Stage that decides each delivery, in stages of so many *hours*; ``None``: before the first one."""
    if ahead.lead_stages is not None:
        return [m - ahead.lead_stages if m >= ahead.lead_stages else None for m in range(len(hours))]
    assert ahead.lead_hours is not None
    ends = list(accumulate(hours))
    moments = [end - ahead.lead_hours for end in ends]
    return [
        None
        if moment <= SAME_MOMENT_H
        else next(stage for stage, end in enumerate(ends) if moment <= end + SAME_MOMENT_H)
        for moment in moments
    ]


@dataclass(frozen=True)
class Deliveries:
    """Which stage decides which delivery of a plant.

    Attributes
    ----------
    plant
        Position in :attr:`System.thermals`.
    decided_by : (T,)
        Position of the stage that decides each stage's delivery; its own where the lead is shorter than the
        stage; ``None`` before the study.
    target : (T,)
        Position of the stage, among those of the study and then the later ones, whose delivery each stage
        decides; ``None`` where there is none.
    held
        The most deliveries that wait at the start of a stage, the one decided last not counted.
    """

    plant: int
    decided_by: tuple[int | None, ...]
    target: tuple[int | None, ...]
    held: int

    @classmethod
    def of(cls, plant: int, ahead: Ahead, hours: Sequence[float], stages: int) -> Deliveries:
        """Deliveries of the *plant* in *stages* stages and the later ones, of so many *hours*.

        Raises
        ------
        ValueError
            A stage would decide more than one delivery.
        """
        who = deciders(ahead, hours)
        target: list[int | None] = [None] * stages
        for m, t in enumerate(who):
            if t is None or t >= min(m, stages):
                continue
            if target[t] is not None:
                raise ValueError(f"the stage in position {t} decides more than one delivery")
            target[t] = m
        plan = cls(plant, tuple(who[:stages]), tuple(target), 0)
        waiting = max(
            (m - t + 1 for t in range(stages) for m in range(t, stages) if plan.waits(m, t)), default=0
        )
        return cls(plant, plan.decided_by, plan.target, waiting)

    @property
    def first(self) -> int:
        """Number of deliveries in the study that were decided before it."""
        return sum(stage is None for stage in self.decided_by)

    def newest(self, t: int) -> int | None:
        """Delivery that was decided last when stage *t* begins: in the stage before, or before the study."""
        if t == 0:
            return self.first - 1 if self.first else None
        return self.target[t - 1]

    def waits(self, m: int, t: int) -> bool:
        """Whether delivery *m*, not the newest, is decided but not over when stage *t* begins."""
        who = self.decided_by[m]
        decided = who is None or (who < m and who < t)
        return m >= t and decided and m != self.newest(t)
