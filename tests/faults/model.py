"""Every interleaving of a protocol at few ranks: an explorer of states, and programs made of atomic steps.

It assumes sequential consistency: the native code has that, by its exchanges and seq_cst loads, where order
between words matters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

State = TypeVar("State", bound=Hashable)
Words = dict[Any, Any]
Verdict = tuple[str, tuple[int, ...]]  # reason and blamed ranks


@dataclass
class Outcome:
    """What can go wrong, with the shortest way to it, and how many states there are."""

    wrong: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: int = 0


def explore(
    initial: State,
    moves: Callable[[State], Iterable[tuple[str, State]]],
    wrong: Callable[[State, bool], Iterable[str]],
) -> Outcome:
    """Everything that *wrong* finds in a reachable state; its second argument is whether nothing can move."""
    came_from: dict[State, tuple[State, str] | None] = {initial: None}
    todo = deque([initial])
    outcome = Outcome()
    while todo:
        state = todo.popleft()
        ended = True
        for label, successor in moves(state):
            ended = False
            if successor not in came_from:
                came_from[successor] = state, label
                todo.append(successor)
        for problem in wrong(state, ended):
            if problem not in outcome.wrong:
                outcome.wrong[problem] = way_to(state, came_from)
    outcome.states = len(came_from)
    return outcome


def way_to(state: State, came_from: dict[State, tuple[State, str] | None]) -> tuple[str, ...]:
    labels = []
    while (step := came_from[state]) is not None:
        state, label = step
        labels.append(label)
    return tuple(reversed(labels))


# ---- programs of steps on common words


@dataclass(frozen=True)
class Step:
    """One atomic step of a rank.

    A ``do`` changes words; one that *enters* an operation raises if there is a verdict. A ``wait`` goes on
    once its condition holds; *missing* are the ranks that it waits for. What *may* be passed has a time-out
    of its own, which is no verdict.
    """

    kind: str
    act: Callable[[Words], Any]
    missing: Callable[[Words], tuple[int, ...]] = lambda words: ()
    enters: bool = False


def put(key: Any, value: Any, *, enters: bool = False) -> Step:
    return Step("do", lambda words: words.__setitem__(key, value), enters=enters)


def reach(counters: Iterable[Any], value: int) -> Step:
    """A wait until every counter, whose last part is its rank, has reached *value*."""
    keys = tuple(counters)
    return Step(
        "wait",
        lambda words: all(words[key] >= value for key in keys),
        lambda words: tuple(key[-1] for key in keys if words[key] < value),
    )


def copy(source: Any, target: Any) -> Step:
    return Step("do", lambda words: words.__setitem__(target, words[source]))


def expect(key: Any, value: Any) -> Step:
    def look(words: Words) -> None:
        if words[key] != value:
            words["wrong"] = "another turn's data"

    return Step("do", look)


@dataclass(frozen=True)
class Group:
    """All programs at one moment. A rank's condition is ``runs``, ``dead``, or a verdict that it settles on
    or has raised."""

    places: tuple[int, ...]
    conditions: tuple[Any, ...]
    words: tuple[Any, ...]
    crashes: int
    timeouts: int


@dataclass
class Programs:
    """Programs side by side, with faults, and a verdict that the first finding settles for all.

    Attributes
    ----------
    swaps
        Whether a finding becomes the verdict only where there is none, as compare-and-swap has it.
    looks
        Whether who waits looks for a verdict and for dead ranks.
    leaves
        What a rank that raises does to the words next: what it lent is its own again.
    """

    programs: list[Iterator[Step]]
    initial: Words
    crashes: int = 0
    timeouts: int = 0
    swaps: bool = True
    looks: bool = True
    leaves: Callable[[Words, int], None] = lambda words, rank: None

    def outcome(self) -> Outcome:
        self._steps = [tuple(program) for program in self.programs]
        words = {"wrong": "", "verdict": None, **self.initial}
        self._keys = tuple(words)
        count = len(self._steps)
        start = Group((0,) * count, ("runs",) * count, tuple(words.values()), self.crashes, self.timeouts)
        return explore(start, self._moves, self._wrong)

    def _finished(self, group: Group, rank: int) -> bool:
        return group.places[rank] == len(self._steps[rank])

    def _moves(self, group: Group) -> Iterator[tuple[str, Group]]:
        for rank, condition in enumerate(group.conditions):
            if condition[0] == "settles":
                yield f"{rank} settles", self._settled(group, rank, condition[1])
            elif condition == "runs" and not self._finished(group, rank):
                yield from self._steps_of(group, rank)
            else:
                continue
            if group.crashes:
                yield f"{rank} dies", self._changed(group, rank, "dead", crashes=group.crashes - 1)

    def _steps_of(self, group: Group, rank: int) -> Iterator[tuple[str, Group]]:
        place = group.places[rank]
        step = self._steps[rank][place]
        words = dict(zip(self._keys, group.words, strict=True))
        label = f"{rank}.{place}"
        if step.enters and words["verdict"]:
            yield f"{label} raises", self._raised(group, rank, words)
        elif step.kind == "do":
            step.act(words)
            yield label, self._advanced(group, rank, words)
        elif step.act(words):
            yield label, self._advanced(group, rank, words)
        elif step.kind == "may":
            words["timed out", rank] = True
            yield f"{label} gives up", self._advanced(group, rank, words)
        elif self.looks:
            if words["verdict"]:
                yield f"{label} raises", self._raised(group, rank, words)
            missing = step.missing(words)
            dead = tuple(other for other in missing if group.conditions[other] == "dead")
            if dead:
                yield f"{label} finds {dead}", self._changed(group, rank, ("settles", ("lost", dead)))
            if group.timeouts and missing:
                late = "settles", ("timeout", missing)
                yield f"{label} is late", self._changed(group, rank, late, timeouts=group.timeouts - 1)

    def _settled(self, group: Group, rank: int, finding: Verdict) -> Group:
        words = dict(zip(self._keys, group.words, strict=True))
        if not words["verdict"] or not self.swaps:
            words["verdict"] = finding
        return self._raised(group, rank, words)

    def _raised(self, group: Group, rank: int, words: Words) -> Group:
        self.leaves(words, rank)
        raised = self._changed(group, rank, ("raised", words["verdict"]))
        return Group(raised.places, raised.conditions, tuple(words.values()), raised.crashes, raised.timeouts)

    @staticmethod
    def _changed(
        group: Group, rank: int, condition: Any, crashes: int | None = None, timeouts: int | None = None
    ) -> Group:
        conditions = (*group.conditions[:rank], condition, *group.conditions[rank + 1 :])
        return Group(
            group.places,
            conditions,
            group.words,
            group.crashes if crashes is None else crashes,
            group.timeouts if timeouts is None else timeouts,
        )

    @staticmethod
    def _advanced(group: Group, rank: int, words: Words) -> Group:
        places = (*group.places[:rank], group.places[rank] + 1, *group.places[rank + 1 :])
        return Group(places, group.conditions, tuple(words.values()), group.crashes, group.timeouts)

    def _wrong(self, group: Group, ended: bool) -> Iterator[str]:
        words = dict(zip(self._keys, group.words, strict=True))
        if words["wrong"]:
            yield words["wrong"]
        if not ended:
            return
        raised = {condition[1] for condition in group.conditions if condition[0] == "raised"}
        if len(raised) > 1:
            yield "survivors blame different ranks"
        if not self.timeouts and any(
            group.conditions[rank] != "dead" for _, blamed in raised for rank in blamed
        ):
            yield "the living are blamed"
        if any(
            condition == "runs" and not self._finished(group, rank)
            for rank, condition in enumerate(group.conditions)
        ):
            yield "stuck"
