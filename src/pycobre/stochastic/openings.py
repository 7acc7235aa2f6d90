"""The tree of openings: which noise can happen in each stage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pycobre.stochastic.noise import Purpose, generator
from pycobre.stochastic.points import cube_points, normal_quantile
from pycobre.system import Correlation, Stage, System

FloatArray = NDArray[np.float64]

HISTORICAL_RESIDUALS = "historical_residuals"


def sample_openings(system: System, seed: int) -> tuple[FloatArray, ...]:
    """Openings of every stage, equally likely: one (W, D) array a stage.

    Standard normal noise by counter, spread over the stage's openings as its sampling method says, then
    correlated by the stage's profile. Historical residuals stand in the place of the inflows' noise: those of
    one year in one opening, every year once before any comes again.
    """
    factors = [correlation_factor(profile) for profile in system.correlation.profiles]
    openings = []
    for position, stage in enumerate(system.stages):
        factor = factors[system.correlation.profile_of_stage[position]]
        plain = _plain(stage, position, system.noise_dimension, seed)
        # einsum, unlike a matrix product by BLAS, gives a row the same bits whatever rows stand beside it.
        correlated = np.einsum("ij,wj->wi", factor, plain)
        if stage.sampling_method == HISTORICAL_RESIDUALS:
            residuals = system.inflow.residuals
            assert residuals is not None
            years = generator(seed, Purpose.OPENINGS, 0, 0, position).permutation(len(residuals[position]))
            chosen = years[np.arange(stage.num_openings) % len(years)]
            correlated[:, : len(system.hydros)] = residuals[position][chosen]
        openings.append(correlated)
    return tuple(openings)


def _plain(stage: Stage, position: int, dimension: int, seed: int) -> FloatArray:
    """Uncorrelated standard normal noise (W, D) of one stage."""
    if stage.sampling_method in ("saa", HISTORICAL_RESIDUALS):
        drawn = [
            generator(seed, Purpose.OPENINGS, 0, opening, position).standard_normal(dimension)
            for opening in range(stage.num_openings)
        ]
        return np.array(drawn).reshape(stage.num_openings, dimension)
    stream = generator(seed, Purpose.OPENINGS, 0, 0, position)
    return normal_quantile(cube_points(stage.sampling_method, stage.num_openings, dimension, stream))


def correlation_factor(profile: FloatArray) -> FloatArray:
    """Symmetric square root of a correlation matrix; exactly the identity for uncorrelated noise."""
    if (profile == np.eye(len(profile))).all():
        return profile
    with threadpool_limits(1, "blas"):  # the last bits hang on how many threads share the work
        values, vectors = np.linalg.eigh(profile)
    root = np.sqrt(np.maximum(values, 0.0))
    return np.asarray(np.einsum("ik,k,jk->ij", vectors, root, vectors))


def uncorrelated(dimension: int, stages: int) -> Correlation:
    """Correlation in which every noise term stands alone."""
    return Correlation((np.eye(dimension),), (0,) * stages)
