"""What a study's noise is: where inflows are truncated, and where forward passes take theirs from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pycobre.case import Case, Schemes
from pycobre.lp import Sparse, StateLayout
from pycobre.sddp import NoiseFloor
from pycobre.stochastic import (
    IN_SAMPLE,
    OUT_OF_SAMPLE,
    ForwardNoise,
    Replay,
    noise_that_makes,
    raisable,
    replay_inflows,
)
from pycobre.system import InflowRecursion, System

FloatArray = NDArray[np.float64]
Replays = Mapping[tuple[str, str], Replay]
"""Scenarios as noise, by class (``inflow``, ``load``, ``ncs``) and scheme (``external``, ``historical``)."""


def noise_floors(system: System, recursion: InflowRecursion) -> list[NoiseFloor | None]:
    """Where each stage's noise is raised so that no inflow is negative; nowhere if they may be.

    Parameters
    ----------
    recursion
        As the inflow models are, before :func:`~pycobre.stochastic.raisable`.
    """
    if not system.inflow.truncated:
        return [None] * len(system.stages)
    layout, scaled = StateLayout.of(recursion, system), raisable(recursion)
    hydros = np.arange(layout.hydros)
    floors: list[NoiseFloor | None] = []
    for t in range(len(system.stages)):
        lags = [
            (hydro, layout.position(hydro, lag), float(recursion.lag[hydro, t, lag - 1]))
            for hydro, lag in layout.lags
        ]
        floors.append(
            NoiseFloor(
                constant=recursion.constant_m3s[:, t],
                state=Sparse.of(lags, (layout.hydros, layout.size)),
                term=hydros,
                scale=scaled.noise_scale_m3s[:, t],
                certain=hydros[recursion.noise_scale_m3s[:, t] == 0.0],
            )
        )
    return floors


def replays_of(case: Case, recursion: InflowRecursion) -> Replays:
    """What the forward passes of *case* replay, in training or simulation, as noise.

    Parameters
    ----------
    recursion
        As the inflow models are, before :func:`~pycobre.stochastic.raisable`.

    Raises
    ------
    ValueError
        A scenario can't be replayed.
    """
    system = case.system
    replays: dict[tuple[str, str], Replay] = {}
    phases = (case.options.training_schemes, case.options.simulation_schemes)
    for name, scheme in sorted({pair for schemes in phases for pair in vars(schemes).items()}):
        given = case.scenarios.get((name, scheme))
        if scheme in (IN_SAMPLE, OUT_OF_SAMPLE) or given is None:
            continue
        if name == "inflow":
            names = [f"hydro {hydro.id}" for hydro in system.hydros]
            stages = [f"stage {stage.id}" for stage in system.stages]
            replays[name, scheme] = replay_inflows(recursion, system.inflow, given, names, stages)
            continue
        if name == "load":
            random = list(system.load.random_buses)
            ids = [system.buses[b].id for b in random]
            mean, std = system.load.mean_mw[random], system.load.std_mw[random]
            replays[name, scheme] = _replay(system, given, "bus", ids, mean, std)
        else:
            drawn = list(system.availability.drawn)
            ids = [system.sources[s].id for s in drawn]
            mean, std = system.availability.mean[drawn], system.availability.std[drawn]
            replays[name, scheme] = _replay(system, given, "source", ids, mean, std)
    return replays


def forward_noise(
    system: System, replays: Replays, schemes: Schemes, factors: tuple[FloatArray, ...]
) -> ForwardNoise | None:
    """Where forward passes under *schemes* take their noise from; ``None`` if from the openings alone."""
    if schemes.in_sample:
        return None
    hydros, sources = len(system.hydros), system.first_source_noise
    terms = {
        "inflow": np.arange(hydros),
        "load": np.arange(hydros, sources),
        "ncs": np.arange(sources, system.noise_dimension),
    }
    pairs = [(name, getattr(schemes, name)) for name in terms]
    replayed = {name: replays[name, scheme] for name, scheme in pairs if (name, scheme) in replays}
    fresh = tuple(name for name, scheme in pairs if scheme == OUT_OF_SAMPLE)
    profiles = system.correlation.profile_of_stage
    return ForwardNoise(terms, fresh, replayed, factors, profiles, system.within_reach)


def _replay(
    system: System,
    given: tuple[FloatArray, ...],
    kind: str,
    ids: list[int],
    mean: FloatArray,
    std: FloatArray,
) -> Replay:
    """Noise that makes the *given* values, (S, n) a stage, of entities with (n, T) *mean* and *std*."""
    names = [f"{kind} {id}" for id in ids]
    return Replay(
        tuple(
            noise_that_makes(values, mean[:, t], std[:, t], names, f"stage {stage.id}")
            for t, (stage, values) in enumerate(zip(system.stages, given, strict=True))
        )
    )
