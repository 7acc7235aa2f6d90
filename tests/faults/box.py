"""A namespace in which a test can count what it leaves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]


def in_a_box(
    shm: str, *argv: str, limit_secs: float = 100, environment: Mapping[str, str] | None = None
) -> list[str]:
    """Output lines of a program that has processes, mounts, a network and a /dev/shm of its own.

    When the box ends, the kernel ends what is in it: this bounds every test.
    """
    script = f'mount -t tmpfs -o size={shm},mode=1777 tmpfs /dev/shm && ip link set lo up && exec "$@"'
    box = [
        "unshare",
        *([] if os.geteuid() == 0 else ["-r"]),  # root is only needed inside the box
        "-m",
        "-p",
        "-i",
        "-n",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "bash",
        "-c",
        script,
        "_",
    ]
    done = subprocess.run(
        [*box, *argv],
        capture_output=True,
        text=True,
        timeout=limit_secs,
        check=False,
        env={**os.environ, "PYTHONPATH": str(TESTS), **(environment or {})},
    )
    assert done.returncode == 0, f"no private namespace, or the program in it failed:\n{done.stderr}"
    return done.stdout.splitlines()
