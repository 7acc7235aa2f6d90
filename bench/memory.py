"""Memory of each rank while it trains: ``python bench/memory.py CASE [--ranks 1,2,4] [--set NAME=VALUE]``.

``--forward-passes``, ``--iterations`` and ``--openings`` enlarge the case: every iteration adds as many cuts
a stage to the pool as there are forward passes; openings are noise vectors a stage.

Printed is the proportional set size (PSS) of each rank when their sum was largest, what they share counted
once, and of that what lies in shared memory: the cut pool and the openings, and what ranks talk through (10
MB for two of them, 9 for four). A rank that is alone has all of it to itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
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


def enlarged(case: Path, scratch: Path, openings: int | None) -> Path:
    """*case*, or a copy of it in which every stage has that many openings."""
    if openings is None:
        return case
    copy = scratch / "case"
    shutil.copytree(case, copy)
    stages = json.loads((copy / "stages.json").read_text())
    for stage in stages["stages"]:
        stage["num_openings"] = openings
    (copy / "stages.json").write_text(json.dumps(stages))
    return copy


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", type=Path)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--forward-passes", type=int, help="instead of the case's own")
    parser.add_argument("--iterations", type=int, help="instead of the case's own")
    parser.add_argument("--openings", type=int, help="of every stage, instead of the case's own")
    parser.add_argument("--set", action="append", default=[], help="passed on to pycobre run")
    asked = parser.parse_args()
    changes = list(asked.set)
    if asked.forward_passes is not None:
        changes.append(f"training.selection.forward_passes={asked.forward_passes}")
    if asked.iterations is not None:
        rules = [{"type": "iteration_limit", "limit": asked.iterations}]
        changes.append(f"training.stopping_rules={json.dumps(rules)}")
    print("| ranks | PSS of each rank, MB | sum | of it shared memory | sum |\n|---|---|---|---|---|")
    for ranks in map(int, asked.ranks.split(",")):
        with tempfile.TemporaryDirectory() as out:
            case = enlarged(asked.case, Path(out), asked.openings)
            command = [sys.executable, "-m", "pycobre.app.cli", "run", str(case), "--no-simulation"]
            command += ["--ranks", str(ranks), "--threads", "1", "--out", f"{out}/results"]
            for change in changes:
                command += ["--set", change]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            most: list[tuple[float, float]] = []
            while process.poll() is None:
                with contextlib.suppress(OSError, ValueError, KeyError):  # one of them has just ended
                    # Before it has ranks, the launcher of several is none itself.
                    pids = ranks_below(process.pid) or [process.pid] * (ranks == 1)
                    most = max(most, [pss_mb(pid) for pid in pids], key=lambda now: sum(mb for mb, _ in now))
                time.sleep(0.1)
            if process.returncode:
                sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        whole, shared = zip(*most, strict=True)
        cells = [" ".join(f"{mb:.0f}" for mb in column) for column in (whole, shared)]
        print(f"| {ranks} | {cells[0]} | {sum(whole):.0f} | {cells[1]} | {sum(shared):.1f} |", flush=True)


if __name__ == "__main__":
    main()
