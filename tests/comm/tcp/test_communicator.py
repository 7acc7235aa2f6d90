"""The backend over links made by hand: ranks as threads, or one rank against a peer that misbehaves."""

from __future__ import annotations

import gc
import itertools
import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pycobre.comm import ReduceOp
from pycobre.comm.call import Call, Kind
from pycobre.comm.conformance import PROMISES
from pycobre.comm.conformance.reductions import folded
from pycobre.comm.tcp.communicator import TcpCommunicator
from pycobre.comm.tcp.control import Ailment, ControlReader, Leave, Trouble, encode
from pycobre.comm.tcp.frame import FrameKind, header
from pycobre.comm.tcp.link import FrameKeys, Joined, Link, Peer
from pycobre.comm.tcp.verdict import gone
from pycobre.errors import CollectiveFailed, InitializationFailed, InvalidCommunicator


def linked(size: int, *, sealed: bool = False) -> list[Joined]:
    """A group whose ranks are all in this process, over pairs of sockets."""
    peers = tuple(Peer(rank, os.getpid(), "here", "a pair") for rank in range(size))
    group = [Joined(rank, peers, {}, {}) for rank in range(size)]
    for low, high in itertools.combinations(range(size), 2):
        for kind in ("control", "data") if low == 0 else ("data",):
            ends = socket.socketpair()
            there, back = secrets.token_bytes(32), secrets.token_bytes(32)
            keys = (FrameKeys(there, back), FrameKeys(back, there)) if sealed else (None, None)
            getattr(group[low], kind)[high] = Link(ends[0], high, keys[0])
            getattr(group[high], kind)[low] = Link(ends[1], low, keys[1])
    return group


def on_all(group: list[Joined], rank: Callable[[TcpCommunicator], object]) -> list[object]:
    """What *rank* returns on each rank of *group*, each in a thread."""

    def run(joined: Joined) -> object:
        with TcpCommunicator.of_links(joined) as comm:
            return rank(comm)

    with ThreadPoolExecutor(len(group)) as pool:
        return [future.result(30) for future in [pool.submit(run, joined) for joined in group]]


@pytest.fixture
def alone():
    """Rank 0 of two, and the sockets of rank 1, which the test plays."""
    made: list[TcpCommunicator | socket.socket] = []

    def make(timeout_secs: float | None = 5.0, *, sealed: bool = False):
        mine, other = linked(2, sealed=sealed)
        comm = TcpCommunicator.of_links(mine, timeout_secs)
        made.extend([comm, other.control[0].socket, other.data[0].socket])
        return comm, other.control[0].socket, other.data[0].socket

    yield make
    for thing in made:
        thing.close()


BARRIER = bytes(8) + Call(Kind.BARRIER).packed


def meeting(sequence: int, block: bytes = BARRIER) -> bytes:
    return header(FrameKind.MEETING, len(block), sequence) + block


@pytest.mark.parametrize("sealed", [False, True])
def test_payloads_of_many_pieces_arrive_whole_and_reductions_keep_their_order(sealed):
    length = 1_500_001

    def rank(comm: TcpCommunicator) -> bool:
        mine = np.random.default_rng(comm.rank).standard_normal(length)
        everyone = np.stack([np.random.default_rng(other).standard_normal(length) for other in range(3)])
        whole = np.empty((3, length))
        comm.allgatherv(mine, whole, [length] * 3, [other * length for other in range(3)])
        comm.allreduce(mine, mine, ReduceOp.SUM)
        sent = everyone[2].copy() if comm.rank == 2 else np.empty(length)
        comm.broadcast(sent, 2)
        return (
            np.array_equal(whole, everyone)
            and np.array_equal(sent, everyone[2])
            and mine.tobytes() == folded(everyone, ReduceOp.SUM).tobytes()
        )

    assert on_all(linked(3, sealed=sealed), rank) == [True] * 3


@pytest.mark.parametrize("size", [5, 7, 8])
def test_everyone_hears_everyone_in_groups_of_any_size(size):
    def rank(comm: TcpCommunicator) -> list[int]:
        counts = [other % 3 for other in range(size)]
        starts = np.cumsum([0, *counts[:-1]])
        found = np.zeros(sum(counts), int)
        for _ in range(20):
            comm.barrier()
            comm.allgatherv(np.full(counts[comm.rank], comm.rank), found, counts, starts)
        return found.tolist()

    expected = [other for other in range(size) for _ in range(other % 3)]
    assert on_all(linked(size), rank) == [expected] * size


@pytest.mark.parametrize("size", [5, 6])
def test_a_different_call_is_shown_alike_to_groups_of_any_size(size):
    def rank(comm: TcpCommunicator) -> tuple[object, ...]:
        call = comm.barrier if comm.rank != 3 else lambda: comm.broadcast(np.zeros(5000), 1)
        with pytest.raises(CollectiveFailed) as caught:
            call()
        return caught.value.reason, caught.value.ranks, caught.value.message

    others = ", ".join(str(other) for other in range(size) if other != 3)
    text = f"ranks called different things: ranks {others} barrier; rank 3 broadcast(root 1, float64[5000])"
    assert on_all(linked(size), rank) == [("mismatch", (3,), text)] * size


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "not the beginning of a frame"),
        (header(FrameKind.MEETING, 1 << 31, 1), "2147483648 bytes"),
        (header(FrameKind.PIECE, len(BARRIER), 1) + BARRIER, "kind 2"),
        (meeting(2), "operation 2"),
        (meeting(1, b"\1" + BARRIER[1:] + b"x"), "length that its call does not have"),
        (meeting(1, BARRIER + b"x"), "not as long as its blocks"),
        (meeting(1, BARRIER[:-1]), "within a block"),
    ],
)
def test_nonsense_ends_the_group_and_names_who_sent_it(alone, sent, words):
    comm, control, data = alone()
    data.sendall(sent)
    with pytest.raises(CollectiveFailed, match=words) as caught:
        comm.barrier()
    assert (caught.value.reason, caught.value.ranks) == ("aborted", (1,))
    control.settimeout(5)
    assert control.recv(16)[3] == FrameKind.VERDICT  # the others hear of it
    with pytest.raises(InvalidCommunicator, match="failed before"):
        comm.barrier()


def test_a_frame_that_was_changed_on_its_way_ends_the_group(alone):
    comm, _, data = alone(sealed=True)
    data.sendall(meeting(1) + b"\0" * 32)
    with pytest.raises(CollectiveFailed, match="wrong seal") as caught:
        comm.barrier()
    assert (caught.value.reason, caught.value.ranks) == ("aborted", (1,))


def test_nonsense_on_a_control_link_ends_the_group_too(alone):
    comm, control, _ = alone()
    control.sendall(struct.pack("<2sBBIQ", b"Cb", 1, FrameKind.QUERY, 0, 1))  # only rank 0 asks
    with pytest.raises(CollectiveFailed, match="no message") as caught:
        comm.barrier()
    assert caught.value.ranks == (1,)


def test_bytes_that_come_one_by_one_do_not_put_off_the_limit(alone):
    comm, _, data = alone(timeout_secs=0.5)
    enough = threading.Event()

    def drip() -> None:
        for byte in meeting(1):
            if enough.wait(0.1):
                return
            data.send(bytes([byte]))

    thread = threading.Thread(target=drip)
    thread.start()
    began = time.monotonic()
    try:
        with pytest.raises(CollectiveFailed) as caught:
            comm.barrier()
        assert time.monotonic() - began < 1.5
    finally:
        enough.set()
        thread.join()
    assert (caught.value.reason, caught.value.ranks) == ("timeout", (1,))


@pytest.fixture
def among():
    """Rank 1 of three, whose watch runs, and the groups of ranks 0 and 2, which the test plays."""
    group = linked(3)
    comm = TcpCommunicator.of_links(group[1], 5.0)
    yield comm, group[0], group[2]
    comm.close()
    for joined in (group[0], group[2]):
        for link in (*joined.control.values(), *joined.data.values()):
            link.close()


@pytest.mark.parametrize("delay_secs", [0.0, 0.1])
@pytest.mark.parametrize("ends", [(), (0,), (0, 2)])
def test_a_verdict_that_arrives_counts_whatever_the_data_links_show(among, delay_secs, ends):
    comm, rank_0, rank_2 = among
    verdict = gone([0, 2])

    def tell() -> None:
        time.sleep(delay_secs)
        rank_0.control[1].socket.sendall(encode(verdict))
        if 0 in ends:
            rank_0.control[1].close()

    if 0 in ends:
        rank_0.data[1].close()
    if 2 in ends or not ends:
        rank_2.data[1].close()
    thread = threading.Thread(target=tell)
    thread.start()
    with pytest.raises(CollectiveFailed) as caught:
        comm.barrier()
    thread.join()
    assert (caught.value.reason, caught.value.ranks, caught.value.message) == (
        verdict.reason,
        verdict.ranks,
        verdict.message,
    )


def test_a_rank_decides_alone_once_rank_0_has_left(among):
    comm, rank_0, rank_2 = among
    rank_0.data[1].socket.sendall(meeting(1, BARRIER * 2))
    rank_0.control[1].socket.sendall(encode(Leave(1, ended=False)))
    rank_2.data[1].close()
    began = time.monotonic()
    with pytest.raises(CollectiveFailed) as caught:
        comm.barrier()
    assert (caught.value.reason, caught.value.ranks) == ("lost", (2,))
    assert time.monotonic() - began < 0.5  # it did not wait for an answer


@pytest.mark.parametrize("reported", [False, True])
def test_rank_0_does_not_end_before_it_has_told_its_verdict(reported):
    group = linked(3)
    comm = TcpCommunicator.of_links(group[0], 5.0)
    if reported:
        group[1].control[0].socket.sendall(encode(Trouble(1, Ailment.ENDED, Kind.BARRIER, 2)))
        group[2].control[0].close()
        group[2].data[0].close()
        with pytest.raises(CollectiveFailed):
            comm.barrier()
    else:
        comm.abort("enough")
    comm.close()
    heard, reader = [], ControlReader(3)
    connection = group[1].control[0].socket
    connection.settimeout(5)
    while count := connection.recv_into(reader.room):
        heard += reader.filled(count)
    assert [type(message).__name__ for message in heard] == ["Verdict", "Leave"]
    assert heard[0].ranks == ((2,) if reported else (0,))
    for joined in group[1:]:
        for link in (*joined.control.values(), *joined.data.values()):
            link.close()


def test_a_group_leaves_no_descriptor_and_no_thread(alone):
    def count() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    gc.collect()
    before = count()
    for _ in range(5):
        on_all(linked(3), lambda comm: comm.barrier())
        forgotten = TcpCommunicator.of_links(linked(1)[0])
        del forgotten
        first, second = (TcpCommunicator.of_links(joined) for joined in linked(2))
        del first
        with pytest.raises(CollectiveFailed, match="ended without close"):
            second.barrier()
        second.close()
    gc.collect()
    assert count() == before


def test_a_group_that_was_made_of_links_says_that_it_can_not_be_duplicated():
    def rank(comm: TcpCommunicator) -> None:
        with pytest.raises(InitializationFailed, match="made of links"):
            comm.duplicate()
        comm.barrier()

    on_all(linked(2), rank)


def test_promises_are_kept_inside_tls_by_ranks_started_by_hand(authority):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "COBRE_COMM_BACKEND": "tcp",
        "COBRE_TCP_SIZE": "2",
        "COBRE_TCP_COORDINATOR": "127.0.0.1",
        "COBRE_TCP_PORT": str(port),
        "COBRE_TCP_SECRET": secrets.token_hex(32),
        "COBRE_TCP_UNIX_SOCKETS": "0",
        "COBRE_TCP_TIMEOUT_SECS": "15",
        "COBRE_TCP_TLS_CERT": str(authority["ours"].certificate),
        "COBRE_TCP_TLS_KEY": str(authority["ours"].key),
        "COBRE_TCP_TLS_CA": str(authority["ours"].ca),
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "pycobre.comm.conformance"],
            env={**environment, "COBRE_TCP_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    watchdog = threading.Timer(60, lambda: [rank.send_signal(signal.SIGKILL) for rank in ranks])
    watchdog.start()
    try:
        with ThreadPoolExecutor(2) as pool:
            outputs = list(pool.map(lambda rank: rank.communicate()[0], ranks))
    finally:
        watchdog.cancel()
    for output in outputs:
        reports = [json.loads(line) for line in output.splitlines()]
        assert [report["trouble"] for report in reports if report["trouble"]] == []
        assert len(reports) == len(PROMISES)
    assert [rank.returncode for rank in ranks] == [0, 0]
