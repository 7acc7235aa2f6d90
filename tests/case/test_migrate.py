"""A case of Cobre 0.5.1 becomes the 0.18 case with the same values, and is told field by field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pycobre
from case.plain import plain
from pycobre.case import check_case, load_case, migrate
from pycobre.errors import CaseError

NAMES = ("1dtoy", "4ree", "d02-single-hydro", "d04-transmission", "d12-par-annual", "d19-multi-hydro-par")
CONFIG, STAGES, PENALTIES, INITIAL = "config.json", "stages.json", "penalties.json", "initial_conditions.json"
HYDROS, THERMALS, PRODUCTION = (
    "system/hydros.json",
    "system/thermals.json",
    "system/hydro_production_models.json",
)
PLANES = "system/fpha_hyperplanes.parquet"
HISTORY = "scenarios/inflow_history.parquet"
CONSTRAINTS = "constraints/generic_constraints.json"
BOUNDS = "constraints/generic_constraint_bounds.parquet"
LINE_BOUNDS = "constraints/line_bounds.parquet"
DATED = ("buses", "lines", "thermals", "hydros")


@pytest.mark.parametrize("name", NAMES)
def test_an_original_becomes_its_twin(shared_cases: Path, tmp_path: Path, name: str) -> None:
    migrate(shared_cases / "cobre-0.5.1" / name, tmp_path / "new")
    migrated, twin = load_case(tmp_path / "new"), load_case(shared_cases / "cobre-0.18" / name)
    assert plain(migrated.system) == plain(twin.system)
    assert migrated.options == twin.options
    assert plain(migrated.openings) == plain(twin.openings)


@pytest.mark.parametrize(
    ("name", "value"), [("d02-single-hydro", 23635000.0 / 9.0), ("d04-transmission", 5263443883.0 / 657.0)]
)
def test_a_migrated_original_has_its_known_value(
    shared_cases: Path, tmp_path: Path, name: str, value: float
) -> None:
    migrate(shared_cases / "cobre-0.5.1" / name, tmp_path / "new")
    assert pycobre.train(tmp_path / "new").lower_bound == pytest.approx(value, abs=1e-4)


def aged(directory: Any) -> dict[str, Any]:
    """The documents of the small case as Cobre 0.5.1 had them.

    Turbined flow, which had a price with production planes alone, has none in the small case either.
    """
    directory.put(PENALTIES, "hydro.turbined_cost", 0.0)
    old = copy.deepcopy(directory.documents)
    training, simulation = old[CONFIG]["training"], old[CONFIG]["simulation"]
    training["forward_passes"] = training.pop("selection")["forward_passes"]
    simulation["num_scenarios"] = simulation.pop("selection")["num_scenarios"]
    for stage in old[STAGES]["stages"]:
        stage["num_scenarios"] = stage.pop("num_openings")
    old[PENALTIES]["hydro"]["fpha_turbined_cost"] = old[PENALTIES]["hydro"].pop("turbined_cost")
    for name in DATED:
        for entity in old[f"system/{name}.json"][name]:
            del entity["operational_start_date"]
    productivity = {
        model["hydro_id"]: model["stage_ranges"][0].get("productivity_mw_per_m3s")
        for model in old.pop(PRODUCTION)["production_models"]
    }
    for hydro in old[HYDROS]["hydros"]:
        hydro["bus_id"] = hydro.pop("unit_groups")[0]["bus_id"]
        if productivity[hydro["id"]] is not None:
            hydro["generation"]["productivity_mw_per_m3s"] = productivity[hydro["id"]]
    observed: dict[int, list[float]] = {}
    for item in old[INITIAL].pop("recent_observations", []):
        observed.setdefault(item["hydro_id"], []).append(item["value_m3s"])
    old[INITIAL]["past_inflows"] = [{"hydro_id": id, "values_m3s": values} for id, values in observed.items()]
    return old


@pytest.fixture
def move(directory: Any, tmp_path: Path) -> Callable[..., Any]:
    """Writes old documents beside the small case's tables, migrates them, and loads both cases."""

    def run(old: dict[str, Any], tables: dict[str, pa.Table] | None = None) -> Any:
        new = directory.write(tmp_path / "expected")
        directory.documents = {name: content for name, content in old.items() if content is not None}
        source = directory.write(tmp_path / "old")
        for file, table in (tables or {}).items():
            pq.write_table(table, source / file)
        changes = migrate(source, tmp_path / "new")
        found, problems = check_case(tmp_path / "new")
        assert found is not None, "\n".join(f"{p.file}: {p}" for p in problems)
        return found, load_case(new), [(change.file, change.field) for change in changes]

    return run


def test_every_field_of_the_small_case_is_carried_over(directory: Any, move: Callable[..., Any]) -> None:
    directory.put(PENALTIES, "hydro.inflow_nonnegativity_cost", 77.0)
    old = aged(directory)
    old[PENALTIES]["hydro"]["fpha_turbined_cost"] = 9.0
    del old[PENALTIES]["hydro"]["inflow_nonnegativity_cost"]
    old[PENALTIES]["version"] = "1"
    old[CONFIG] |= {
        "modeling": {"inflow_non_negativity": {"method": "penalty", "penalty_cost": 77.0}},
        "exports": {"cuts": True, "stochastic": False},
        "policy": {"mode": "fresh", "validate_compatibility": True},
        "version": "2.0",
    }
    old[CONFIG]["training"] |= {
        "cut_formulation": "single",
        "forward_pass": {"type": "default"},
        "cut_selection": {"enabled": False, "method": "level1", "threshold": 3},
    }
    old[CONFIG]["training"]["stopping_rules"].append(
        {"type": "simulation", "replications": 9, "period": 5, "bound_window": 5, "distance_tol": 0.1,
         "bound_tol": 0.1}
    )  # fmt: skip
    old[CONFIG]["simulation"] |= {"policy_type": "outer", "output_path": None}
    old[STAGES]["scenario_source"] = {"seed": 42}
    old[THERMALS]["thermals"][0]["gnl_config"] = {"lag_stages": 2}
    migrated, expected, told = move(old)
    assert plain(migrated.system) == plain(expected.system)
    assert migrated.options == expected.options
    assert set(told) >= {
        (CONFIG, "training.selection"),
        (CONFIG, "training.stopping_rules"),
        (CONFIG, "training.cut_selection"),
        (CONFIG, "training.cut_formulation"),
        (CONFIG, "simulation.policy_type"),
        (CONFIG, "modeling.inflow_non_negativity.penalty_cost"),
        (CONFIG, "exports.cuts"),
        (CONFIG, "version"),
        (STAGES, "scenario_source"),
        (STAGES, "stages[].num_openings"),
        (INITIAL, "recent_observations"),
        (HYDROS, "hydros[].bus_id"),
        (PENALTIES, "hydro.turbined_cost"),
        (THERMALS, "thermals[].gnl_config"),
    }


def test_the_price_of_turbined_flow_stays_with_the_plants_that_had_it(
    directory: Any, move: Callable[..., Any]
) -> None:
    """Under its new name the price would hold for every plant, and water would be dearer than it was."""
    directory.put(HYDROS, "hydros.0.generation.model", "fpha")
    directory.put(HYDROS, "hydros.0.penalties", {"turbined_cost": 3.0})
    directory.documents[PRODUCTION]["production_models"][0]["stage_ranges"] = [
        {"start_stage_id": 0, "model": "fpha", "fpha_config": {"source": "precomputed"}}
    ]
    columns = {name: [0.0] for name in ("gamma_v", "gamma_q", "gamma_s")}
    directory.tables[PLANES] = {
        "hydro_id": [3], "stage_id": [None], "plane_id": [0], "gamma_0": [0.0], "kappa": [1.0],
        **columns, "gamma_q": [0.8],
    }  # fmt: skip
    old = aged(directory)
    old[HYDROS]["hydros"][0]["penalties"] = None
    old[PENALTIES]["hydro"]["fpha_turbined_cost"] = 3.0
    old[HYDROS]["hydros"][1]["penalties"] = {"fpha_turbined_cost": 8.0}
    migrated, expected, told = move(old)
    assert plain(migrated.system) == plain(expected.system)
    prices = [hydro.penalties.turbined_cost_per_m3s_h for hydro in migrated.system.hydros]
    assert prices == [3.0, 0.0]
    assert ("system/hydro_energy_productivity.parquet", "equivalent_productivity_mw_per_m3s") in told


def test_productivities_of_single_stages_are_carried_over(directory: Any, move: Callable[..., Any]) -> None:
    ranges = directory.documents[PRODUCTION]["production_models"][0]["stage_ranges"]
    ranges[0]["end_stage_id"] = 1
    ranges.append({"start_stage_id": 2, "model": "constant_productivity", "productivity_mw_per_m3s": 0.5})
    old = aged(directory)
    name = "constant_productivity"
    spans = [
        {"start_stage_id": 0, "end_stage_id": 1, "model": name},
        {"start_stage_id": 2, "model": name, "productivity_override": 0.5},
    ]
    old[PRODUCTION] = {
        "production_models": [{"hydro_id": 3, "selection_mode": "stage_ranges", "stage_ranges": spans}]
    }
    migrated, expected, _ = move(old)
    assert plain(migrated.system) == plain(expected.system)


def test_capacity_factors_of_blocks_become_capacities(directory: Any, move: Callable[..., Any]) -> None:
    directory.tables[LINE_BOUNDS] = {
        "line_id": [1, 1, 1], "stage_id": [1, 0, 1], "block_id": [None, 1, 0],
        "direct_mw": [10.0, 15.0, 20.0], "reverse_mw": [None, 20.0, 10.0],
    }  # fmt: skip
    old = aged(directory)
    half = {"block_id": 1, "direct_factor": 0.5, "reverse_factor": 1.0}
    twice = {"block_id": 0, "direct_factor": 2.0, "reverse_factor": 0.5}
    old["constraints/exchange_factors.json"] = {
        "exchange_factors": [
            {"line_id": 1, "stage_id": 0, "block_factors": [half]},
            {"line_id": 1, "stage_id": 1, "block_factors": [twice]},
        ]
    }
    ids = {"line_id": pa.array([1], pa.int32()), "stage_id": pa.array([1], pa.int32())}
    table = pa.table({**ids, "direct_mw": [10.0], "reverse_mw": pa.array([None], pa.float64())})
    migrated, expected, _ = move(old, {LINE_BOUNDS: table})
    assert plain(migrated.system) == plain(expected.system)


def test_senses_of_constraints_become_sides_of_their_bounds(directory: Any, move: Callable[..., Any]) -> None:
    slack = {"enabled": True, "penalty": 5.0}
    records = [
        {"id": id, "name": f"C{id}", "expression": "thermal_generation(4)", "slack": slack}
        for id in (1, 2, 3)
    ]
    directory.documents[CONSTRAINTS] = {"constraints": records}
    directory.tables[BOUNDS] = {
        "constraint_id": [1, 2, 3], "stage_id": [0, 0, 1], "block_id": [None, 1, None],
        "bound_lower": [10.0, None, 30.0], "bound_upper": [None, 20.0, 30.0],
    }  # fmt: skip
    old = aged(directory)
    for record, sense in zip(old[CONSTRAINTS]["constraints"], (">=", "<=", "=="), strict=True):
        record["sense"] = sense
    numbers = {"constraint_id": [1, 2, 3], "stage_id": [0, 0, 1], "block_id": [None, 1, None]}
    table = pa.table({name: pa.array(ids, pa.int32()) for name, ids in numbers.items()})
    table = table.append_column("bound", pa.array([10.0, 20.0, 30.0]))
    migrated, expected, _ = move(old, {BOUNDS: table})
    assert plain(migrated.system) == plain(expected.system)


def test_dates_of_the_history_become_months(directory: Any, move: Callable[..., Any]) -> None:
    months = [date(1999 + k // 12, k % 12 + 1, 1) for k in range(300)]
    rng = np.random.default_rng(1)
    rows = [(id, k) for id in (3, 5) for k in range(299)]
    values = rng.gamma(9.0, 3.0, len(rows)).tolist()
    for file in ("scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"):
        directory.drop(file)
    directory.tables[HISTORY] = {
        "hydro_id": [id for id, _ in rows],
        "start_date": [months[k] for _, k in rows],
        "end_date": [months[k + 1] for _, k in rows],
        "value_m3s": values,
    }
    old = aged(directory)
    table = pa.table(
        {
            "hydro_id": pa.array([id for id, _ in rows], pa.int32()),
            "date": pa.array([months[k] for _, k in rows], pa.date32()),
            "value_m3s": values,
        }
    )
    migrated, expected, _ = move(old, {HISTORY: table})
    assert plain(migrated.system) == plain(expected.system)


def test_a_study_with_lags_and_no_seasons_gets_months(directory: Any, move: Callable[..., Any]) -> None:
    old = aged(directory)
    del old[STAGES]["season_definitions"]
    for stage in old[STAGES]["stages"]:
        stage["season_id"] = 0
    migrated, expected, told = move(old)
    assert plain(migrated.system) == plain(expected.system)
    assert (STAGES, "season_definitions") in told


def test_openings_in_a_file_are_used_as_before(directory: Any, move: Callable[..., Any]) -> None:
    terms = [(t, o, e) for t in range(3) for o in range(2) for e in range(3)]
    directory.tables["scenarios/noise_openings.parquet"] = {
        "stage_id": [t for t, _, _ in terms],
        "opening_index": [o for _, o, _ in terms],
        "entity_index": [e for _, _, e in terms],
        "value": [0.1 * k for k in range(len(terms))],
    }
    directory.put(CONFIG, "training.scenario_source", {"openings": {"source": "file"}})
    old = aged(directory)
    del old[CONFIG]["training"]["scenario_source"]
    migrated, expected, _ = move(old)
    assert expected.openings is not None
    assert plain(migrated.openings) == plain(expected.openings)


def test_the_new_files_name_their_version_and_hold_their_schemas(
    directory: Any, move: Callable[..., Any], tmp_path: Path
) -> None:
    move(aged(directory))
    for file in (CONFIG, HYDROS):
        place = tmp_path / "new" / file
        named = json.loads(place.read_text())["$schema"]
        assert "cobre-0.18" in named
        assert json.loads((place.parent / named).read_text())["$comment"] == "Case format 0.18"
    place.write_text(place.read_text().replace("cobre-0.18", "cobre-0.21"))
    (problem,) = check_case(tmp_path / "new")[1]
    assert (problem.file, problem.field) == (HYDROS, "$schema")
    assert "0.21" in problem.message


def test_results_of_earlier_runs_are_not_copied(directory: Any, tmp_path: Path) -> None:
    directory.documents = aged(directory)
    source = directory.write(tmp_path / "old")
    (source / "output").mkdir()
    (source / "README.md").write_text("mine")
    migrate(source, tmp_path / "new")
    assert not (tmp_path / "new" / "output").exists()
    assert (tmp_path / "new" / "README.md").read_text() == "mine"


def refused(old: Path, new: Path) -> str:
    before = sorted(new.parent.rglob("*"))
    with pytest.raises(CaseError) as caught:
        migrate(old, new)
    assert sorted(new.parent.rglob("*")) == before
    return str(caught.value)


def test_nothing_is_overwritten_and_nothing_half_written_stays(directory: Any, tmp_path: Path) -> None:
    new_format = directory.write(tmp_path / "newer")
    assert "0.18 already" in refused(new_format, tmp_path / "out")
    directory.documents = aged(directory)
    source = directory.write(tmp_path / "old")
    assert "not empty" in refused(source, new_format)
    assert "inside" in refused(source, source / "new")
    assert "no directory" in refused(tmp_path / "nowhere", tmp_path / "out")
    (source / STAGES).write_text('{"stages": [{"id": 0}]}')
    assert "does not hold what a case of 0.5.1 does" in refused(source, tmp_path / "out")
    (source / STAGES).write_text("{")
    (source / CONFIG).unlink()
    told = refused(source, tmp_path / "out")
    assert "is not JSON" in told
    assert "the file is missing" in told
