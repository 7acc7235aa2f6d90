"""Water that takes time from one plant to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from pycobre.system.ahead import SAME_MOMENT_H
from pycobre.system.calendar import Stage

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PastFlow:
    """Mean outflow of a plant over days before the study, the last day excluded."""

    start_date: date
    end_date: date
    mean_m3s: float


def overlaps(start: float, end: float, bounds: FloatArray) -> FloatArray:
    """Length of [*start*, *end*) in each of the spans between *bounds*, slivers left out."""
    length = np.minimum(bounds[1:], end) - np.maximum(bounds[:-1], start)
    return np.where(length > SAME_MOMENT_H, length, 0.0)


@dataclass(frozen=True, eq=False)
class Transit:
    """Where the outflow of a plant is, while it is under way to the next.

    Attributes
    ----------
    hydro
        Position of the plant in :attr:`System.hydros`.
    hours
        Travel time.
    slots
        Number L of stages over which water that is under way may still arrive.
    share : each (K, N + L)
        Of every stage and what each of its K blocks releases: the shares that arrive in the N spans of the
        same stage (one, or its blocks if they are chronological), then one to L stages later. A row adds up
        to one.
    arrival : each (N,)
        Of every stage: how what was under way at its start and arrives in it is spread over its spans. It
        comes evenly over the first hours, up to the travel time.
    initial_hm3 : (L,)
        What is under way when the study begins, by the stage of its arrival.
    """

    hydro: int
    hours: float
    slots: int
    share: tuple[FloatArray, ...]
    arrival: tuple[FloatArray, ...]
    initial_hm3: FloatArray

    @classmethod
    def of(
        cls,
        hydro: int,
        hours: float,
        past: Sequence[PastFlow],
        stages: Sequence[Stage],
        later_hours: Sequence[float],
        hm3_per_m3s_hour: float,
    ) -> Transit:
        """Transit of water over *hours*; stages after the study are as the later ones, then as the last."""
        lengths = [stage.hours for stage in stages] + list(later_hours)
        # Far enough for what the last stage releases.
        while sum(lengths[len(stages) :]) < hours:
            lengths.append(lengths[-1])
        bounds = np.concatenate([[0.0], np.cumsum(lengths)])
        initial = np.zeros(len(lengths))
        for window in past:
            days = [(day - stages[0].start_date).days for day in (window.start_date, window.end_date)]
            start, end = (24.0 * count + hours for count in days)
            initial += overlaps(start, min(end, hours), bounds) * window.mean_m3s * hm3_per_m3s_hour
        spread = [_spread(stage, hours, bounds[t:] - bounds[t]) for t, stage in enumerate(stages)]
        reaches = [int(np.flatnonzero(later.any(axis=0)).max(initial=-1)) + 1 for _, later in spread]
        before = int(np.count_nonzero(overlaps(0.0, hours, bounds)))
        slots = max(*reaches, before)
        share = tuple(
            np.concatenate([now, later[:, :slots], np.zeros((len(later), max(slots - later.shape[1], 0)))], 1)
            for now, later in spread
        )
        arrival = tuple(_arrival(stage, hours) for stage in stages)
        return cls(hydro, hours, slots, share, arrival, initial[:slots])


def span_bounds(stage: Stage) -> FloatArray:
    """Hours at which the spans of a stage begin and end: itself, or its blocks if they are chronological."""
    lengths = [block.hours for block in stage.blocks] if stage.chronological else [stage.hours]
    return np.concatenate([[0.0], np.cumsum(lengths)])


def _spread(stage: Stage, hours: float, bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of each block's release that arrive in the spans of the stage, and in each stage after it.

    Where blocks are parallel each of them stands for the whole stage.
    """
    spans = span_bounds(stage)
    now, later = [], []
    for k in range(len(stage.blocks)):
        start, end = (spans[k], spans[k + 1]) if stage.chronological else (0.0, spans[-1])
        here = overlaps(start + hours, end + hours, spans)
        beyond = overlaps(start + hours, end + hours, bounds[1:])
        whole = here.sum() + beyond.sum()
        now.append(here / whole)
        later.append(beyond / whole)
    return np.array(now), np.array(later)


def _arrival(stage: Stage, hours: float) -> FloatArray:
    spans = span_bounds(stage)
    coming = overlaps(0.0, hours, spans)
    return np.asarray(coming / coming.sum())
