"""Large arrays over shared memory go through places that are used again and again: never under a reader, and
with the same bits whether they are written through the caches or past them."""

from __future__ import annotations

import os

import pytest

from comm.launching import ranks

CALLS = 150

# Every rank draws the same calls, of lengths about those from which on a message goes another way.
WORK = f"""
import random
import numpy as np
from pycobre.comm import ReduceOp

draw, sloth = random.Random(1), random.Random(comm.rank)
KIB = 1 << 10
SMALL = [16 * KIB, 60 * KIB, 64 * KIB, 100 * KIB, 127 * KIB]
LARGE = [128 * KIB, 256 * KIB, 512 * KIB, 1024 * KIB, 2048 * KIB]
size, me = comm.size, comm.rank

def numbers(rank, call, count):
    return np.random.default_rng([rank, call]).standard_normal(count)

for call in range({CALLS}):
    if PAST and call % 3:
        comm._write_past_caches(1 << 40)
    else:
        comm._write_past_caches(0)
    if sloth.random() < 0.2:
        time.sleep(sloth.random() * 0.002)
    kind, in_place = draw.randrange(3), draw.random() < 0.3
    edges = SMALL if draw.random() < 0.8 else LARGE if kind < 2 else [12 << 20]
    counts = [draw.choice(edges) // 8 + draw.randint(-9, 9) for _ in range(size)]
    root, count = draw.randrange(size), counts[0]
    if kind == 0:
        recv, places = np.zeros(sum(counts)), np.cumsum([0, *counts[:-1]]).tolist()
        send = numbers(me, call, counts[me])
        if in_place:
            own = recv[places[me] : places[me] + counts[me]]
            own[:] = send
            send = own
        comm.allgatherv(send, recv, counts, places)
        wanted = np.concatenate([numbers(rank, call, counts[rank]) for rank in range(size)])
    elif kind == 1:
        send = numbers(me, call, count)
        recv = send if in_place else np.zeros(count)
        comm.allreduce(send, recv, ReduceOp.SUM)
        wanted = numbers(0, call, count)
        for rank in range(1, size):
            wanted = wanted + numbers(rank, call, count)
    else:
        recv = numbers(me, call, count)
        comm.broadcast(recv, root)
        wanted = numbers(root, call, count)
    assert recv.tobytes() == wanted.tobytes(), (call, kind, counts, root, in_place)
assert comm._direct_calls == 0
pipe.send(b"right")
"""


@pytest.mark.parametrize("past", [False, True], ids=["through-caches", "past-caches"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_places_that_come_round_again_never_change_under_a_reader(count, past):
    environment = {**os.environ, "COBRE_SHM_DIRECT": "0"}
    with ranks(f"PAST = {past}\n{WORK}", count, environment=environment) as job:
        told = [line for _, line in job]
    assert told == [b"right"] * count


# Arrays begin anywhere in a line; neither theirs nor the segment's other bytes may change.
ANYWHERE = """
import random
import numpy as np
from pycobre.comm import ReduceOp

draw = random.Random(1)
size, me = comm.size, comm.rank

def numbers(rank, call, count):
    return np.random.default_rng([rank, call]).integers(0, 256, count, dtype=np.uint8)

def place(count):
    begin = draw.randrange(1, 130)
    whole = np.full(count + 260, 7, dtype=np.uint8)
    return whole, whole[begin : begin + count]

for call in range(120):
    comm._write_past_caches(1 << 40 if PAST and call % 3 else 0)
    edge = draw.choice([4 << 10, 16 << 10, 64 << 10, 128 << 10, 300 << 10])
    counts = [edge + draw.randint(-70, 70) for _ in range(size)]
    kind, root, count = draw.randrange(3), draw.randrange(size), counts[0]
    (around, send), (_, other) = place(counts[me]), place(count)
    send[:] = numbers(me, call, counts[me])
    whole, recv = place(sum(counts) if kind == 0 else count)
    if kind == 0:
        comm.allgatherv(send, recv, counts, np.cumsum([0, *counts[:-1]]).tolist())
        wanted = np.concatenate([numbers(rank, call, counts[rank]) for rank in range(size)])
    elif kind == 1:
        other[:] = numbers(me, call, count)
        comm.allreduce(other, recv, ReduceOp.SUM)
        wanted = numbers(0, call, count)
        for rank in range(1, size):
            wanted = wanted + numbers(rank, call, count)
    else:
        recv[:] = numbers(me, call, count)
        comm.broadcast(recv, root)
        wanted = numbers(root, call, count)
    assert recv.tobytes() == wanted.tobytes(), (call, kind, counts, root)
    recv[:] = send[:] = 7
    assert (whole == 7).all() and (around == 7).all(), (call, kind, counts, root)
pipe.send(b"right")
"""


@pytest.mark.parametrize("direct", ["0", "1"], ids=["through-segment", "direct"])
@pytest.mark.parametrize("past", [False, True], ids=["through-caches", "past-caches"])
@pytest.mark.parametrize("count", [2, 3])
def test_arrays_may_begin_anywhere_in_a_line(count, past, direct):
    environment = {**os.environ, "COBRE_SHM_DIRECT": direct}
    with ranks(f"PAST = {past}\n{ANYWHERE}", count, environment=environment) as job:
        told = [line for _, line in job]
    assert told == [b"right"] * count
