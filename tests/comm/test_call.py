"""What a rank calls, as bytes and in words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pycobre.comm import ReduceOp
from pycobre.comm.base import PLAIN_DTYPES
from pycobre.comm.call import CALL_BYTES, LINE_BYTES, PAYLOAD_AT, Call, Kind, mismatch_of

FLOAT = np.dtype(float)
CALLS = [
    *(Call(kind) for kind in Kind),
    *(Call(Kind.BROADCAST, dtype, (5,)) for dtype in sorted(PLAIN_DTYPES, key=str)),
    *(Call(Kind.BROADCAST, FLOAT, (5,), root) for root in (1, 1 << 16, (1 << 32) + 1)),
    *(Call(Kind.ALLREDUCE, FLOAT, (length,), op) for length in (0, 1, 1 << 40) for op in ReduceOp),
    *(Call(Kind.ALLGATHERV, FLOAT, counts) for counts in ((2, 3), (3, 2), (2, 3, 0), (1,) * 9 + (2,))),
    Call(Kind.ALLGATHERV, FLOAT, (1,) * 10),
    Call(Kind.CREATE_SHARED_REGION, FLOAT, (1 << 70,)),
    Call(Kind.CREATE_SHARED_REGION, FLOAT, (1 << 71,)),  # more than the wire holds counts too
]


def test_calls_that_differ_in_anything_differ_in_their_bytes_and_fingerprints():
    assert {len(call.packed) for call in CALLS} == {CALL_BYTES}
    for one, other in itertools.combinations(CALLS, 2):
        assert one.packed != other.packed
        assert one.fingerprint != other.fingerprint


def test_a_call_is_the_same_for_all_names_of_a_dtype_and_whatever_holds_its_counts():
    one = Call(Kind.ALLGATHERV, np.dtype("l"), (2, 3), ReduceOp.MAX)
    assert one.packed == Call(Kind.ALLGATHERV, np.dtype("q"), [2, 3], 2).packed


def test_a_call_leaves_the_payload_of_its_line_alone():
    line = bytearray(b"x" * LINE_BYTES)
    Call(Kind.BARRIER).write(line)
    assert line[PAYLOAD_AT:] == b"x" * (LINE_BYTES - PAYLOAD_AT)


def test_a_mismatch_shows_every_call_and_blames_whoever_stands_alone():
    calls = [
        Call(Kind.ALLGATHERV, FLOAT, (2, 2, 10**6)).packed + b"what it brings",
        Call(Kind.ALLGATHERV, FLOAT, (2, 2, 10**6)).packed + b"does not count",
        Call(Kind.ALLREDUCE, FLOAT, (100,), ReduceOp.MIN).packed,
    ]
    assert mismatch_of(calls) == (
        [2],
        "ranks called different things: ranks 0, 1 allgatherv(float64, counts [2, 2, 1000000]);"
        " rank 2 allreduce(MIN, float64[100])",
    )
    assert mismatch_of(calls[1:])[0] == [0, 1]
    # Counts that are not shown count too.
    many = [Call(Kind.ALLGATHERV, FLOAT, (1,) * 9 + (last,)).packed for last in (1, 2)]
    assert "counts [1, 1, 1, 1, 1, 1, 1, ...]" in mismatch_of(many * 5)[1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call(Kind.SPLIT_LOCAL), "split_local"),
        (Call(Kind.BROADCAST, FLOAT, (5,), 3), "broadcast(root 3, float64[5])"),
        (Call(Kind.CREATE_SHARED_REGION, FLOAT, (7,)), "create_shared_region(float64[7])"),
    ],
)
def test_a_mismatch_calls_operations_by_their_methods(call, words):
    told = mismatch_of([call.packed, b"\xff" * CALL_BYTES])[1]
    assert told == f"ranks called different things: rank 0 {words}; rank 1 ?"
