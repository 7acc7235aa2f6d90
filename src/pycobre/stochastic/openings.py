"""The tree of openings: which noise can happen in each stage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycobre.stochastic.noise import Purpose, generator
from pycobre.system import Correlation, System

FloatArray = NDArray[np.float64]


def sample_openings(system: System, seed: int) -> tuple[FloatArray, ...]:
    """Openings by sample average approximation: one (W, D) array a stage, equally likely.

    Standard normal noise by counter, correlated by the stage's profile.
    """
    factors = [correlation_factor(profile) for profile in system.correlation.profiles]
    openings = []
    for position, stage in enumerate(system.stages):
        factor = factors[system.correlation.profile_of_stage[position]]
        plain = [
            generator(seed, Purpose.OPENINGS, 0, opening, position).standard_normal(system.noise_dimension)
            for opening in range(stage.num_openings)
        ]
        # einsum, unlike a matrix product by BLAS, gives a row the same bits whatever rows stand beside it.
        openings.append(np.einsum("ij,wj->wi", factor, np.array(plain).reshape(len(plain), -1)))
    return tuple(openings)


def correlation_factor(profile: FloatArray) -> FloatArray:
    """Symmetric square root of a correlation matrix; exactly the identity for uncorrelated noise."""
    if (profile == np.eye(len(profile))).all():
        return profile
    values, vectors = np.linalg.eigh(profile)
    root = np.sqrt(np.maximum(values, 0.0))
    return np.asarray(np.einsum("ik,k,jk->ij", vectors, root, vectors))


def uncorrelated(dimension: int, stages: int) -> Correlation:
    """Correlation in which every noise term stands alone."""
    return Correlation((np.eye(dimension),), (0,) * stages)
