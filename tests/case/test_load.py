"""A right case becomes the system that it describes."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pycobre.case import RowOption, Schemes, StudyOptions, check_case, load_case
from pycobre.errors import CaseError
from pycobre.stochastic import sample_openings
from pycobre.system import ConstantProductivity, ProductionPlane, ProductionPlanes

ARRAYS = {
    "inflow": ("mean_m3s", "std_m3s", "coefficients", "lag_mean_m3s", "lag_std_m3s", "past_m3s"),
    "load": ("mean_mw", "std_mw", "block_factor"),
}


@pytest.fixture
def load(reload: Callable[..., Any]) -> Callable[..., Any]:
    def run(overrides: dict[str, object] | None = None) -> Any:
        case, problems = reload(overrides)
        assert case is not None, "\n".join(f"{p.file}: {p}" for p in problems)
        return case

    return run


def test_the_small_case_has_no_fault_and_nothing_odd(load: Callable[..., Any]) -> None:
    assert load().warnings == ()


def test_a_case_prints_what_it_holds_and_entities_are_rows_of_a_frame(
    directory: Any, load: Callable[..., Any]
) -> None:
    directory.put("config.json", "estimation", {"max_order": 3})
    case = load()
    assert repr(case).startswith(f"Case({case.path}: 3 stages from 2024-01-01 to ")
    assert repr(case).endswith("2 hydros; 1 warning)")
    frame = pd.DataFrame(case.system.hydros).set_index("id")
    assert frame.loc[3, "storage_max_hm3"] == case.system.hydros[0].storage_max_hm3


def test_stages_keep_dates_blocks_and_discount(load: Callable[..., Any]) -> None:
    stage = load().system.stages[1]
    assert (stage.id, stage.start_date, stage.end_date) == (1, date(2024, 2, 1), date(2024, 3, 1))
    assert [(block.id, block.name, block.hours) for block in stage.blocks] == [
        (0, "HEAVY", 174.0),
        (1, "LIGHT", 522.0),
    ]
    assert (stage.num_openings, stage.annual_discount_rate, stage.season_id) == (2, 0.1, 1)


def test_risk_measure_of_a_stage_is_its_own(directory: Any, load: Callable[..., Any]) -> None:
    directory.put("stages.json", "stages.1.risk_measure", {"cvar": {"alpha": 0.15, "lambda": 0.4}})
    directory.put("stages.json", "stages.2.risk_measure", "expectation")
    stages = load().system.stages
    assert [(s.cvar_tail, s.cvar_weight, s.risk_averse) for s in stages] == [
        (1.0, 0.0, False),
        (0.15, 0.4, True),
        (1.0, 0.0, False),
    ]


@pytest.mark.parametrize("method", ["lhs", "qmc_sobol", "qmc_halton"])
def test_sampling_method_decides_the_openings(directory: Any, load: Callable[..., Any], method: str) -> None:
    before = sample_openings(load().system, 1)
    directory.put("stages.json", "stages.1.sampling_method", method)
    after = sample_openings(load().system, 1)
    assert [(a != b).all() for a, b in zip(before, after, strict=True)] == [False, True, False]


def test_sobol_openings_that_are_no_power_of_two_are_warned_of(
    directory: Any, load: Callable[..., Any]
) -> None:
    directory.put("stages.json", "stages.1.sampling_method", "qmc_sobol")
    assert load().warnings == ()
    directory.put("stages.json", "stages.1.num_openings", 6)
    assert [(w.entity, w.field) for w in load().warnings] == [("stage 1", "num_openings")]


def test_penalties_fall_back_from_entity_to_file(directory: Any, load: Callable[..., Any]) -> None:
    directory.put("system/hydros.json", "hydros.0.penalties", {"spillage_cost": 7.0})
    directory.put("penalties.json", "hydro.inflow_nonnegativity_cost", None)
    system = load().system
    north, south = system.buses
    assert [(s.depth_mw, s.cost_per_mwh) for s in north.deficit_segments] == [
        (5.0, 500.0),
        (math.inf, 5000.0),
    ]
    assert [(s.depth_mw, s.cost_per_mwh) for s in south.deficit_segments] == [(math.inf, 900.0)]
    assert system.lines[0].exchange_cost_per_mwh == 0.2
    assert system.lines[0].losses_fraction == 0.05
    first, second = (hydro.penalties for hydro in system.hydros)
    assert (first.spillage_cost_per_m3s_h, second.spillage_cost_per_m3s_h) == (7.0, 1.0)
    assert first.inflow_nonnegativity_cost_per_m3s_h == 1000.0


def test_a_plant_keeps_the_tighter_limits_of_itself_and_its_group(
    directory: Any, load: Callable[..., Any]
) -> None:
    directory.put("system/hydros.json", "hydros.0.unit_groups.0.max_turbined_m3s", 40.0)
    directory.put("system/hydros.json", "hydros.0.generation.min_generation_mw", 2.0)
    hydro = load().system.hydros[0]
    assert (hydro.turbined_max_m3s, hydro.generation_min_mw, hydro.generation_max_mw) == (40.0, 2.0, 45.0)
    assert (hydro.bus_id, hydro.downstream_id, hydro.outflow_max_m3s) == (1, 5, math.inf)
    assert (hydro.storage_min_hm3, hydro.storage_max_hm3, hydro.storage_initial_hm3) == (10.0, 200.0, 100.0)
    assert hydro.production == (ConstantProductivity(0.9),) * 3


def test_thermal_bounds_override_only_what_they_give(load: Callable[..., Any]) -> None:
    system = load().system
    assert system.changes == {"thermals": {(4, 1, None): {"generation_max_mw": 40.0}}}
    changed = system.thermals_in(system.stages[1])[0]
    assert (changed.generation_min_mw, changed.generation_max_mw, changed.cost_per_mwh) == (5.0, 40.0, 80.0)


def test_statistics_are_in_the_systems_order(load: Callable[..., Any]) -> None:
    system = load().system
    np.testing.assert_array_equal(system.inflow.mean_m3s, [[30, 31, 32], [50, 51, 52]])
    np.testing.assert_allclose(system.inflow.coefficients[:, :, 0], [[0.3] * 3, [0.5] * 3])
    # Lag 1 of the first stage reaches the period before the study, whose statistics are given.
    np.testing.assert_array_equal(system.inflow.lag_mean_m3s[:, :, 0], [[29, 30, 31], [49, 50, 51]])
    np.testing.assert_array_equal(
        system.inflow.lag_std_m3s[:, :, 0], [[2.875, 3.0, 3.125], [4.875, 5.0, 5.125]]
    )
    np.testing.assert_array_equal(system.inflow.past_m3s, [[31.0], [-2.0]])
    assert system.inflow.nonnegativity == "penalty"
    np.testing.assert_array_equal(system.load.mean_mw, [[0, 0, 0], [80, 81, 82]])
    assert system.load.random_buses == (1,)
    np.testing.assert_array_equal(system.load.block_factor[1], [[1.3, 0.9], [1, 1], [1, 1]])


def test_a_bus_without_random_demand_has_no_noise(directory: Any, load: Callable[..., Any]) -> None:
    assert load().system.noise_dimension == 3
    directory.put("scenarios/load_seasonal_stats.parquet", "std_mw.1", 0.0)
    assert load().system.noise_dimension == 2


def test_correlation_follows_the_ids_and_not_the_file(load: Callable[..., Any]) -> None:
    correlation = load().system.correlation
    np.testing.assert_array_equal(correlation.profiles[0], [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    assert correlation.profile_of_stage == (0, 0, 0)


def test_correlation_profiles_are_scheduled(
    directory: Any, reload: Callable[..., Any], load: Callable[..., Any]
) -> None:
    group = directory.documents["scenarios/correlation.json"]["profiles"]["default"]
    directory.put("scenarios/correlation.json", "profiles.dry", {"correlation_groups": []})
    directory.put("scenarios/correlation.json", "schedule", [{"stage_id": 1, "profile_name": "dry"}])
    assert load().system.correlation.profile_of_stage == (0, 1, 0)
    directory.put("scenarios/correlation.json", "profiles", {"a": group, "b": group})
    directory.put("scenarios/correlation.json", "schedule", [{"stage_id": 1, "profile_name": "b"}])
    (problem,) = reload()[1]
    assert problem.message == "stages 0, 2 have no profile"


def test_lags_before_the_study_take_the_statistics_of_their_season(
    directory: Any, load: Callable[..., Any]
) -> None:
    directory.keep_rows("scenarios/inflow_seasonal_stats.parquet", lambda row: row["stage_id"] >= 0)
    # The season of December is that of the last stage here, so its statistics are the last stage's.
    for season, month in ((11, 3), (2, 12)):
        directory.put("stages.json", f"season_definitions.seasons.{month - 1}.id", season)
    directory.put("stages.json", "stages.2.season_id", 11)
    directory.put("stages.json", "pre_study_stages", [
        {"id": -1, "start_date": "2023-12-01", "end_date": "2024-01-01", "season_id": 11}
    ])  # fmt: skip
    inflow = load().system.inflow
    np.testing.assert_array_equal(inflow.lag_mean_m3s[:, 0, 0], [32, 52])
    np.testing.assert_array_equal(inflow.lag_std_m3s[:, 0, 0], [3.25, 5.25])


def test_past_inflows_are_averaged_by_days(directory: Any, load: Callable[..., Any]) -> None:
    directory.put("initial_conditions.json", "recent_observations", [
        {"hydro_id": 3, "start_date": "2023-11-21", "end_date": "2023-12-11", "value_m3s": 62.0},
        {"hydro_id": 3, "start_date": "2023-12-11", "end_date": "2024-01-01", "value_m3s": 31.0},
        {"hydro_id": 5, "start_date": "2023-12-01", "end_date": "2024-01-01", "value_m3s": 1.0},
    ])  # fmt: skip
    np.testing.assert_allclose(load().system.inflow.past_m3s, [[(10 * 62 + 21 * 31) / 31], [1.0]])


def test_periods_before_a_stage_that_is_no_month_are_as_long_as_it(
    directory: Any, load: Callable[..., Any]
) -> None:
    stages = directory.documents["stages.json"]["stages"]
    for stage, start, end in zip(stages, (1, 8, 15), (8, 15, 22), strict=True):
        stage |= {"start_date": f"2024-01-{start:02}", "end_date": f"2024-01-{end:02}"}
        for block in stage["blocks"]:
            block["hours"] = 84.0
        del stage["season_id"]
    for item in directory.documents["initial_conditions.json"]["recent_observations"]:
        item["start_date"] = "2023-12-25"
    assert load().system.inflow.past_m3s.tolist() == [[31.0], [-2.0]]


def test_production_planes_scale_the_intercept_alone(directory: Any, load: Callable[..., Any]) -> None:
    directory.put("system/hydros.json", "hydros.0.generation.model", "fpha")
    directory.put("system/hydro_production_models.json", "production_models.0.stage_ranges.0", {
        "start_stage_id": 0, "end_stage_id": None, "model": "fpha", "fpha_config": {"source": "precomputed"}
    })  # fmt: skip
    directory.tables["system/fpha_hyperplanes.parquet"] = {
        "hydro_id": [3, 3, 3],
        "stage_id": [None, 1, None],
        "plane_id": [1, 0, 0],
        "gamma_0": [2.0, 1.0, 3.0],
        "gamma_v": [0.01, 0.02, 0.03],
        "gamma_q": [0.9, 0.8, 0.7],
        "gamma_s": [0.0, -0.1, 0.0],
        "kappa": [0.5, 1.0, 1.0],
    }
    every = ProductionPlanes((ProductionPlane(3.0, 0.03, 0.7, 0.0), ProductionPlane(1.0, 0.01, 0.9, 0.0)))
    own = ProductionPlanes((ProductionPlane(1.0, 0.02, 0.8, -0.1),))
    assert load().system.hydros[0].production == (every, own, every)


def test_productivity_may_come_from_the_table(directory: Any, load: Callable[..., Any]) -> None:
    directory.put(
        "system/hydro_production_models.json",
        "production_models.0.stage_ranges.0.productivity_mw_per_m3s",
        None,
    )
    directory.tables["system/hydro_energy_productivity.parquet"] = {
        "hydro_id": [3, 3, 5],
        "stage_id": [None, 2, 0],
        "equivalent_productivity_mw_per_m3s": [0.7, 0.8, 0.5],
    }
    case = load()
    assert [model.mw_per_m3s for model in case.system.hydros[0].production] == [0.7, 0.7, 0.8]
    assert [warning.message for warning in case.warnings] == [
        "productivities of hydros 5 are not used: system/hydro_production_models.json gives their own"
    ]


def test_production_may_be_chosen_by_season(directory: Any, load: Callable[..., Any]) -> None:
    directory.put("system/hydro_production_models.json", "production_models.0", {
        "hydro_id": 3,
        "selection_mode": "seasonal",
        "default_model": "constant_productivity",
        "seasons": [
            {"season_id": 1, "model": "constant_productivity", "productivity_mw_per_m3s": 0.4},
            {"season_id": 2, "model": "constant_productivity", "productivity_mw_per_m3s": 0.6},
        ],
    })  # fmt: skip
    directory.tables["system/hydro_energy_productivity.parquet"] = {
        "hydro_id": [3],
        "stage_id": [0],
        "equivalent_productivity_mw_per_m3s": [0.7],
    }
    assert [model.mw_per_m3s for model in load().system.hydros[0].production] == [0.7, 0.4, 0.6]


def test_transitions_may_only_repeat_the_chain_and_their_discount_holds(
    directory: Any, reload: Callable[..., Any], load: Callable[..., Any]
) -> None:
    arcs = [
        {"source_id": 0, "target_id": 1, "probability": 1.0, "annual_discount_rate_override": 0.2},
        {"source_id": 1, "target_id": 2, "probability": 1.0},
    ]
    directory.put("stages.json", "policy_graph.transitions", arcs)
    directory.put("stages.json", "stages.2.annual_discount_rate_override", 0.3)
    assert [stage.annual_discount_rate for stage in load().system.stages] == [0.2, 0.1, 0.3]
    arcs[1] |= {"target_id": 0, "probability": 0.5}
    directory.put("stages.json", "policy_graph.transitions", arcs)
    fields = [problem.field for problem in reload()[1]]
    assert fields == ["policy_graph.transitions[1]"]
    directory.put("stages.json", "policy_graph.transitions", arcs[:1])
    assert [problem.entity for problem in reload()[1]] == ["stage 1"]


def test_a_whole_month_may_have_the_standard_hours(directory: Any, load: Callable[..., Any]) -> None:
    for block, hours in ((0, 182.5), (1, 547.5)):
        directory.put("stages.json", f"stages.1.blocks.{block}.hours", hours)
    (warning,) = load().warnings
    assert "standard month of 730 h" in warning.message


def test_given_openings_are_arrays_by_stage(directory: Any, load: Callable[..., Any]) -> None:
    rows = [(t, w, d) for t in range(3) for w in range(2) for d in range(3)][::-1]
    directory.tables["scenarios/noise_openings.parquet"] = {
        "stage_id": [row[0] for row in rows],
        "opening_index": [row[1] for row in rows],
        "entity_index": [row[2] for row in rows],
        "value": [100.0 * t + 10 * w + d for t, w, d in rows],
    }
    assert [warning.file for warning in load().warnings] == ["scenarios/noise_openings.parquet"]
    case = load({"training.scenario_source.openings.source": "file"})
    assert case.warnings == ()
    assert [opening.shape for opening in case.openings] == [(2, 3)] * 3
    np.testing.assert_array_equal(case.openings[2], [[200, 201, 202], [210, 211, 212]])
    # The file counts a class by the day of service: the first hydro is now the last to come.
    directory.put("system/hydros.json", "hydros.0.operational_start_date", "1990-01-02")
    case = load({"training.scenario_source.openings.source": "file"})
    np.testing.assert_array_equal(case.openings[2], [[201, 200, 202], [211, 210, 212]])


@pytest.mark.parametrize(
    ("column", "row", "value", "field"),
    [("opening_index", 0, 7, "opening_index"), ("entity_index", 5, 3, "entity_index")],
)
def test_given_openings_must_fit_exactly(
    directory: Any, reload: Callable[..., Any], column: str, row: int, value: int, field: str
) -> None:
    rows = [(t, w, d) for t in range(3) for w in range(2) for d in range(3)]
    table = {
        name: [row[i] for row in rows] for i, name in enumerate(("stage_id", "opening_index", "entity_index"))
    }
    directory.tables["scenarios/noise_openings.parquet"] = {**table, "value": [0.0] * len(rows)}
    directory.put("scenarios/noise_openings.parquet", f"{column}.{row}", value)
    directory.put("config.json", "training.scenario_source", {"openings": {"source": "file"}})
    case, problems = reload()
    assert case is None
    assert [(p.kind, p.entity, p.field) for p in problems] == [("dimension", "stage 0", field)]


def test_openings_from_a_file_that_is_not_there(reload: Callable[..., Any]) -> None:
    _, problems = reload({"training.scenario_source.openings.source": "file"})
    assert [(p.kind, p.file) for p in problems] == [("structure", "scenarios/noise_openings.parquet")]


def test_options_have_defaults(load: Callable[..., Any]) -> None:
    assert load().options == StudyOptions(
        forward_passes=4,
        iteration_limit=10,
        time_limit_s=None,
        bound_stalling=None,
        stopping_mode="any",
        tree_seed=42,
        forward_seed=42,
        simulation_seed=42,
        simulation_scenarios=7,
        training_schemes=Schemes(),
        simulation_schemes=Schemes(),
        cost_scale_factor=None,
        export_stochastic=False,
        rows=RowOption(),
        openings_a_part=None,
    )


def test_options_follow_the_configuration(directory: Any, load: Callable[..., Any]) -> None:
    training = directory.documents["config.json"]["training"]
    training |= {"tree_seed": 1, "scenario_source": {"seed": 2, "inflow": {"scheme": "in_sample"}}}
    training["stopping_rules"] += [
        {"type": "time_limit", "seconds": 60.0},
        {"type": "iteration_limit", "limit": 20},
        {"type": "bound_stalling", "iterations": 5, "tolerance": 0.001},
    ]
    options = load().options
    assert (options.tree_seed, options.forward_seed, options.simulation_seed) == (1, 2, 2)
    assert (options.iteration_limit, options.time_limit_s) == (10, 60.0)
    assert (options.bound_stalling.iterations, options.bound_stalling.tolerance) == (5, 0.001)
    training["stopping_mode"] = "all"
    directory.put("config.json", "simulation.scenario_source", {"seed": 3})
    options = load().options
    assert (options.iteration_limit, options.stopping_mode, options.simulation_seed) == (20, "all", 3)
    directory.put("config.json", "simulation.enabled", False)
    assert load().options.simulation_scenarios == 0


def test_no_result_depends_on_the_order_in_a_file(directory: Any, load: Callable[..., Any]) -> None:
    one = load()
    for content in directory.documents.values():
        for value in content.values():
            if isinstance(value, list):
                value.reverse()
    for stage in directory.documents["stages.json"]["stages"]:
        stage["blocks"].reverse()
    for columns in directory.tables.values():
        for values in columns.values():
            values.reverse()
    other = load()
    for name in ("stages", "buses", "lines", "thermals", "hydros", "changes"):
        assert getattr(one.system, name) == getattr(other.system, name)
    for room, names in ARRAYS.items():
        for name in names:
            left, right = (getattr(getattr(case.system, room), name) for case in (one, other))
            np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.system.correlation.profiles, other.system.correlation.profiles)
    assert one.options == other.options


def test_load_case_raises_everything_at_once(directory: Any, reload: Callable[..., Any]) -> None:
    """One fault of every layer, in six files: none hides another."""
    directory.documents["penalties.json"] = "{"
    directory.put("config.json", "training.selection.forward_passes", 0)
    directory.put("system/lines.json", "lines.0.target_bus_id", 9)
    directory.put("initial_conditions.json", "storage.0.value_hm3", 999.0)
    directory.put("scenarios/load_seasonal_stats.parquet", "mean_mw.1", None)
    directory.put("stages.json", "stages.0.sampling_method", "selective")
    directory.drop("system/hydro_production_models.json", "production_models.1")
    case, problems = reload()
    assert case is None
    assert {(problem.kind, problem.file) for problem in problems} == {
        ("structure", "penalties.json"),
        ("schema", "config.json"),
        ("schema", "scenarios/load_seasonal_stats.parquet"),
        ("reference", "system/lines.json"),
        ("dimension", "system/hydro_production_models.json"),
        ("physics", "initial_conditions.json"),
        ("unsupported", "stages.json"),
    }


def test_a_case_error_tells_every_problem_by_file(directory: Any, tmp_path: Path) -> None:
    directory.put("system/lines.json", "lines.0.target_bus_id", 9)
    directory.put("stages.json", "stages.0.num_scenarios", 5)
    with pytest.raises(CaseError) as caught:
        load_case(directory.write(tmp_path / "case"))
    assert caught.value.exit_code == 3
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).splitlines() == [
        "2 problems in the case:",
        "  stages.json",
        "    - stage 0, num_scenarios: is not a field of this object (it is num_openings since 0.18)",
        "  system/lines.json",
        "    - line 1 (North-South), target_bus_id: bus 9 does not exist (buses are 1, 2)",
    ]


def test_a_directory_that_is_not_there_is_a_problem_too(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="does not exist"):
        load_case(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    assert check_case(tmp_path / "file")[1][0].message == "is not a directory"
    (told,) = check_case(tmp_path)[1]  # the directory above the case, say
    assert told.message == "holds none of the files of a case"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ('{"buses": [], "buses": []}', "is written twice"),
        ("[]", "must be an object"),
        ("null", "must be an object"),
        ('{"buses": [{"id": 1e400}]}', "must be a"),
        ('{"buses": [7]}', "must be an object"),
    ],
)
def test_files_that_are_no_documents_are_refused(
    directory: Any, reload: Callable[..., Any], content: str, message: str
) -> None:
    directory.documents["system/buses.json"] = content
    errors = [problem for problem in reload()[1] if problem.file == "system/buses.json"]
    assert errors
    assert message in errors[0].message


def test_a_file_that_is_no_parquet_is_refused(directory: Any, tmp_path: Path) -> None:
    root = directory.write(tmp_path / "case")
    (root / "scenarios/load_seasonal_stats.parquet").write_text("bus_id,stage_id")
    _, problems = check_case(root)
    assert [(p.kind, p.file) for p in problems] == [("structure", "scenarios/load_seasonal_stats.parquet")]


def test_a_misspelt_file_is_warned_of(directory: Any, load: Callable[..., Any]) -> None:
    directory.documents["scenarios/load_factor.json"] = {}
    (warning,) = load().warnings
    assert (warning.file, warning.hint) == (
        "scenarios/load_factor.json",
        "did you mean scenarios/load_factors.json?",
    )


def test_a_file_that_says_nothing_is_fine(directory: Any, load: Callable[..., Any]) -> None:
    directory.documents["post_study_stages.json"] = {"$schema": "x", "stages": [], "thermal_bounds": []}
    directory.tables["constraints/hydro_bounds.parquet"] = {"hydro_id": [], "stage_id": []}
    assert load().warnings == ()


def test_observations_that_no_lag_reaches_are_warned_of(directory: Any, load: Callable[..., Any]) -> None:
    directory.drop("scenarios/inflow_ar_coefficients.parquet")
    case = load()
    assert case.system.inflow.order == 0
    assert [warning.field for warning in case.warnings] == ["recent_observations", "stage_id"]


def test_orders_above_one_need_seasons(directory: Any, reload: Callable[..., Any]) -> None:
    table = directory.tables["scenarios/inflow_ar_coefficients.parquet"]
    for name, value in (("hydro_id", 3), ("stage_id", 2), ("lag", 2), ("coefficient", 0.1)):
        table[name].append(value)
    assert reload()[0] is not None
    directory.drop("stages.json", "stages.1.season_id")
    assert [(p.kind, p.field) for p in reload()[1]] == [("dimension", "season_id")]


@pytest.mark.parametrize("id", [3, 4])
def test_a_null_column_and_one_of_the_wrong_type(directory: Any, reload: Callable[..., Any], id: int) -> None:
    directory.put("constraints/thermal_bounds.parquet", "block_id", [None])
    assert reload()[0] is not None
    directory.put("scenarios/load_seasonal_stats.parquet", "bus_idd", [id, id, id])
    (problem,) = reload()[1]
    assert (problem.kind, problem.field) == ("schema", "bus_idd")
