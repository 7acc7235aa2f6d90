"""``stages.json`` of a system that is written as a case: stages, seasons, and periods before the study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np

from pycobre.case import files
from pycobre.case.calendar import first_of_next_month, is_calendar_month
from pycobre.case.documents import parse_document
from pycobre.case.findings import Findings
from pycobre.case.reach import Reach, find_reach
from pycobre.case.seasons import DAY
from pycobre.case.stages import StagesFile
from pycobre.case.tables import BoolArray
from pycobre.case.unsupported import UNSUPPORTED
from pycobre.case.write_config import Json
from pycobre.stochastic import YEAR
from pycobre.system import Stage, System, season_occurrences

EXACT_PERIOD = timedelta(days=32)
"""To multiply and divide by a power of two changes no number."""

LEAP_YEAR = 2024

Span = tuple[date, date]
"""First day, and the day after the last."""


def stages_json(system: System) -> Json:
    """Stages and their seasons."""
    lags = system.inflow.order > 0
    result: Json = {
        "policy_graph": {
            "type": "finite_horizon",
            "annual_discount_rate": system.later[0].annual_discount_rate if system.later else 0.0,
        },
        "stages": [_stage(stage, lags) for stage in system.stages],
    }
    seasons = _seasons(system)
    if seasons:
        result["season_definitions"] = seasons
    return result


def lags_used(system: System) -> BoolArray:
    """Which lags matter to each hydro and stage, (H, T, P)."""
    used: BoolArray = system.inflow.coefficients != 0.0
    if system.inflow.annual is not None:
        used[:, :, :YEAR] |= (system.inflow.annual.coefficient != 0.0)[:, :, None]
    return used


def reach_of(system: System, stages: Json, findings: Findings) -> Reach | None:
    """What lags reach by the *stages* that are written; ``None`` after noting that it is not the system's."""
    file = parse_document(stages, files.STAGES, StagesFile, findings, frozenset())
    if not isinstance(file, StagesFile):
        return None
    reach = find_reach(file, lags_used(system))
    given, told = system.inflow.lag_weights, reach.weights()
    if given is told or (given is not None and told is not None and np.array_equal(given, told)):
        return reach
    findings.add(
        UNSUPPORTED,
        files.STAGES,
        "can't be written: by the dates and seasons of the stages, lags would reach other seasons, or other"
        " shares of them",
        entity="inflow",
        field="lag_weights",
        hint="let seasons be whole months, or as long as one another",
    )
    return None


def periods_json(periods: Sequence[Span]) -> list[Json]:
    """The *periods* before the study, the latest first."""
    return [
        {"id": -number, "start_date": start.isoformat(), "end_date": end.isoformat(), "season_id": None}
        for number, (start, end) in enumerate(periods, start=1)
    ]


def periods_before(system: System, reach: Reach) -> list[Span]:
    """The periods before the study that lags reach, the latest first.

    They are those that the seasons tell; but where one lag is one period, and nothing observed over those has
    the system's means to the last bit, of so many days that any mean is exact.
    """
    periods = [(period.start, period.end) for period in reach.before]
    past = system.inflow.past_m3s.T.tolist()
    inexact = any(
        mean_of(observations(value, period)) != value
        for period, values in zip(periods, past, strict=False)
        for value in values
    )
    if reach.mixed or not inexact:
        return periods
    first = system.stages[0].start_date
    return [(first - (n + 1) * EXACT_PERIOD, first - n * EXACT_PERIOD) for n in range(len(periods))]


def observations(value: float, period: Span) -> list[tuple[Span, float]]:
    """Observations whose mean over the *period* is the very *value*, if there are any: sums are rounded."""
    start, end = period
    days = (end - start).days
    volumes = [days * value, *(math.nextafter(days * value, side) for side in (-math.inf, math.inf))]
    volume = next((volume for volume in volumes if volume / days == value), None)
    if volume is None or volume == days * value:
        return [(period, averaged(value, days))]
    # The last day has what is missing.
    return [((start, end - DAY), value), ((end - DAY, end), volume - (days - 1) * value)]


def mean_of(windows: list[tuple[Span, float]]) -> float:
    """Mean that the reader takes over *windows* that follow one another."""
    days = [(end - start).days for (start, end), _ in windows]
    return sum(length * value for length, (_, value) in zip(days, windows, strict=True)) / sum(days)


def _stage(stage: Stage, lags: bool) -> Json:
    risk: object = "expectation"
    if (stage.cvar_tail, stage.cvar_weight) != (1.0, 0.0):
        risk = {"cvar": {"alpha": stage.cvar_tail, "lambda": stage.cvar_weight}}
    return {
        "id": stage.id,
        "start_date": stage.start_date.isoformat(),
        "end_date": stage.end_date.isoformat(),
        "season_id": stage.season_id,
        "blocks": [vars(block) for block in stage.blocks],
        "block_mode": "chronological" if stage.chronological else "parallel",
        "num_openings": stage.num_openings,
        "annual_discount_rate_override": stage.annual_discount_rate,
        "sampling_method": stage.sampling_method,
        "risk_measure": risk,
        "state_variables": {"storage": True, "inflow_lags": lags},
    }


def _seasons(system: System) -> Json | None:
    """Seasons with the stages' ids: months where all of them are, else spans of the year."""
    spans = _season_spans(system)
    if not spans:
        return None
    if _are_months(system):
        whole = spans | _rest_of_the_year({id: _month_of(start) for id, (start, _) in spans.items()})
        seasons: list[Json] = [
            {"id": id, "label": start.strftime("%B"), "month_start": start.month}
            for id, (start, _) in whole.items()
        ]
        return {"cycle_type": "monthly", "seasons": seasons}
    if system.inflow.lag_weights is not None:
        first = system.stages[0].season_id
        if first in spans and spans[first][1].day == 1:  # a study may begin within a month
            spans[first] = spans[first][0].replace(day=1), spans[first][1]
        spans |= _rest_of_the_year(spans)
    return {"cycle_type": "custom", "seasons": [_season(id, span) for id, span in spans.items()]}


def _are_months(system: System) -> bool:
    """Whether every season is a month of its own: one stage is all of it, or several are parts of it."""
    occurrences = [
        [system.stages[t] for t in span]
        for span in season_occurrences([stage.season_id for stage in system.stages])
    ]
    seasonal = [stages for stages in occurrences if stages[0].season_id is not None]
    months = {
        (stages[0].season_id, day.month)
        for stages in seasonal
        for day in (stages[0].start_date, stages[-1].end_date - DAY)
    }
    lengths = [(stages[-1].end_date - stages[0].start_date).days for stages in seasonal]
    return (
        len(months) == len({id for id, _ in months}) == len({month for _, month in months})
        and max(lengths) <= 2 * min(lengths)  # else months need lengths of their own
        and all(
            len(stages) > 1 or is_calendar_month(stages[0].start_date, stages[0].end_date)
            for stages in seasonal
        )
    )


def _month_of(day: date) -> Span:
    return day.replace(day=1), first_of_next_month(day)


def _season_spans(system: System) -> dict[int, Span]:
    """The longest occurrence of each season, ascending by id: at the study's ends it may be cut."""
    found: dict[int, Span] = {}
    for occurrence in season_occurrences([stage.season_id for stage in system.stages]):
        id = system.stages[occurrence[0]].season_id
        span = system.stages[occurrence[0]].start_date, system.stages[occurrence[-1]].end_date
        if id is not None and (id not in found or span[1] - span[0] > found[id][1] - found[id][0]):
            found[id] = span
    return dict(sorted(found.items()))


def _season(id: int, span: Span) -> Json:
    start, last = span[0], span[1] - DAY
    day_end = last.day
    if span[1].day == 1:  # the month's last, in leap years too: a shorter month ends earlier
        day_end = (_month_of(date(LEAP_YEAR, last.month, 1))[1] - DAY).day
    days = {"month_start": start.month, "day_start": start.day, "month_end": last.month, "day_end": day_end}
    return {"id": id, "label": f"season {id}", **days}


def _rest_of_the_year(spans: dict[int, Span]) -> dict[int, Span]:
    """Seasons of whole months that no stage has, of each number of months that some stages' seasons have.

    A lag may reach them: months before the study, where it is May and June and quarters after that. And Cobre
    takes the residual variance of months from the whole year.
    """
    known: dict[int, set[int]] = {}
    for start, end in spans.values():
        if start.day == end.day == 1:
            months = (end.year - start.year) * 12 + end.month - start.month
            known.setdefault(months, set()).add(start.month)
    found: dict[int, Span] = {}
    for months, starts in sorted(known.items()):
        for month in range((min(starts) - 1) % months + 1, 13, months) if 12 % months == 0 else ():
            if month not in starts:
                end = date(LEAP_YEAR + (month + months > 12), (month + months - 1) % 12 + 1, 1)
                found[max(spans) + 1 + len(found)] = date(LEAP_YEAR, month, 1), end
    return found


def averaged(value: float, days: int) -> float:
    """Number whose mean over *days* is the very *value*, if there is one: the reader's sum rounds."""
    tried = [value]
    for side in (-math.inf, math.inf):
        tried += [math.nextafter(value, side), math.nextafter(math.nextafter(value, side), side)]
    return next((number for number in tried if days * number / days == value), value)
