"""Why a group failed, in the words that all its ranks use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pycobre.comm.call import mismatch_of, ranks_text

REASONS = ("lost", "stopped", "timeout", "mismatch", "aborted")
"""What :attr:`pycobre.errors.CollectiveFailed.reason` may be, as numbered on the wire."""


@dataclass(frozen=True)
class Verdict:
    """What :class:`pycobre.errors.CollectiveFailed` says, the same on every rank.

    Attributes
    ----------
    reason
        One of :data:`REASONS`.
    ranks
        The ranks to blame, ascending.
    message
        What happened, in words.
    sequence
        The first collective that can't come about, 0 for any: one before it may still be completed.
    """

    reason: str
    ranks: tuple[int, ...]
    message: str
    sequence: int = 0


def _blaming(reason: str, ranks: Iterable[int], message: str, sequence: int = 0) -> Verdict:
    found = tuple(sorted(ranks))
    return Verdict(reason, found, f"{ranks_text(found)} {message}", sequence)


def gone(ranks: Iterable[int], sequence: int = 0) -> Verdict:
    """Processes ended or are out of reach, and take no part in collectives from *sequence* on."""
    return _blaming("lost", ranks, "disappeared: killed, cut off, or ended without close()", sequence)


def cut_off(rank: int, other: int) -> Verdict:
    """A connection ended, though both of its ends seem to be there."""
    return _blaming("lost", [rank], f"disappeared: its connection to rank {other} ended")


def departed(ranks: Iterable[int], operation: str, sequence: int) -> Verdict:
    """Ranks left before an operation that others are in, the one of number *sequence*."""
    return _blaming("lost", ranks, f"closed the communicator while others were in {operation}", sequence)


def overdue(ranks: Iterable[int], suspended: bool, operation: str, limit_secs: float) -> Verdict:
    """Ranks did not come within the limit of one collective, or can't."""
    what = "stopped (suspended, not dead)" if suspended else "did not come in time"
    waited = f"{operation} has waited for {limit_secs:g} s, the limit of one collective"
    return _blaming("stopped" if suspended else "timeout", ranks, f"{what}; {waited}")


def aborted(rank: int, message: str) -> Verdict:
    """A rank gave up, or was made to: *message* goes on from its name."""
    return _blaming("aborted", [rank], message)


def mismatch(calls: Sequence[bytes]) -> Verdict:
    """The packed *calls* of all ranks differ."""
    blamed, message = mismatch_of(calls)
    return Verdict("mismatch", tuple(blamed), message)
