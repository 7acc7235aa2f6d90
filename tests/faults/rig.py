"""Runs fault cells in a namespace of its own: ``python -m faults.rig CELL ...`` writes a JSON line a cell.

All processes, sockets and files of shared memory that it can see are the cell's own. The ranks of the first
cell start as a user's do, by exec; those of the others are forks, since a fault finds them no different.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from faults import rank as rank_program
from faults.cells import RANKS, TIMEOUT_SECS, Cell
from faults.forked import instead_of_exec, run_to_the_end
from pycobre.comm import Launch, launch
from pycobre.errors import WorkerError

OUTER_LIMIT_SECS = 60.0  # of a cell on a very busy machine
_LISTENING = {  # what the fourth column says of a socket that waits for callers
    "tcp": "0A",
    "tcp6": "0A",
    "unix": "00010000",
}


def launched(cell: Cell, *, by_exec: bool) -> Launch:
    with contextlib.nullcontext() if by_exec else instead_of_exec(rank_program.main):
        return launch(
            [sys.executable, "-m", "faults.rank", cell.phase, cell.operation, cell.victim, cell.action],
            RANKS,
            backend=cell.backend,
            environment={**os.environ, **cell.environment},
            timeout_secs=TIMEOUT_SECS if cell.action == "SIGSTOP" else None,
            grace_secs=1,
            on_stderr=lambda rank, line: None,
        )


def run(cell: Cell, *, by_exec: bool) -> dict[str, Any]:
    """What befell the ranks, as each of them and the launcher told it."""
    record: dict[str, Any] = {"survivors": {}, "poisoned": [], "wrong": [], "struck": None, "error": None}
    with launched(cell, by_exec=by_exec) as job:
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
            watchdog.join()  # the next cell forks
    record["codes"] = job.exit_codes
    return record


def be_the_launcher(cell: Cell, tell: int, *, by_exec: bool) -> int:
    """Start ranks, say when all of them are where they shall be, and wait to be killed."""
    with launched(cell, by_exec=by_exec) as job:
        for ready, _ in enumerate(job, start=1):
            if ready == RANKS:
                os.write(tell, b"ready")
    return 0


def run_without_launcher(cell: Cell, *, by_exec: bool) -> dict[str, Any]:
    """How long processes remained once their launcher was killed."""
    told, tell = os.pipe()
    launcher = os.fork()
    if launcher == 0:
        run_to_the_end(lambda: be_the_launcher(cell, tell, by_exec=by_exec))
    os.close(tell)
    watchdog = threading.Timer(OUTER_LIMIT_SECS, os.kill, [launcher, signal.SIGKILL])
    watchdog.start()
    ready = os.read(told, 100)
    watchdog.cancel()
    watchdog.join()
    os.close(told)
    time.sleep(0.05)
    os.kill(launcher, signal.SIGKILL)
    struck = time.monotonic()
    while others() and time.monotonic() < struck + OUTER_LIMIT_SECS:
        time.sleep(0.01)
    return {"ready": ready.decode(), "gone_after": time.monotonic() - struck}


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
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        for place, name in enumerate(names):
            cell = Cell(*name.split(","))
            attempt = run_without_launcher if cell.victim == "launcher" else run
            record = attempt(cell, by_exec=place == 0)
            sys.stdout.write(json.dumps({"cell": name, **record, "left": leftovers(Path(folder))}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
