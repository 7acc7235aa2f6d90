"""One run of pycobre or of cobre-python 0.18.0, each as processes of its own, and what it came to.

Seconds of training are from its first iteration to its last, and CPU seconds are of all ranks. The peer tells
only wall seconds of it; its CPU seconds are those of the whole call, which reads the case, trains and writes
the policy, but neither starts Python nor imports. Seconds of a simulation are wall, output included.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PEER = "cobre-python==0.18.0"
VENV = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pycobre-bench" / "cobre-0.18.0"

# Before either: a process's own peak, where getrusage begins with that of whoever started it.
PEAK = """
def peak_mb():
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) / 1024
"""

# Run inside the peer's environment: case, output, threads, overrides.
PEER_SCRIPT = """
import json, sys, time
import cobre
case, out, threads, overrides = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
began = time.process_time()
told = cobre.run.run(case, output_dir=out, threads=threads, config_overrides=overrides)
used = time.process_time() - began
with open(out + "/training/metadata.json") as file:
    training = json.load(file)
found = {"cpu_s": used, "train_s": training["duration_seconds"], "peak_mb": peak_mb()}
found["lps"] = training["solve_stats"]["total_lp_solves"]
if overrides["simulation.enabled"]:
    with open(out + "/simulation/metadata.json") as file:
        found["simulate_s"] = json.load(file)["duration_seconds"]
print(json.dumps(found))
"""

# Run by every rank of ours: case, output, threads, overrides.
OWN_SCRIPT = """
import json, sys, time
from pathlib import Path
from pycobre.comm import create_communicator
from pycobre.sddp import IterationFinished, TrainingFinished, TrainingStarted
from pycobre.study import RunSettings, Study
case, out = Path(sys.argv[1]), Path(sys.argv[2])
threads, overrides = int(sys.argv[3]), json.loads(sys.argv[4])
bounds, used, found = [], [], {}
with create_communicator() as comm:
    began = time.process_time()
    study = Study.load(case, overrides)
    for event in study.run(comm, RunSettings(output=out / "results", threads=threads)):
        if isinstance(event, TrainingStarted):
            training = time.process_time()
        elif isinstance(event, IterationFinished):
            bounds.append(event.lower_bound)
            used.append(time.process_time() - training)
            found["lps"], found["handed_over"] = event.lp_solves, event.handed_over
        elif isinstance(event, TrainingFinished):
            found["train_s"] = event.elapsed_s
            trained = time.perf_counter()
    found |= {"simulate_s": time.perf_counter() - trained, "cpu_s": time.process_time() - began}
    found |= {"bounds": bounds, "at_s": used, "train_cpu_s": used[-1]}
    found["peak_mb"] = peak_mb()
    (out / f"rank-{comm.rank}.json").write_text(json.dumps(found))
"""


@dataclass(frozen=True)
class Found:
    """What a run came to.

    Attributes
    ----------
    cpu_s
        Of reading, training and writing; of all ranks.
    train_s, train_cpu_s
        Wall and CPU of training alone. Of the peer the latter is ``cpu_s``, on one thread ``train_s`` if that
        is less; on several threads none if there was a simulation, too.
    lps, handed_over
        Stage problems of the training, and units of them that the dense solver left to HiGHS.
    bounds, at_s
        Lower bound after each iteration, and CPU seconds of training until then.
    peak_mb
        Largest resident set of a process.
    simulate_s
        Wall seconds of simulation and output.
    """

    cpu_s: float
    train_s: float
    train_cpu_s: float
    lps: int
    bounds: list[float]
    at_s: list[float]
    peak_mb: float
    simulate_s: float = 0.0
    handed_over: int = 0


def peer_environment(python: str | None) -> Path:
    """Interpreter of the peer's environment, made on first use."""
    inside = VENV / "bin" / "python"
    if not inside.exists():
        candidates = [python] if python else ["python3.13", "python3.12", "python3.14"]
        found = next((c for c in candidates if c and shutil.which(c)), None)
        if found is None:
            sys.exit("cobre-python needs Python 3.12 or later: name one by --peer-python")
        subprocess.run([found, "-m", "venv", str(VENV)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "-q", PEER], check=True)
    return inside


def on_peer_openings(python: Path, source: Path, case: Path) -> Path:
    """A copy of *source* in *case* that reads the openings which the peer draws for it."""
    shutil.copytree(source, case, ignore=shutil.ignore_patterns("output"), copy_function=shutil.copyfile)
    for folder in (case, *(path for path in case.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    with tempfile.TemporaryDirectory() as out:
        overrides = changes(1, 0) | {"exports.stochastic": True}
        _outcome([str(python), "-c", PEAK + PEER_SCRIPT, str(case), out, "1", json.dumps(overrides)])
        exported = Path(out) / "stochastic" / "noise_openings.parquet"
        shutil.copyfile(exported, case / "scenarios" / "noise_openings.parquet")
    config = json.loads((case / "config.json").read_text())
    config["training"].setdefault("scenario_source", {})["openings"] = {"source": "file"}
    (case / "config.json").write_text(json.dumps(config))
    return case


def changes(iterations: int, scenarios: int) -> dict[str, Any]:
    """What both are told: an iteration limit, unless it is zero, and how many scenarios to simulate."""
    made: dict[str, Any] = {"simulation.enabled": scenarios > 0}
    if scenarios:
        made["simulation.selection"] = {"method": "sampled", "num_scenarios": scenarios}
    if iterations:
        made["training.stopping_rules"] = [{"type": "iteration_limit", "limit": iterations}]
    return made


def run_peer(python: Path, case: Path, overrides: dict[str, Any], threads: int) -> Found:
    """One run of the peer."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as out:
        command = [str(python), "-c", PEAK + PEER_SCRIPT, str(case), out, str(threads), json.dumps(overrides)]
        told = json.loads(_outcome(command).splitlines()[-1])
        log = pq.read_table(Path(out) / "training" / "convergence.parquet").to_pydict()
    # Its clock ticks in milliseconds an iteration: what is lost is spread over all.
    wall = [sum(log["time_total_ms"][: k + 1]) for k in range(len(log["time_total_ms"]))]
    cpu_s = told.pop("cpu_s")
    train_cpu_s = cpu_s
    if threads == 1:
        train_cpu_s = min(cpu_s, told["train_s"])
    elif overrides["simulation.enabled"]:
        train_cpu_s = math.nan
    at_s = [train_cpu_s * ms / max(wall[-1], 1) for ms in wall]
    return Found(cpu_s=cpu_s, train_cpu_s=train_cpu_s, bounds=log["lower_bound"], at_s=at_s, **told)


def run_pycobre(case: Path, overrides: dict[str, Any], threads: int, ranks: int) -> Found:
    """One run of ours."""
    with tempfile.TemporaryDirectory() as out:
        command = [
            sys.executable,
            "-c",
            PEAK + OWN_SCRIPT,
            str(case),
            out,
            str(threads),
            json.dumps(overrides),
        ]
        if ranks > 1:
            command = [sys.executable, "-m", "pycobre.app.cli", "launch", "-n", str(ranks), "--", *command]
        _outcome(command)
        of_ranks = [json.loads((Path(out) / f"rank-{rank}.json").read_text()) for rank in range(ranks)]
    found = of_ranks[0]
    found["at_s"] = [sum(each) for each in zip(*(rank["at_s"] for rank in of_ranks), strict=True)]
    for name, combined in (("cpu_s", sum), ("train_cpu_s", sum), ("peak_mb", max)):
        found[name] = combined(rank[name] for rank in of_ranks)
    return Found(**found)


def _outcome(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout
