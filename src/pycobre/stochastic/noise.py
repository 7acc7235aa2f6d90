"""Random numbers by counter: a pure function of what they are for, never of what was drawn before."""

from __future__ import annotations

import threading
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
    counts the numbers drawn, so that streams never overlap. There is one generator a thread, which the next
    call moves on to another stream: a new one costs ten times as much.
    """
    bits = _thread.bits
    state = bits.state
    state["state"]["key"][:] = seed % 2**64, purpose
    state["state"]["counter"][:] = 0, iteration, scenario, stage
    bits.state = state | {"buffer_pos": _EMPTY_BUFFER, "has_uint32": 0}
    return _thread.generator


_EMPTY_BUFFER = 4


class _Thread(threading.local):
    def __init__(self) -> None:
        self.bits = np.random.Philox(key=0)
        self.generator = np.random.Generator(self.bits)


_thread = _Thread()


def choose(stream: np.random.Generator, probability: Iterable[float]) -> int:
    """Index drawn from *probability*, which sums to one, by one uniform number."""
    draw, cumulative, index = stream.random(), 0.0, 0
    for index, share in enumerate(probability):  # noqa: B007 - the last one is the answer after rounding
        cumulative += float(share)
        if draw < cumulative:
            break
    return index
