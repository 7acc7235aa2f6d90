"""Random numbers by counter: a pure function of what they are for, never of what was drawn before."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream of random numbers is for; the value is part of its key and must never change."""

    OPENINGS = 1
    FORWARD = 2
    SIMULATION = 3


def generator(seed: int, purpose: Purpose, iteration: int, scenario: int, stage: int) -> np.random.Generator:
    """Generator of the stream that belongs to (seed, purpose, iteration, scenario, stage).

    NumPy's Philox: the key holds seed and purpose, three words of the counter the rest; the fourth word
    counts the numbers drawn, so that streams never overlap.
    """
    key = np.array([np.uint64(seed % 2**64), np.uint64(purpose)], dtype=np.uint64)
    counter = np.array([0, iteration, scenario, stage], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def choose(stream: np.random.Generator, probability: Iterable[float]) -> int:
    """Index drawn from *probability*, which sums to one, by one uniform number."""
    draw, cumulative, index = stream.random(), 0.0, 0
    for index, share in enumerate(probability):  # noqa: B007 - the last one is the answer after rounding
        cumulative += float(share)
        if draw < cumulative:
            break
    return index
