"""Which periods the lags of each stage reach, and which seasons of the study and before it make them up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

import numpy as np

from pycobre.case.calendar import is_calendar_month
from pycobre.case.seasons import DAY, Period, SeasonCalendar
from pycobre.case.stages import StageRecord, StagesFile
from pycobre.case.tables import BoolArray, FloatArray, IntArray
from pycobre.system import season_occurrences


@dataclass(frozen=True)
class Reached:
    """A period that some lag reaches.

    Seasons of the study are counted from 0 and the periods before it back from -1.

    Attributes
    ----------
    period
        Itself, or the longer season that it lies in: whose statistics count.
    same
        The number of that season; ``None`` if it is several.
    shares
        Number and share of each season that its mean inflow is taken from.
    """

    period: Period
    same: int | None
    shares: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class Reach:
    """What the lags of T stages reach.

    Attributes
    ----------
    occurrence : (T,)
        Number of the season that each stage is, or is part of.
    starts
        First stage of each season.
    before
        Periods before the study, the latest first.
    lags
        By stage and lag from 1; ``None`` where no plant uses it.
    cycles : (T,)
        Which stages have seasons of one cycle.
    mixed
        Whether there are several of these: months and quarters, say.
    """

    occurrence: IntArray
    starts: tuple[int, ...]
    before: tuple[Period, ...]
    lags: tuple[tuple[Reached | None, ...], ...]
    cycles: IntArray
    mixed: bool

    def depth(self, used: BoolArray) -> IntArray:
        """How many periods before the study the lags that are *used* (H, T, P) reach, by plant."""
        found = np.zeros(used.shape[1:], dtype=np.int64)
        for t, of_stage in enumerate(self.lags):
            for lag, reached in enumerate(of_stage):
                if reached is not None:
                    found[t, lag] = max(0, -min(number for number, _ in reached.shares))
        depth: IntArray = np.where(used, found[None], 0).max(axis=(1, 2), initial=0)
        return depth

    def weights(self) -> FloatArray | None:
        """Shares (T, P, L) of the last L seasons in what each lag reaches; ``None`` if that is one a lag."""
        if not self.mixed:
            return None
        places = [
            (t, lag, int(self.occurrence[t]) - number - 1, share)
            for t, of_stage in enumerate(self.lags)
            for lag, reached in enumerate(of_stage)
            for number, share in (reached.shares if reached is not None else ())
        ]
        length = max((place for _, _, place, _ in places), default=-1) + 1
        result = np.zeros((len(self.lags), len(self.lags[0]), max(length, len(self.lags[0]))))
        for t, lag, place, share in places:
            result[t, lag, place] = share
        return result


def find_reach(file: StagesFile, used: BoolArray) -> Reach:
    """What the lags that are *used* (H, T, P) by the stages of *file* reach.

    Lag 1 is the season before. Where the seasons of the stages are of several cycles, as months and quarters,
    it is that of the stage's own cycle: a quarter before a quarter, taken from its months by their days.
    What lies within a longer season has that one's inflow, over that one's statistics.
    """
    stages = sorted(file.stages, key=lambda stage: stage.id)
    occurrences = season_occurrences([stage.season_id for stage in stages])
    occurrence = np.array([k for k, span in enumerate(occurrences) for _ in span], dtype=np.int64)
    cycles = SeasonCalendar(file.season_definitions).split() if file.season_definitions is not None else []
    number_of: dict[int | None, int] = {
        id: number for number, cycle in enumerate(cycles) for id in cycle.season_ids
    }
    cycle_of_stage = np.array([number_of.get(stage.season_id, -1) for stage in stages])
    mixed = len({*cycle_of_stage.tolist()} - {-1}) > 1
    calendar = cycles[max(cycle_of_stage[0], 0)] if cycles else None
    earlier = _periods_before(file, stages[0], len(occurrences[0]) > 1, calendar)
    own = [next(earlier)]  # what the study starts in
    own += [
        Period(stages[span[0]].start_date, stages[span[-1]].end_date, stages[span[0]].season_id)
        for span in occurrences[1:]
    ]
    wanted: BoolArray = np.any(used, axis=0)
    if mixed:
        # A stage without season is noted elsewhere.
        chains = [
            _chain(own[k], cycles[cycle]) if cycle >= 0 else iter(())
            for k, cycle in zip(occurrence, cycle_of_stage, strict=True)
        ]
        before, lags = _lags_by_days(wanted, chains, own, earlier)
    else:
        before, lags = _lags_by_number(wanted, occurrence, own, earlier)
    return Reach(
        occurrence,
        tuple(span[0] for span in occurrences),
        tuple(before),
        tuple(tuple(row) for row in lags),
        cycle_of_stage,
        mixed,
    )


def _lags_by_number(
    wanted: BoolArray, occurrence: IntArray, own: list[Period], earlier: Iterator[Period]
) -> tuple[list[Period], list[list[Reached | None]]]:
    """Periods before the study, and what each lag that is *wanted* (T, P) reaches: so many seasons back."""
    number = occurrence[:, None] - np.arange(1, wanted.shape[1] + 1)[None, :]
    before = list(islice(earlier, max(0, -int(np.where(wanted, number, 0).min(initial=0)))))
    timeline = [*reversed(before), *own]
    lags: list[list[Reached | None]] = [[None] * wanted.shape[1] for _ in wanted]
    for t, lag in np.argwhere(wanted).tolist():
        reached = int(number[t, lag])
        lags[t][lag] = Reached(timeline[reached + len(before)], reached, ((reached, 1.0),))
    return before, lags


def _lags_by_days(
    wanted: BoolArray, chains: list[Iterator[Period]], own: list[Period], earlier: Iterator[Period]
) -> tuple[list[Period], list[list[Reached | None]]]:
    """The same where lags are the periods of each stage's chain, whatever seasons of the study lie there."""
    periods = [
        [period if used else None for used, period in zip(row, chain, strict=False)]
        for row, chain in zip(wanted.tolist(), chains, strict=True)
    ]
    first = min((period.start for row in periods for period in row if period), default=own[0].start)
    before: list[Period] = []
    while (before[-1] if before else own[0]).start > first:
        before.append(next(earlier))
    timeline = [*reversed(before), *own]
    lags: list[list[Reached | None]] = [
        [_reached(period, timeline, len(before)) if period else None for period in row] for row in periods
    ]
    return before, [row + [None] * (wanted.shape[1] - len(row)) for row in lags]


def _reached(period: Period, timeline: list[Period], before: int) -> Reached:
    shares = []
    for position, item in enumerate(timeline):
        if item.start <= period.start and period.end <= item.end:
            number = position - before
            return Reached(item, number, ((number, 1.0),))
        days = (min(item.end, period.end) - max(item.start, period.start)).days
        if days > 0:
            shares.append((position - before, days / (period.end - period.start).days))
    return Reached(period, None, tuple(shares))


def _chain(following: Period, calendar: SeasonCalendar) -> Iterator[Period]:
    """Periods before another one, the latest first: seasons of *calendar*, else as long as that one."""
    length = following.end - following.start
    while True:
        whole = calendar.period_of(following.start - DAY)
        if whole.season_id is None or whole.end != following.start:
            whole = Period(following.start - length, following.start, None)
        following = whole
        yield whole


def _periods_before(
    file: StagesFile, first: StageRecord, part: bool, calendar: SeasonCalendar | None
) -> Iterator[Period]:
    """The period that the study starts in, and those before, the latest first.

    Pre-study stages say so; else they are months before a calendar month, occurrences of custom seasons,
    and otherwise as long as the first stage, or the season that it is *part* of.
    """
    given = {stage.id: stage for stage in file.pre_study_stages or []}
    following = Period(first.start_date, first.end_date, first.season_id)
    if part and calendar is not None:
        following = calendar.period_of(first.start_date)
    length, months = following.end - following.start, is_calendar_month(following.start, following.end)
    yield following
    number = 0
    while True:
        number += 1
        stage = given.get(-number)
        if stage is not None:
            start, end, season = stage.start_date, stage.end_date, stage.season_id
        else:
            start, end, season = following.start - length, following.start, None
            if months and end.day == 1:
                start = (end - timedelta(days=1)).replace(day=1)
        if calendar is not None and season is None:
            whole = calendar.period_of(end - timedelta(days=1))
            if stage is None and calendar.cycle_type == "custom" and whole.end == end:
                start = whole.start
            season = whole.season_id if (whole.start, whole.end) == (start, end) else None
            if season is None and calendar.cycle_type == "weekly":  # weeks that begin on another day
                season = calendar.before(following.season_id)
        following = Period(start, end, season)
        yield following
