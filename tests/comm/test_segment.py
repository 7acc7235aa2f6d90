"""Ranks started by hand meet in a named segment: what can go wrong there is said, and nothing stays."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest

from pycobre.comm import ShmCommunicator, ShmConfig
from pycobre.errors import InitializationFailed

FOLDER = Path("/dev/shm")
MEET = "from pycobre.comm import create_communicator\nwith create_communicator() as comm: comm.barrier()"


@pytest.fixture
def name():
    """A name that is free, and is again afterwards."""
    found = f"pycobre-test-{uuid.uuid4().hex}"
    yield found
    left = (FOLDER / found).exists() or (FOLDER / found).is_symlink()
    if left:
        (FOLDER / found).unlink()
    assert not left, "a segment was left behind"


@contextlib.contextmanager
def made(path: Path, mode: int = 0o600, owner: int | None = None, data: bytes = b""):
    path.write_bytes(data)
    path.chmod(mode)
    if owner is not None:
        os.chown(path, owner, owner)
    try:
        yield path
    finally:
        path.unlink()


def start(name: str, rank: int, size: int, code: str = MEET, timeout: float = 10) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "COBRE_SHM_NAME": name,
        "COBRE_SHM_RANK": str(rank),
        "COBRE_SHM_SIZE": str(size),
        "COBRE_SHM_TIMEOUT_SECS": str(timeout),
    }
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)


def ends(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """Exit code and last line of every process, none of which may take long."""
    watchdog = threading.Timer(30, lambda: [process.kill() for process in processes])
    watchdog.start()
    try:
        found = []
        for process in processes:
            _, err = process.communicate()
            found.append((process.returncode, (err.splitlines() or [""])[-1]))
        return found
    finally:
        watchdog.cancel()


def join(name: str, rank: int, size: int, seconds: float = 0.3) -> ShmCommunicator:
    return ShmCommunicator(ShmConfig(rank, size, name=name, join_timeout_secs=seconds))


def test_ranks_started_by_hand_meet_in_any_order(name):
    assert ends([start(name, rank, 3) for rank in (2, 0, 1)]) == [(0, "")] * 3


def test_a_name_may_begin_with_a_slash_as_others_write_it(name):
    with join("/" + name, 0, 1, 5) as comm:
        comm.barrier()


def test_a_missing_rank_is_named_by_the_deadline(name):
    with pytest.raises(InitializationFailed, match=r"rank 1 did not join within 0\.3 s"):
        join(name, 0, 2)


def test_a_rank_without_rank_0_says_so(name):
    with pytest.raises(InitializationFailed, match="rank 0 has not made"):
        join(name, 1, 2)


def test_a_wrong_size_is_refused_on_the_rank_that_has_it(name):
    zero, odd = start(name, 0, 2, timeout=1.5), start(name, 1, 3, timeout=1.5)
    (zero_code, zero_line), (odd_code, odd_line) = ends([zero, odd])
    assert (zero_code, odd_code) == (1, 1)
    assert "told of 3 ranks, but the segment was made for 2" in odd_line
    assert "rank 1 did not join" in zero_line


def test_a_duplicate_rank_is_refused_and_the_others_go_on(name):
    zero = start(name, 0, 3)
    twins = [start(name, 1, 3), start(name, 1, 3)]
    while all(twin.poll() is None for twin in twins):
        pass  # the last rank comes once one of the twins was refused
    last = start(name, 2, 3)
    found = ends([zero, *twins, last])
    assert sorted(code for code, _ in found) == [0, 0, 0, 1]
    assert any("rank 1 is taken already" in line and "duplicate" in line for _, line in found)


def test_a_second_rank_0_is_refused(name):
    first = start(name, 0, 2)
    while not (FOLDER / name).exists():
        assert first.poll() is None
    with pytest.raises(InitializationFailed, match="in use by another job, or by a second rank 0"):
        join(name, 0, 2)
    assert ends([first, start(name, 1, 2)]) == [(0, "")] * 2


def test_a_stale_segment_is_neither_used_nor_removed(name):
    code = """
import os
from pycobre.comm.segment import _FOLDER, _make
_make(_FOLDER / os.environ["COBRE_SHM_NAME"], 2)
os._exit(0)
"""
    assert ends([start(name, 0, 2, code)]) == [(0, "")]
    try:
        with pytest.raises(InitializationFailed, match="stale segment of a job that died"):
            join(name, 0, 2)
        with pytest.raises(InitializationFailed, match="stale segment: its rank 0 is gone"):
            join(name, 1, 2)
        assert (FOLDER / name).exists()
    finally:
        (FOLDER / name).unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_file_of_another_user_is_never_joined(name, rank):
    with (
        made(FOLDER / name, owner=65534),
        pytest.raises(InitializationFailed, match=r"belongs to user|not ours|stale"),
    ):
        join(name, rank, 2)


@pytest.mark.parametrize("rank", [0, 1])
def test_other_files_are_never_joined_followed_or_removed(name, rank, tmp_path):
    path = FOLDER / name
    with made(path, mode=0o666), pytest.raises(InitializationFailed, match=r"open to others|not ours|stale"):
        join(name, rank, 2)
    with made(path, data=b"x" * 100), pytest.raises(InitializationFailed, match=r"not finished|stale"):
        join(name, rank, 2)
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    path.symlink_to(target)
    try:
        with pytest.raises(InitializationFailed, match=r"can't be opened|not ours"):
            join(name, rank, 2)
    finally:
        path.unlink()
    assert target.read_bytes() == b"precious"
    path.mkdir()
    try:
        with pytest.raises(InitializationFailed, match=r"can't be opened|not a file|not ours"):
            join(name, rank, 2)
    finally:
        path.rmdir()


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_during_the_start_is_named_and_the_name_removed(name, victim):
    processes = [start(name, rank, 3, timeout=20) for rank in (0, 1)]
    path = FOLDER / name
    while not path.exists() or any(struct.pack("<i", p.pid) not in path.read_bytes() for p in processes):
        assert all(process.poll() is None for process in processes)
    os.kill(processes[victim].pid, signal.SIGKILL)
    found = ends(processes)
    assert found[victim][0] == -signal.SIGKILL
    assert f"rank {victim} died during the start" in found[1 - victim][1]


def test_a_late_rank_is_named_and_hears_the_same_verdict(name):
    code = MEET.replace(
        "comm.barrier()", "comm.barrier(); import time; time.sleep(2.5 * comm.rank); comm.barrier()"
    )
    (zero_code, zero_line), (one_code, one_line) = ends(
        [start(name, rank, 2, code, timeout=1) for rank in (0, 1)]
    )
    assert (zero_code, one_code) == (1, 1)
    assert "barrier failed (timeout): rank 1 did not come in time" in zero_line
    assert zero_line == one_line
