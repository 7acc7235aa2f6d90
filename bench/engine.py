"""Training time beside cobre-python 0.18.0, on the same case and the same openings, in turns.

    python bench/engine.py CASE [--rounds 3] [--iterations N] [--peer-python PYTHON]

The openings are those that the peer draws and exports; both then read them from the case's file. Every
round runs the peer on one thread, pycobre on one rank, and pycobre on two, each as a process of its own.
Printed are medians over the rounds of wall seconds of training and of CPU seconds of the whole process
(start-up included, simulation off), their ratios to the peer, and the bounds.

cobre-python needs Python 3.12 or later: name one by --peer-python, or let the script look for it. It makes
a virtual environment for the peer once, in the user's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PEER = "cobre-python==0.18.0"
VENV = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pycobre-bench" / "cobre-0.18.0"

# Run inside the peer's environment: case, output, iteration limit or 0, whether to export the openings.
PEER_SCRIPT = """
import json, resource, sys
import cobre
case, out, limit, export = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "export"
overrides = {"simulation.enabled": False}
if limit:
    overrides["training.stopping_rules"] = [{"type": "iteration_limit", "limit": limit}]
if export:
    overrides["exports.stochastic"] = True
told = cobre.run.run(case, output_dir=out, threads=1, config_overrides=overrides)
use = resource.getrusage(resource.RUSAGE_SELF)
with open(out + "/training/metadata.json") as file:
    train_s = json.load(file)["duration_seconds"]
cpu_s = use.ru_utime + use.ru_stime
print(json.dumps({"lower_bound": told["lower_bound"], "train_s": train_s, "cpu_s": cpu_s}))
"""


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


def run_peer(python: Path, case: Path, limit: int, *, export: Path | None = None) -> dict[str, float]:
    """What one run of the peer came to; its openings are copied to *export* if given."""
    with tempfile.TemporaryDirectory() as out:
        command = [str(python), "-c", PEER_SCRIPT, str(case), out, str(limit), "export" if export else "run"]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        if export:
            shutil.copy(Path(out) / "stochastic" / "noise_openings.parquet", export)
    return dict(json.loads(told.splitlines()[-1]))


def run_pycobre(case: Path, limit: int, ranks: int) -> dict[str, float]:
    """What one run of pycobre came to."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "pycobre.app.cli", "run", str(case), "--json", "--no-simulation"]
        command += ["--ranks", str(ranks), "--threads", "1", "--out", f"{out}/results"]
        if limit:
            command += ["--set", f"training.iterations={limit}"]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(told.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=0, help="instead of the case's own limit")
    parser.add_argument("--peer-python")
    asked = parser.parse_args()
    python = peer_environment(asked.peer_python)
    with tempfile.TemporaryDirectory() as scratch:
        case = Path(scratch) / asked.case.resolve().name
        shutil.copytree(asked.case, case, ignore=shutil.ignore_patterns("output"))
        run_peer(python, case, 1, export=case / "scenarios" / "noise_openings.parquet")
        config = json.loads((case / "config.json").read_text())
        source = config["training"].setdefault("scenario_source", {})
        source["openings"] = {"source": "file"}
        (case / "config.json").write_text(json.dumps(config))
        runs: dict[str, list[dict[str, float]]] = {
            "cobre 1 thread": [],
            "pycobre 1 rank": [],
            "pycobre 2 ranks": [],
        }
        for _ in range(asked.rounds):
            runs["cobre 1 thread"].append(run_peer(python, case, asked.iterations))
            runs["pycobre 1 rank"].append(run_pycobre(case, asked.iterations, 1))
            runs["pycobre 2 ranks"].append(run_pycobre(case, asked.iterations, 2))
    report(runs)


def report(runs: dict[str, list[dict[str, float]]]) -> None:
    """Print the table."""

    def median(name: str, key: str) -> float:
        return statistics.median(run[key] for run in runs[name])

    peer = "cobre 1 thread"
    print(f"{'':16} {'CPU s':>8} {'ratio':>6} {'train s':>8} {'ratio':>6}   lower bound")
    for name, found in runs.items():
        cpu, wall = median(name, "cpu_s"), median(name, "train_s")
        print(
            f"{name:16} {cpu:8.2f} {cpu / median(peer, 'cpu_s'):6.2f} {wall:8.2f}"
            f" {wall / median(peer, 'train_s'):6.2f}   {found[-1]['lower_bound']:.10g}"
        )
    bounds = {found[-1]["lower_bound"] for name, found in runs.items() if name != peer}
    theirs = runs[peer][-1]["lower_bound"]
    print(f"bounds of pycobre equal: {len(bounds) == 1}")
    print(f"relative difference to the peer's bound: {(bounds.pop() - theirs) / theirs:.2e}")
    speed = median("pycobre 1 rank", "train_s") / median("pycobre 2 ranks", "train_s")
    print(f"two ranks against one, training wall: {speed:.2f}x")


if __name__ == "__main__":
    main()
