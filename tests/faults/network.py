"""Three ranks on two networks, in a box; the cable between them is cut. ``python -m faults.network``.

A line a rank: its number, and what it heard. With the argument ``rank`` it is one of the ranks.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pycobre.comm import ReduceOp, create_communicator
from pycobre.errors import CollectiveFailed

HERE, THERE = "10.9.0.1", "10.9.0.2"


def be_a_rank() -> None:
    """Work until something fails, and say what."""
    with create_communicator() as comm:
        numbers = np.zeros(1000)
        sys.stdout.write("running\n")
        sys.stdout.flush()
        try:
            while True:
                comm.allreduce(numbers, numbers, ReduceOp.SUM)
        except CollectiveFailed as error:
            sys.stdout.write(f"{comm.rank} {error.reason} {error.ranks}\n")


def command(*words: str) -> None:
    subprocess.run(words, check=True)


def main() -> None:
    command("ip", "link", "add", "here", "type", "veth", "peer", "name", "there")
    command("ip", "addr", "add", f"{HERE}/24", "dev", "here")
    command("ip", "link", "set", "here", "up")
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "secret"
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(32))
        base = {
            **os.environ,
            "COBRE_COMM_BACKEND": "tcp",
            "COBRE_TCP_COORDINATOR": HERE,
            "COBRE_TCP_BIND_ADDR": HERE,
            "COBRE_TCP_SIZE": "3",
            "COBRE_TCP_SECRET_FILE": str(secret),
        }
        rank = [sys.executable, "-m", "faults.network", "rank"]
        # Rank 2 has a network of its own, and waits for its end of the cable.
        far = (
            "until ip link set there up 2> /dev/null; do sleep 0.02; done;"
            f' ip addr add {THERE}/24 dev there && exec "$@"'
        )
        argvs = [rank, rank, ["unshare", "-n", "bash", "-c", far, "_", *rank]]
        ranks = [
            subprocess.Popen(
                argv, env={**base, "COBRE_TCP_RANK": str(number)}, stdout=subprocess.PIPE, text=True
            )
            for number, argv in enumerate(argvs)
        ]
        pid = str(ranks[2].pid)
        while Path(f"/proc/{pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
            time.sleep(0.01)
        command("ip", "link", "set", "there", "netns", pid)
        for process in ranks:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
        time.sleep(0.1)
        command("nsenter", "-t", pid, "-n", "ip", "link", "set", "there", "down")
        for process in ranks:
            sys.stdout.write(process.communicate()[0])


if __name__ == "__main__":
    be_a_rank() if sys.argv[1:] == ["rank"] else main()
