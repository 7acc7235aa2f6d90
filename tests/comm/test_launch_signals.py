"""Signals to a launcher reach its ranks, and no rank outlives it."""

from __future__ import annotations

import signal
import time

import pytest

from comm.launching import gone_within, script


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
    while True:  # a signal just before a sleep is only seen after it
        time.sleep(0.02)
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
