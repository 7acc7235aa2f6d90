"""The launcher: lines and output of its ranks, what it refuses, and nothing left open."""

from __future__ import annotations

import sys

import pytest

from comm.launching import alive, gone_within, open_descriptors, ranks
from pycobre.comm import follow_launcher, launch, launcher_pipe
from pycobre.errors import InitializationFailed


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


def test_a_process_that_no_launcher_started_has_no_pipe():
    assert launcher_pipe() is None
    assert not follow_launcher()
