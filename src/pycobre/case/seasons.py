"""Seasons as periods of the calendar: which one a day belongs to, and from when to when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from pycobre.case.calendar import first_of_next_month
from pycobre.case.stages import Season, SeasonDefinitions

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """One occurrence of a season; ``season_id`` is ``None`` for days that no season claims."""

    start: date
    end: date
    season_id: int | None


class SeasonCalendar:
    """Occurrences of the seasons of a case, in the order of the calendar.

    Monthly seasons are months; weekly ones are weeks from Monday, numbered as ISO 8601 does, season 0
    being week 1 (a week 53 belongs to the last season); custom ones run from a day of the year to another.
    """

    def __init__(self, definitions: SeasonDefinitions) -> None:
        self.cycle_type = definitions.cycle_type
        if self.cycle_type == "weekly":
            ordered = sorted(definitions.seasons, key=lambda season: season.id)
        else:
            ordered = sorted(
                definitions.seasons, key=lambda season: (season.month_start, season.day_start or 1)
            )
        self.season_ids = tuple(season.id for season in ordered)
        """In the order of the cycle."""
        self._by_month = {season.month_start: season.id for season in ordered}
        self._ordered = ordered
        self._definitions = definitions

    def before(self, season_id: int | None) -> int | None:
        """The season before another in the cycle; ``None`` if that is not one of them."""
        if season_id not in self.season_ids:
            return None
        return self.season_ids[self.season_ids.index(season_id) - 1]

    def split(self) -> list[SeasonCalendar]:
        """Calendars that no day is in two seasons of: the seasons of one length, as months and quarters.

        Seasons join from the longest on, each the first calendar that has room for it.
        """
        if self.cycle_type != "custom":
            return [self]
        parts: list[tuple[set[int], list[Season]]] = []
        for season in sorted(self._ordered, key=lambda season: -len(_days(season))):
            days = _days(season)
            claimed, members = next((part for part in parts if not part[0] & days), (set(), []))
            if not members:
                parts.append((claimed, members))
            claimed |= days
            members.append(season)
        if len(parts) == 1:
            return [self]
        return [
            SeasonCalendar(self._definitions.model_copy(update={"seasons": members})) for _, members in parts
        ]

    def period_of(self, day: date) -> Period:
        """The period that *day* is in."""
        if self.cycle_type == "monthly":
            return Period(day.replace(day=1), first_of_next_month(day), self._by_month.get(day.month))
        if self.cycle_type == "weekly":
            monday = day - day.weekday() * DAY
            week = min(day.isocalendar().week, len(self.season_ids))
            return Period(monday, monday + 7 * DAY, self.season_ids[week - 1])
        for season in self._ordered:
            for year in (day.year - 1, day.year):
                start, end = _span(season, year)
                if start <= day < end:
                    return Period(start, end, season.id)
        return Period(day, day + DAY, None)

    def periods(self, first: date, end: date) -> Iterator[Period]:
        """Periods from the one that *first* is in up to *end*."""
        day = first
        while day < end:
            period = self.period_of(day)
            yield period
            day = period.end


def _days(season: Season) -> set[int]:
    """Days of a leap year that a custom season has, counted from its first."""
    spans = (_span(season, year) for year in (2023, 2024))
    whole = ((start - date(2024, 1, 1)).days + k for start, end in spans for k in range((end - start).days))
    return {day for day in whole if 0 <= day < 366}


def _span(season: Season, year: int) -> tuple[date, date]:
    """First day, and the day after the last, of a custom season that begins in *year*."""
    start = date(year, season.month_start, _day(year, season.month_start, season.day_start or 1))
    month = season.month_end or season.month_start
    until = year if month >= season.month_start else year + 1
    last_of_month = first_of_next_month(date(until, month, 1)) - DAY
    end = last_of_month if season.day_end is None else date(until, month, _day(until, month, season.day_end))
    return start, end + DAY


def _day(year: int, month: int, day: int) -> int:
    """*day*, or the last one of a month that is shorter."""
    return min(day, (first_of_next_month(date(year, month, 1)) - DAY).day)
