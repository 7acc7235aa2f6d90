"""What ranks get from their launcher: all that they need, and nothing else."""

from __future__ import annotations

import os
import sys
import textwrap

import pytest

from comm.launching import ranks
from pycobre.comm import launch


def test_a_rank_inherits_only_what_it_needs():
    body = """
    paths = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    pipe.send(b" ".join(os.readlink(path).encode() for path in paths if os.path.lexists(path)))
    pipe.send(b"%d" % os.getsid(0))
    comm.close()
    """
    with ranks(body, 1) as job:
        (_, descriptors), (_, session) = job
    assert descriptors.count(b"memfd:") <= 1
    assert descriptors.count(b"pipe:") <= 4  # stderr, the watch, the lines, and perhaps stdout
    assert int(session) == os.getsid(0), "a session of its own would keep ranks from giving way to each other"


def test_the_secret_of_tcp_is_in_a_sealed_file_alone_and_the_socket_at_rank_0():
    body = """
    import fcntl, os
    from pycobre.comm import launcher_pipe
    with open("/proc/self/environ", "rb") as file:
        environment = file.read()
    with open("/proc/self/cmdline", "rb") as file:
        everything = environment + file.read()
    secret = int(os.environ["_PYCOBRE_TCP_SECRET"])
    whole = os.pread(secret, 100, 0)
    seals = fcntl.fcntl(secret, fcntl.F_GET_SEALS)
    shown = whole[:32] in everything or whole[:32].hex().encode() in everything
    launcher_pipe().send(f"{len(whole)} {seals} {shown} {'_PYCOBRE_TCP_LISTENER' in os.environ}".encode())
    """
    with launch([sys.executable, "-c", textwrap.dedent(body)], 2, backend="tcp") as job:
        told = dict(job)
    assert told == {0: b"48 15 False True", 1: b"48 15 False False"}


def test_the_libraries_of_a_rank_have_one_thread_unless_the_environment_says_more(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    body = """
    threads = [os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "MKL")]
    pipe.send(f"{threads} {len(os.listdir('/proc/self/task'))}".encode())
    comm.close()
    """
    with ranks(body, 1) as job:
        [(_, told)] = job
    assert told == b"['3', '1', '1'] 2"  # of Python, and what watches the launcher


@pytest.mark.parametrize(("outer", "inner"), [("shm", "tcp"), ("tcp", "shm"), ("tcp", "tcp")])
def test_a_group_within_a_rank_of_a_group_is_its_own(outer, inner):
    body = f"""
    from pycobre.comm import launch
    code = "from pycobre.comm import *; c = create_communicator(); c.barrier();"
    code += "launcher_pipe().send(f'{{c.backend}} {{c.size}}'.encode()); c.close()"
    with launch([sys.executable, "-c", code], 3, backend="{inner}") as job:
        for _, line in job:
            pipe.send(line)
    pipe.send(f"{{comm.backend}} {{comm.size}}".encode())
    comm.close()
    """
    with ranks(body, 1, backend=outer, environment={**os.environ, "PMI_RANK": "0", "PMI_SIZE": "7"}) as job:
        lines = [line.decode() for _, line in job]
    assert lines == [f"{inner} 3"] * 3 + [f"{outer} 1"]


def test_a_leftover_environment_is_refused_not_joined():
    body = """
    import subprocess
    code = "from pycobre.comm import create_communicator; create_communicator()"
    inner = subprocess.run([sys.executable, "-c", code], capture_output=True)
    pipe.send(inner.stderr.splitlines()[-1])
    comm.close()
    """
    with ranks(body, 1) as job:
        [(_, line)] = job
    assert b"InitializationFailed" in line
    assert b"left over from a launch" in line or b"not one of ours" in line


def test_affinity_is_left_alone():  # 58
    with ranks("pipe.send(repr(os.sched_getaffinity(0)).encode())\ncomm.close()", 2) as job:
        assert {line for _, line in job} == {repr(os.sched_getaffinity(0)).encode()}


@pytest.mark.parametrize("unix_sockets", [True, False])
def test_what_the_user_has_set_for_tls_protects_a_launched_group(authority, unix_sockets):
    body = """
    import gc, socket
    comm.barrier()
    links = [one for one in gc.get_objects() if isinstance(one, socket.socket) and one.fileno() >= 0]
    shown = [one.version() if hasattr(one, "version") else one.family.name for one in links]
    pipe.send(" ".join(sorted(shown)).encode())
    comm.barrier()
    comm.close()
    """
    environment = {
        **os.environ,
        "COBRE_TCP_TLS_CERT": str(authority["ours"].certificate),
        "COBRE_TCP_TLS_KEY": str(authority["ours"].key),
        "COBRE_TCP_TLS_CA": str(authority["ours"].ca),
        "COBRE_TCP_UNIX_SOCKETS": "1" if unix_sockets else "0",
    }
    with ranks(body, backend="tcp", environment=environment) as job:
        told = {rank: line.decode().split() for rank, line in job}
    data = ["AF_UNIX" if unix_sockets else "TLSv1.3"] * 2  # to each of the others
    assert told == {0: [*data, "TLSv1.3", "TLSv1.3"], 1: [*data, "TLSv1.3"], 2: [*data, "TLSv1.3"]}
