"""The launcher: exit codes, the first failure, signals, lines, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from pycobre.comm import follow_launcher, launch, launcher_pipe
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


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ("sys.exit(3)", 3, "ended with code 3"),
        ("os._exit(3)", 3, "ended with code 3"),
        ("raise ArithmeticError('dry river')", 1, "dry river"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "signal 9 (SIGKILL)"),
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


def test_a_failing_with_block_is_blamed_on_its_rank():
    body = """
    with comm:
        comm.barrier()
        if comm.rank == 2:
            raise ArithmeticError("dry river")
        comm.barrier()
    """
    with ranks(body) as job, pytest.raises(WorkerError, match="dry river") as caught:
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
        ranks("print(comm.size)\ncomm.close()", 2, stdout=file) as job,
    ):
        list(job)
    assert (tmp_path / "out").read_text() == "2\n2\n"


def test_a_program_that_does_not_exist_is_one_clear_error():
    before = open_descriptors()
    with pytest.raises(InitializationFailed, match="no-such-program"):
        launch(["/no-such-program"], 3)
    assert open_descriptors() == before


def test_nothing_stays_open_after_a_launch():
    before = open_descriptors()
    with ranks("comm.close()", 2) as job:
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


def test_affinity_is_left_alone():
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


def test_ctrl_c_in_a_wait_ends_everything_soon():
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


def test_a_second_signal_kills():
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
