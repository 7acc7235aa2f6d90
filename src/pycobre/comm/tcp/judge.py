"""What rank 0 concludes from what it hears of the others. No input or output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pycobre.comm.call import Kind
from pycobre.comm.tcp.control import Ailment, Status, Trouble
from pycobre.comm.tcp.liveness import LIVENESS_SECS
from pycobre.comm.tcp.verdict import Verdict, cut_off, departed, gone, overdue

PATIENCE_SECS = 0.3
"""How long rank 0 waits for an answer, and for what comes by another way."""
LOOK_SECS = 0.1
"""How often it looks whether a rank that has fallen silent is gone as well."""


def operation_name(code: int) -> str:
    """What errors call the operation of a number."""
    return Kind(code).title if code in frozenset(Kind) else "a collective"


class Judge:
    """The findings so far; the first verdict that comes out of it stands.

    Parameters
    ----------
    stopped
        Whether a rank is known to be suspended.
    silent
        For how long each rank has owed a sign of life, of those that should have given one by now. What cuts
        several ranks off shows on one connection after the other, so the verdict waits for these until they
        answer, or count as gone as well.

    Attributes
    ----------
    deadline
        When :meth:`conclude` is due, on the monotonic clock; ``None`` while there is nothing to conclude.
    trouble
        The report that it is looking into, the first one.
    """

    def __init__(self, stopped: Callable[[int], bool], silent: Callable[[], Mapping[int, float]]) -> None:
        self.deadline: float | None = None
        self._stopped = stopped
        self._silent = silent
        self._gone: set[int] = set()
        self._left: dict[int, int] = {}  # ranks that closed, and their last operation
        self.trouble: Trouble | None = None
        self._reporter = 0
        self._asked: set[int] = set()
        self._late: set[int] = set()

    def leaves(self, rank: int, sequence: int) -> Verdict | None:
        """*rank* closed after operation *sequence*."""
        self._left[rank] = sequence
        self._asked.discard(rank)
        return self._departed(self.trouble) if self.trouble else None

    def loses(self, ranks: Collection[int], now: float) -> Verdict | None:
        """The connections to *ranks* ended without a word."""
        self._gone.update(ranks)
        return self.conclude(now)

    def hears(self, reporter: int, trouble: Trouble, now: float) -> Verdict | None:
        """*reporter* has found something wrong."""
        if self.trouble is None:
            self.trouble, self._reporter = trouble, reporter
            self.deadline = now + PATIENCE_SECS
        return self._departed(trouble)

    def asks(self, ranks: Collection[int], late: Collection[int]) -> None:
        """*ranks* are being asked how far they are; of others it is known that they are *late*."""
        self._asked = set(ranks)
        self._late = set(late)

    def answers(self, rank: int, status: Status, now: float) -> Verdict | None:
        """*rank* says how far it is."""
        self._asked.discard(rank)
        if status.entered < status.sequence:
            self._late.add(rank)
        waiting = self.trouble is not None and self.trouble.ailment is Ailment.OVERDUE
        return self.conclude(now) if waiting and not self._asked else None

    def conclude(self, now: float) -> Verdict | None:
        """The verdict, now that all answers are in or no longer awaited; none yet if it sets a deadline."""
        self.deadline = None
        trouble = self.trouble
        if self._gone or (trouble and trouble.ailment is Ailment.ENDED):
            silent = self._silent()
            if any(secs < LIVENESS_SECS for secs in silent.values()):
                self.deadline = now + LOOK_SECS
                return None
            if self._gone:
                return gone(self._gone | silent.keys())
        if trouble is None:
            return None
        if trouble.ailment is Ailment.ENDED:
            # Rank 0 is here, since it says this: on its own links the other end is to blame.
            lost, other = (trouble.peer, self._reporter) if trouble.peer else (self._reporter, 0)
            return gone({lost, *silent}) if silent else cut_off(lost, other)
        asleep = {rank for rank in self._asked if self._stopped(rank)}
        blamed = asleep or self._asked | self._late or {trouble.peer}
        return overdue(blamed, bool(asleep), operation_name(trouble.operation), trouble.limit_secs)

    def _departed(self, trouble: Trouble) -> Verdict | None:
        early = [rank for rank, sequence in self._left.items() if sequence < trouble.sequence]
        if not early:
            return None
        return departed(early, operation_name(trouble.operation), trouble.sequence)
