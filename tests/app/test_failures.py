"""A worker's exception reaches the caller as what it was, and nothing that a worker says is run."""

from __future__ import annotations

import json
import traceback

import pytest

from pycobre.app.failures import from_record, to_record
from pycobre.errors import (
    AllocationFailed,
    BackendNotAvailable,
    CaseError,
    CollectiveFailed,
    InvalidBufferSize,
    Problem,
    RemoteError,
    ResultsError,
    StageProblemError,
    WorkerError,
)


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def travelled(error: BaseException, rank: int = 3) -> BaseException:
    return from_record(json.loads(json.dumps(to_record(error))), rank)


PYCOBRE = [
    StageProblemError(
        stage=4,
        status="infeasible",
        scenario=7,
        rank=1,
        conflict=["a", "b"],
        reason="too little",
        states={"storage_hm3[7]": 2.0},
        dump="x.mps",
    ),
    CaseError([Problem("schema", "is odd", "config.json", field="training"), Problem("physics", "b", "f")]),
    CollectiveFailed("barrier", "lost", [2, 3], "ranks 2, 3 disappeared"),
    InvalidBufferSize("allreduce", "3 elements", "4"),
    BackendNotAvailable("mpi", ["shm", "local"], "mpi4py is not installed"),
    AllocationFailed(1 << 40, "no memory"),
    WorkerError(2, 137, "was killed", "last words"),
    ResultsError("no space is left"),
]


@pytest.mark.parametrize("error", PYCOBRE, ids=lambda error: type(error).__name__)
def test_an_error_of_ours_keeps_type_message_and_attributes(error):
    back = travelled(raised(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert {name: value for name, value in vars(back).items() if name != "__notes__"} == vars(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"), KeyError("name"), ZeroDivisionError(), OSError("plain"), IndexError(1, 2.5, None),
        FileNotFoundError(2, "No such file", "/nowhere"), MemoryError("much"), RuntimeError({"a": [1]}),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_a_built_in_exception_keeps_type_and_message(error):
    back = travelled(raised(error))
    assert (type(back), str(back)) == (type(error), str(error))


class Foreign(ValueError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Foreign("strange"), f"{__name__}.Foreign"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "strange"), "UnicodeDecodeError"),
        (SystemExit("strange"), "SystemExit"),
        (ExceptionGroup("strange", [ValueError()]), "ExceptionGroup"),
    ],
)
def test_any_other_exception_has_a_stand_in_that_names_it(error, kind):
    back = travelled(raised(error))
    assert isinstance(back, RemoteError)
    assert (back.kind, "strange" in back.message) == (kind, True)


@pytest.mark.parametrize(
    ("module", "name"),
    [("builtins", "eval"), ("builtins", "print"), ("os", "system"), ("pycobre.errors", "dataclass"),
     ("pycobre.errors", "Sequence"), ("builtins", "KeyboardInterrupt"), ("builtins", "int")],
)  # fmt: skip
def test_a_record_can_name_nothing_but_an_exception(module, name):
    record = {**to_record(ValueError("x")), "module": module, "name": name, "args": ["raise SystemExit"]}
    assert type(from_record(record, 0)) is RemoteError


def test_the_chain_and_the_tracebacks_come_along():
    def dry_river() -> None:
        raise ArithmeticError("dry river")

    try:
        try:
            try:
                dry_river()
            except ArithmeticError:
                raise KeyError("lake")  # noqa: B904 - a context without a cause
        except KeyError as error:
            raise StageProblemError(stage=1, status="infeasible") from error
    except StageProblemError as error:
        error.add_note("a note")
        back = travelled(error)
    assert isinstance(back.__cause__, KeyError)
    assert isinstance(back.__cause__.__context__, ArithmeticError)
    shown = "".join(traceback.format_exception(back))
    for words in ("in dry_river", "dry river", "direct cause", "During handling", "a note"):
        assert words in shown
    assert shown.count("Traceback on rank 3") == 3


def test_from_none_hides_the_context():
    try:
        try:
            raise KeyError("hidden")
        except KeyError:
            raise ValueError("shown") from None
    except ValueError as error:
        back = travelled(error)
    assert back.__context__ is back.__cause__ is None


def test_what_json_cannot_hold_is_left_out():
    error = ValueError(object())
    error.place, error.word = object(), "kept"
    back = travelled(raised(error))
    assert (str(back), vars(back)["word"], hasattr(back, "place")) == (str(error), "kept", False)
