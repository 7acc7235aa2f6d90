"""Half a million damaged messages: nothing but the rejections that the handshake names."""

from __future__ import annotations

import random

from pycobre.comm.tcp.handshake import (
    ClientHandshake,
    HandshakeFailed,
    Hello,
    JobKeys,
    Outcome,
    ServerHandshake,
)

KEYS = JobKeys(b"only the ranks of this job know", b"j" * 16)
HELLO = Hello(rank=1, target=0, size=3, data=False)
MESSAGES_EACH = 250_000
EDGES = (
    bytes(4),
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    bytes(8),
    b"\xff" * 8,
    b"pCbr",
    b"\0\1\5\0",
)


def damaged(message: bytes, draw: random.Random) -> bytes:
    """*message* with some of its bytes replaced, of the same length."""
    changed = bytearray(message)
    kind = draw.random()
    at = int(draw.random() * len(changed))
    if kind < 0.5:
        changed[at] ^= 1 << int(draw.random() * 8)
    elif kind < 0.8:
        edge = EDGES[int(draw.random() * len(EDGES))]
        at = max(0, min(at, len(changed) - len(edge)))
        changed[at : at + len(edge)] = edge
    elif kind < 0.95:
        changed[at:] = draw.randbytes(len(changed) - at)
    else:
        return draw.randbytes(len(changed))
    return bytes(changed)


def test_a_server_refuses_every_damaged_message_and_says_why_only_by_version():
    draw = random.Random(1)
    admitted = []

    def admit(hello: Hello) -> tuple[Outcome, int]:
        admitted.append(hello)
        return Outcome.IN, 0

    count = 0
    while count < MESSAGES_EACH:
        client, server = ClientHandshake(KEYS, HELLO), ServerHandshake(KEYS, admit)
        hello = client.opening
        if draw.random() < 0.7:
            bad = damaged(hello, draw)
            count += 1
            try:
                server.take(bad[:8])
                challenge = server.take(bad[8:])
            except HandshakeFailed as error:
                assert len(error.answer) in (0, 16)
                continue
            # Its fields are anyone's guess; that they are not the client's own shows in the challenge.
            if bad != hello:
                try:
                    client.take(challenge[:8])
                    client.take(challenge[8:])
                except HandshakeFailed:
                    continue
                raise AssertionError("the client takes the challenge to another hello")
            continue
        server.take(hello[:8])
        challenge = server.take(hello[8:])
        client.take(challenge[:8])
        proof = client.take(challenge[8:])
        bad = damaged(proof, draw)
        count += 1
        if bad == proof:
            continue
        try:
            server.take(bad)
        except HandshakeFailed as error:
            assert len(error.answer) in (0, 16)
        else:
            raise AssertionError("a damaged proof holds")
    assert admitted == []


def test_a_client_refuses_every_damaged_message():
    draw = random.Random(2)
    count = 0
    while count < MESSAGES_EACH:
        client, server = ClientHandshake(KEYS, HELLO), ServerHandshake(KEYS, lambda hello: (Outcome.IN, 0))
        server.take(client.opening[:8])
        message = server.take(client.opening[8:])
        if draw.random() < 0.3:
            client.take(message[:8])
            message = server.take(client.take(message[8:]))
        bad = damaged(message, draw)
        count += 1
        if bad == message:
            continue
        try:
            client.take(bad[:8])
            client.take(bad[8:])
        except HandshakeFailed:
            assert client.link is None
        else:
            raise AssertionError("a damaged message holds")
