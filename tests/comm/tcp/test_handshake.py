"""Two sides come together only if both know the secret and nobody has touched a bit between them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pycobre.comm.tcp.handshake import (
    ABI,
    ClientHandshake,
    HandshakeFailed,
    Hello,
    JobKeys,
    OtherVersion,
    Outcome,
    Refused,
    ServerHandshake,
    Stranger,
)

KEYS = JobKeys(b"only the ranks of this job know", b"j" * 16)
HELLO = Hello(rank=1, target=0, size=3, data=True)


def let_in(hello: Hello) -> tuple[Outcome, int]:
    return Outcome.IN, 0


def said_by_client(handshake, data: bytes) -> bytes:
    """What *handshake* answers to *data*, given in the pieces that it wants."""
    answer = b""
    while data:
        piece, data = data[: handshake.wanted], data[handshake.wanted :]
        answer = handshake.take(piece)
    return answer


said_by_server = said_by_client


def conversation(client, server, change=lambda number, message: message) -> list[bytes]:
    """All messages of a handshake, each as *change* lets it through."""
    messages = []
    message = client.opening
    for number in range(4):
        message = change(number, message)
        messages.append(message)
        message = said_by_client(client, message) if number % 2 else said_by_server(server, message)
    return messages


def both():
    return ClientHandshake(KEYS, HELLO), ServerHandshake(KEYS, let_in)


def test_two_that_know_the_secret_come_together():
    client, server = both()
    messages = conversation(client, server)
    assert [len(message) for message in messages] == [72, 72, 40, 48]
    assert server.hello == HELLO
    assert (client.wanted, server.wanted) == (0, 0)
    for purpose in (b"frames", b"notes"):
        mine, theirs = client.link.keys(purpose), server.link.keys(purpose)
        assert (mine.sends, mine.receives) == (theirs.receives, theirs.sends)
        assert len(mine.sends) == len(mine.receives) == 32


def test_no_key_is_used_twice():
    seen = set()
    for _ in range(3):
        client, server = both()
        conversation(client, server)
        for purpose in (b"frames", b"notes"):
            seen |= {client.link.keys(purpose).sends, client.link.keys(purpose).receives}
    assert len(seen) == 12


@pytest.mark.parametrize("number", range(4), ids=["hello", "challenge", "proof", "result"])
def test_every_bit_of_every_message_counts(number):
    length = (72, 72, 40, 48)[number]
    for bit in range(8 * length):

        def flip(at, message, bit=bit):
            if at != number:
                return message
            changed = bytearray(message)
            changed[bit // 8] ^= 1 << bit % 8
            return bytes(changed)

        client, server = both()
        with pytest.raises(HandshakeFailed):
            conversation(client, server, flip)
        assert client.link is None
        # Once a proof has held, the server may be in; the client that goes closes the link.
        assert server.link is None or number == 3


@pytest.mark.parametrize("number", range(4), ids=["hello", "challenge", "proof", "result"])
def test_a_message_of_an_earlier_handshake_is_refused(number):
    recorded = conversation(*both())
    client, server = both()
    with pytest.raises(Stranger):
        conversation(client, server, lambda at, message: recorded[at] if at == number else message)


def test_a_whole_client_said_again_proves_nothing():
    recorded = conversation(*both())
    server = ServerHandshake(KEYS, let_in)
    said_by_server(server, recorded[0])
    with pytest.raises(Stranger) as caught:
        said_by_server(server, recorded[2])
    assert caught.value.answer == b""


def test_what_a_side_said_itself_is_no_answer():
    client, server = both()
    with pytest.raises(Stranger):
        said_by_client(client, client.opening)
    challenge = said_by_server(server, ClientHandshake(KEYS, HELLO).opening)
    with pytest.raises(Stranger):
        said_by_server(server, challenge[:40])
    # Nor does another server's challenge, got for the same hello, make a proof.
    client, server, other = ClientHandshake(KEYS, HELLO), *(ServerHandshake(KEYS, let_in) for _ in range(2))
    said_by_server(server, client.opening)
    proof = said_by_client(client, said_by_server(other, client.opening))
    with pytest.raises(Stranger):
        said_by_server(server, proof)


def test_the_proof_of_one_rank_is_none_for_another():
    one = ClientHandshake(KEYS, HELLO)
    two = ClientHandshake(KEYS, replace(HELLO, rank=2))
    server_of_one, server_of_two = (ServerHandshake(KEYS, let_in) for _ in range(2))
    proof = said_by_client(one, said_by_server(server_of_one, one.opening))
    said_by_server(server_of_two, two.opening)
    with pytest.raises(Stranger):
        said_by_server(server_of_two, proof)


@pytest.mark.parametrize(
    "other",
    [
        JobKeys(b"something else altogether", b"j" * 16),
        JobKeys(b"only the ranks of this job know", b"k" * 16),
    ],
    ids=["secret", "job"],
)
def test_the_client_is_the_first_to_know_that_the_other_is_none_of_ours(other):
    client = ClientHandshake(other, HELLO)
    server = ServerHandshake(KEYS, let_in)
    with pytest.raises(Stranger, match="does not know our secret, or is of another job"):
        said_by_client(client, said_by_server(server, client.opening))
    assert not client.proved


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.IN])
def test_a_reason_is_given_to_those_that_have_proved_themselves(outcome):
    client, server = ClientHandshake(KEYS, HELLO), ServerHandshake(KEYS, lambda hello: (outcome, ABI))
    proof = said_by_client(client, said_by_server(server, client.opening))
    with pytest.raises(Refused) as theirs:
        said_by_server(server, proof)
    with pytest.raises(Refused) as own:
        said_by_client(client, theirs.value.answer)
    assert own.value.outcome == theirs.value.outcome == outcome
    assert str(own.value) == str(theirs.value)
    assert "rank 1" in str(own.value)


def test_nobody_is_admitted_before_the_proof_holds():
    asked = []
    server = ServerHandshake(KEYS, lambda hello: (asked.append(hello), (Outcome.IN, 0))[1])
    client = ClientHandshake(KEYS, HELLO)
    proof = bytearray(said_by_client(client, said_by_server(server, client.opening)))
    proof[-1] ^= 1
    with pytest.raises(Stranger):
        said_by_server(server, bytes(proof))
    assert asked == []


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_another_version_is_told_ours_in_clear(version):
    opening = bytearray(ClientHandshake(KEYS, HELLO).opening)
    opening[4:6] = version.to_bytes(2, "big")
    with pytest.raises(OtherVersion, match=f"speaks protocol {version}, this rank protocol 1") as caught:
        said_by_server(ServerHandshake(KEYS, let_in), bytes(opening))
    assert caught.value.answer == b"pCbr\x00\x01\x05\x00" + bytes(8)


def test_a_version_is_not_answered_by_another_version_for_ever():
    with pytest.raises(OtherVersion) as caught:
        said_by_server(ServerHandshake(KEYS, let_in), b"pCbr\x00\x02\x05\x00" + bytes(8))
    assert caught.value.answer == b""
    with pytest.raises(OtherVersion) as caught:
        said_by_client(ClientHandshake(KEYS, HELLO), b"pCbr\x00\x02\x05\x00" + bytes(8))
    assert caught.value.version == 2


@pytest.mark.parametrize(
    "noise", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01", bytes(8), b"\xff" * 8, b"SSH-2.0-"]
)
def test_who_speaks_something_else_hears_nothing(noise):
    with pytest.raises(Stranger) as caught:
        ServerHandshake(KEYS, let_in).take(noise[:8])
    assert caught.value.answer == b""
