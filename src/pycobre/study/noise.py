"""What a study's noise is: where inflows are truncated, and where forward passes take theirs from."""

from __future__ import annotations

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
    raisable,
    replay_inflows,
)
from pycobre.system import InflowRecursion, System

FloatArray = NDArray[np.float64]


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


def forward_noise(
    case: Case, recursion: InflowRecursion, schemes: Schemes, factors: tuple[FloatArray, ...]
) -> ForwardNoise | None:
    """Where forward passes under *schemes* take their noise from; ``None`` if from the openings alone.

    Raises
    ------
    ValueError
        A scenario can't be replayed.
    """
    if schemes.in_sample:
        return None
    system = case.system
    hydros, sources = len(system.hydros), system.first_source_noise
    terms = {
        "inflow": np.arange(hydros),
        "load": np.arange(hydros, sources),
        "ncs": np.arange(sources, system.noise_dimension),
    }
    replays: dict[str, Replay] = {}
    for name in terms:
        scheme = getattr(schemes, name)
        given = case.scenarios.get((name, scheme))
        if scheme in (IN_SAMPLE, OUT_OF_SAMPLE) or given is None:
            continue
        if name == "inflow":
            replays[name] = replay_inflows(recursion, system.inflow, given)
        else:
            replays[name] = _replay_load(system, given)
    fresh = tuple(name for name in terms if getattr(schemes, name) == OUT_OF_SAMPLE)
    profiles = system.correlation.profile_of_stage
    return ForwardNoise(terms, fresh, replays, factors, profiles, system.within_reach)


def _replay_load(system: System, demand_mw: tuple[FloatArray, ...]) -> Replay:
    """Noise of the random buses that makes *demand_mw*, (S, B) a stage in the order of these buses."""
    buses = list(system.load.random_buses)
    noise = []
    for t, values in enumerate(demand_mw):
        mean, std = system.load.mean_mw[buses, t], system.load.std_mw[buses, t]
        missed = (std == 0.0) & (np.abs(values - mean) > 1e-6 * np.maximum(1.0, np.abs(values)))
        if missed.any():
            scenario, place = (int(i) for i in np.argwhere(missed)[0])
            raise ValueError(
                f"bus {system.buses[buses[place]].id} is certain in stage {system.stages[t].id}, at"
                f" {mean[place]:g} MW, and can't have {values[scenario, place]:g} MW"
            )
        noise.append(np.where(std > 0.0, (values - mean) / np.where(std > 0.0, std, 1.0), 0.0))
    return Replay(tuple(noise))
