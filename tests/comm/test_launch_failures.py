"""A rank fails: whose failure is reported, and what becomes of the others."""

from __future__ import annotations

import re
import sys
import textwrap
import threading
import time

import pytest

from comm.launching import HEAD, ranks
from pycobre.comm import launch
from pycobre.comm.process import RankProcess
from pycobre.errors import WorkerError

ENDS = [
    ("sys.exit(3)", 3, "ended with code 3"),
    ("os._exit(3)", 3, "ended with code 3"),
    ("raise ArithmeticError('dry river')", 1, "dry river"),
    ("os.kill(os.getpid(), signal.SIGKILL)", 137, "signal 9 (SIGKILL)"),
    ("signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)", 130, "(SIGINT)"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "signal 11 (SIGSEGV)"),
]


@pytest.mark.parametrize("rank", [0, 1, 2])  # 53
@pytest.mark.parametrize(("end", "code", "words"), ENDS)
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


@pytest.mark.parametrize(("end", "code", "words"), ENDS)  # 53
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
def test_a_rank_that_is_slow_to_end_is_still_the_one_to_blame(backend):
    """The others have told of its failure, and the launcher has run out of patience, before it is gone."""
    body = """
    def end(number, frame):
        print("ValueError: a dry river", file=sys.stderr, flush=True)
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    comm.barrier()
    if comm.rank == 2:
        comm.abort("a dry river")
        time.sleep(20)
    comm.barrier()
    """
    with ranks(body, backend=backend) as job, pytest.raises(WorkerError, match="dry river") as caught:
        list(job)
    assert (caught.value.rank, caught.value.exit_code) == (2, 1)


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
