"""Points spread over the unit cube, so that few openings cover it better than random ones do.

Every method is scrambled by a stream of ours: a sequence alone would be the same in every stage.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BITS = 53
"""Of a number in the unit interval."""


def cube_points(method: str, count: int, dimension: int, stream: np.random.Generator) -> FloatArray:
    """*count* points of the open unit cube, shape (count, dimension).

    Parameters
    ----------
    method
        ``lhs``: a Latin hypercube, one point in each of *count* equal slices of every axis.
        ``qmc_sobol``: the first points of a Sobol sequence, digitally shifted; balanced for a power of two.
        ``qmc_halton``: those of a Halton sequence, its digits permuted.
    stream
        Where the scrambling, or the place within a slice, comes from.
    """
    if dimension == 0 or count == 0:
        return np.zeros((count, dimension))
    makers = {"lhs": _latin_hypercube, "qmc_sobol": _sobol, "qmc_halton": _halton}
    points = makers[method](count, dimension, stream)
    # Quantiles are infinite on the border.
    return np.asarray(np.clip(points, 2.0**-_BITS, 1.0 - 2.0**-_BITS))


def normal_quantile(probability: FloatArray) -> FloatArray:
    """Standard normal quantiles of *probability*, element by element."""
    from scipy.special import ndtri

    return np.asarray(ndtri(probability), dtype=np.float64)


def _latin_hypercube(count: int, dimension: int, stream: np.random.Generator) -> FloatArray:
    points = np.empty((count, dimension))
    for axis in range(dimension):
        points[:, axis] = (stream.permutation(count) + stream.random(count)) / count
    return points


def _sobol(count: int, dimension: int, stream: np.random.Generator) -> FloatArray:
    # A third of a second to import, and most cases never need it.
    from scipy.stats import qmc

    engine = qmc.Sobol(dimension, scramble=False, bits=_BITS)
    plain = np.asarray(engine.random_base2((count - 1).bit_length())[:count], dtype=np.float64)
    shift = stream.integers(0, 2**_BITS, size=dimension)
    return np.ldexp(np.bitwise_xor(np.ldexp(plain, _BITS).astype(np.int64), shift).astype(np.float64), -_BITS)


def _halton(count: int, dimension: int, stream: np.random.Generator) -> FloatArray:
    points = np.zeros((count, dimension))
    for axis, base in enumerate(_primes(dimension)):
        number: IntArray = np.arange(count)
        # Leading zeros are permuted too, as far as a float can tell.
        for digit in range(1, math.ceil(_BITS / math.log2(base)) + 1):
            points[:, axis] += stream.permutation(base)[number % base] * float(base) ** -digit
            number = number // base
    return points


def _primes(count: int) -> list[int]:
    """The first *count* prime numbers."""
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found if prime * prime <= candidate):
            found.append(candidate)
        candidate += 1
    return found
