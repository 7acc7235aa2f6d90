"""Three ranks on two networks, in a box; one of them is cut off. ``python -m faults.network FAR HOW``.

FAR is the rank on the other network; HOW is ``down`` for its end of the cable, or ``deaf``, ``mute`` or
``dead`` where all is up but packets to it, from it, or both are dropped; ``apart`` is ``dead`` where rank 1
was heard last two seconds before rank 2. A line a rank: its number, and what it heard. With the one argument
``rank`` it is one of the ranks.
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

from faults import cable
from faults.cable import HERE, THERE, command
from pycobre.comm import ReduceOp, create_communicator
from pycobre.errors import CollectiveFailed

ALSO_THERE = "10.9.0.3"  # by which rank 2 knows a far rank 0, so that its way can be cut by itself
NOBODY = "02:00:00:00:00:01"  # packets to this card go out and are taken in by none: no firewall is needed


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


def lead_astray(address: str, device: str, inside: tuple[str, ...] = ()) -> None:
    """Have packets to *address* go nowhere."""
    command(*inside, "ip", "neigh", "replace", address, "lladdr", NOBODY, "dev", device, "nud", "permanent")


def cut(how: str, inside: tuple[str, ...]) -> None:
    """Cut the far rank off; *inside* is what runs a command on its network."""
    if how == "down":
        command(*inside, "ip", "link", "set", "there", "down")
    if how in ("deaf", "dead", "apart"):
        lead_astray(THERE, "here")
    if how == "apart":
        time.sleep(1.5)  # idle links ask after each other every two seconds, these have done so meanwhile
    if how in ("deaf", "dead", "apart"):
        lead_astray(ALSO_THERE, "here")
    if how in ("mute", "dead", "apart"):
        lead_astray(HERE, "there", inside)


def main(far: int, how: str) -> None:
    cable.lay()
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "secret"
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(32))
        base = {
            **os.environ,
            "COBRE_COMM_BACKEND": "tcp",
            "COBRE_TCP_SIZE": "3",
            "COBRE_TCP_SECRET_FILE": str(secret),
        }
        near = [sys.executable, "-m", "faults.network", "rank"]
        # The far one has a network of its own, and waits for its end of the cable.
        up = f'{cable.take(THERE, ALSO_THERE)} && exec "$@"'
        away = ["unshare", "-n", "bash", "-c", up, "_", *near]
        ranks = [
            subprocess.Popen(
                away if number == far else near,
                env={
                    **base,
                    "COBRE_TCP_RANK": str(number),
                    "COBRE_TCP_COORDINATOR": HERE if far else ALSO_THERE if number == 2 else THERE,
                    "COBRE_TCP_BIND_ADDR": "0.0.0.0" if number == far else HERE,
                },
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(3)
        ]
        cable.hand_over(ranks[far].pid)
        for process in ranks:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
        time.sleep(1.2 if how == "apart" else 0.1)
        cut(how, ("nsenter", "-t", str(ranks[far].pid), "-n"))
        for process in ranks:
            sys.stdout.write(process.communicate()[0])


if __name__ == "__main__":
    be_a_rank() if sys.argv[1:] == ["rank"] else main(int(sys.argv[1]), sys.argv[2])
