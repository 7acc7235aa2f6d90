"""Random numbers by counter: a pure function of what they are for, never of what was drawn before."""

from __future__ import annotations

import threading
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
    state: Any = {  # of plain numbers, which are taken in a fifth of the time that arrays take
        "bit_generator": "Philox",
        "state": {"counter": (0, iteration, scenario, stage), "key": (seed % 2**64, int(purpose))},
        "buffer": (0, 0, 0, 0),
        "buffer_pos": _EMPTY_BUFFER,
        "has_uint32": 0,
        "uinteger": 0,
    }
    _thread.bits.state = state
    return _thread.generator


WHOLE_PATH = 2**63
"""In the place of a stage: the stream that a scenario takes its way by."""


def path_draws(
    seed: int, purpose: Purpose, iteration: int, scenarios: range, steps: int
) -> NDArray[np.float64]:
    """Uniform numbers in [0, 1), shape (S, *steps*, 2): where to go on a step, and which opening to meet.

    Those of a step are the same however many steps and scenarios are asked for.
    """
    draws = np.empty((len(scenarios), steps, 2))
    for row, scenario in zip(draws, scenarios, strict=True):
        generator(seed, purpose, iteration, scenario, WHOLE_PATH).random(out=row)
    return draws


_EMPTY_BUFFER = 4


class _Thread(threading.local):
    def __init__(self) -> None:
        self.bits = np.random.Philox(key=0)
        self.generator = np.random.Generator(self.bits)


_thread = _Thread()


def choose(cumulative: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Index that each of *draws*, uniform in [0, 1), stands for where probabilities sum to *cumulative*.

    The last one where rounding has left the sum below a draw.
    """
    return cumulative[:-1].searchsorted(draws, side="right")
