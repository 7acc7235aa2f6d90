"""What a rank does while it waits: nothing much, and never in vain."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
import threading

import pytest

from pycobre.comm import launch
from pycobre.errors import WorkerError

HEAD = """
import ctypes, json, os, signal, sys, threading, time
from pycobre.comm import create_communicator, launcher_pipe
from pycobre.errors import CollectiveFailed, InvalidCommunicator
comm, pipe = create_communicator(), launcher_pipe()

def tell(value):
    pipe.send(json.dumps(value).encode())

def outcome(call):
    began = time.monotonic()
    try:
        call()
    except (CollectiveFailed, InvalidCommunicator) as error:
        reason, ranks = getattr(error, "reason", ""), list(getattr(error, "ranks", ()))
        tell([type(error).__name__, reason, ranks, str(error), time.monotonic() - began])

comm.barrier()
"""


def told(
    body: str,
    ranks: int,
    *,
    backend: str = "shm",
    timeout_secs: float | None = None,
    may_fail: bool = False,
) -> dict[int, list]:
    """What every rank told, in its order."""
    lines: dict[int, list] = {rank: [] for rank in range(ranks)}
    program = [sys.executable, "-c", HEAD + textwrap.dedent(body)]
    with launch(
        program,
        ranks,
        backend=backend,
        timeout_secs=timeout_secs,
        grace_secs=1,
        on_stderr=lambda rank, line: None,
    ) as job:
        watchdog = threading.Timer(30, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            for rank, line in job:
                lines[rank].append(json.loads(line))
        except WorkerError:
            if not may_fail:
                raise
        finally:
            watchdog.cancel()
    return lines


@pytest.mark.parametrize("ranks", [2, 4])
def test_waiting_costs_next_to_no_processor_time(ranks):
    body = """
    if comm.rank == 0:
        time.sleep(1)
    before = time.process_time()
    comm.barrier()
    tell(time.process_time() - before)
    comm.close()
    """
    found = told(body, ranks)
    assert all(found[rank][0] < 0.05 for rank in range(1, ranks)), found


def test_a_rank_that_holds_its_interpreter_is_not_taken_for_dead():
    body = """
    if comm.rank == 1:
        ctypes.PyDLL(None).usleep(1_200_000)  # keeps the GIL, as a solver may
    comm.barrier()
    comm.close()
    """
    assert told(body, 2) == {0: [], 1: []}


def test_a_late_rank_is_named_by_all_and_hears_it_itself():
    body = """
    if comm.rank == 2:
        time.sleep(5.0)
    outcome(comm.barrier)
    comm.close()
    """
    found = told(body, 3, timeout_secs=2.0)
    for rank in range(3):
        kind, reason, ranks, text, after = found[rank][0]
        assert (kind, reason, ranks) == ("CollectiveFailed", "timeout", [2])
        assert "2 s" in text
        assert after < 3.0


def test_a_rank_that_ends_without_close_counts_as_lost():
    body = """
    if comm.rank == 1:
        sys.exit(0)
    outcome(comm.barrier)
    comm.close()
    """
    [[kind, reason, ranks, text, after]] = told(body, 2)[0]
    assert (kind, reason, ranks) == ("CollectiveFailed", "lost", [1])
    assert "ended without close()" in text
    assert after < 1


def test_a_forgotten_communicator_counts_as_lost():
    body = """
    if comm.rank == 1:
        del comm
        time.sleep(1.5)
    else:
        outcome(comm.barrier)
        comm.close()
    """
    [[kind, reason, ranks, _, after]] = told(body, 2)[0]
    assert (kind, reason, ranks) == ("CollectiveFailed", "lost", [1])
    assert after < 1


def test_a_rank_that_closed_after_its_part_is_not_missed():
    body = """
    if comm.rank == 0:
        time.sleep(0.3)
        comm.barrier()
    elif comm.rank == 1:
        comm.barrier()
    else:
        threading.Thread(target=comm.barrier).start()
        time.sleep(0.3)
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()
    comm.close()
    """
    assert told(body, 3) == {0: [], 1: [], 2: []}


def test_two_ranks_killed_at_once_are_told_alike_by_all_survivors():
    body = """
    tell(os.getpid())
    comm.barrier()
    if comm.rank == 3:
        time.sleep(0.1)
        for other in (2, 3):
            os.kill(peers[other], signal.SIGKILL)
    outcome(comm.barrier)
    """
    body = body.replace(
        "tell(os.getpid())",
        "import numpy as np; peers = np.empty(4, int); "
        "comm.allgatherv(np.array([os.getpid()]), peers, [1] * 4, range(4))",
    )
    found = told(body, 4, may_fail=True)
    assert found[0][0][:4] == found[1][0][:4]
    assert found[0][0][1] == "lost"
    assert set(found[0][0][2]) <= {2, 3}


def test_another_thread_can_abort_a_wait():
    body = """
    if comm.rank == 1:
        time.sleep(1)
    else:
        threading.Timer(0.1, comm.abort, ["enough"]).start()
    outcome(comm.barrier)
    outcome(comm.barrier)
    comm.close()
    """
    found = told(body, 2)
    for rank in range(2):
        first, second = found[rank]
        assert first[:3] == ["CollectiveFailed", "aborted", [0]]
        assert "enough" in first[3]
        assert second[0] == "InvalidCommunicator"
    assert found[0][0][4] < 0.6


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_a_barrier_in_a_daemon_thread_returns_as_in_any_other(backend):
    body = """
    if comm.rank == 0:
        returned = threading.Event()
        threading.Thread(target=lambda: (comm.barrier(), returned.set()), daemon=True).start()
        tell(returned.wait(0.2))
        tell(returned.wait(20))
    else:
        time.sleep(0.5)
        comm.barrier()
    comm.barrier()
    comm.close()
    """
    assert told(body, 2, backend=backend) == {0: [False, True], 1: []}


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_a_busy_thread_in_every_rank_and_the_collectives_both_go_on(backend, ranks):
    body = """
    over, done = threading.Event(), 0

    def work():
        global done
        while not over.is_set():
            done += 1

    thread = threading.Thread(target=work)
    thread.start()
    for number in range(5):
        before = done
        while done == before:
            time.sleep(0)
        for _ in range(60):
            comm.barrier()
        tell(number)
    over.set()
    thread.join()
    comm.close()
    """
    assert told(body, ranks, backend=backend) == {rank: [0, 1, 2, 3, 4] for rank in range(ranks)}


def test_a_daemon_thread_in_a_wait_does_not_hinder_the_end():
    body = """
    if comm.rank == 0:
        threading.Thread(target=comm.barrier, daemon=True).start()
        time.sleep(0.1)
    else:
        time.sleep(1)
    """
    assert told(body, 2) == {0: [], 1: []}


def test_a_forked_child_is_not_a_rank():
    body = """
    child = os.fork()
    if child == 0:
        outcome(comm.barrier)
        sys.exit(0)  # must not count as the end of this rank
    os.waitpid(child, 0)
    time.sleep(0.2)
    comm.barrier()
    comm.close()
    """
    found = told(body, 2)
    assert {found[rank][0][0] for rank in range(2)} == {"InvalidCommunicator"}
