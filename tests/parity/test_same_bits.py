"""The claim: the same bits on any number of ranks and threads, and for any order of entities.

What is compared is the sha256 of the bounds, of every cut and of every simulation table.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import pycobre
from pycobre.results import digest

BRAZIL = Path(__file__).parents[2] / "examples" / "brazil-4"
TOY = BRAZIL.with_name("toy")
SHORT = {"training.iterations": 4, "simulation.enabled": True, "simulation.num_scenarios": 20}

Digest = Callable[..., dict[str, str]]


@pytest.fixture
def digest_of(tmp_path: Path) -> Digest:
    """Runs a case shortly and returns the hashes of what came out."""

    def run(case: Path, name: str, **how: Any) -> dict[str, str]:
        pycobre.train(case, output=tmp_path / name, simulation=True, overrides=SHORT, **how)
        found = digest(tmp_path / name)
        assert {"convergence", "policy", "costs", "reservoirs", "hydros", "thermals", "buses"} <= set(found)
        return found

    return run


def shuffled(case: Path, target: Path, seed: int) -> Path:
    """Copy of *case* with the entities of its JSON files and the rows of its tables in another order."""
    shutil.copytree(case, target, ignore=shutil.ignore_patterns("output", "source"))
    rng = np.random.default_rng(seed)
    for file in sorted((target / "system").glob("*.json")):
        content = json.loads(file.read_text())
        for key, value in content.items():
            if isinstance(value, list):
                content[key] = [value[k] for k in rng.permutation(len(value))]
        file.write_text(json.dumps(content))
    for file in sorted(target.rglob("*.parquet")):
        table = pq.read_table(file)
        pq.write_table(table.take(rng.permutation(table.num_rows)), file)
    initial = json.loads((target / "initial_conditions.json").read_text())
    initial["storage"] = [initial["storage"][k] for k in rng.permutation(len(initial["storage"]))]
    (target / "initial_conditions.json").write_text(json.dumps(initial))
    return target


def check_everywhere(case: Path, digest_of: Digest, tmp_path: Path, solver: str = "auto") -> None:
    expected = digest_of(case, "local-1", threads=1, solver=solver)
    assert digest_of(case, "local-1-threads-3", threads=3, solver=solver) == expected
    assert digest_of(case, "shm-2", num_workers=2, backend="shm", threads=1, solver=solver) == expected
    assert digest_of(case, "shm-3", num_workers=3, backend="shm", threads=2, solver=solver) == expected
    other = shuffled(case, tmp_path / "shuffled", 7)
    assert digest_of(other, "shuffled-local", solver=solver) == expected
    assert digest_of(other, "shuffled-shm-2", num_workers=2, solver=solver) == expected


@pytest.mark.parametrize("solver", ["dense", "highs"])
def test_brazil_has_the_same_bits_everywhere(digest_of: Digest, tmp_path: Path, solver: str) -> None:
    check_everywhere(BRAZIL, digest_of, tmp_path, solver)


@pytest.mark.parametrize("solver", ["dense", "highs"])
def test_any_number_of_ranks_and_threads_gives_the_same_bits(digest_of: Digest, solver: str) -> None:
    runs = [
        digest_of(TOY, f"{ranks}-{threads}", num_workers=ranks, threads=threads, solver=solver)
        for ranks in (1, 2, 3)
        for threads in (1, 2, 3)
    ]
    assert all(run == runs[0] for run in runs)


def test_a_case_of_many_rows_has_the_same_bits_everywhere(
    generate: Callable[..., Path], digest_of: Digest, tmp_path: Path
) -> None:
    """More than a hundred rows: the inverse is kept as factors, and openings are solved in turn."""
    case = generate(hydros=35, stages=3, lags=2, openings=6, heads=True)
    check_everywhere(case, digest_of, tmp_path, "dense")


def test_4ree_has_the_same_bits_everywhere(digest_of: Digest, tmp_path: Path, shared_cases: Path) -> None:
    check_everywhere(shared_cases / "cobre-0.18" / "4ree", digest_of, tmp_path)


@pytest.mark.parametrize(("solver", "passes"), [("auto", 8), ("highs", 2)])
def test_a_risk_averse_study_with_fresh_noise_has_the_same_bits_everywhere(
    digest_of: Digest, tmp_path: Path, solver: str, passes: int
) -> None:
    """CVaR needs the costs of all openings, truncation the states, and fresh noise comes from every rank.

    With few passes ranks share a trial point, and what its units start from, too.
    """
    case = tmp_path / "brazil"
    shutil.copytree(BRAZIL, case, ignore=shutil.ignore_patterns("output", "source"))
    stages = json.loads((case / "stages.json").read_text())
    for stage in stages["stages"]:
        stage |= {"risk_measure": {"cvar": {"alpha": 0.3, "lambda": 0.4}}, "sampling_method": "lhs"}
    (case / "stages.json").write_text(json.dumps(stages))
    config = json.loads((case / "config.json").read_text())
    config["training"]["scenario_source"] = {"seed": 3, "inflow": {"scheme": "out_of_sample"}}
    config["training"]["selection"]["forward_passes"] = passes
    config["modeling"] = {"inflow_non_negativity": {"method": "truncation"}}
    (case / "config.json").write_text(json.dumps(config))
    expected = digest_of(case, "local-1", threads=1, solver=solver)
    for ranks in (2, 3):
        assert digest_of(case, f"shm-{ranks}", num_workers=ranks, threads=1, solver=solver) == expected
    assert digest_of(shuffled(case, tmp_path / "other", 7), "shuffled", threads=2, solver=solver) == expected
    plain = digest_of(BRAZIL, "plain", threads=1)
    assert all(plain[name] != expected[name] for name in ("convergence", "policy", "costs"))


def test_another_seed_has_other_bits(tmp_path: Path) -> None:
    """The comparison sees differences at all."""
    found = []
    for seed in (1, 2):
        overrides = {**SHORT, "training.tree_seed": seed}
        pycobre.train(BRAZIL, output=tmp_path / str(seed), simulation=True, overrides=overrides)
        found.append(digest(tmp_path / str(seed)))
    assert all(found[0][name] != found[1][name] for name in ("convergence", "policy", "costs", "thermals"))
