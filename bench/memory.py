"""Memory of each rank while it trains: ``python bench/memory.py CASE [--ranks 1,2,4] [--set NAME=VALUE]``.

Printed is the largest proportional set size (PSS) that was seen of each rank, its part of what it shares
with others counted once, and of that what lies in shared memory: the cut pool and the openings.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path


def ranks_below(pid: int) -> list[int]:
    """Processes that descend from *pid* and are ranks, by their environment; of one rank that is itself."""
    found = []
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in map(int, children):
        if b"COBRE_SHM_RANK=" in Path(f"/proc/{child}/environ").read_bytes():
            found.append(child)
        found += ranks_below(child)
    return found


def pss_mb(pid: int) -> tuple[float, float]:
    """Whole PSS and the shared-memory part of it, in MB."""
    fields = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        if ":" in line
    )
    whole, shared = (int(fields[name].split()[0]) / 1024 for name in ("Pss", "Pss_Shmem"))
    return whole, shared


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", type=Path)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--set", action="append", default=[], help="passed on to pycobre run")
    asked = parser.parse_args()
    print("| ranks | PSS of each rank, MB | sum | of it shared memory | sum |\n|---|---|---|---|---|")
    for ranks in map(int, asked.ranks.split(",")):
        with tempfile.TemporaryDirectory() as out:
            command = [sys.executable, "-m", "pycobre.app.cli", "run", str(asked.case), "--no-simulation"]
            command += ["--ranks", str(ranks), "--threads", "1", "--out", f"{out}/results"]
            for change in asked.set:
                command += ["--set", change]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            most: dict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
            while process.poll() is None:
                try:
                    for pid in ranks_below(process.pid) or [process.pid]:
                        whole, shared = pss_mb(pid)
                        most[pid] = max(most[pid][0], whole), max(most[pid][1], shared)
                except (OSError, ValueError, KeyError):
                    pass  # one of them has just ended
                time.sleep(0.1)
            if process.returncode:
                sys.exit(f"{' '.join(command)} ended with {process.returncode}")
            if ranks > 1:
                most.pop(process.pid, None)  # the launcher, seen before it had ranks
        whole, shared = zip(*most.values(), strict=True)
        cells = [" ".join(f"{mb:.0f}" for mb in column) for column in (whole, shared)]
        print(f"| {ranks} | {cells[0]} | {sum(whole):.0f} | {cells[1]} | {sum(shared):.1f} |", flush=True)


if __name__ == "__main__":
    main()
