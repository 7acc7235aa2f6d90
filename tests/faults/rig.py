"""Runs fault cells in a namespace of its own: ``python -m faults.rig CELL ...`` writes a JSON line a cell.

All processes, sockets and files of shared memory that it can see are the cell's own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from faults.cells import RANKS, TIMEOUT_SECS, Cell
from pycobre.comm import launch
from pycobre.errors import WorkerError

OUTER_LIMIT_SECS = 60.0  # of a cell on a very busy machine
_LISTENING = {  # what the fourth column says of a socket that waits for callers
    "tcp": "0A",
    "tcp6": "0A",
    "unix": "00010000",
}


def launched(cell: Cell) -> Any:
    return launch(
        [sys.executable, "-m", "faults.rank", cell.phase, cell.operation, cell.victim, cell.action],
        RANKS,
        backend=cell.backend,
        timeout_secs=TIMEOUT_SECS if cell.action == "SIGSTOP" else None,
        grace_secs=1,
        on_stderr=lambda rank, line: None,
    )


def run(cell: Cell) -> dict[str, Any]:
    """What befell the ranks, as each of them and the launcher told it."""
    record: dict[str, Any] = {"survivors": {}, "poisoned": [], "wrong": [], "struck": None, "error": None}
    with launched(cell) as job:
        watchdog = threading.Timer(
            OUTER_LIMIT_SECS, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids]
        )
        watchdog.start()
        try:
            for rank, line in job:
                told = json.loads(line)
                if "struck" in told:
                    record["struck"] = told["struck"]
                elif "when" in told:
                    record["survivors"][rank] = told
                elif "poisoned" in told:
                    record["poisoned"].append(rank)
                else:
                    record["wrong"].append(told["wrong"])
        except WorkerError as error:
            record["error"] = {"rank": error.rank, "code": error.exit_code, "text": str(error)}
        finally:
            watchdog.cancel()
    record["codes"] = job.exit_codes
    return record


def be_the_launcher(cell: Cell) -> None:
    """Start ranks, say when all of them are where they shall be, and wait to be killed."""
    with launched(cell) as job:
        for ready, _ in enumerate(job, start=1):
            if ready == RANKS:
                sys.stdout.write("ready\n")
                sys.stdout.flush()


def run_without_launcher(cell: Cell) -> dict[str, Any]:
    """How long processes remained once their launcher was killed."""
    argv = [sys.executable, "-m", "faults.rig", "--launcher", str(cell)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as launcher:
        watchdog = threading.Timer(OUTER_LIMIT_SECS, launcher.kill)
        watchdog.start()
        assert launcher.stdout is not None
        ready = launcher.stdout.readline()
        watchdog.cancel()
        time.sleep(0.05)
        launcher.kill()
    struck = time.monotonic()
    while others() and time.monotonic() < struck + OUTER_LIMIT_SECS:
        time.sleep(0.01)
    return {"ready": ready.decode().strip(), "gone_after": time.monotonic() - struck}


def others() -> list[str]:
    """Processes but this one, and how they are called."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                status = (entry / "stat").read_text()
                if status.rpartition(")")[2].split()[0] == "Z" and os.waitpid(int(entry.name), os.WNOHANG)[0]:
                    # An orphan of a killed launcher, which this process has as the box's init. One whose
                    # other threads still run is a zombie too, but not to be had yet, nor are its sockets.
                    continue
                found.append((entry / "cmdline").read_text().replace("\0", " "))
            except (OSError, ChildProcessError):
                continue  # it has just ended
    return found


def leftovers(folder: Path) -> dict[str, list[str]]:
    """What a cell has left behind."""
    listening = []
    for kind, state in _LISTENING.items():
        lines = (Path("/proc/net") / kind).read_text().splitlines()[1:]
        listening += [f"{kind}: {line}" for line in lines if line.split()[3] == state]
    return {
        "processes": others(),
        "shared memory": [entry.name for entry in Path("/dev/shm").iterdir()],
        "listening sockets": listening,
        "temporary files": [str(path) for path in folder.rglob("*")],
    }


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        for name in names:
            cell = Cell(*name.split(","))
            record = run_without_launcher(cell) if cell.victim == "launcher" else run(cell)
            sys.stdout.write(json.dumps({"cell": name, **record, "left": leftovers(Path(folder))}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "--launcher":
        be_the_launcher(Cell(*sys.argv[2].split(",")))
    else:
        main(sys.argv[1:])
