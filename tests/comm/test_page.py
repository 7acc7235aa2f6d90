"""The program on the page about comm, run as the page says: the same line from every backend."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "comm.md"


def program() -> str:
    """The first block of Python below the mark, as a reader would paste it."""
    text = PAGE.read_text().partition("<!-- program -->")[2]
    return text.partition("```python\n")[2].partition("```")[0]


def test_the_programs_answer_is_the_same_on_every_backend(tmp_path):
    script = tmp_path / "darts.py"
    script.write_text(program())
    launch = (sys.executable, "-m", "pycobre.app.cli", "launch", "--ranks", "3")
    lines = []
    for command in ((), (*launch, "--backend", "shm"), (*launch, "--backend", "tcp")):
        done = subprocess.run(
            [*command, sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        lines.append(done.stdout.strip().split(": "))
    assert [name for name, _ in lines] == ["local x1", "shm x3", "tcp x3"]
    assert len({number for _, number in lines}) == 1


def test_a_launched_programs_failure_is_the_launchers():
    launch = [sys.executable, "-m", "pycobre.app.cli", "launch", "-n", "2", "--backend", "tcp"]
    done = subprocess.run(
        [*launch, sys.executable, "-c", "raise SystemExit(7)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 7
    assert "ended with code 7" in done.stderr
