"""The launcher: exit codes, the first failure, signals, lines, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from pycobre.comm import follow_launcher, launch, launcher_pipe
from pycobre.comm.process import RankProcess
from pycobre.errors import InitializationFailed, WorkerError

HEAD = """
import os, signal, sys, time
from pycobre.comm import create_communicator, launcher_pipe
comm = create_communicator()
pipe = launcher_pipe()
"""


@contextlib.contextmanager
def ranks(body: str, count: int = 3, **options):
    """A launch of *body* that is killed, rank by rank, if it takes too long."""
    options.setdefault("on_stderr", lambda rank, line: None)
    with launch([sys.executable, "-c", HEAD + textwrap.dedent(body)], count, **options) as job:
        watchdog = threading.Timer(30, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            yield job
        finally:
            watchdog.cancel()
    assert not any(alive(pid) for pid in job.pids)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def gone_within(pids, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while any(alive(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(alive(pid) for pid in pids)


def test_lines_of_every_rank_arrive_whole_and_in_order():
    body = """
    with comm:
        for turn in range(200):
            pipe.send(b"%d " % turn + b"x" * (turn * 50))
        comm.barrier()
    """
    with ranks(body) as job:
        lines = {rank: [] for rank in range(3)}
        for rank, line in job:
            lines[rank].append(line)
    expected = [b"%d " % turn + b"x" * (turn * 50) for turn in range(200)]
    assert all(lines[rank] == expected for rank in range(3))
    assert job.exit_codes == (0, 0, 0)


@pytest.mark.parametrize("rank", [0, 1, 2])  # 53
@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ("sys.exit(3)", 3, "ended with code 3"),
        ("os._exit(3)", 3, "ended with code 3"),
        ("raise ArithmeticError('dry river')", 1, "dry river"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "signal 9 (SIGKILL)"),
        (
            "signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)",
            130,
            "(SIGINT)",
        ),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "signal 11 (SIGSEGV)"),
    ],
)
def test_the_first_failure_is_reported_with_its_rank_and_code(rank, end, code, words):
    body = f"""
    comm.barrier()
    if comm.rank == {rank}:
        {end}
    comm.barrier()
    """
    with ranks(body) as job, pytest.raises(WorkerError) as caught:
        list(job)
    assert (caught.value.rank, caught.value.exit_code) == (rank, code)
    assert words in str(caught.value)
    assert None not in job.exit_codes


@pytest.mark.parametrize(  # 53
    ("end", "code", "words"),
    [
        ("sys.exit(3)", 3, "ended with code 3"),
        ("os._exit(3)", 3, "ended with code 3"),
        ("raise ArithmeticError('dry river')", 1, "dry river"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "signal 9 (SIGKILL)"),
        ("signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)", 130, "SIGINT"),
    ],
)
def test_the_first_failure_over_tcp_is_told_from_what_others_say_of_it(end, code, words):
    body = f"""
    comm.barrier()
    if comm.rank == 1:
        {end}
    comm.barrier()
    """
    with ranks(body, backend="tcp") as job, pytest.raises(WorkerError, match=re.escape(words)) as caught:
        list(job)
    assert (caught.value.rank, caught.value.exit_code) == (1, code)


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_a_rank_that_ends_well_without_closing_is_named_by_the_others(backend):  # 53
    body = """
    comm.barrier()
    if comm.rank == 1:
        os._exit(0)
    comm.barrier()
    """
    with ranks(body, backend=backend) as job, pytest.raises(WorkerError, match="rank 1") as caught:
        list(job)
    assert (caught.value.rank in (0, 2), caught.value.exit_code) == (True, 1)


@pytest.mark.parametrize("backend", ["shm", "tcp"])
@pytest.mark.parametrize(
    "end",
    [
        "kept = comm",
        "kept = [comm]; kept.append(kept)",
        "import threading; threading.Thread(target=comm.barrier, daemon=True).start(); time.sleep(0.2)",
    ],
    ids=["global", "cycle", "amid a call of a daemon thread"],
)
def test_an_end_without_closing_is_quiet_and_the_others_hear_of_it(end, backend):  # 60
    seen = []
    body = f"""
    comm.barrier()
    if comm.rank == 0:
        {end}
        sys.exit(0)
    time.sleep(0.5)
    try:
        comm.barrier()  # may be whole: rank 0 has called it, if only in a thread
        comm.barrier()
    except RuntimeError as error:
        pipe.send(str(error).encode())
    """
    with ranks(body, 2, backend=backend, on_stderr=lambda rank, line: seen.append(line)) as job:
        told = [line for _, line in job]
    assert (seen, job.exit_codes) == ([], (0, 0))
    assert len(told) == 1
    assert b"rank 0" in told[0]


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_a_failing_with_block_is_blamed_on_its_rank(backend):
    body = """
    with comm:
        comm.barrier()
        if comm.rank == 2:
            time.sleep(0.1)
            raise ArithmeticError("dry river")
        comm.barrier()
    """
    with ranks(body, backend=backend) as job, pytest.raises(WorkerError, match="dry river") as caught:
        list(job)
    assert caught.value.rank == 2


def test_ranks_that_compute_are_ended_after_a_failure():
    body = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    comm.barrier()
    if comm.rank == 1:
        sys.exit(4)
    while True:
        pass
    """
    began = time.monotonic()
    with ranks(body, grace_secs=0.5) as job, pytest.raises(WorkerError) as caught:
        list(job)
    assert (caught.value.rank, caught.value.exit_code) == (1, 4)
    assert job.exit_codes == (137, 4, 137)
    assert time.monotonic() - began < 5


def test_a_process_that_cannot_be_killed_is_named_and_left(monkeypatch):  # 52
    """Signals are kept from one rank, as the kernel keeps them from a process in uninterruptible sleep."""
    # By its name the module would be the function of the same name.
    monkeypatch.setattr(sys.modules[launch.__module__], "_UNKILLABLE_SECS", 0.2)
    reached = RankProcess.signal_group
    monkeypatch.setattr(
        RankProcess, "signal_group", lambda self, number: self.rank == 0 or reached(self, number)
    )
    seen = []
    body = """
    comm.barrier()
    if comm.rank == 1:
        sys.exit(4)
    time.sleep(60)
    """
    command = [sys.executable, "-c", HEAD + textwrap.dedent(body)]
    job = launch(command, 2, grace_secs=0.1, on_stderr=lambda rank, line: seen.append((rank, line)))
    process = job._ranks[0]._process
    watchdog = threading.Timer(30, process.kill)
    watchdog.start()
    try:
        with job, pytest.raises(WorkerError) as caught:
            list(job)
        assert process.poll() is None
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
    assert (caught.value.rank, job.exit_codes) == (1, (None, 4))
    assert (0, b"process %d can't be killed and is left in state S" % job.pids[0]) in seen


def test_leaving_the_block_ends_what_runs_and_what_that_started():
    body = """
    import subprocess
    child = subprocess.Popen(["sleep", "60"])
    pipe.send(b"%d" % child.pid)
    time.sleep(60)
    """
    with ranks(body, 2, grace_secs=1) as job:
        lines = iter(job)
        children = [int(next(lines)[1]) for _ in range(2)]
        assert all(alive(pid) for pid in children)
    assert job.exit_codes == (143, 143)
    assert gone_within(children, 1)


def test_standard_error_is_handed_over_line_by_line():
    seen = []
    with ranks(
        "sys.stderr.write(f'from {comm.rank}\\nand more')\ncomm.close()",
        2,
        on_stderr=lambda rank, line: seen.append((rank, line)),
    ) as job:
        list(job)
    assert sorted(seen) == [(0, b"and more"), (0, b"from 0"), (1, b"and more"), (1, b"from 1")]


def test_standard_error_goes_to_ours_by_default(capsys):
    with ranks("sys.stderr.write('careful\\n')\ncomm.close()", 1, on_stderr=None) as job:
        list(job)
    assert capsys.readouterr().err == "[rank 0] careful\n"


def test_standard_output_goes_where_it_is_told(tmp_path):
    with (
        (tmp_path / "out").open("wb") as file,
        ranks('os.write(1, b"%d\\n" % comm.size)\ncomm.close()', 2, stdout=file) as job,
    ):
        list(job)
    assert (tmp_path / "out").read_text() == "2\n2\n"


def test_a_program_that_does_not_exist_is_one_clear_error():
    before = open_descriptors()
    with pytest.raises(InitializationFailed, match="no-such-program"):
        launch(["/no-such-program"], 3)
    assert open_descriptors() == before


@pytest.mark.parametrize("backend", ["smoke", "mpi", "local"])
def test_a_launch_is_over_shm_or_tcp(backend):
    with pytest.raises(InitializationFailed, match="shm or tcp"):
        launch([sys.executable], 2, backend=backend)


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_nothing_stays_open_after_a_launch(backend):
    before = open_descriptors()
    with ranks("comm.close()", 2, backend=backend) as job:
        list(job)
    assert open_descriptors() == before


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


def test_affinity_is_left_alone():  # 58
    with ranks("pipe.send(repr(os.sched_getaffinity(0)).encode())\ncomm.close()", 2) as job:
        assert {line for _, line in job} == {repr(os.sched_getaffinity(0)).encode()}


def test_a_process_that_no_launcher_started_has_no_pipe():
    assert launcher_pipe() is None
    assert not follow_launcher()


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


# ---- from scripts: no __main__ guard, signals, and a launcher that is killed

SCRIPT = """
import sys
from pycobre.comm import launch
BODY = '''{body}'''
with launch([sys.executable, "-c", BODY], {count}, grace_secs=1) as job:
    print(*job.pids, flush=True)
    for rank, line in job:
        print(line.decode(), flush=True)
print("done", flush=True)
"""


@contextlib.contextmanager
def script(body: str, count: int = 2):
    text = SCRIPT.format(body=HEAD + textwrap.dedent(body), count=count)
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(30, process.kill)
    watchdog.start()
    pids = []
    try:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        yield process, pids
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_script_needs_no_main_guard():
    with script("comm.barrier(); comm.close()") as (process, _):
        out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == ("done\n", "", 0)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_signals_reach_every_rank_and_then_take_effect(number, code):
    body = """
    def note(number, frame):
        pipe.send(f"rank {comm.rank} saw {number}".encode())
        comm.close()
        sys.exit(0)
    signal.signal(signal.SIGINT, note)
    signal.signal(signal.SIGTERM, note)
    comm.barrier()
    pipe.send(b"ready")
    time.sleep(60)
    """
    with script(body) as (process, pids):
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
        assert sorted(out.splitlines()) == [f"rank {rank} saw {int(number)}" for rank in range(2)]
        assert process.returncode == code
        assert gone_within(pids, 1)


def test_ctrl_c_in_a_wait_ends_everything_soon():  # 55
    body = """
    pipe.send(b"ready")
    if comm.rank == 0:
        time.sleep(60)
    comm.barrier()
    """
    with script(body) as (process, pids):
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert time.monotonic() - began < 2
        assert process.returncode == -signal.SIGINT
        assert gone_within(pids, 1)


def test_a_second_signal_kills():  # 55
    body = """
    signal.signal(signal.SIGINT, lambda *_: pipe.send(b"no"))
    pipe.send(b"ready")
    while True:
        time.sleep(1)
    """
    with script(body) as (process, pids):
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        process.send_signal(signal.SIGINT)
        assert [process.stdout.readline() for _ in range(2)] == ["no\n"] * 2
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == -signal.SIGINT
        assert gone_within(pids, 1)


@pytest.mark.parametrize(
    "busy",
    [
        "time.sleep(60)",
        "while True: pass",
        "comm.barrier() if comm.rank == 0 else time.sleep(60)",
        "import numpy; a = numpy.ones((6000, 6000)); a @ a @ a @ a @ a @ a",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
    ],
)
def test_ranks_do_not_outlive_a_killed_launcher(busy):
    with script(f"pipe.send(b'ready')\n{busy}") as (process, pids):
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        time.sleep(0.1)
        process.kill()
        assert gone_within(pids, 2)
