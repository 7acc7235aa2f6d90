"""The protocol of shm in every interleaving, with a crash or a time-out anywhere; and variants that must be
found bad, those among them that published designs have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from faults.model import Outcome, Programs, Step, Words, copy, expect, put, reach

# ---- a meeting: write the own slot, raise its number, await all numbers, read all slots


def meeting(rank: int, ranks: int, turns: int, slots: int) -> Iterator[Step]:
    others = [other for other in range(ranks) if other != rank]
    for turn in range(1, turns + 1):
        yield put(("data", turn % slots, rank), turn, enters=True)
        yield put(("posted", rank), turn)
        yield reach([("posted", other) for other in others], turn)
        for other in others:
            yield expect(("data", turn % slots, other), turn)


def meetings(ranks: int, turns: int, slots: int = 2, **faults: int) -> Outcome:
    initial: Words = {}
    for rank in range(ranks):
        initial["posted", rank] = 0
        for slot in range(slots):
            initial["data", slot, rank] = 0
    programs = [meeting(rank, ranks, turns, slots) for rank in range(ranks)]
    return Programs(programs, initial, **faults).outcome()


@pytest.mark.parametrize(("ranks", "turns"), [(2, 6), (3, 3)])
@pytest.mark.parametrize(
    ("crashes", "timeouts"), [(0, 0), (1, 0), (0, 1), (1, 1)], ids=["plain", "crash", "timeout", "both"]
)
def test_a_meeting_with_two_slots_is_right_whatever_befalls(ranks, turns, crashes, timeouts):
    outcome = meetings(ranks, turns, crashes=crashes, timeouts=timeouts)
    assert outcome.wrong == {}
    assert outcome.states > 100


def test_one_slot_is_found_to_be_too_few():
    assert "another turn's data" in meetings(2, 3, slots=1).wrong


def test_a_verdict_that_a_later_finding_overwrites_is_found_bad():
    assert "survivors blame different ranks" in meetings(3, 2, crashes=1, timeouts=1, swaps=False).wrong


def test_a_wait_that_does_not_look_around_is_found_to_hang():
    assert "stuck" in meetings(2, 2, crashes=1, looks=False).wrong


# ---- a ring: fill a piece, drain that of some steps before; a full one waits for readers


def streaming(rank: int, ranks: int, pieces: int, depth: int, behind: int, room: bool) -> Iterator[Step]:
    others = [other for other in range(ranks) if other != rank]
    for step in range(pieces + behind):
        if step < pieces:
            if room:
                yield reach([("consumed", other) for other in others], step + 1 - depth)
            yield put(("ring", step % depth, rank), step)
            yield put(("written", rank), step + 1)
        if step >= behind:
            piece = step - behind
            for other in others:
                yield reach([("written", other)], piece + 1)
                yield expect(("ring", piece % depth, other), piece)
            yield put(("consumed", rank), piece + 1)


def streams(ranks: int, pieces: int, depth: int, behind: int, *, room: bool = True, **faults: int) -> Outcome:
    initial: Words = {}
    for rank in range(ranks):
        initial["written", rank] = initial["consumed", rank] = 0
        for place in range(depth):
            initial["ring", place, rank] = -1
    programs = [streaming(rank, ranks, pieces, depth, behind, room) for rank in range(ranks)]
    return Programs(programs, initial, **faults).outcome()


@pytest.mark.parametrize("pieces", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("behind", [1, 2])
def test_a_ring_of_four_never_overwrites_nor_locks_up(pieces, behind):
    assert streams(2, pieces, depth=4, behind=behind).wrong == {}


def test_three_ranks_share_rings_too():
    assert streams(3, 3, depth=2, behind=1).wrong == {}


@pytest.mark.parametrize(("crashes", "timeouts"), [(1, 0), (0, 1), (1, 1)], ids=["crash", "timeout", "both"])
@pytest.mark.parametrize(("ranks", "pieces"), [(2, 6), (3, 2)])
def test_a_ring_is_right_whatever_befalls(ranks, pieces, crashes, timeouts):
    outcome = streams(ranks, pieces, depth=3, behind=1, crashes=crashes, timeouts=timeouts)
    assert outcome.wrong == {}


def test_a_ring_that_does_not_wait_for_readers_is_found_bad():
    assert "another turn's data" in streams(2, 4, depth=2, behind=1, room=False).wrong


def test_a_ring_no_deeper_than_its_pipeline_is_found_to_lock_up():
    assert "stuck" in streams(2, 4, depth=2, behind=2).wrong


# ---- two calls, a meeting between them: first every rank writes in its own ring, then one in those of all


def spreading(rank: int, ranks: int, pieces: int, depth: int, meets: bool) -> Iterator[Step]:
    others = [other for other in range(ranks) if other != rank]
    yield from streaming(rank, ranks, pieces, depth, behind=1, room=True)
    if meets:
        yield put(("posted", rank), 1)
        yield reach([("posted", other) for other in others], 1)
    for step in range(pieces * ranks):
        place, owner = step % depth, step // depth % ranks
        if rank == 0:
            yield reach([("consumed", other) for other in others], pieces + step + 1 - depth * ranks)
            yield put(("ring", place, owner), pieces + step)
            yield put(("written", 0), pieces + step + 1)
        else:
            yield reach([("written", 0)], pieces + step + 1)
            yield expect(("ring", place, owner), pieces + step)
        yield put(("consumed", rank), pieces + step + 1)


def spreads(ranks: int, pieces: int, meets: bool, **faults: int) -> Outcome:
    depth = 2
    initial: Words = {}
    for rank in range(ranks):
        initial["written", rank] = initial["consumed", rank] = initial["posted", rank] = 0
        for place in range(depth):
            initial["ring", place, rank] = -1
    programs = [spreading(rank, ranks, pieces, depth, meets) for rank in range(ranks)]
    return Programs(programs, initial, **faults).outcome()


@pytest.mark.parametrize("faults", [{}, {"crashes": 1}, {"timeouts": 1}], ids=["plain", "crash", "timeout"])
@pytest.mark.parametrize(("ranks", "pieces"), [(2, 3), (3, 1)])
def test_after_a_meeting_one_rank_may_write_in_the_rings_of_all(ranks, pieces, faults):
    assert spreads(ranks, pieces, True, **faults).wrong == {}


def test_without_the_meeting_that_is_found_bad():
    assert "another turn's data" in spreads(2, 2, False).wrong


# ---- direct: ranks meet, read each other's arrays where they lie, look whether the group has failed by then
# (who raises uses its array anew), and leave when all have read; what was read counts at the end of a call


def gathering(rank: int, ranks: int, calls: int, closing: bool) -> Iterator[Step]:
    others = [other for other in range(ranks) if other != rank]
    for call in range(1, calls + 1):
        # the caller's, to be changed as soon as it has it back
        yield put(("array", 0, rank), call, enters=True)
        yield put(("posted", rank), call)
        yield reach([("posted", other) for other in others], call)
        for other in others:
            yield copy(("array", 0, other), ("read", other, rank))
        yield put(("consumed", rank), call, enters=True)
        if closing:
            yield reach([("consumed", other) for other in others], call)
        for other in others:
            yield expect(("read", other, rank), call)


def folding(rank: int, ranks: int, calls: int, closing: bool) -> Iterator[Step]:
    """In place: slice q of every array goes to rank q, which writes its fold there; then all take it."""
    others = [other for other in range(ranks) if other != rank]
    for call in range(1, calls + 1):
        for part in range(ranks):
            yield put(("array", part, rank), (call, "operand"), enters=part == 0)
        yield put(("posted", rank), call)
        yield reach([("posted", other) for other in others], call)
        for other in others:
            yield copy(("array", rank, other), ("read", other, rank))
        yield put(("array", rank, rank), (call, "folded"), enters=True)
        yield put(("reduced", rank), call)
        for other in others:
            yield reach([("reduced", other)], call)
            yield copy(("array", other, other), ("array", other, rank))
        yield put(("consumed", rank), call, enters=True)
        if closing:
            yield reach([("consumed", other) for other in others], call)
        for other in others:
            yield expect(("read", other, rank), (call, "operand"))
            yield expect(("array", other, rank), (call, "folded"))


def broadcasting(rank: int, ranks: int, calls: int, closing: bool) -> Iterator[Step]:
    """From rank 0, which alone has to wait until all have read."""
    others = [other for other in range(ranks) if other != rank]
    for call in range(1, calls + 1):
        yield put(("array", 0, rank), call if rank == 0 else 0, enters=True)
        yield put(("posted", rank), call)
        yield reach([("posted", other) for other in others], call)
        if rank > 0:
            yield copy(("array", 0, 0), ("array", 0, rank))
            yield put(("consumed", rank), call, enters=True)
        elif closing:
            yield reach([("consumed", other) for other in others], call)
        yield expect(("array", 0, rank), call)


def direct(program, ranks: int, calls: int, *, closing: bool = True, **faults: int) -> Outcome:
    initial: Words = {}
    for rank in range(ranks):
        initial |= {("posted", rank): 0, ("reduced", rank): 0, ("consumed", rank): 0}
        initial |= {(what, other, rank): 0 for what in ("array", "read") for other in range(ranks)}

    def use_anew(words: Words, rank: int) -> None:
        words |= {("array", part, rank): "another's" for part in range(ranks)}

    programs = [program(rank, ranks, calls, closing) for rank in range(ranks)]
    return Programs(programs, initial, leaves=use_anew, **faults).outcome()


@pytest.mark.parametrize("program", [gathering, folding, broadcasting])
@pytest.mark.parametrize(("ranks", "calls"), [(2, 3), (3, 1)])
@pytest.mark.parametrize(
    ("crashes", "timeouts"), [(0, 0), (1, 0), (0, 1), (1, 1)], ids=["plain", "crash", "timeout", "both"]
)
def test_reading_arrays_where_they_lie_is_right_whatever_befalls(program, ranks, calls, crashes, timeouts):
    assert direct(program, ranks, calls, crashes=crashes, timeouts=timeouts).wrong == {}


@pytest.mark.parametrize("program", [gathering, folding, broadcasting])
def test_leaving_before_all_have_read_is_found_to_hand_out_changed_arrays(program):
    assert "another turn's data" in direct(program, 2, 2, closing=False).wrong


@pytest.mark.parametrize(
    ("program", "ranks", "fault"),
    [(gathering, 2, "timeouts"), (folding, 2, "timeouts"), (broadcasting, 3, "crashes")],
)
def test_not_to_look_after_reading_is_found_to_take_what_one_that_left_wrote(program, ranks, fault):
    """It gave up on the reader, or raised for a third one that died; the reader comes only then."""

    def careless(*given: Any) -> Iterator[Step]:
        for place, step in enumerate(program(*given)):
            yield replace(step, enters=step.enters and place == 0)

    assert direct(careless, ranks, 1).wrong == {}
    assert "another turn's data" in direct(careless, ranks, 1, **{fault: 1}).wrong


# ---- sleeping: be counted among the waiters, look again, sleep; the kernel's compare and sleep are one step


def sleeper(count_first: bool) -> Iterator[Step]:
    def look(words: Words) -> None:
        words["asleep"] = words["value"] == 0  # futex: sleeps only if the value is as seen

    counted = put("waiters", 1)
    yield from ([counted, Step("do", look)] if count_first else [Step("do", look), counted])
    yield Step("wait", lambda words: not words["asleep"])


def waker(value_first: bool) -> Iterator[Step]:
    raise_value = put("value", 1)
    look = Step("do", lambda words: words.__setitem__("saw", words["waiters"]))

    def wake(words: Words) -> None:
        if words["saw"]:
            words["asleep"] = False

    yield from ([raise_value, look] if value_first else [look, raise_value])
    yield Step("do", wake)


def sleeps(*, value_first: bool, count_first: bool) -> Outcome:
    initial = {"value": 0, "waiters": 0, "asleep": False, "saw": 0}
    return Programs([sleeper(count_first), waker(value_first)], initial).outcome()


def test_no_wake_up_is_lost():
    assert sleeps(value_first=True, count_first=True).wrong == {}


def test_either_half_of_the_order_left_out_is_found_to_lose_a_wake_up():
    assert "stuck" in sleeps(value_first=False, count_first=True).wrong
    assert "stuck" in sleeps(value_first=True, count_first=False).wrong


# ---- variants that published designs have; the model must see what is wrong with them


def one_barrier(rank: int, ranks: int, turns: int, second: bool) -> Iterator[Step]:
    """Write, barrier, read; only rank 0 moves a common turn on, unless there is a second barrier."""
    others = [other for other in range(ranks) if other != rank]
    for turn in range(turns):
        if not second:
            yield Step("wait", lambda words, turn=turn: words["turn"] >= turn)
        yield put(("data", rank), turn)
        yield put(("came", rank), turn + 1)
        yield reach([("came", other) for other in others], turn + 1)
        for other in others:
            yield expect(("data", other), turn)
        if second:
            yield put(("went", rank), turn + 1)
            yield reach([("went", other) for other in others], turn + 1)
        elif rank == 0:
            yield put("turn", turn + 1)


@pytest.mark.parametrize("ranks", [2, 3])
def test_one_barrier_with_a_turn_kept_by_rank_0_is_found_to_read_the_next_turn(ranks):
    def outcome(second: bool) -> Outcome:
        initial: Words = {"turn": 0}
        for rank in range(ranks):
            initial |= {("data", rank): -1, ("came", rank): 0, ("went", rank): 0}
        return Programs([one_barrier(rank, ranks, 3, second) for rank in range(ranks)], initial).outcome()

    assert "another turn's data" in outcome(second=False).wrong
    assert outcome(second=True).wrong == {}


def registering(rank: int, ranks: int) -> Iterator[Step]:
    """The others count themselves as soon as there is a segment, which rank 0 makes and then initialises."""
    if rank == 0:
        yield put("exists", True)
        yield put("count", 1)
        yield Step("wait", lambda words: words["count"] == ranks)
        yield put("ready", True)
    else:
        yield Step("wait", lambda words: words["exists"])
        yield Step("do", lambda words: words.__setitem__("count", words["count"] + 1))
        yield Step("wait", lambda words: words["ready"])


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_count_that_rank_0_initialises_late_is_found_to_lose_a_registration(ranks):
    initial = {"exists": False, "count": 0, "ready": False}
    programs = [registering(rank, ranks) for rank in range(ranks)]
    assert "stuck" in Programs(programs, initial).outcome().wrong


def counted(rank: int, ranks: int, rounds: int, sample_first: bool) -> Iterator[Step]:
    """A barrier of a common count and a generation, which the last to come moves on."""

    def sample(words: Words) -> None:
        words["sampled", rank] = words["generation"]

    def count(words: Words) -> None:
        words["count"] += 1
        words["last", rank] = words["count"] == ranks

    def reset(words: Words) -> None:
        if words["last", rank]:
            words["count"] = 0

    def move_on(words: Words) -> None:
        if words["last", rank]:
            words["generation"] += 1

    for _ in range(rounds):
        yield from (Step("do", act) for act in ([sample, count] if sample_first else [count, sample]))
        yield Step("do", reset)
        yield Step("do", move_on)
        yield Step(
            "wait",
            lambda words: words["last", rank] or words["generation"] != words["sampled", rank],
        )


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_generation_sampled_after_the_count_is_found_to_lock_up(ranks):
    def outcome(sample_first: bool) -> Outcome:
        initial: Words = {"generation": 0, "count": 0}
        for rank in range(ranks):
            initial |= {("sampled", rank): 0, ("last", rank): False}
        programs = [counted(rank, ranks, 2, sample_first) for rank in range(ranks)]
        return Programs(programs, initial).outcome()

    assert "stuck" in outcome(sample_first=False).wrong
    assert outcome(sample_first=True).wrong == {}


def test_a_retry_after_a_time_out_is_found_to_leave_the_barrier_alone():
    def come(words: Words) -> None:
        words["count"] += 1
        if words["count"] == 2:
            words["count"], words["generation"] = 0, 1

    def come_again(words: Words) -> None:
        if words["timed out", 1]:
            come(words)

    def look(words: Words) -> None:
        if not words["entered", 0]:
            words["wrong"] = "left the barrier alone"

    impatient = [
        Step("do", come),
        Step("may", lambda words: words["generation"] == 1),
        Step("do", come_again),
        Step("wait", lambda words: words["generation"] == 1),
        Step("do", look),
    ]
    late = [put(("entered", 0), True), Step("do", come), Step("wait", lambda words: words["generation"] == 1)]
    initial = {"count": 0, "generation": 0, ("entered", 0): False, ("timed out", 1): False}
    assert "left the barrier alone" in Programs([iter(late), iter(impatient)], initial).outcome().wrong
