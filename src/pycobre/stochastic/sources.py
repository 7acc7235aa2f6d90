"""Noise of forward passes, by class: from the openings, drawn anew, or replayed from given scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.system import InflowRecursion, InflowStatistics

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

IN_SAMPLE = "in_sample"
OUT_OF_SAMPLE = "out_of_sample"


@dataclass(frozen=True, eq=False)
class Replay:
    """Noise of given scenarios: one array (S, n) a stage, n terms of one class.

    A trajectory with number k takes scenario k mod S in every stage, so that all take their turn.
    """

    noise: tuple[FloatArray, ...]

    def at(self, stage: int, number: int) -> FloatArray:
        """Noise of the trajectory *number* in *stage*."""
        scenarios = self.noise[stage]
        return np.asarray(scenarios[number % len(scenarios)])


@dataclass(frozen=True, eq=False)
class ForwardNoise:
    """Noise of forward passes in which some class is not in-sample.

    Attributes
    ----------
    terms
        Positions of each class's noise terms.
    fresh
        Classes that are drawn anew.
    replays
        Classes that are replayed.
    factors, profile_of_stage
        Factors of the correlation, and which holds in which stage.
    within_reach
        Cuts off, at (stage, noise), what the stage's problem can't follow.
    """

    terms: Mapping[str, IntArray]
    fresh: tuple[str, ...]
    replays: Mapping[str, Replay]
    factors: tuple[FloatArray, ...]
    profile_of_stage: tuple[int, ...]
    within_reach: Callable[[int, FloatArray], FloatArray]

    def noise(self, node: int, number: int, stream: np.random.Generator, opening: FloatArray) -> FloatArray:
        """Noise (D,) of trajectory *number* in stage *node*; that of *opening* where a class is in-sample."""
        result = opening.copy()
        if self.fresh:
            plain = stream.standard_normal(len(opening))
            # Row by row: a product by BLAS, or by einsum, may differ in its last bits between machines.
            drawn = (self.factors[self.profile_of_stage[node]] * plain).sum(axis=1)
            for name in self.fresh:
                result[self.terms[name]] = drawn[self.terms[name]]
        for name, replay in self.replays.items():
            result[self.terms[name]] = replay.at(node, number)
        return self.within_reach(node, result)


def noise_that_makes(
    wanted: FloatArray, mean: FloatArray, scale: FloatArray, names: Sequence[str], stage: str, unit: str = ""
) -> FloatArray:
    """Noise (S, n) with which *mean* + *scale* · noise is *wanted* (S, n); zero where there is no scale.

    Parameters
    ----------
    mean : (S, n) or (n,)
    scale : (n,)
    names, stage, unit
        What the error calls them.

    Raises
    ------
    ValueError
        Something without scale is to be other than its mean.
    """
    missed = (scale == 0.0) & (np.abs(wanted - mean) > 1e-6 * np.maximum(1.0, np.abs(wanted)))
    if missed.any():
        scenario, place = (int(i) for i in np.argwhere(missed)[0])
        certain = np.broadcast_to(mean, wanted.shape)[scenario, place]
        raise ValueError(
            f"{names[place]} is certain in {stage}, at {certain:g}{unit},"
            f" and can't have {wanted[scenario, place]:g}{unit}"
        )
    return np.where(scale > 0.0, (wanted - mean) / np.where(scale > 0.0, scale, 1.0), 0.0)


def replay_inflows(
    recursion: InflowRecursion,
    statistics: InflowStatistics,
    inflow_m3s: Sequence[FloatArray],
    names: Sequence[str],
    stages: Sequence[str],
) -> Replay:
    """Noise that makes the inflow models give *inflow_m3s*, one array (S, H) a stage.

    Lags start from the inflows before the study and go on with the scenarios' own.

    Parameters
    ----------
    names, stages
        What the error calls the H hydros and the stages.

    Raises
    ------
    ValueError
        A model without deviation does not give the inflow asked for.
    """
    most = max(len(values) for values in inflow_m3s)
    lags = np.repeat(statistics.past_m3s[None], most, axis=0)
    noise, mean = [], np.zeros((most, lags.shape[1]))
    for stage, values in enumerate(inflow_m3s):
        wanted = values[np.arange(most) % len(values)]
        order = lags.shape[2]
        certain = recursion.constant_m3s[:, stage] + (recursion.lag[None, :, stage, :order] * lags).sum(
            axis=2
        )
        scale = recursion.noise_scale_m3s[:, stage]
        noise.append(noise_that_makes(wanted, certain, scale, names, stages[stage], " m³/s"))
        mean += recursion.season_share[stage] * wanted
        if recursion.season_ends[stage]:
            if order:
                lags = np.concatenate([mean[:, :, None], lags[:, :, :-1]], axis=2)
            mean = np.zeros(wanted.shape)
    return Replay(tuple(noise))
