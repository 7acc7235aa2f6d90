"""What ranks conclude while others owe a sign of life. Here that is made up, in tests/faults it is so."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from pycobre.comm.call import Kind
from pycobre.comm.tcp import wire
from pycobre.comm.tcp.control import Ailment, Trouble
from pycobre.comm.tcp.liveness import end_when_silent, silence_secs
from pycobre.comm.tcp.watch import Watch


@pytest.fixture
def silences(monkeypatch):
    """For how long the other side of each connection has owed a sign of life, as far as ranks know."""
    known: dict[socket.socket, float] = {}
    monkeypatch.setattr(wire, "silence_secs", lambda connection: known.get(connection, 0.0))
    return known


def joined_group(party, size):
    group = party(size)
    group.start(*range(size))
    return group.whole()


def lost_link(peer):
    return Trouble(1, Ailment.ENDED, Kind.BARRIER, peer)


def test_who_reports_waits_with_rank_0_for_those_that_are_silent(party, silences):
    joined = joined_group(party, 4)
    silences.update({joined[0].control[rank].socket: 3.0 for rank in (2, 3)})
    watches = [Watch(joined[rank]) for rank in (0, 1)]
    count = threading.Timer(1.5, lambda: silences.update(dict.fromkeys(silences, 5.0)))
    count.start()
    watches[1].report(lost_link(2))
    found = [watch.verdict() for watch in reversed(watches)]
    count.join()
    for watch in watches:
        watch.leave(ended=False)
    assert found[0] == found[1]
    assert (found[0].reason, found[0].ranks) == ("lost", (2, 3))


@pytest.mark.parametrize(("silence", "blamed"), [(3.0, (0,)), (0.0, (2,))])
def test_a_rank_that_hears_nothing_of_rank_0_blames_another_only_if_that_is_sound(
    party, silences, silence, blamed
):
    joined = joined_group(party, 3)
    silences[joined[1].control[0].socket] = silence
    watch = Watch(joined[1])  # rank 0 has none that would answer
    count = threading.Timer(1.5, lambda: silences.update(dict.fromkeys(silences, 5.0)))
    count.start()
    began = time.monotonic()
    watch.report(lost_link(2))
    found = watch.verdict()
    took = time.monotonic() - began
    count.join()
    watch.leave(ended=False)
    assert (found.reason, found.ranks) == ("lost", blamed)
    assert (took > 1.0) == (silence > 0.0)


def test_a_sound_connection_owes_nothing_however_long_it_is_idle():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        with one, listener.accept()[0] as other:
            for side in (one, other):
                end_when_silent(side)
            one.sendall(b"heard, though nobody reads it")
            time.sleep(3.0)
            assert silence_secs(one) == silence_secs(other) == 0.0
    for side in socket.socketpair():
        with side:
            assert silence_secs(side) == 0.0
