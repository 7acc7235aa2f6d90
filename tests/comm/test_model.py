"""The protocol of shm in every interleaving, at few ranks and turns; and variants that must be found bad.

A rank is a generator of atomic steps. A step is either ``("wait", condition)`` or ``("do", effect)``; the
explorer runs every order of steps that the conditions allow. It assumes sequential consistency: the native
code has that, by its exchanges and seq_cst loads, where order between words matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class Memory:
    """What the ranks share, and what a rank has found wrong."""

    words: dict[Any, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def key(self) -> tuple[Any, ...]:
        return tuple(sorted(self.words.items()))


Step = tuple[str, Callable[[Memory], Any]]
Program = Callable[[], Iterator[Step]]


def explore(programs: list[Program], initial: dict[Any, Any]) -> tuple[set[str], int]:
    """Everything that goes wrong in any order of steps ("stuck" is one of them), and the number of states."""
    steps = [list(program()) for program in programs]
    found: set[str] = set()
    seen: set[Any] = set()
    todo = [(tuple(0 for _ in steps), dict(initial))]
    while todo:
        places, words = todo.pop()
        state = (places, tuple(sorted(words.items())))
        if state in seen:
            continue
        seen.add(state)
        moved = False
        for who, place in enumerate(places):
            if place == len(steps[who]):
                continue
            kind, act = steps[who][place]
            memory = Memory(dict(words))
            if kind == "wait":
                if not act(memory):
                    continue
            else:
                act(memory)
                found.update(memory.wrong)
            moved = True
            todo.append(((*places[:who], place + 1, *places[who + 1 :]), memory.words))
        if not moved and any(place < len(own) for place, own in zip(places, steps, strict=True)):
            found.add("stuck")
    return found, len(seen)


def put(key: Any, value: Any) -> Step:
    return "do", lambda memory: memory.words.__setitem__(key, value)


def reaches(key: Any, value: int) -> Step:
    return "wait", lambda memory: memory.words[key] >= value


def expect(key: Any, value: Any) -> Step:
    def check(memory: Memory) -> None:
        if memory.words[key] != value:
            memory.wrong.append("another turn's data")

    return "do", check


def meeting(rank: int, ranks: int, turns: int, slots: int) -> Iterator[Step]:
    """Post and read, turn by turn: write own slot, raise its number, await all numbers, read all slots."""
    for turn in range(1, turns + 1):
        yield put(("data", rank, turn % slots), (rank, turn))
        yield put(("posted", rank, turn % slots), turn)
        for other in range(ranks):
            if other != rank:
                yield reaches(("posted", other, turn % slots), turn)
        for other in range(ranks):
            if other != rank:
                yield expect(("data", other, turn % slots), (other, turn))


def meetings(ranks: int, turns: int, slots: int) -> tuple[set[str], int]:
    initial: dict[Any, Any] = {}
    for rank in range(ranks):
        for slot in range(slots):
            initial["posted", rank, slot] = 0
            initial["data", rank, slot] = (rank, 0)
    return explore([lambda rank=rank: meeting(rank, ranks, turns, slots) for rank in range(ranks)], initial)


@pytest.mark.parametrize(("ranks", "turns"), [(2, 6), (3, 4)])
def test_two_slots_and_one_meeting_a_turn_are_enough(ranks, turns):
    found, states = meetings(ranks, turns, slots=2)
    assert found == set()
    assert states > 100


def test_one_slot_is_found_to_be_too_few():
    assert "another turn's data" in meetings(2, 3, slots=1)[0]


def streaming(rank: int, ranks: int, pieces: int, depth: int, behind: int, room: bool) -> Iterator[Step]:
    """Pieces through a ring: fill one, drain that of *behind* steps before; a full one waits for readers."""
    for step in range(pieces + behind):
        if step < pieces:
            for other in range(ranks):
                if other != rank and room:
                    yield reaches(("consumed", other), step + 1 - depth)
            yield put(("ring", rank, step % depth), step)
            yield put(("written", rank), step + 1)
        if step >= behind:
            piece = step - behind
            for other in range(ranks):
                if other != rank:
                    yield reaches(("written", other), piece + 1)
                    yield expect(("ring", other, piece % depth), piece)
            yield put(("consumed", rank), piece + 1)


def streams(ranks: int, pieces: int, depth: int, behind: int, room: bool = True) -> set[str]:
    initial: dict[Any, Any] = {}
    for rank in range(ranks):
        initial["written", rank] = initial["consumed", rank] = 0
        for place in range(depth):
            initial["ring", rank, place] = -1
    programs = [
        lambda rank=rank: streaming(rank, ranks, pieces, depth, behind, room) for rank in range(ranks)
    ]
    return explore(programs, initial)[0]


@pytest.mark.parametrize("pieces", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("behind", [1, 2])
def test_a_ring_of_four_never_overwrites_nor_locks_up(pieces, behind):
    assert streams(2, pieces, depth=4, behind=behind) == set()


def test_three_ranks_share_rings_too():
    assert streams(3, 4, depth=3, behind=1) == set()


def test_a_ring_that_does_not_wait_for_readers_is_found_bad():
    assert "another turn's data" in streams(2, 4, depth=2, behind=1, room=False)


def test_a_ring_no_deeper_than_its_pipeline_is_found_to_lock_up():
    assert "stuck" in streams(2, 4, depth=2, behind=2)


def sleeper(count_first: bool) -> Iterator[Step]:
    """Counted among the waiters, look again, sleep; the kernel's compare and sleep are one step."""

    def look(memory: Memory) -> None:
        memory.words["asleep"] = memory.words["value"] == 0  # futex: sleeps only if the value is as seen

    counted: Step = ("do", lambda memory: memory.words.__setitem__("waiters", 1))
    yield from ([counted, ("do", look)] if count_first else [("do", look), counted])
    yield "wait", lambda memory: not memory.words["asleep"]


def waker(value_first: bool) -> Iterator[Step]:
    raise_value = put("value", 1)
    look: Step = ("do", lambda memory: memory.words.__setitem__("saw", memory.words["waiters"]))

    def wake(memory: Memory) -> None:
        if memory.words["saw"]:
            memory.words["asleep"] = False

    yield from ([raise_value, look] if value_first else [look, raise_value])
    yield "do", wake


def sleeps(*, value_first: bool, count_first: bool) -> set[str]:
    initial = {"value": 0, "waiters": 0, "asleep": False, "saw": 0}
    return explore([lambda: sleeper(count_first), lambda: waker(value_first)], initial)[0]


def test_no_wake_up_is_lost():
    assert sleeps(value_first=True, count_first=True) == set()


def test_either_half_of_the_order_left_out_is_found_to_lose_a_wake_up():
    assert "stuck" in sleeps(value_first=False, count_first=True)
    assert "stuck" in sleeps(value_first=True, count_first=False)
