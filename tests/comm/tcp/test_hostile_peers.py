"""Whoever else connects while a group comes together: the group comes together all the same."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pycobre.comm.tcp.circle import Circle
from pycobre.comm.tcp.door import Guest
from pycobre.comm.tcp.handshake import ClientHandshake, Hello, JobKeys, Outcome, ServerHandshake

SECRET = b"only the ranks of this job know"
HELLO = Hello(rank=2, target=0, size=3, data=False)


def proof_against(connection: socket.socket, keys: JobKeys, hello: Hello, **replaced: bytes) -> bytes:
    """What the door answers to a client in the end, whose messages may be *replaced*."""
    client = ClientHandshake(keys, hello)
    connection.sendall(replaced.get("hello", client.opening))
    challenge = connection.recv(72, socket.MSG_WAITALL)
    if len(challenge) < 72:
        return challenge
    client.take(challenge[:8])
    proof = client.take(challenge[8:]) if "proof" not in replaced else replaced["proof"]
    connection.sendall(proof)
    return connection.recv(100)


def recorded(keys: JobKeys) -> tuple[bytes, bytes]:
    """The hello and the proof of a handshake that went well elsewhere."""
    client, server = ClientHandshake(keys, HELLO), ServerHandshake(keys, lambda hello: (Outcome.IN, 0))
    server.take(client.opening[:8])
    challenge = server.take(client.opening[8:])
    client.take(challenge[:8])
    return client.opening, client.take(challenge[8:])


NOISE = {
    "a scanner that leaves at once": b"",
    "a web browser": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a client of TLS": bytes.fromhex("16030100c8010000c40303") + bytes(200),
    "64 KiB of noise": os.urandom(65536),
    "half a header": b"pCb",
    "half a hello": b"pCbr\x00\x01\x01\x00" + bytes(30),
    "lengths of nothing": b"pCbr\x00\x01\x01\x00" + bytes(64),
    "lengths without end": b"pCbr\x00\x01\x01\x00" + b"\xff" * 64,
    "flags that nobody knows": b"pCbr\x00\x01\x01\xff" + bytes(64),
    "an older version": b"pCbr\x00\x00\x01\x00" + bytes(64),
    "a challenge out of turn": b"pCbr\x00\x01\x02\x00" + bytes(64),
}


def test_noise_of_every_kind_changes_nothing(party):
    group = party(3)
    group.start(0, 1)
    time.sleep(0.1)
    with contextlib.ExitStack() as closing:
        for noise in NOISE.values():
            held = closing.enter_context(socket.create_connection((group.host, group.port), timeout=10))
            left = closing.enter_context(socket.create_connection((group.host, group.port), timeout=10))
            for stranger in (held, left):
                with contextlib.suppress(ConnectionError):
                    stranger.sendall(noise)
            left.close()
        group.start(2)
        group.whole()


def test_what_was_recorded_or_made_up_opens_no_door(party, monkeypatch):
    rank_1_is_in, let_in = threading.Event(), Circle._let_in

    def watched(circle: Circle, guest: Guest) -> None:
        let_in(circle, guest)
        if 1 in circle.control:
            rank_1_is_in.set()

    monkeypatch.setattr(Circle, "_let_in", watched)
    group = party(3)
    group.start(0, 1)
    keys = JobKeys(SECRET, group.config(2).job_id)
    hello, proof = recorded(keys)

    def connect() -> socket.socket:
        return socket.create_connection((group.host, group.port), timeout=10)

    with connect() as replay:
        replay.sendall(hello)
        assert len(replay.recv(72, socket.MSG_WAITALL)) == 72
        replay.sendall(proof)
        assert replay.recv(100) == b""
    with connect() as mirror:  # gives the door its own words back
        mirror.sendall(hello)
        challenge = mirror.recv(72, socket.MSG_WAITALL)
        mirror.sendall(challenge[:40])
        assert mirror.recv(100) == b""
    with connect() as splice:  # rank 2's proof after rank 1's hello
        assert proof_against(splice, keys, HELLO, proof=proof) == b""
    assert rank_1_is_in.wait(10)  # until then who knows the secret may take its place
    for hello_of, expected in (
        (Hello(1, 0, 3, data=False), Outcome.DUPLICATE),
        (Hello(0, 0, 3, data=False), Outcome.DUPLICATE),
        (Hello(2, 0, 4, data=False), Outcome.OTHER_SIZE),
        (Hello(3, 0, 3, data=False), Outcome.NO_SUCH_RANK),
        (Hello(2, 0, 3, data=False, abi=7), Outcome.OTHER_ABI),
        (Hello(2, 0, 3, data=False, sealed=True), Outcome.OTHER_SETTINGS),
        (Hello(2, 1, 3, data=False), Outcome.WRONG_DOOR),
        (Hello(2, 0, 3, data=True), Outcome.WRONG_DOOR),
    ):
        with connect() as member:
            answer = proof_against(member, keys, hello_of)
            assert (len(answer), answer[11]) == (48, expected)
            assert member.recv(1) == b""
    group.start(2)
    group.whole()


def test_a_slow_drip_is_cut_after_five_seconds_and_holds_up_nobody(party):
    group = party(3)
    group.start(0, 1)
    ended = threading.Event()
    took = []

    def drip() -> None:
        started = time.monotonic()
        hello, _ = recorded(JobKeys(SECRET, group.config(2).job_id))
        with socket.create_connection((group.host, group.port), timeout=10) as slow:
            with contextlib.suppress(ConnectionError):
                for byte in hello * 10:
                    slow.send(bytes([byte]))
                    slow.settimeout(0.2)
                    try:
                        if slow.recv(100) == b"":
                            break
                    except TimeoutError:
                        continue
            took.append(time.monotonic() - started)
        ended.set()

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        assert ended.wait(15)
        assert 4.5 < took[0] < 6.5  # the documented limit is five
    finally:
        dripping.join()
    group.start(2)
    group.whole()


def test_of_a_thousand_strangers_the_log_has_one_line_a_second(party, caplog):
    group = party(2)
    with caplog.at_level(logging.WARNING, "pycobre.comm.tcp"):
        started = time.monotonic()
        group.start(0)
        for _ in range(1000):
            with socket.create_connection((group.host, group.port), timeout=10) as stranger:
                stranger.send(b"GET / HTTP/1.1\r\n")
                stranger.recv(1)
        group.start(1)
        group.whole()
    lines = [record for record in caplog.records if "turned away" in record.getMessage()]
    assert 1 <= len(lines) <= 1 + time.monotonic() - started
    assert "does not speak the protocol" in lines[0].getMessage()
    assert SECRET.decode() not in caplog.text


# ---- floods, against a rank 0 in a process of its own, whose memory and time can be told apart

RANK_0 = """
import json, resource, sys, time
limit, port_listener = int(sys.argv[1]), int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
from pycobre.comm.tcp import TcpConfig
from pycobre.comm.tcp.join import join
print("ready", flush=True)
secret = sys.stdin.readline().strip().encode()
joined = join(TcpConfig(0, 3, secret=secret, listener=port_listener), time.monotonic() + 30)
print(json.dumps({"data": sorted(joined.data), "control": sorted(joined.control)}), flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def rank_0(group, limit: int = 0):
    """Rank 0 of *group* as a process, which may have *limit* descriptors."""
    listener = group._listener
    argv = [sys.executable, "-c", RANK_0, str(limit), str(listener.fileno())]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, text=True, pass_fds=[listener.fileno()], **pipes) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            assert process.stdout.readline() == "ready\n"
            process.stdin.write(SECRET.decode() + "\n")
            process.stdin.flush()
            yield process
        finally:
            watchdog.cancel()
            process.kill()


def resident_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() // 1024


def cpu_secs(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def flood(group, count: int) -> None:
    """*count* connections, each with a few bytes, left at once."""
    for number in range(count):
        with contextlib.suppress(ConnectionError), socket.socket() as stranger:
            stranger.connect((group.host, group.port))
            stranger.send(b"pCbr\x00\x01\x01\x00" + bytes(64) if number % 2 else b"x" * 300)
            stranger.recv(1)  # faster than the door, it would only wait for the system's own retries


def joined_with(process, group) -> dict[str, list[int]]:
    """What rank 0 says once ranks 1 and 2 have joined it."""
    for rank, result in group.end().items():
        if isinstance(result, Exception):
            raise result
        assert sorted(result.data) == [other for other in range(3) if other != rank]
    return json.loads(process.stdout.readline())


def test_ten_thousand_connections_leave_no_trace_in_memory(party):
    group = party(3)
    with rank_0(group) as process:
        group.start(1)
        flood(group, 500)
        before = resident_kib(process.pid)
        flood(group, 10_000)
        assert resident_kib(process.pid) - before < 1024
        group.start(2)
        assert joined_with(process, group) == {"data": [1, 2], "control": [1, 2]}


@pytest.mark.parametrize("limit", [0, 64], ids=["many_descriptors", "64_descriptors"])
def test_a_hundred_connections_held_open_keep_nobody_out(party, limit):
    group = party(3)
    with rank_0(group, limit) as process, contextlib.ExitStack() as closing:
        for _ in range(100):
            closing.enter_context(socket.create_connection((group.host, group.port), timeout=10))
        time.sleep(0.2)
        before, started = cpu_secs(process.pid), time.monotonic()
        time.sleep(0.5)
        assert (cpu_secs(process.pid) - before) / (time.monotonic() - started) < 0.2
        group.start(1, 2)
        assert joined_with(process, group) == {"data": [1, 2], "control": [1, 2]}


def test_with_no_descriptor_left_rank_0_waits_without_turning_in_circles(party):
    group = party(3)
    # Its own files fit, and hardly a stranger.
    with rank_0(group, limit=8) as process, contextlib.ExitStack() as closing:
        for _ in range(20):
            closing.enter_context(socket.create_connection((group.host, group.port), timeout=10))
        time.sleep(0.2)
        before, started = cpu_secs(process.pid), time.monotonic()
        time.sleep(0.5)
        assert (cpu_secs(process.pid) - before) / (time.monotonic() - started) < 0.2
        assert process.poll() is None
