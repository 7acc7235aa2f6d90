"""Figures of cobre-python 0.18.0 on its own cases, on openings and scenarios that we can be given too.

    python bench/beside_cobre.py CASES [--only CASE ...] [--peer-python PYTHON]

CASES is the directory of the 22 cases of Cobre 0.18. Written is `tests/parity/data/cobre_0.18.0.json`: for
each case the last lower bound, and of a simulation the mean cost; where openings differ also the cost of each
scenario, and which opening it drew in each stage (found from its inflows), so that others can simulate the
same scenarios. `--only` makes some figures and keeps the others. Stochastic
cases read the openings under `tests/parity/data`, which are those that the peer exports for its tree seed.
`4ree-2-stages` and `4ree-4-stages` are 4ree cut to its first stages, where both converge.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from contenders import peer_environment

DATA = Path(__file__).parents[1] / "tests" / "parity" / "data"
TARGET = DATA / "cobre_0.18.0.json"

# Run inside the peer's environment: case, output, overrides.
PEER_SCRIPT = """
import json, sys
import cobre
told = cobre.run.run(sys.argv[1], output_dir=sys.argv[2], threads=1, config_overrides=json.loads(sys.argv[3]))
print(json.dumps({"lower_bound": told["lower_bound"], "iterations": told["iterations"]}))
"""


@dataclass(frozen=True)
class Plan:
    """How long a case is trained, on how many passes and simulated scenarios, and how many stages stay."""

    iterations: int = 30
    forward_passes: int = 1
    scenarios: int = 2
    stages: int | None = None
    source: str | None = None


PLANS = {
    "1dtoy": Plan(iterations=3000, scenarios=100),
    "4ree": Plan(iterations=3000, scenarios=100),
    "4ree-2-stages": Plan(iterations=200, scenarios=100, stages=2, source="4ree"),
    "4ree-4-stages": Plan(iterations=600, scenarios=100, stages=4, source="4ree"),
    "d28-decomp-weekly-monthly": Plan(scenarios=5),
    "d29-weekly-par-noise-sharing": Plan(iterations=200),
}


def shorten(case: Path, stages: int) -> None:
    """Leave a case its first *stages* stages."""
    file = case / "stages.json"
    content = json.loads(file.read_text())
    content["stages"] = content["stages"][:stages]
    file.write_text(json.dumps(content))
    for path in sorted((case / "scenarios").glob("*.parquet")):
        table = pq.read_table(path)
        pq.write_table(table.filter(pc.less(table["stage_id"], stages)), path, compression="zstd")


def drawn_openings(case: Path, out: Path) -> list[list[int]]:
    """Opening (scenario by stage) that each simulated scenario drew, from the first hydro's inflow."""
    inflow = pq.read_table(
        out / "simulation" / "hydros",
        columns=["scenario_id", "stage_id", "hydro_id", "inflow_m3s", "block_id"],
        partitioning=None,
    ).to_pylist()
    stats = pq.read_table(case / "scenarios" / "inflow_seasonal_stats.parquet").to_pylist()
    of_stage = {row["stage_id"]: (row["mean_m3s"], row["std_m3s"]) for row in stats if row["hydro_id"] == 0}
    noise: dict[int, list[float]] = {}
    for row in pq.read_table(case / "scenarios" / "noise_openings.parquet").to_pylist():
        if row["entity_index"] == 0:
            noise.setdefault(row["stage_id"], []).append(row["value"])
    scenarios = 1 + max(row["scenario_id"] for row in inflow)
    drawn = [[-1] * len(noise) for _ in range(scenarios)]
    for row in inflow:
        if row["hydro_id"] != 0:
            continue
        mean, std = of_stage[row["stage_id"]]
        away = np.abs(mean + std * np.array(noise[row["stage_id"]]) - row["inflow_m3s"])
        nearest = int(away.argmin())
        if away[nearest] > 1e-6 * max(1.0, abs(row["inflow_m3s"])):
            raise SystemExit(f"{case.name}: an inflow of stage {row['stage_id']} is in no opening")
        drawn[row["scenario_id"]][row["stage_id"]] = nearest
    return drawn


def figures(python: Path, source: Path, name: str, plan: Plan) -> dict[str, Any]:
    """What the peer says of one case."""
    with tempfile.TemporaryDirectory() as scratch:
        case, out = Path(scratch) / name, Path(scratch) / "out"
        shutil.copytree(source, case, copy_function=shutil.copyfile)
        (case / "scenarios").chmod(0o755)
        overrides: dict[str, Any] = {
            "training.stopping_rules": [{"type": "iteration_limit", "limit": plan.iterations}],
            "training.selection": {"method": "sampled", "forward_passes": plan.forward_passes},
            "simulation.enabled": True,
            "simulation.selection": {"method": "sampled", "num_scenarios": plan.scenarios},
        }
        openings = DATA / f"{plan.source or name}_openings_of_cobre_0.18.0.parquet"
        if openings.exists():
            shutil.copyfile(openings, case / "scenarios" / "noise_openings.parquet")
            overrides["training.scenario_source.openings"] = {"source": "file"}
        if plan.stages:
            shorten(case, plan.stages)
        command = [str(python), "-c", PEER_SCRIPT, str(case), str(out), json.dumps(overrides)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found: dict[str, Any] = json.loads(told.splitlines()[-1])
        rows = pq.read_table(out / "simulation" / "scenario_summary.parquet").to_pylist()
        costs = [row["discounted_immediate_cost"] for row in rows]
        found |= {"forward_passes": plan.forward_passes, "mean_cost": sum(costs) / len(costs)}
        if (plan.source or name) in ("1dtoy", "4ree"):
            found |= {"cost": costs, "openings": drawn_openings(case, out)}
        return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--peer-python")
    parser.add_argument("--only", nargs="*", help="these cases alone; figures of the others stay")
    asked = parser.parse_args()
    python = peer_environment(asked.peer_python)
    known = json.loads(TARGET.read_text())["cases"] if TARGET.exists() else {}
    names = sorted({path.name for path in asked.cases.iterdir() if path.is_dir()} | set(PLANS))
    for name in asked.only or names:
        plan = PLANS.get(name, Plan())
        known[name] = figures(python, asked.cases / (plan.source or name), name, plan)
        print(f"{name:32} {known[name]['lower_bound']:.12g} {known[name]['mean_cost']:.12g}", flush=True)
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known))
        made = '"version": "cobre-python 0.18.0",\n"made_by": "bench/beside_cobre.py"'
        TARGET.write_text(f'{{\n{made},\n"cases": {{\n{lines}\n}}\n}}\n')


if __name__ == "__main__":
    main()
