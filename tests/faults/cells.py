"""The matrix of faults: which cells there are, which mean nothing, what each must end in."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

RANKS = 3
TIMEOUT_SECS = 1.0  # of a collective, where nothing but the time-out tells
PHASES = ("joining", "idle", "entering", "small", "large", "direct", "waiting", "closing")
OPERATIONS = ("allgatherv", "allreduce", "broadcast-first", "broadcast-last", "barrier", "fence")
VICTIMS = ("0", "1", "2", "launcher")
ACTIONS = ("SIGKILL", "SIGSTOP", "exit", "exception")
REASONS = {"SIGKILL": "lost", "SIGSTOP": "stopped", "exit": "lost", "exception": "aborted"}
CODES = {"SIGKILL": 128 + 9, "exit": 3, "exception": 1}


@dataclass(frozen=True)
class Cell:
    """Where whom what befalls."""

    backend: str
    phase: str
    operation: str
    victim: str
    action: str

    def __str__(self) -> str:
        return ",".join((self.backend, self.phase, self.operation, self.victim, self.action))

    @property
    def meaningless(self) -> str:
        """Why this cell is not run, an empty text where it is."""
        if self.phase in ("joining", "closing") and self.operation != OPERATIONS[0]:
            return "no operation is under way: one cell stands for all of them"
        if self.phase in ("large", "direct") and self.operation in ("barrier", "fence"):
            return "it carries nothing"
        if self.phase == "direct" and self.backend != "shm":
            return "a rank has no memory of another to read"
        if self.backend == "tcp" and self.operation == "fence":
            return "memory that is not shared has nothing to wait for"
        if self.phase == "closing" and self.action == "exception":
            return "what a rank raises after its close is no concern of the others"
        if self.victim != "launcher":
            return ""
        if self.action != "SIGKILL":
            return "what the launcher can catch it forwards, and test_launch_signals.py has it"
        if self.phase == "entering":
            return "no rank is the victim, so small stands for it"
        return ""

    @property
    def environment(self) -> dict[str, str]:
        """Large arrays go both ways by turns in "large", in "direct" all ranks read each other's memory."""
        return {"COBRE_SHM_DIRECT": "1"} if self.phase == "direct" else {}

    @property
    def limit_secs(self) -> float:
        """From the strike, or from a survivor's later call, to that survivor's error."""
        return TIMEOUT_SECS + 1.0 if self.action == "SIGSTOP" else 0.5

    @property
    def reasons(self) -> tuple[str, ...]:
        """What survivors may hear; more than one where the strike comes before or after the farewell."""
        reason = REASONS[self.action]
        return (reason, "lost") if self.phase == "closing" else (reason,)


def matrix(backend: str) -> list[Cell]:
    """Every cell of a backend, meaningless ones too."""
    return [Cell(backend, *place) for place in itertools.product(PHASES, OPERATIONS, VICTIMS, ACTIONS)]


def sample(backend: str, count: int, seed: int = 1) -> list[Cell]:
    """*count* cells that mean something, each phase, operation, victim and action about equally often."""
    cells = [cell for cell in matrix(backend) if not cell.meaningless]
    random.Random(seed).shuffle(cells)
    chosen: list[Cell] = []
    seen: dict[str, int] = {}
    while cells and len(chosen) < count:
        best = min(cells, key=lambda cell: sum(seen.get(word, 0) for word in str(cell).split(",")[1:]))
        cells.remove(best)
        chosen.append(best)
        for word in str(best).split(",")[1:]:
            seen[word] = seen.get(word, 0) + 1
    return chosen
