"""How openings are spread over a stage, whatever the method."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from pycobre.stochastic import sample_openings
from pycobre.system import Block, Correlation, InflowStatistics, LoadStatistics, Stage, System

METHODS = ("saa", "lhs", "qmc_sobol", "qmc_halton")


class _Hydros(System):
    """A system that is nothing but noise."""

    @property
    def noise_dimension(self) -> int:
        return len(self.correlation.profiles[0])


def noise(method: str, openings: int, dimension: int, stages: int = 2, profile=None) -> System:
    first = Stage(
        0, dt.date(2024, 1, 1), dt.date(2024, 2, 1), None, (Block(0, "", 744.0),), openings, 0.0, method
    )
    line = tuple(replace(first, id=t) for t in range(stages))
    none = np.zeros((0, stages, 0))
    inflow = InflowStatistics(none[:, :, 0:0].reshape(0, stages), none.reshape(0, stages), none, none, none,
                              np.zeros((0, 0)), "none")  # fmt: skip
    load = LoadStatistics(np.zeros((0, stages)), np.zeros((0, stages)), np.ones((0, stages, 1)))
    matrix = np.eye(dimension) if profile is None else profile
    return _Hydros(line, (), (), (), (), inflow, load, Correlation((matrix,), (0,) * stages))


@pytest.mark.parametrize("method", METHODS)
def test_openings_follow_from_the_seed_alone(method):
    first = sample_openings(noise(method, 8, 3), 5)
    again = sample_openings(noise(method, 8, 3), 5)
    assert [a.tobytes() for a in first] == [a.tobytes() for a in again]
    other = sample_openings(noise(method, 8, 3), 6)
    parts = [*first, *other]
    assert len({part.tobytes() for part in parts}) == len(parts)  # stages and seeds all differ
    assert all(part.shape == (8, 3) and np.isfinite(part).all() for part in parts)


def test_latin_hypercube_has_one_opening_in_every_slice():
    openings = 25
    for part in sample_openings(noise("lhs", openings, 4), 3):
        slices = np.floor(norm.cdf(part) * openings).astype(int)
        assert (np.sort(slices, axis=0) == np.arange(openings)[:, None]).all()


def test_sobol_openings_are_balanced_in_halves_of_two_axes():
    """A (0, 2)-sequence: the first 16 points put one into each of the 4 x 4 boxes of the first two axes."""
    (part,) = sample_openings(noise("qmc_sobol", 16, 2, stages=1), 3)
    boxes = np.floor(norm.cdf(part) * 4).astype(int)
    assert len({tuple(box) for box in boxes.tolist()}) == 16


@pytest.mark.parametrize("method", ["lhs", "qmc_sobol", "qmc_halton"])
def test_spread_openings_have_a_steadier_mean_than_random_ones(method):
    def spread(name: str) -> float:
        means = [part.mean(axis=0) for part in sample_openings(noise(name, 32, 5, stages=40), 1)]
        return float(np.std(means))

    assert spread(method) < spread("saa") / 2


@pytest.mark.parametrize("method", METHODS)
def test_openings_have_the_stages_correlation(method):
    matrix = np.array([[1.0, 0.8], [0.8, 1.0]])
    (part,) = sample_openings(noise(method, 2048, 2, stages=1, profile=matrix), 3)
    assert np.abs(np.corrcoef(part.T) - matrix).max() < 0.03
    assert np.abs(part.std(axis=0) - 1.0).max() < 0.05


@pytest.mark.parametrize("method", METHODS)
def test_a_stage_without_noise_has_openings_without_values(method):
    assert sample_openings(noise(method, 3, 0, stages=1), 1)[0].shape == (3, 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("openings", [1, 20])
def test_any_number_of_openings_is_drawn(method, openings):
    assert sample_openings(noise(method, openings, 191, stages=1), 1)[0].shape == (openings, 191)


FACTOR = """
import hashlib
import numpy as np
from pycobre.stochastic.openings import correlation_factor
drawn = np.random.default_rng(5).normal(size=(400, 150))
drawn += 0.8 * drawn[:, :1]
drawn -= drawn.mean(axis=0)
covariance = np.einsum("ij,ik->jk", drawn, drawn)  # no BLAS, whose threads would change it
deviation = np.sqrt(np.diag(covariance))
profile = covariance / deviation[:, None] / deviation
print(hashlib.sha256(correlation_factor(profile).tobytes()).hexdigest())
"""


def test_a_factor_of_correlations_does_not_depend_on_the_threads_of_the_blas():
    """Ranks that are launched have one each, a process alone has as many as there are processors."""
    found = {
        subprocess.run(
            [sys.executable, "-c", FACTOR],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for threads in ("1", "2", "3")
    }
    assert len(found) == 1
