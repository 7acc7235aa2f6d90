"""A campaign: many programs on the ranks of one launch, held to the oracle batch by batch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

from comm.programs.steps import program

PROGRAMS = int(os.environ.get("PYCOBRE_PROGRAMS", "10000"))
SEED = int(os.environ.get("PYCOBRE_PROGRAMS_SEED", "1"))
BATCH = 250

Run = Callable[[int, int, int], list[tuple[int, list[str]]]]
"""Programs FIRST to LAST in batches, or step by step with a BATCH of 0: rank and words of every line."""


def first_mistake(run: Run, size: int, last: int) -> str:
    """Where *size* ranks part from the oracle in the first *last* programs; an empty text if nowhere."""
    said = run(0, last, BATCH)
    firsts = range(0, last, BATCH)
    if sorted((rank, int(first)) for rank, (first, _) in said) != [
        (r, f) for r in range(size) for f in firsts
    ]:
        return "a rank has not told all"
    # What the oracle expects is the same on all ranks, of disagreements too.
    oracle = {first: _expected(first, min(last, first + BATCH), size) for first in firsts}
    for rank, (first, digest) in said:
        begin = int(first)
        if digest != oracle[begin]:
            return f"rank {rank}: {_first_wrong_step(run, size, begin, min(last, begin + BATCH))}"
    return ""


def _expected(first: int, last: int, size: int) -> str:
    digest = hashlib.blake2b()
    for number in range(first, last):
        for step in program(SEED, number, size):
            digest.update(step.expected(0, size))
    return digest.hexdigest()


def _first_wrong_step(run: Run, size: int, first: int, last: int) -> str:
    told = {(rank, int(number), int(place)): digest for rank, (number, place, digest) in run(first, last, 0)}
    for number in range(first, last):
        for place, step in enumerate(program(SEED, number, size)):
            for rank in range(size):
                digest = hashlib.blake2b(step.expected(rank, size)).hexdigest()
                if told.get((rank, number, place)) != digest:
                    return f"program {number} of seed {SEED}, step {place}, rank {rank} of {size}: {step}"
    return f"not again: programs {first} to {last} of seed {SEED} are right when they run alone"
