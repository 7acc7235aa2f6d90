"""Non-controllable sources are read whole, or refused with their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pycobre
from case import exercise as e
from pycobre.errors import CaseError
from pycobre.results import Results
from pycobre.study import noise

SOURCES = "system/non_controllable_sources.json"
STATS = "scenarios/non_controllable_stats.parquet"
FACTORS = "scenarios/non_controllable_factors.json"
BOUNDS = "constraints/ncs_bounds.parquet"
EXTERNAL = "scenarios/external_ncs_scenarios.parquet"
CORRELATION = "scenarios/correlation.json"


@pytest.fixture
def windy(directory: Any) -> Any:
    plain = {"operational_start_date": "1990-01-01", "bus_id": 2, "max_generation_mw": 60.0}
    directory.documents[SOURCES] = {
        "non_controllable_sources": [
            {"id": 8, "name": "Sun", "curtailment_cost": 0.3, "allow_curtailment": False, **plain},
            {"id": 2, "name": "Wind", **plain},
        ]
    }
    directory.tables[STATS] = {
        "ncs_id": [8, 8, 8], "stage_id": [0, 1, 2], "mean": [0.5, 0.25, 0.75], "std": [0.1, 0.0, 0.2],
    }  # fmt: skip
    block = [{"block_id": 1, "factor": 1.5}]
    directory.documents[FACTORS] = {
        "non_controllable_factors": [{"ncs_id": 2, "stage_id": 1, "block_factors": block}]
    }
    return directory


def test_sources_stand_by_id_with_their_statistics_and_noise_last(
    windy: Any, reload: Callable[..., Any]
) -> None:
    windy.put("penalties.json", "non_controllable_source.curtailment_cost", 0.7)
    case, problems = reload()
    assert case is not None, problems
    system = case.system
    assert [(s.id, s.may_be_curtailed, s.curtailment_cost_per_mwh) for s in system.sources] == [
        (2, True, 0.7),
        (8, False, 0.3),
    ]
    np.testing.assert_array_equal(system.availability.mean, [[1, 1, 1], [0.5, 0.25, 0.75]])
    np.testing.assert_array_equal(system.availability.std, [[0, 0, 0], [0.1, 0.0, 0.2]])
    assert system.availability.block_factor[0].tolist() == [[1, 1], [1, 1.5], [1, 1]]
    # Two hydros, one bus of random demand, the one source that has statistics.
    assert (system.availability.drawn, system.first_source_noise, system.noise_dimension) == ((1,), 3, 4)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.put(SOURCES, "non_controllable_sources.0.bus_id", 7), ("reference", SOURCES, "bus_id")),
        (lambda d: d.put(SOURCES, "non_controllable_sources.0.id", 2), ("reference", SOURCES, "id")),
        (lambda d: d.put(STATS, "mean.0", 1.5), ("schema", STATS, "mean")),
        (lambda d: d.put(STATS, "stage_id.0", 9), ("reference", STATS, "stage_id")),
        (lambda d: d.keep_rows(STATS, lambda row: row["stage_id"] > 0), ("dimension", STATS, "stage_id")),
        (lambda d: d.put(FACTORS, "non_controllable_factors.0.ncs_id", 9), ("reference", FACTORS, "ncs_id")),
        (lambda d: d.put(FACTORS, "non_controllable_factors.0.block_factors.0.block_id", 4),
         ("reference", FACTORS, "block_factors")),
        (lambda d: d.tables.update({BOUNDS: {"ncs_id": [8], "stage_id": [0],
                                             "available_generation_mw": [3.0]}}),
         ("dimension", BOUNDS, "available_generation_mw")),
    ],
)  # fmt: skip
def test_a_wrong_source_is_refused(
    windy: Any, reload: Callable[..., Any], change: Any, expected: Any
) -> None:
    change(windy)
    case, problems = reload()
    errors = [problem for problem in problems if problem.kind != "warning"]
    assert expected in [(p.kind, p.file, p.field) for p in errors], errors
    assert case is None


def test_sources_may_be_correlated_with_one_another(windy: Any, reload: Callable[..., Any]) -> None:
    windy.tables[STATS] = {
        "ncs_id": [8, 8, 8, 2, 2, 2], "stage_id": [0, 1, 2] * 2, "mean": [0.5] * 6, "std": [0.1] * 6,
    }  # fmt: skip
    group = {"name": "sky", "entities": [{"type": "ncs", "id": 8}, {"type": "ncs", "id": 2}],
             "matrix": [[1.0, 0.25], [0.25, 1.0]]}  # fmt: skip
    windy.documents[CORRELATION]["profiles"]["default"]["correlation_groups"].append(group)
    case, problems = reload()
    assert case is not None, problems
    assert case.system.correlation.profiles[0][3, 4] == 0.25


def test_given_availability_is_replayed_as_it_is(
    windy: Any, tmp_path: Any, reload: Callable[..., Any]
) -> None:
    windy.put("config.json", "simulation.enabled", True)
    windy.put("config.json", "simulation.selection", {"method": "sampled", "num_scenarios": 4})
    windy.put("config.json", "simulation.scenario_source", {"ncs": {"scheme": "external"}})
    given = {(0, 0): 0.4, (0, 1): 0.9, (1, 0): 0.25, (2, 0): 0.5, (2, 1): 1.0}
    windy.tables[EXTERNAL] = {
        "stage_id": [t for t, _ in given],
        "scenario_id": [s for _, s in given],
        "ncs_id": [8] * len(given),
        "value": list(given.values()),
    }
    case, problems = reload()
    assert case is not None, problems
    pycobre.train(case.path, output=tmp_path / "out", simulation=True)
    sources = Results.open(tmp_path / "out").sources.to_pandas()
    sun = sources[(sources.source_id == 8) & (sources.block_id == 0)]
    made = sun.set_index(["scenario_id", "stage_id"]).available_mw / 60.0
    assert [made[k, 0] for k in range(4)] == pytest.approx([0.4, 0.9, 0.4, 0.9])
    assert [made[k, 1] for k in range(4)] == pytest.approx([0.25] * 4)
    assert [made[k, 2] for k in range(4)] == pytest.approx([0.5, 1.0, 0.5, 1.0])


def test_availability_beyond_a_certain_source_is_refused_when_it_is_replayed(
    windy: Any, tmp_path: Any, reload: Callable[..., Any]
) -> None:
    windy.put("config.json", "training.scenario_source", {"ncs": {"scheme": "external"}})
    windy.tables[EXTERNAL] = {
        "stage_id": [0, 1, 2], "scenario_id": [0] * 3, "ncs_id": [8] * 3, "value": [0.5, 0.3, 0.5],
    }  # fmt: skip
    case, problems = reload()
    assert case is not None, problems
    with pytest.raises(CaseError, match=r"source 8 is certain in stage 1, at 0\.25"):
        pycobre.train(case.path, output=tmp_path / "out")


def test_what_is_replayed_in_training_and_simulation_is_worked_out_once(
    directory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    e.external(directory)
    replayed = directory.documents[e.CONFIG]["training"]["scenario_source"]
    directory.put(e.CONFIG, "simulation.scenario_source", replayed)
    worked_out: list[str] = []
    inflows, others = noise.replay_inflows, noise._replay

    def of_inflows(*arguments: Any) -> Any:
        worked_out.append("inflow")
        return inflows(*arguments)

    def of_others(system: Any, given: Any, kind: str, *more: Any) -> Any:
        worked_out.append(kind)
        return others(system, given, kind, *more)

    monkeypatch.setattr(noise, "replay_inflows", of_inflows)
    monkeypatch.setattr(noise, "_replay", of_others)
    pycobre.train(directory.write(tmp_path / "case"), simulation=True)
    assert sorted(worked_out) == ["bus", "inflow", "source"]
