"""What survivors learn of ranks that die, stop, are late, leave or give up: all the same, and soon."""

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
import json, os, signal, sys, threading, time
import numpy as np
from pycobre.comm import ReduceOp, create_communicator, launcher_pipe
from pycobre.errors import CollectiveFailed, InvalidCommunicator
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # the launcher ends the others of a failed job
comm, pipe = create_communicator(), launcher_pipe()

def tell(value):
    pipe.send(json.dumps(value).encode())

def outcome(call):
    try:
        call()
    except (CollectiveFailed, InvalidCommunicator) as error:
        reason, ranks = getattr(error, "reason", ""), list(getattr(error, "ranks", ()))
        tell([type(error).__name__, reason, ranks, str(error), time.monotonic()])

pids = np.empty(comm.size, int)
comm.allgatherv(np.array([os.getpid()]), pids, [1] * comm.size, range(comm.size))
begun = np.array([time.monotonic()])
comm.broadcast(begun, 0)
big = np.ones(3_000_000)
"""


def told(
    body: str, ranks: int, *, timeout_secs: float | None = None, variables: dict[str, str] | None = None
) -> dict[int, list]:
    """What every rank told, in its order; ranks that are killed tell nothing more."""
    lines: dict[int, list] = {rank: [] for rank in range(ranks)}
    with launch(
        [sys.executable, "-W", "error", "-c", HEAD + textwrap.dedent(body)],
        ranks,
        backend="tcp",
        environment={**os.environ, **(variables or {})},
        timeout_secs=timeout_secs,
        grace_secs=3,
        on_stderr=lambda rank, line: lines[rank].append(line.decode()),
    ) as job:
        watchdog = threading.Timer(30, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        try:
            for rank, line in job:
                lines[rank].append(json.loads(line))
        except WorkerError as error:
            ended = error.exit_code
        else:
            ended = 0
        finally:
            watchdog.cancel()
    assert ended in (0, 128 + signal.SIGKILL), lines
    return lines


def blamed(found: dict[int, list], survivors: list[int]) -> tuple[str, list[int], str, float]:
    """Reason, ranks and words on which all survivors agree, and when the last of them knew."""
    outcomes = [found[rank][0] for rank in survivors]
    assert all(outcome[:4] == outcomes[0][:4] for outcome in outcomes), found
    kind, reason, ranks, text, _ = outcomes[0]
    assert kind == "CollectiveFailed", found
    return reason, ranks, text, max(outcome[4] for outcome in outcomes)


CALLS = {
    "barrier": "comm.barrier()",
    "a large allreduce": "comm.allreduce(big, big, ReduceOp.SUM)",
    "a large broadcast": "comm.broadcast(big, 2)",
}


@pytest.mark.parametrize(
    ("call", "victim", "unix"),
    [
        *(("barrier", victim, "1") for victim in (0, 1, 2)),
        *(("a large allreduce", victim, unix) for victim in (0, 1) for unix in "01"),
        *(("a large broadcast", victim, "1") for victim in (1, 2)),
    ],
)
def test_a_killed_rank_is_named_by_all_within_half_a_second(call: str, victim: int, unix: str):
    killer = (victim + 1) % 3
    body = f"""
    def endless():
        while True:
            {CALLS[call]}
    if comm.rank == {killer}:
        def strike():
            tell(time.monotonic())
            os.kill(pids[{victim}], signal.SIGKILL)
        threading.Timer(0.3, strike).start()
    outcome(endless)
    """
    found = told(body, 3, variables={"COBRE_TCP_UNIX_SOCKETS": unix})
    struck = found[killer].pop(0)
    reason, ranks, text, known = blamed(found, [rank for rank in range(3) if rank != victim])
    assert (reason, ranks) == ("lost", [victim])
    assert "disappeared" in text
    assert known - struck < 0.5


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_stopped_rank_is_called_stopped_within_the_limit_and_a_second(victim: int):
    body = f"""
    comm.barrier()
    if comm.rank == {(victim + 1) % 3}:
        os.kill(pids[{victim}], signal.SIGSTOP)
        tell(time.monotonic())
    outcome(lambda: [comm.barrier() for _ in range(1000000)])
    if comm.rank == {(victim + 1) % 3}:
        time.sleep(0.5)  # until the others have told
        os.kill(pids[{victim}], signal.SIGKILL)
    """
    found = told(body, 3, timeout_secs=2.0)
    struck = found[(victim + 1) % 3].pop(0)
    reason, ranks, text, known = blamed(found, [rank for rank in range(3) if rank != victim])
    assert (reason, ranks) == ("stopped", [victim])
    assert "suspended" in text
    assert "2 s" in text
    assert known - struck < 3.0


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_late_rank_is_named_by_all_and_hears_it_itself(late: int):
    # The limit is that of the start as well, which takes long on a busy machine.
    body = f"""
    if comm.rank == {late}:
        time.sleep(5.0)
    outcome(comm.barrier)
    outcome(comm.barrier)
    """
    found = told(body, 3, timeout_secs=2.0)
    reason, ranks, text, _ = blamed(found, [0, 1, 2])
    assert (reason, ranks) == ("timeout", [late])
    assert "2 s" in text
    assert {found[rank][1][0] for rank in range(3)} == {"InvalidCommunicator"}


@pytest.mark.parametrize("leaver", [0, 2])
@pytest.mark.parametrize("way", ["close", "sys.exit", "os._exit", "del"])
def test_who_leaves_early_is_named_by_all(way: str, leaver: int):
    does = {
        "close": "comm.close(); time.sleep(0.5)",
        "sys.exit": "sys.exit(0)",
        "os._exit": "os._exit(0)",
        "del": "del comm; time.sleep(0.5); sys.exit(0)",
    }[way]
    body = f"""
    def twice():
        comm.barrier()
        comm.barrier()
    if comm.rank == {leaver}:
        comm.barrier()
        {does}
    else:
        outcome(twice)
    """
    found = told(body, 3)
    reason, ranks, text, _ = blamed(found, [rank for rank in range(3) if rank != leaver])
    assert (reason, ranks) == ("lost", [leaver])
    assert ("closed the communicator while others were in barrier" in text) == (way == "close")
    assert found[leaver] == []


def test_two_ranks_killed_at_once_are_told_alike_by_all_survivors():
    body = """
    if comm.rank == 3:
        for other in (1, 2):
            os.kill(pids[other], signal.SIGKILL)
    elif comm.rank != 0:
        time.sleep(60)  # in the barrier they might have done their part before they die
    outcome(comm.barrier)
    """
    reason, ranks, _, _ = blamed(told(body, 4), [0, 3])
    assert reason == "lost"
    assert set(ranks) <= {1, 2}


@pytest.mark.parametrize("aborter", [0, 1])
def test_another_thread_or_a_signal_can_abort_a_wait(aborter: int):
    body = f"""
    if comm.rank == {aborter}:
        threading.Timer(0.1, comm.abort, ["enough"]).start()
    elif comm.rank == 2:
        signal.signal(signal.SIGALRM, lambda *_: comm.abort("too late to count"))
        signal.setitimer(signal.ITIMER_REAL, 1.5)
        time.sleep(1.7)
    outcome(comm.barrier)
    tell(float(begun[0]))
    comm.close()
    """
    found = told(body, 3)
    reason, ranks, text, _ = blamed(found, [0, 1, 2])
    assert (reason, ranks) == ("aborted", [aborter])
    assert "enough" in text
    for rank in {0, 1}:
        assert found[rank][0][4] - found[rank][1] < 1.5  # not by the second one


def test_a_failure_between_collectives_is_told_at_the_next_one():
    body = """
    if comm.rank == 1:
        os._exit(0)
    time.sleep(0.5)
    began = time.monotonic()
    outcome(comm.barrier)
    tell(time.monotonic() - began)
    """
    found = told(body, 3)
    assert blamed(found, [0, 2])[:2] == ("lost", [1])
    assert max(found[rank][1] for rank in (0, 2)) < 0.1


@pytest.mark.parametrize("leaver", [0, 1, 2])
def test_a_rank_that_closed_after_its_part_is_not_missed(leaver: int):
    body = f"""
    for _ in range(20):
        comm.allreduce(big[:300_000], big[:300_000], ReduceOp.MAX)
    if comm.rank != {leaver}:
        time.sleep(0.1)  # its last bytes are read after its end
    comm.close()
    """
    assert told(body, 3) == {0: [], 1: [], 2: []}


def test_waiting_costs_next_to_no_processor_time():
    body = """
    if comm.rank == 0:
        time.sleep(1)
    before = time.process_time()
    comm.barrier()
    tell(time.process_time() - before)
    comm.close()
    """
    found = told(body, 3)
    assert all(found[rank][0] < 0.01 for rank in (1, 2)), found


def test_a_daemon_thread_in_a_wait_does_not_hinder_the_end():
    body = """
    if comm.rank == 0:
        threading.Thread(target=lambda: outcome(comm.barrier), daemon=True).start()
        time.sleep(0.1)
    else:
        time.sleep(1)
    """
    assert told(body, 2)[1] == []


def test_a_forked_child_is_no_rank_and_keeps_no_connection_open():
    body = """
    child = os.fork() if comm.rank == 1 else None
    if child == 0:
        os.setsid()  # the launcher ends what is in the rank's own group
        outcome(comm.barrier)
        comm.abort("in vain")
        comm.close()
        time.sleep(1)
        sys.exit(0)  # must not count as the end of this rank
    if comm.rank == 1:
        time.sleep(0.3)
    comm.barrier()
    if comm.rank == 1:
        os._exit(0)
    left = time.monotonic()
    outcome(comm.barrier)
    tell(left)
    time.sleep(1)  # until the child has ended
    """
    found = told(body, 2)
    assert found[1][0][0] == "InvalidCommunicator"
    assert "forked" in found[1][0][3]
    reason, ranks, _, known = blamed(found, [0])
    assert (reason, ranks) == ("lost", [1])
    assert known - found[0][1] < 0.5
