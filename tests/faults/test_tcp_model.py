"""The join and the verdict of tcp in every interleaving, with a crash or a time-out anywhere.

Ranks send to each other over data links; each has a control link to rank 0, whose watch decides. A process
that ends closes its links: the others see that. Variants that leave a rule out must be found bad.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from faults.model import Outcome, Verdict, explore

Pair = tuple[int, int]


def lost(*ranks: int) -> Verdict:
    return "lost", ranks


# ---- the join: handshakes, table, data links, ready, go


@dataclass(frozen=True)
class Joining:
    """Stages of the ranks, what has arrived, and the faults that may still come.

    A stage is ``dial``, ``table`` (rank 0 sends it, the others wait for it), ``link``, ``ready``, ``go``,
    ``joined``, ``telling`` (rank 0 tells that it failed), or an end: ``failed``, ``dead``, or a verdict.
    """

    stages: tuple[Any, ...]
    arrived: frozenset[tuple[str, int]] = frozenset()
    links: frozenset[Pair] = frozenset()
    crashes: int = 0
    timeouts: int = 0

    def at(self, rank: int, stage: Any, *arrived: tuple[str, int], late: bool = False) -> Joining:
        stages = (*self.stages[:rank], stage, *self.stages[rank + 1 :])
        return replace(
            self, stages=stages, arrived=self.arrived | set(arrived), timeouts=self.timeouts - late
        )

    def ended(self, rank: int) -> bool:
        return self.stages[rank] in ("failed", "dead")


@dataclass(frozen=True)
class Join:
    """The rules; each of them can be left out."""

    ranks: int
    watches_when_joined: bool = True
    tells_of_failure: bool = True

    def outcome(self, crashes: int, timeouts: int) -> Outcome:
        start = Joining(("table", *["dial"] * (self.ranks - 1)), crashes=crashes, timeouts=timeouts)
        return explore(start, self.moves, self.wrong)

    def moves(self, state: Joining) -> Iterator[tuple[str, Joining]]:
        for rank, stage in enumerate(state.stages):
            if state.ended(rank) or isinstance(stage, tuple):
                continue
            steps = self.joined if stage == "joined" else self.rank_0 if rank == 0 else self.other
            for label, after in steps(state, rank, stage):
                yield f"{rank} {label}", after
            if state.crashes:
                yield f"{rank} dies", replace(state.at(rank, "dead"), crashes=state.crashes - 1)

    def rank_0(self, state: Joining, rank: int, stage: str) -> Iterator[tuple[str, Joining]]:
        others = range(1, self.ranks)
        if stage == "telling":
            untold = [other for other in others if ("failed", other) not in state.arrived]
            if untold and self.tells_of_failure:
                yield f"tells {untold[0]}", state.at(0, "telling", ("failed", untold[0]))
            else:
                yield "fails", state.at(0, "failed")
            return
        wanted = "hello" if stage == "table" else "ready"
        come = [other for other in others if (wanted, other) in state.arrived]
        if len(come) == self.ranks - 1:
            sent = "table" if stage == "table" else "go"
            unsent = [other for other in others if (sent, other) not in state.arrived]
            if unsent:
                yield f"sends {sent} to {unsent[0]}", state.at(0, stage, (sent, unsent[0]))
            else:
                yield f"has sent {sent}", state.at(0, "ready" if stage == "table" else "joined")
            return
        if any(state.ended(other) and ("hello", other) in state.arrived for other in others):
            yield "sees an end", state.at(0, "telling")
        yield from self.deadline(state, 0, "telling")

    def other(self, state: Joining, rank: int, stage: str) -> Iterator[tuple[str, Joining]]:
        if stage == "dial":
            yield "dials", state.at(rank, "table", ("hello", rank))
            return
        # Each of these is a wait, which a failure of others ends.
        if stage == "table" and ("table", rank) in state.arrived:
            yield "has the table", state.at(rank, "link")
        elif stage == "link":
            lower = [other for other in range(rank) if (rank, other) not in state.links]
            higher = [other for other in range(rank + 1, self.ranks) if (other, rank) not in state.links]
            if lower and not state.ended(lower[0]):
                yield f"links to {lower[0]}", replace(state, links=state.links | {(rank, lower[0])})
            if not lower and not higher:
                yield "is ready", state.at(rank, "ready", ("ready", rank))
            if any(state.ended(other) for other in lower + higher):
                yield "sees an end", state.at(rank, "failed")
        elif stage == "ready" and ("go", rank) in state.arrived:
            yield "goes", state.at(rank, "joined")
            return
        if ("failed", rank) in state.arrived or state.ended(0):
            yield "hears of a failure", state.at(rank, "failed")
        yield from self.deadline(state, rank, "failed")

    def deadline(self, state: Joining, rank: int, stage: str) -> Iterator[tuple[str, Joining]]:
        """Too early for a rank, as a fault; or in its time, once another has failed."""
        if any(map(state.ended, range(self.ranks))):
            yield "is at its limit", state.at(rank, stage)
        elif state.timeouts:
            yield "is late", state.at(rank, stage, late=True)

    def joined(self, state: Joining, rank: int, stage: str) -> Iterator[tuple[str, Joining]]:
        if not self.watches_when_joined:
            return
        if rank == 0:
            for other in range(1, self.ranks):
                if state.ended(other):
                    told = [("verdict", third) for third in range(1, self.ranks)]
                    yield f"loses {other}", state.at(0, lost(other), *told)
        elif ("verdict", rank) in state.arrived:
            yield "hears the verdict", state.at(rank, ("heard",))
        elif state.ended(0):
            yield "loses 0", state.at(rank, lost(0))

    def wrong(self, state: Joining, ended: bool) -> Iterator[str]:
        if not ended:
            return
        if any(stage not in ("joined", "failed", "dead") for stage in state.stages if isinstance(stage, str)):
            yield "stuck"
        if "joined" in state.stages and any(map(state.ended, range(self.ranks))):
            yield "joined, and does not hear of a failure"
        if set(state.stages) != {"joined"} and not any(map(state.ended, range(self.ranks))):
            yield "not joined, though nothing failed"


FAULTS = pytest.mark.parametrize(
    ("crashes", "timeouts"), [(0, 0), (1, 0), (0, 1)], ids=["plain", "crash", "timeout"]
)


@pytest.mark.parametrize("ranks", [2, 3])
@FAULTS
def test_nobody_joins_while_another_fails_unless_it_hears_of_it(ranks, crashes, timeouts):
    assert Join(ranks).outcome(crashes, timeouts).wrong == {}


def test_a_joined_rank_that_does_not_watch_is_found_to_hear_nothing():
    problems = Join(2, watches_when_joined=False).outcome(0, 1).wrong
    assert "joined, and does not hear of a failure" in problems


# ---- the verdict: every rank sends to every other, awaits all, goes on; the watch of rank 0 decides


@dataclass(frozen=True)
class Working:
    """Conditions of the ranks (``works``, ``closed``, ``dead`` or the verdict that it raised), how many turns
    each has begun and has sent to each other, and what rank 0 knows, has decided and has told."""

    conditions: tuple[Any, ...]
    turns: tuple[int, ...]
    sent: tuple[tuple[int, ...], ...]
    troubles: frozenset[tuple[str, int, int]] = frozenset()
    decided: Verdict | None = None
    told: tuple[Verdict | None, ...] = ()
    crashes: int = 0
    timeouts: int = 0

    def with_rank(self, rank: int, condition: Any) -> Working:
        return replace(self, conditions=(*self.conditions[:rank], condition, *self.conditions[rank + 1 :]))

    def with_told(self, rank: int) -> Working:
        return replace(self, told=(*self.told[:rank], self.decided, *self.told[rank + 1 :]))

    def ended(self, rank: int) -> bool:
        return self.conditions[rank] != "works"


@dataclass(frozen=True)
class Work:
    """The rules; each of them can be left out."""

    ranks: int
    turns: int
    tells_before_it_ends: bool = True
    each_decides_alone: bool = False
    alone_after_farewell: bool = True

    def outcome(self, crashes: int, timeouts: int) -> Outcome:
        zeros = (0,) * self.ranks
        start = Working(
            ("works",) * self.ranks,
            (1,) * self.ranks,
            (zeros,) * self.ranks,
            told=(None,) * self.ranks,
            crashes=crashes,
            timeouts=timeouts,
        )
        return explore(start, self.moves, self.wrong)

    def moves(self, state: Working) -> Iterator[tuple[str, Working]]:
        for rank, condition in enumerate(state.conditions):
            if condition != "works":
                continue
            for label, after in self.rank(state, rank):
                yield f"{rank} {label}", after
            if state.crashes:
                yield f"{rank} dies", replace(state.with_rank(rank, "dead"), crashes=state.crashes - 1)
        if not state.ended(0):
            yield from self.watch(state)

    def rank(self, state: Working, rank: int) -> Iterator[tuple[str, Working]]:
        turn = state.turns[rank]
        verdict = self.heard(state, rank)
        unsent = [other for other in range(self.ranks) if other != rank and state.sent[rank][other] < turn]
        if unsent:
            if verdict:
                yield "raises", state.with_rank(rank, verdict)
                return
            row = tuple(
                turn if other == unsent[0] else state.sent[rank][other] for other in range(self.ranks)
            )
            sent = (*state.sent[:rank], row, *state.sent[rank + 1 :])
            yield f"sends {turn} to {unsent[0]}", replace(state, sent=sent)
            return
        missing = [other for other in range(self.ranks) if other != rank and state.sent[other][rank] < turn]
        if not missing:
            if turn == self.turns:
                if rank or not self.owes_a_verdict(state):
                    yield "closes", state.with_rank(rank, "closed")
            else:
                after = (*state.turns[:rank], turn + 1, *state.turns[rank + 1 :])
                yield f"has done {turn}", replace(state, turns=after)
            return
        if verdict:
            # What came over the control link before it ended counts first, whatever data links show.
            yield "raises", state.with_rank(rank, verdict)
            return
        gone = tuple(other for other in missing if state.ended(other))
        if gone and (self.each_decides_alone or (self.alone_after_farewell and self.left(state, 0))):
            yield f"blames {gone}", state.with_rank(rank, lost(*gone))
        elif gone and ("link", gone[0], turn) not in state.troubles:
            yield f"reports {gone}", replace(state, troubles=state.troubles | {("link", gone[0], turn)})
        if state.timeouts:
            late = ("timeout", rank, turn)
            yield "is late", replace(state, troubles=state.troubles | {late}, timeouts=state.timeouts - 1)

    def left(self, state: Working, rank: int) -> bool:
        return state.conditions[rank] == "closed"

    def heard(self, state: Working, rank: int) -> Verdict | None:
        """The verdict that this rank can act on."""
        if rank == 0:
            return None if self.owes_a_verdict(state) else state.decided
        if state.told[rank]:
            return state.told[rank]
        ended = state.ended(0) and not self.left(state, 0)
        return lost(0) if ended and not self.each_decides_alone else None

    def owes_a_verdict(self, state: Working) -> bool:
        """Whether rank 0 must not end yet: that would close the links over which the others hear."""
        return self.tells_before_it_ends and state.decided is not None and None in state.told[1:]

    def watch(self, state: Working) -> Iterator[tuple[str, Working]]:
        if self.each_decides_alone:
            return
        if state.decided:
            for rank in range(1, self.ranks):
                if state.told[rank] is None:
                    yield f"watch tells {rank}", state.with_told(rank)
                    return
            return
        for rank, condition in enumerate(state.conditions):
            if condition == "dead":
                yield f"watch loses {rank}", replace(state, decided=lost(rank))
        for kind, rank, turn in state.troubles:
            if kind == "link" and self.left(state, rank):
                yield f"watch hears that {rank} left", replace(state, decided=lost(rank))
            if kind == "timeout":
                absent = tuple(
                    other
                    for other in range(self.ranks)
                    if other != rank and self.contributed(state, other) < turn
                )
                yield "watch asks all", replace(state, decided=("timeout", absent or (rank,)))

    def contributed(self, state: Working, rank: int) -> int:
        """The last turn that *rank* has sent to everybody."""
        return min(state.sent[rank][other] for other in range(self.ranks) if other != rank)

    def wrong(self, state: Working, ended: bool) -> Iterator[str]:
        for rank, turn in enumerate(state.turns):
            if any(state.sent[other][rank] < turn - 1 for other in range(self.ranks) if other != rank):
                yield "went on without a rank's part"
        if not ended:
            return
        raised = {condition for condition in state.conditions if isinstance(condition, tuple)}
        if len(raised) > 1:
            yield "survivors blame different ranks"
        if "works" in state.conditions:
            yield "stuck"
        if not state.timeouts and any(
            reason == "lost" and state.conditions[rank] != "dead"
            for reason, blamed in raised
            for rank in blamed
        ):
            yield "the living are blamed"


@pytest.mark.parametrize(("ranks", "turns"), [(2, 3), (3, 2)])
@FAULTS
def test_every_survivor_blames_the_same_rank(ranks, turns, crashes, timeouts):
    assert Work(ranks, turns).outcome(crashes, timeouts).wrong == {}


def test_ranks_that_decide_alone_are_found_to_blame_each_other():
    problems = Work(3, 2, each_decides_alone=True).outcome(1, 0).wrong
    assert "survivors blame different ranks" in problems


def test_a_coordinator_that_ends_before_it_has_told_is_found_to_take_the_blame():
    problems = Work(3, 2, tells_before_it_ends=False).outcome(1, 0).wrong
    assert "survivors blame different ranks" in problems


def test_a_rank_that_only_ever_asks_the_coordinator_is_found_to_hang_once_that_has_left():
    assert "stuck" in Work(3, 2, alone_after_farewell=False).outcome(1, 0).wrong
