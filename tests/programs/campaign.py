"""A campaign: programs drawn by hypothesis, run by a group of ranks, held to the oracle step by step.

A record of numbers is drawn for each step, not each number by itself: drawing costs a third of a millisecond
a program this way, four milliseconds the other, and ten programs an example spare most of the waiting for
ranks. Nothing is lost to shrinking: steps are elements of lists, which hypothesis leaves out, and lesser
numbers mean simpler steps.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from programs.group import digest
from programs.steps import RECORD_BYTES, read

PROGRAMS = int(os.environ.get("PYCOBRE_PROGRAMS", "10000"))
SEED = int(os.environ.get("PYCOBRE_PROGRAMS_SEED", "1"))
_AT_ONCE = 10  # programs an example
_EXAMPLES = 200  # a round of hypothesis, which remembers all it has drawn

Program = list[bytes]


class Ranks(Protocol):
    """What a campaign is led against."""

    size: int

    def ask(self, records: Sequence[bytes]) -> None: ...

    def answers(self) -> list[list[bytes]]: ...

    def end(self) -> str: ...


def lead(ranks: Ranks, count: int) -> None:
    """Run at least *count* programs on *ranks*.

    Raises
    ------
    AssertionError
        A step has given other bits than the oracle's; the program is the smallest that still does.
    """
    done, rounds = 0, 0
    record = st.binary(min_size=RECORD_BYTES, max_size=RECORD_BYTES)
    while done < count:

        @hypothesis.seed(f"{SEED}/{rounds}")
        @settings(
            max_examples=min(_EXAMPLES, 2 + (count - done) // _AT_ONCE),  # the first one is empty
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        )
        @given(st.tuples(*[st.lists(record, max_size=6)] * _AT_ONCE))
        def programs_give_the_oracles_bits(programs: tuple[Program, ...]) -> None:
            nonlocal done
            compare(ranks, [record for program in programs for record in program])
            done += sum(map(bool, programs))

        programs_give_the_oracles_bits()
        rounds += 1


def compare(ranks: Ranks, records: Sequence[bytes]) -> None:
    """Run these steps, and hold what each rank got to the oracle."""
    ranks.ask(records)
    steps = [read(record, ranks.size) for record in records]
    # What the oracle expects is the same on all ranks, of disagreements too.
    expected = [digest(step.expected(0, ranks.size)) for step in steps]
    for rank, got in enumerate(ranks.answers()):
        wrong = [str(step) for step, mine, right in zip(steps, got, expected, strict=True) if mine != right]
        if wrong:
            ranks.end()  # what comes after a wrong step proves nothing
        assert not wrong, f"rank {rank} of {ranks.size} is wrong in {wrong[0]}, a step of {steps}"
