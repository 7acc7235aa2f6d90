"""A group comes together on all ranks or on none, and nothing listens afterwards."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from pycobre.comm.tcp import TcpConfig, TlsFiles
from pycobre.comm.tcp.handshake import ClientHandshake, Hello, JobKeys, OtherVersion
from pycobre.comm.tcp.join import join
from pycobre.comm.tcp.knock import knock
from pycobre.comm.tcp.sockets import listen_at, resolved
from pycobre.comm.tcp.tls import TlsLink
from pycobre.errors import InitializationFailed

SECRET = b"only the ranks of this job know"
SOON = 5.0  # of 20 s; on a quiet machine what is promised within a second takes half of it


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(
    not has_ipv6(), reason="this machine has no IPv6 loopback; enable it in the kernel"
)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("settings", [{}, {"unix_sockets": False}], ids=["unix", "tcp"])
def test_every_pair_has_a_link(party, size, settings):
    group = party(size, **settings)
    group.start(*range(size))
    joined = group.whole()
    families = {link.socket.family for own in joined for link in own.data.values()}
    expected = socket.AF_UNIX if group.settings.get("unix_sockets", True) else socket.AF_INET
    assert families == ({expected} if size > 1 else set())
    assert {peer.pid for peer in joined[0].peers} == {os.getpid()}
    assert all(own.peers == joined[0].peers for own in joined) or size == 1


@pytest.mark.parametrize(
    "host", ["localhost", pytest.param("::1", marks=needs_ipv6), "127.0.0.3", "127.1"], ids=str
)
def test_any_spelling_of_the_coordinator_will_do(party, host):
    group = party(3, host=host, unix_sockets=False)
    group.start(0, 1, 2)
    group.whole()


def test_a_rank_without_unix_sockets_gets_tcp_from_those_that_have_them(party):
    group = party(3)
    group.start(0, 2)
    group.start(1, unix_sockets=False)
    joined = group.whole()
    assert joined[0].data[2].socket.family == socket.AF_UNIX
    assert joined[0].data[1].socket.family == joined[2].data[1].socket.family == socket.AF_INET


def test_links_over_tcp_notice_a_machine_that_is_gone(party):
    group = party(2, unix_sockets=False)
    group.start(0, 1)
    for own in group.whole():
        for link in (*own.control.values(), *own.data.values()):
            told = {
                name: link.socket.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
                for name in (
                    "TCP_NODELAY",
                    "TCP_KEEPIDLE",
                    "TCP_KEEPINTVL",
                    "TCP_KEEPCNT",
                    "TCP_USER_TIMEOUT",
                )
            }
            assert list(told.values()) == [1, 2, 1, 3, 5000]
            assert link.socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


def test_frames_are_sealed_with_a_key_of_their_link_and_direction(party):
    group = party(3, seal_frames=True)
    group.start(0, 1, 2)
    keys = {}
    for own in group.whole():
        for kind in ("control", "data"):
            for peer, link in getattr(own, kind).items():
                keys[kind, own.rank, peer] = link.keys
    for (kind, rank, peer), own in keys.items():
        assert own.sends == keys[kind, peer, rank].receives
    assert len({own.sends for own in keys.values()}) == len(keys)


def test_ranks_wait_for_a_coordinator_that_comes_late(party):
    group = party(3)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        group.port = probe.getsockname()[1]
    group.start(1, 2)
    time.sleep(1)
    group.start(0, listener=None)
    group.whole()


def test_a_rank_that_died_before_the_others_came_may_come_again(party):
    group = party(3)
    group.start(0)
    keys = JobKeys(SECRET, group.config(1).job_id)
    link, _ = knock(
        "rank 0",
        lambda: resolved(group.host, group.port),
        lambda: ClientHandshake(keys, Hello(1, 0, 3, data=False)),
        tls=None,
        deadline=time.monotonic() + 5,
    )
    link.close()
    time.sleep(0.1)
    group.start(1, 2)
    group.whole()


def test_the_same_port_serves_one_group_after_another(party):
    first = party(2)
    first.start(0, 1)
    first.whole()
    for _ in range(5):
        group = party(2, job=os.urandom(8))
        group.port = first.port
        first.end()
        group.start(0, 1, listener=None)
        group.whole()


def test_two_groups_on_one_secret_are_told_apart_by_their_job(party):
    group = party(2, job=b"new")
    group.start(0)
    group.start(1, job=b"old")
    with pytest.raises(InitializationFailed, match="does not know our secret, or is of another job"):
        raise ended(group, 1)
    group.start(1)
    group.whole()


# ---- what listens


def test_only_the_asked_address_listens_and_nothing_afterwards(party, listening):
    before = listening()
    group = party(3)
    assert listening() - before == {f"127.0.0.1 {group.port}"}
    group.start(0, 1)
    time.sleep(0.3)
    assert listening() - before == {f"127.0.0.1 {group.port}"}
    group.start(2)
    group.whole()
    assert listening() == before


def test_without_a_bind_address_rank_0_listens_on_loopback_alone(party, listening):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    before = listening()
    group = party(2, limit=1.0)
    group.port = port
    group.start(0, listener=None, coordinator=None)
    time.sleep(0.3)
    assert f"127.0.0.1 {port}" in listening() - before
    assert not {place for place in listening() - before if not place.startswith("127.0.0.1 ")}
    with pytest.raises(
        InitializationFailed, match=r"rank 1 of 2 .*on 127\.0\.0\.1 alone.*COBRE_TCP_BIND_ADDR"
    ):
        raise ended(group, 0)


@pytest.mark.parametrize("spelling", ["0", "00", "0x0"])
def test_every_address_is_meant_only_where_it_is_written_out(spelling):
    with pytest.raises(InitializationFailed, match=r"write 0\.0\.0\.0 or ::"):
        listen_at(spelling, 0, 1)


# ---- groups that do not come together


def ended(group, rank: int) -> Exception:
    """The error of *rank*, once it has one."""
    until = time.monotonic() + 30
    while rank not in group.results:
        assert time.monotonic() < until, "the rank goes on"
        time.sleep(0.01)
    result = group.results[rank]
    assert isinstance(result, Exception), "the rank joined"
    return result


def test_all_that_came_hear_who_is_missing(party):
    group = party(4, limit=1.0)
    group.start(0, 2)
    results = group.end()
    assert str(results[0]) == str(results[2])
    assert "ranks 1, 3 of 4 did not come within 1 s" in str(results[0])


def test_a_coordinator_that_never_comes_ends_the_wait_at_the_deadline(party):
    group = party(2)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        group.port = probe.getsockname()[1]
    group.start(1, join_timeout_secs=0.5)
    expected = rf"rank 0 .* could not be reached within 0.5 s \(127\.0\.0\.1:{group.port}: ECONNREFUSED\)"
    with pytest.raises(InitializationFailed, match=expected):
        raise ended(group, 1)


def test_an_address_that_swallows_everything_ends_at_the_deadline(party):
    # A backlog that is full drops what comes, as a firewall does.
    with contextlib.ExitStack() as closing:
        hole = closing.enter_context(socket.socket())
        hole.bind(("127.0.0.1", 0))
        hole.listen(0)
        for _ in range(8):
            filler = closing.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(hole.getsockname())
        group = party(2)
        group.port = hole.getsockname()[1]
        group.start(1, join_timeout_secs=0.7)
        with pytest.raises(InitializationFailed, match=r"within 0\.7 s \(127\.0\.0\.1:\d+: ETIMEDOUT\)"):
            raise ended(group, 1)
        assert group.took[1] < 0.7 + 1


def test_an_attempt_that_the_deadline_cuts_short_does_not_hide_what_the_others_ended_with(party):
    with socket.create_server(("127.0.0.1", 0)) as door:
        group = party(2)
        group.port = door.getsockname()[1]
        group.start(1, join_timeout_secs=0.5)
        door.accept()[0].close()
        # The next one is accepted by the kernel, and by nobody else.
        with pytest.raises(InitializationFailed, match=r"within 0\.5 s .*, as one does that wants TLS"):
            raise ended(group, 1)


def test_a_name_that_does_not_resolve_ends_at_the_deadline(party):
    group = party(2)
    group.start(1, coordinator="no-such-host.invalid", join_timeout_secs=0.3)
    with pytest.raises(InitializationFailed, match=r"no-such-host\.invalid.*its name: "):
        raise ended(group, 1)


def test_a_port_that_is_taken_is_named_with_its_address(party):
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        group = party(2)
        group.port = port
        group.start(0, listener=None)
        with pytest.raises(
            InitializationFailed, match=rf"can't listen at 127\.0\.0\.1:{port}: Address already"
        ):
            raise ended(group, 0)
        assert group.took[0] < 1


@pytest.mark.parametrize("address", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_of_another_machine_is_no_place_to_listen(address):
    with pytest.raises(InitializationFailed, match=f"can't listen at {address}"):
        listen_at(address, 0, 1)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"secret": b"something else altogether"}, "does not know our secret"),
        ({"size": 4}, "rank 1 was told of 4 ranks, rank 0 of 3"),
        ({"rank": 3, "size": 5}, "rank 3 was told of 5 ranks, rank 0 of 3"),
        ({"seal_frames": True}, "frames are sealed, or TLS is used, at one of rank 1 and rank 0 only"),
    ],
    ids=["secret", "size", "rank", "seal"],
)
def test_a_rank_that_does_not_fit_hears_why_at_once_and_the_group_goes_on(party, changes, expected):
    group = party(3)
    group.start(0, 2)
    group._threads.append(
        threading.Thread(target=group._join, args=(9, group.config(**{"rank": 1, **changes})))
    )
    group._threads[-1].start()
    with pytest.raises(InitializationFailed, match=expected):
        raise ended(group, 9)
    assert group.took[9] < SOON
    del group.results[9]
    group.start(1)
    group.whole()


def test_a_second_rank_of_one_number_is_refused_and_the_first_goes_on(party):
    group = party(3)
    group.start(0, 1)
    time.sleep(0.2)
    group._threads.append(threading.Thread(target=group._join, args=(9, group.config(1))))
    group._threads[-1].start()
    with pytest.raises(InitializationFailed, match="there is a rank 1 already"):
        raise ended(group, 9)
    assert group.took[9] < SOON
    del group.results[9]
    group.start(2)
    group.whole()


def test_rank_0_says_at_the_end_whom_it_has_refused(party):
    group = party(2, limit=1.0)
    group.start(0)
    group.start(1, size=3)
    results = group.end()
    assert "rank 1 of 2 did not come" in str(results[0])
    assert "rank 1 was told of 3 ranks, rank 0 of 2" in str(results[0])


def test_both_sides_say_which_protocols_they_speak(party):
    group = party(2, limit=1.0)
    group.start(0)
    keys = JobKeys(SECRET, group.config(1).job_id)
    hello = bytearray(ClientHandshake(keys, Hello(1, 0, 2, data=False)).opening)
    hello[5] = 2
    with socket.create_connection((group.host, group.port)) as newer:
        newer.sendall(hello)
        answer = newer.recv(100)
        assert newer.recv(100) == b""
    assert len(answer) == 16
    with pytest.raises(OtherVersion, match="speaks protocol 1"):
        # As the other version's own handshake would: the first eight bytes never change.
        raise OtherVersion(int.from_bytes(answer[4:6], "big"))
    assert "it speaks protocol 2, this rank protocol 1" in str(ended(group, 0))


def test_a_coordinator_of_another_version_is_named(party):
    group = party(2)
    group.start(1)

    def newer() -> None:
        group._listener.settimeout(10)
        while 1 not in group.results:
            with contextlib.suppress(TimeoutError), group._listener.accept()[0] as connection:
                connection.recv(100)
                connection.sendall(b"pCbr\x00\x02\x05\x00".ljust(16, b"\0"))
            group._listener.settimeout(0.2)

    newer()
    with pytest.raises(InitializationFailed, match="it speaks protocol 2, this rank protocol 1"):
        raise ended(group, 1)
    assert group.took[1] < SOON


def test_a_rank_that_leaves_in_the_middle_ends_the_group_for_all(party):
    group = party(3, limit=10.0)
    group.start(0, 1)
    keys = JobKeys(SECRET, group.config(2).job_id)
    link, secret = knock(
        "rank 0",
        lambda: resolved(group.host, group.port),
        lambda: ClientHandshake(keys, Hello(2, 0, 3, data=False)),
        tls=None,
        deadline=time.monotonic() + 5,
    )
    from pycobre.comm.tcp.card import Card
    from pycobre.comm.tcp.notes import SAYS, Notes

    notes = Notes(link, secret.keys(b"notes"), 4096)
    notes.send(SAYS, Card(1, "0" * 32, unix=True, address="").encode(), time.monotonic() + 5)
    until = time.monotonic() + 5
    while notes.receive() is None and time.monotonic() < until:
        time.sleep(0.01)
    link.close()
    results = group.end()
    assert "rank 2 went away while the group came together" in str(results[0])
    assert str(results[1]) == str(results[0])
    assert max(group.took.values()) < SOON


def test_without_a_secret_no_other_machine_is_asked(party):
    group = party(2, secret=None, insecure=True)
    group.start(1, coordinator="192.0.2.1")
    with pytest.raises(InitializationFailed, match=r"192\.0\.2\.1 is not loopback"):
        raise ended(group, 1)
    group.start(0, 1)
    group.whole()


def test_without_a_secret_a_listener_for_other_machines_is_refused(party):
    group = party(2, secret=None, insecure=True)
    with listen_at("0.0.0.0", 0, 1) as wide:
        group.start(0, listener=os.dup(wide.fileno()))
        with pytest.raises(InitializationFailed, match="loopback only"):
            raise ended(group, 0)


def test_a_descriptor_that_does_not_listen_is_refused(party):
    group = party(2)
    with socket.socket() as idle, Path("/dev/null").open() as file:
        for descriptor in (idle.fileno(), file.fileno(), 9999):
            group.results.clear()
            group.start(0, listener=descriptor)
            with pytest.raises(
                InitializationFailed, match=f"descriptor {descriptor} is not a listening socket"
            ):
                raise ended(group, 0)
        assert (idle.fileno() >= 0, file.read()) == (True, "")


def test_one_rank_alone_opens_no_socket():
    before = len(list(Path("/proc/self/fd").iterdir()))
    joined = join(TcpConfig(0, 1), time.monotonic())
    assert (joined.rank, joined.control, joined.data) == (0, {}, {})
    assert [peer.pid for peer in joined.peers] == [os.getpid()]
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_good_join_logs_nothing(party, caplog):
    with caplog.at_level(logging.DEBUG, "pycobre.comm.tcp"):
        group = party(3, unix_sockets=False)
        group.start(0, 1, 2)
        group.whole()
    assert not caplog.records


# ---- TLS


@pytest.mark.parametrize("unix_sockets", [True, False])
def test_over_tls_every_tcp_link_is_encrypted(party, authority, unix_sockets):
    group = party(3, tls=authority["ours"], unix_sockets=unix_sockets, seal_frames=True)
    group.start(0, 1, 2)
    for own in group.whole():
        for link in (*own.control.values(), *own.data.values()):
            if link.socket.family == socket.AF_UNIX:
                assert unix_sockets
            else:
                assert isinstance(link, TlsLink)
                assert link.socket.version() == "TLSv1.3"


def test_a_tls_link_carries_more_than_the_socket_holds_in_both_directions(party, authority):
    group = party(2, tls=authority["ours"], unix_sockets=False)
    group.start(0, 1)
    one, other = (own.data[1 - own.rank] for own in group.whole())
    payloads = {one: os.urandom(3 << 20), other: os.urandom(3 << 20)}
    left = {link: [memoryview(payload)[:10], memoryview(payload)[10:]] for link, payload in payloads.items()}
    got = {link: bytearray() for link in payloads}
    room = bytearray(100_000)
    until = time.monotonic() + 20
    while any(len(got[link]) < 3 << 20 for link in payloads):
        assert time.monotonic() < until
        for link, parts in left.items():
            # What did not go out is given again as it was.
            sent = link.send_some(parts)
            while parts and sent >= parts[0].nbytes:
                sent -= parts.pop(0).nbytes
            if sent:
                parts[0] = parts[0][sent:]
            while count := link.receive_some(memoryview(room)):
                got[link] += room[:count]
            assert not link.buffered
    assert got[one] == payloads[other]
    assert got[other] == payloads[one]


@pytest.mark.parametrize(("name", "expected"), [("theirs", "TLS: "), (None, "as one does that wants TLS")])
def test_a_rank_without_a_certificate_of_ours_stays_out(party, authority, name, expected):
    group = party(2, tls=authority["ours"])
    group.start(0)
    # Without TLS it sees no more than that it is sent away, as in a flood, and tries until its deadline.
    group.start(1, tls=authority[name] if name else None, join_timeout_secs=20.0 if name else 1.5)
    with pytest.raises(InitializationFailed, match=expected):
        raise ended(group, 1)
    assert group.took[1] < SOON
    group.start(1)
    group.whole()


def test_files_that_hold_no_certificate_are_named(party, authority, tmp_path):
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    group = party(2)
    group.start(0, tls=TlsFiles(empty, authority["ours"].key, authority["ours"].ca))
    with pytest.raises(InitializationFailed, match=r"empty\.pem.*can't be set up"):
        raise ended(group, 0)
