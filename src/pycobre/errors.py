"""Every error of pycobre, one tree.

::

    PycobreError
    ├── CaseError (ValueError)             the case files are wrong; .problems lists all       exit 3
    ├── StageProblemError (RuntimeError)   a stage problem has no optimum; .stage .scenario    exit 4
    ├── BackendError (RuntimeError)        a communication backend can't be had                exit 5
    │   ├── BackendNotAvailable            not built, not installed, not on this system
    │   ├── InvalidBackend                 no backend has that name
    │   ├── InitializationFailed           the backend could not start
    │   └── MissingConfiguration           a variable that it needs is not set
    ├── CommError (RuntimeError)           ranks can no longer work together                   exit 5
    │   ├── CollectiveFailed               .reason lost, stopped, timeout, mismatch, aborted; .ranks
    │   ├── InvalidBufferSize (ValueError) arguments do not fit; nothing was sent
    │   ├── InvalidRoot (ValueError)       no such rank
    │   ├── InvalidCommunicator            used after close, after a failure, or by two threads at once
    │   └── AllocationFailed (MemoryError) a shared region can't be had
    ├── WorkerError (RuntimeError)         a launched rank failed; .rank .exit_code            its code
    ├── RemoteError (RuntimeError)         stands for a worker's exception of a foreign type   exit 1
    ├── PolicyError (ValueError)           a policy on disk does not fit                       exit 6
    └── ResultsError (OSError)             results can't be written or read                    exit 7

Anything else that leaves the program is a bug of ours: exit 1. A wrong command line exits with 2,
Ctrl-C with 130.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class PycobreError(Exception):
    """An error that pycobre explains; :attr:`exit_code` is what the command line ends with."""

    exit_code: int = 1


@dataclass(frozen=True)
class Problem:
    """One thing wrong (or odd) with an input, as a record.

    Attributes
    ----------
    kind
        ``structure``, ``schema``, ``reference``, ``dimension``, ``physics``, ``unsupported`` (an error)
        or ``warning``.
    message
        What is wrong, in one sentence.
    file
        The file, relative to the case directory.
    entity
        The entity, such as ``hydro 7 (Ilha)``, or ``None`` for the whole file.
    field
        The field's path within the entity or file, or ``None``.
    hint
        What to do about it, or ``None``.
    """

    kind: str
    message: str
    file: str
    entity: str | None = None
    field: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.entity, self.field) if part)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text} ({self.hint})" if self.hint else text


class CaseError(PycobreError, ValueError):
    """The case files are wrong; :attr:`problems` holds every one of them."""

    exit_code = 3

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(self._text())

    def _text(self) -> str:
        count = len(self.problems)
        lines = [f"{count} problem{'s' if count != 1 else ''} in the case:"]
        for file in dict.fromkeys(problem.file for problem in self.problems):
            lines.append(f"  {file}")
            lines += [f"    - {problem}" for problem in self.problems if problem.file == file]
        return "\n".join(lines)


class StageProblemError(PycobreError, RuntimeError):
    """A stage problem has no optimum, even after the recovery ladder.

    Attributes
    ----------
    stage, iteration, scenario, opening, rank
        Where it happened; ``None`` where it does not apply, as the iteration does to a simulation, the
        opening to noise from elsewhere, and the rank to a run of one.
    status
        The solver's last word, such as ``infeasible``.
    conflict
        Names of rows and columns that can't hold together, if the solver found any; without any one of
        them the others can.
    reason
        The same in words: what is asked for, and what can be had at most; may be empty.
    states
        Incoming states that have a part in it, by name.
    dump
        The file that the problem was written to, or ``None``.
    """

    exit_code = 4

    def __init__(
        self,
        *,
        stage: int,
        status: str,
        name: str | None = None,
        iteration: int | None = None,
        scenario: int | None = None,
        opening: int | None = None,
        rank: int | None = None,
        conflict: Sequence[str] = (),
        reason: str = "",
        states: Mapping[str, float] | None = None,
        dump: str | None = None,
    ) -> None:
        self.stage = stage
        self.name = name or f"stage {stage}"
        self.status = status
        self.iteration = iteration
        self.scenario = scenario
        self.opening = opening
        self.rank = rank
        self.conflict = tuple(conflict)
        self.reason = reason
        self.states = dict(states or {})
        self.dump = dump
        places = [self.name]
        for place, value in (
            ("iteration", iteration),
            ("scenario" if iteration is not None else "simulated scenario", scenario),
            ("opening", opening),
            ("rank", rank),
        ):
            if value is not None:
                places.append(f"{place} {value}")
        text = f"the problem of {', '.join(places)} is {status}"
        if reason:
            text += f": {reason}"
        elif self.conflict:
            text += "; these can't hold together: " + ", ".join(self.conflict)
        if self.states:
            told = [f"{name} = {value:.6g}" for name, value in self.states.items()]
            text += "; incoming state: " + ", ".join(told)
        if dump:
            text += f"; written to {dump}"
        super().__init__(text)


class BackendError(PycobreError, RuntimeError):
    """A communication backend can't be had."""

    exit_code = 5


class BackendNotAvailable(BackendError, ImportError):
    """The backend exists, but not here; the message says how to get it."""

    def __init__(self, requested: str, available: Sequence[str], reason: str) -> None:
        self.requested = requested
        self.available = tuple(available)
        self.reason = reason
        super().__init__(
            f"communication backend '{requested}' is not available: {reason}"
            f" (available here: {', '.join(self.available)})"
        )


class InvalidBackend(BackendError, ValueError):
    """No backend has that name."""

    def __init__(self, requested: str, available: Sequence[str]) -> None:
        self.requested = requested
        self.available = tuple(available)
        super().__init__(
            f"there is no communication backend '{requested}'; choose auto or one of"
            f" {', '.join(self.available)} (COBRE_COMM_BACKEND or --backend)"
        )


class InitializationFailed(BackendError):
    """The backend could not start; nothing was left behind."""

    def __init__(self, backend: str, message: str) -> None:
        self.backend = backend
        self.message = message
        super().__init__(f"backend '{backend}' could not start: {message}")


class MissingConfiguration(BackendError):
    """A variable that the backend needs is not set."""

    def __init__(self, backend: str, variable: str, purpose: str) -> None:
        self.backend = backend
        self.variable = variable
        self.purpose = purpose
        super().__init__(f"backend '{backend}' needs {variable}: {purpose}")


class CommError(PycobreError, RuntimeError):
    """Ranks can no longer work together."""

    exit_code = 5


class CollectiveFailed(CommError):
    """A collective did not complete; the communicator can't be used any more.

    Attributes
    ----------
    operation
        The collective that this rank was in.
    reason
        ``lost`` (a rank is gone), ``stopped`` (it exists but is suspended), ``timeout`` (it did not come in
        time), ``mismatch`` (ranks called different things) or ``aborted``.
    ranks
        The ranks to blame, ascending, the same on every survivor.
    message
        What happened, in words.
    mpi_error_code
        MPI's code, 0 on every other backend.
    """

    def __init__(
        self,
        operation: str,
        reason: str,
        ranks: Sequence[int],
        message: str,
        mpi_error_code: int = 0,
    ) -> None:
        self.operation = operation
        self.reason = reason
        self.ranks = tuple(ranks)
        self.message = message
        self.mpi_error_code = mpi_error_code
        super().__init__(f"{operation} failed ({reason}): {message}")


class InvalidBufferSize(CommError, ValueError):
    """The arguments of a collective do not fit each other; nothing was sent."""

    def __init__(self, operation: str, expected: str, actual: str) -> None:
        self.operation = operation
        self.expected = expected
        self.actual = actual
        super().__init__(f"{operation}: expected {expected}, got {actual}")


class InvalidRoot(CommError, ValueError):
    """The root is not a rank of this communicator."""

    def __init__(self, root: int, size: int) -> None:
        self.root = root
        self.size = size
        super().__init__(f"root {root} is not one of the ranks 0 to {size - 1}")


class InvalidCommunicator(CommError):
    """The communicator was closed, failed before, or is in use by another thread."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class AllocationFailed(CommError, MemoryError):
    """A shared region can't be had."""

    def __init__(self, requested_bytes: int, message: str) -> None:
        self.requested_bytes = requested_bytes
        self.message = message
        super().__init__(f"no shared region of {requested_bytes} bytes: {message}")


class WorkerError(PycobreError, RuntimeError):
    """A launched rank failed.

    Attributes
    ----------
    rank
        Which one.
    exit_code
        What its process ended with, 128 + n for signal n.
    details
        The end of what it wrote to standard error.
    __cause__
        Its own exception with its traceback as a note, if it was a worker of
        :func:`pycobre.train` and could still tell.
    """

    def __init__(self, rank: int, code: int, message: str, details: str = "") -> None:
        self.rank = rank
        self.exit_code = code
        self.details = details
        super().__init__(f"rank {rank} {message}" + (f"\n{details}" if details else ""))


class RemoteError(PycobreError, RuntimeError):
    """Stands for a worker's exception whose type this process does not make up again.

    Attributes
    ----------
    kind
        The type's full name, such as ``package.module.Type``.
    message
        The exception's own message.
    """

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(f"{kind}: {message}" if message else kind)


class PolicyError(PycobreError, ValueError):
    """A policy on disk can't be read or does not fit this study."""

    exit_code = 6


class ResultsError(PycobreError, OSError):
    """Results can't be written or read."""

    exit_code = 7
