"""Each broken input is refused with its place, by one problem and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CONFIG = "config.json"
STAGES = "stages.json"
PENALTIES = "penalties.json"
INITIAL = "initial_conditions.json"
BUSES = "system/buses.json"
LINES = "system/lines.json"
THERMALS = "system/thermals.json"
HYDROS = "system/hydros.json"
PRODUCTION = "system/hydro_production_models.json"
INFLOWS = "scenarios/inflow_seasonal_stats.parquet"
LAGS = "scenarios/inflow_ar_coefficients.parquet"
LOADS = "scenarios/load_seasonal_stats.parquet"
FACTORS = "scenarios/load_factors.json"
CORRELATION = "scenarios/correlation.json"
OPENINGS = "scenarios/noise_openings.parquet"
BOUNDS = "constraints/thermal_bounds.parquet"
PLANES = "system/fpha_hyperplanes.parquet"

ALTA, BAIXA, GAS, LINE = "hydro 3 (Alta)", "hydro 5 (Baixa)", "thermal 4 (Gas)", "line 1 (North-South)"
GROUP = "profiles.default.correlation_groups.0"
RIVER = "profile default, group river"
MISSING = object()


def case(
    what: str,
    file: str,
    path: str,
    value: object,
    kind: str,
    entity: str | None,
    field: str | None,
    where: str | None = None,
) -> Any:
    """A change to one file, and the problem that it must give (in the file *where*)."""
    return pytest.param(file, path, value, (kind, where or file, entity, field), id=what.replace(" ", "_"))


BREAKS = [
    # structure
    case("no config", CONFIG, "", MISSING, "structure", None, None),
    case("no lines", LINES, "", MISSING, "structure", None, None),
    # schema
    case("unknown setting", CONFIG, "training.tree_sed", 1, "schema", None, "training.tree_sed"),
    case(
        "no forward pass",
        CONFIG,
        "training.selection.forward_passes",
        0,
        "schema",
        None,
        "training.selection.forward_passes",
    ),
    case(
        "forward passes of text",
        CONFIG,
        "training.selection.forward_passes",
        "4",
        "schema",
        None,
        "training.selection.forward_passes",
    ),
    case(
        "no iteration limit",
        CONFIG,
        "training.stopping_rules.0",
        {"type": "time_limit", "seconds": 5.0},
        "schema",
        None,
        "training.stopping_rules",
    ),
    case(
        "unknown rule",
        CONFIG,
        "training.stopping_rules.0.type",
        "iteration_limits",
        "schema",
        None,
        "training.stopping_rules[0].type",
    ),
    case("no scenarios", CONFIG, "simulation.selection", None, "schema", None, "simulation.selection"),
    case("policy elsewhere", CONFIG, "policy", {"path": "."}, "unsupported", None, "policy.path"),
    case(
        "cost scale of zero",
        CONFIG,
        "modeling",
        {"cost_scale_factor": 0.0},
        "schema",
        None,
        "modeling.cost_scale_factor",
    ),
    case("no openings", STAGES, "stages.1.num_openings", 0, "schema", "stage 1", "num_openings"),
    case("openings left out", STAGES, "stages.1.num_openings", MISSING, "schema", "stage 1", "num_openings"),
    case("bad date", STAGES, "stages.2.end_date", "2024-13-01", "schema", "stage 2", "end_date"),
    case("hours of zero", STAGES, "stages.0.blocks.0.hours", 0.0, "schema", "stage 0", "blocks[0].hours"),
    case(
        "negative discount",
        STAGES,
        "policy_graph.annual_discount_rate",
        -0.1,
        "schema",
        None,
        "policy_graph.annual_discount_rate",
    ),
    case("negative penalty", PENALTIES, "line.exchange_cost", -1.0, "schema", None, "line.exchange_cost"),
    case("no bus at all", BUSES, "buses", [], "schema", None, "buses"),
    case("losses of 100 %", LINES, "lines.0.losses_percent", 100.0, "schema", LINE, "losses_percent"),
    case(
        "cost missing", THERMALS, "thermals.0.cost_per_mwh", MISSING, "schema", GAS, "cost_per_mwh"
    ),
    case("old bus of a hydro", HYDROS, "hydros.0.bus_id", 1, "schema", ALTA, "bus_id"),
    case("no unit group", HYDROS, "hydros.1.unit_groups", [], "schema", BAIXA, "unit_groups"),
    case(
        "productivity of zero",
        PRODUCTION,
        "production_models.0.stage_ranges.0.productivity_mw_per_m3s",
        0.0,
        "schema",
        "hydro 3",
        "stage_ranges[0].productivity_mw_per_m3s",
    ),
    case("factor of zero", FACTORS, "load_factors.0.block_factors.0.factor", 0.0, "schema", "bus 2",
         "block_factors[0].factor"),
    case("negative deviation", INFLOWS, "std_m3s.1", -1.0, "schema", "hydro 3, stage 0", "std_m3s"),
    case("infinite mean", INFLOWS, "mean_m3s.1", float("inf"), "schema", "hydro 3, stage 0", "mean_m3s"),
    case("null demand", LOADS, "mean_mw.1", None, "schema", "bus 2, stage 1", "mean_mw"),
    case("column missing", LOADS, "std_mw", MISSING, "schema", None, "std_mw"),
    case("lag of zero", LAGS, "lag.0", 0, "schema", "row 0", "lag"),
    case("lag of ages", LAGS, "lag.0", 2**31 - 1, "schema", "row 0", "lag"),
    case("openings beyond count", STAGES, "stages.0.num_openings", 2**32, "schema", "stage 0",
         "num_openings"),
    # references
    case("line to nowhere", LINES, "lines.0.target_bus_id", 9, "reference", LINE, "target_bus_id"),
    case("thermal at no bus", THERMALS, "thermals.0.bus_id", 9, "reference", GAS, "bus_id"),
    case("hydro at no bus", HYDROS, "hydros.0.unit_groups.0.bus_id", 9, "reference", ALTA,
         "unit_groups[0].bus_id"),
    case("water to nowhere", HYDROS, "hydros.1.downstream_id", 9, "reference", BAIXA, "downstream_id"),
    case("unknown season", STAGES, "stages.0.season_id", 12, "reference", "stage 0", "season_id"),
    case("block ids with a gap", STAGES, "stages.2.blocks.1.id", 2, "reference", "stage 2", "blocks"),
    case("factor of no bus", FACTORS, "load_factors.0.bus_id", 9, "reference", "bus 9, stage 0", "bus_id"),
    case("factor of no block", FACTORS, "load_factors.0.block_factors.0.block_id", 7, "reference",
         "bus 2, stage 0", "block_factors"),
    case("correlation of no hydro", CORRELATION, f"{GROUP}.entities.0.id", 9, "reference", RIVER, "entities"),
    case("bounds of no thermal", BOUNDS, "thermal_id.0", 9, "reference", "thermal 9", "thermal_id"),
    case("bounds of no stage", BOUNDS, "stage_id.0", 9, "reference", None, "stage_id"),
    case("stage number of half", PRODUCTION, "production_models.0.stage_ranges.0.start_stage_id", 0.5,
         "schema", "hydro 3", "stage_ranges[0].start_stage_id"),
    # dimensions
    case("no storage", INITIAL, "storage.1", MISSING, "dimension", BAIXA, "storage"),
    case("no past inflow", INITIAL, "recent_observations.0", MISSING, "dimension", ALTA,
         "recent_observations"),
    case("past inflow in part", INITIAL, "recent_observations.0.start_date", "2023-12-02", "dimension", ALTA,
         "recent_observations"),
    case("production in part", PRODUCTION, "production_models.1.stage_ranges.0.end_stage_id", 1, "dimension",
         BAIXA, "stage_ranges"),
    case("no production model", PRODUCTION, "production_models.1", MISSING, "dimension", BAIXA, None),
    case("no productivity", PRODUCTION, "production_models.1.stage_ranges.0.productivity_mw_per_m3s", None,
         "dimension", BAIXA, "productivity_mw_per_m3s"),
    case("lags with a gap", LAGS, "lag.2", 2, "dimension", "hydro 3, stage 2", "lag"),
    case("matrix of one", CORRELATION, f"{GROUP}.matrix", [[1.0]], "dimension", RIVER, "matrix"),
    case("entity twice", CORRELATION, f"{GROUP}.entities.0.id", 3, "dimension", RIVER, "entities"),
    # physics
    case("storage too high", INITIAL, "storage.0.value_hm3", 201.0, "physics", ALTA, "storage"),
    case("storage too low", INITIAL, "storage.0.value_hm3", 9.0, "physics", ALTA, "storage"),
    case("hours too few", STAGES, "stages.0.blocks.1.hours", 100.0, "physics", "stage 0", "blocks"),
    case("no inflow in a stage", INFLOWS, "stage_id.1", -2, "physics", ALTA, "stage_id"),
    case("gap between stages", STAGES, "stages.2", {
        "id": 2, "start_date": "2024-03-02", "end_date": "2024-03-03", "season_id": 2, "num_openings": 1,
        "blocks": [{"id": 0, "name": "A", "hours": 12.0}, {"id": 1, "name": "B", "hours": 12.0}],
        "state_variables": {"inflow_lags": True}}, "physics", "stage 2", "start_date"),
    case("storage upside down", HYDROS, "hydros.0.reservoir.min_storage_hm3", 300.0, "physics", ALTA,
         "reservoir.min_storage_hm3"),
    case("outflow upside down", HYDROS, "hydros.0.outflow.max_outflow_m3s", 0.5, "physics", ALTA,
         "outflow.min_outflow_m3s"),
    case("group beyond the plant", HYDROS, "hydros.0.unit_groups.0",
         {"id": 0, "name": "G", "bus_id": 1, "min_turbined_m3s": 60.0, "max_turbined_m3s": 70.0,
          "min_generation_mw": 0.0, "max_generation_mw": 45.0},
         "physics", ALTA, "unit_groups[0].min_turbined_m3s"),
    case("line to itself", LINES, "lines.0.target_bus_id", 1, "physics", LINE, "target_bus_id"),
    case("bounds upside down", BOUNDS, "max_generation_mw.0", 1.0, "physics", f"{GAS}, stage 1",
         "min_generation_mw"),
    case("river in a circle", HYDROS, "hydros.1.downstream_id", 3, "physics", ALTA, "downstream_id"),
    case("deficit with a limit", BUSES, "buses.1.deficit_segments.0.depth_mw", 5.0, "physics",
         "bus 2 (South)", "deficit_segments"),
    case("deficit ever cheaper", PENALTIES, "bus.deficit_segments.1.cost", 1.0, "physics", None,
         "bus.deficit_segments"),
    case("certain inflow with lags", INFLOWS, "std_m3s.3", 0.0, "physics", ALTA, "std_m3s"),
    case("matrix not symmetric", CORRELATION, f"{GROUP}.matrix.0.1", 0.4, "physics", RIVER, "matrix"),
    case("matrix diagonal", CORRELATION, f"{GROUP}.matrix.0.0", 0.9, "physics", RIVER, "matrix"),
    case("matrix above one", CORRELATION, f"{GROUP}.matrix", [[1.0, 1.2], [1.2, 1.0]], "physics", RIVER,
         "matrix"),
    case("observed in the study", INITIAL, "recent_observations.0.end_date", "2024-01-05", "physics",
         "hydro 3", "recent_observations"),
    # unsupported
    case("no training", CONFIG, "training.enabled", False, "unsupported", None, "training.enabled"),
    case("enumerated", CONFIG, "simulation.selection", {"method": "enumerated"}, "unsupported", None,
         "simulation.selection.method"),
    case("gap rule", CONFIG, "training.stopping_rules",
         [{"type": "iteration_limit", "limit": 1}, {"type": "gap", "tolerance": 1.0}], "unsupported", None,
         "training.stopping_rules[1].type"),
    case("old cuts left out", CONFIG, "training.cut_selection",
         {"selection": {"method": "dynamic", "candidate_recency": 3}}, "unsupported", None,
         "training.cut_selection.selection.candidate_recency"),
    case("warm start", CONFIG, "policy", {"mode": "warm_start"}, "unsupported", None, "policy.mode"),
    case("exports", CONFIG, "exports", {"states": True}, "unsupported", None, "exports.states"),
    case("upper bound", CONFIG, "upper_bound_evaluation", {"enabled": True}, "unsupported", None,
         "upper_bound_evaluation.enabled"),
    case("solver profile", CONFIG, "training.solver", {"forward": {"presolve": "on"}}, "unsupported", None,
         "training.solver.forward.presolve"),
    case("retries", CONFIG, "training.solver", {"retry_max_attempts": 6}, "unsupported", None,
         "training.solver.retry_max_attempts"),
    case("sampling", STAGES, "stages.0.sampling_method", "selective", "unsupported", "stage 0",
         "sampling_method"),
    case("no storage state", STAGES, "stages.0.state_variables.storage", False, "unsupported", "stage 0",
         "state_variables.storage"),
    case("no lag state", STAGES, "stages.0.state_variables.inflow_lags", False, "unsupported", None,
         "state_variables.inflow_lags"),
    case("cycle", STAGES, "policy_graph.type", "cyclic", "unsupported", None, "policy_graph.type"),
    case("nodes", STAGES, "policy_graph.nodes", [{"id": 0, "stage_id": 0}], "unsupported", None,
         "policy_graph.nodes"),
    case("exit before entry", THERMALS, "thermals.0",
         {"id": 4, "name": "Gas", "operational_start_date": "1990-01-01", "bus_id": 2, "cost_per_mwh": 80.0,
          "generation": {"min_mw": 5.0, "max_mw": 60.0}, "entry_stage_id": 2, "exit_stage_id": 2},
         "physics", GAS, "exit_stage_id"),
    case("evaporation without area", HYDROS, "hydros.0.evaporation", {"coefficients_mm": [1.0] * 12},
         "dimension", ALTA, "hydro_id", "system/hydro_geometry.parquet"),
    case("diversion to itself", HYDROS, "hydros.0.diversion", {"downstream_id": 3, "max_flow_m3s": 1.0},
         "physics", ALTA, "diversion.downstream_id"),
    case("travel without a past", HYDROS, "hydros.0.travel_time_hours", 3.0, "dimension", ALTA,
         "past_defluences", INITIAL),
    case("travel beyond the study", HYDROS, "hydros.0.travel_time_hours", 9e9, "physics", ALTA,
         "travel_time_hours"),
    case("dispatch ahead without a past", THERMALS, "thermals.0.anticipated_config", {"lead_stages": 2},
         "dimension", GAS, "past_anticipated_commitments", INITIAL),
    case("dispatch ahead by nothing", THERMALS, "thermals.0.anticipated_config", {}, "schema", GAS,
         "anticipated_config"),
    case("later stages apart", "post_study_stages.json", "",
         {"stages": [{"start_date": "2024-04-02", "duration_hours": 9.0}], "thermal_bounds": []}, "physics",
         None, "stages"),
    case("order of blocks unknown", STAGES, "stages.0.block_mode", "serial", "schema", "stage 0",
         "block_mode"),
    case("diversion to nowhere", HYDROS, "hydros.0.diversion", {"downstream_id": 8, "max_flow_m3s": 1.0},
         "reference", ALTA, "diversion.downstream_id"),
    case("filling of nothing", INITIAL, "filling_storage", [{"hydro_id": 3, "value_hm3": 1.0}], "physics",
         ALTA, "filling_storage"),
    case("bounds of no block", BOUNDS, "block_id", [7], "reference", f"{GAS}, stage 1, block 7", "block_id"),
    case("pumping to itself", "system/pumping_stations.json", "",
         {"pumping_stations": [{"id": 1, "name": "P", "operational_start_date": "1990-01-01", "bus_id": 1,
                                "source_hydro_id": 3, "destination_hydro_id": 3,
                                "consumption_mw_per_m3s": 0.4, "flow": {"min_m3s": 0.0, "max_m3s": 1.0}}]},
         "physics", "pumping station 1 (P)", "destination_hydro_id"),
    case("pumping from nowhere", "system/pumping_stations.json", "",
         {"pumping_stations": [{"id": 1, "name": "P", "operational_start_date": "1990-01-01", "bus_id": 1,
                                "source_hydro_id": 8, "destination_hydro_id": 3,
                                "consumption_mw_per_m3s": 0.4, "flow": {"min_m3s": 0.0, "max_m3s": 1.0}}]},
         "reference", "pumping station 1 (P)", "source_hydro_id"),
    case("contract upside down", "system/energy_contracts.json", "",
         {"contracts": [{"id": 1, "name": "C", "operational_start_date": "1990-01-01", "bus_id": 1,
                         "type": "export", "price_per_mwh": -9.0, "limits": {"min_mw": 2.0, "max_mw": 1.0}}]},
         "physics", "contract 1 (C)", "limits.min_mw"),
    case("contract with no bus", "system/energy_contracts.json", "",
         {"contracts": [{"id": 1, "name": "C", "operational_start_date": "1990-01-01", "bus_id": 8,
                         "type": "export", "price_per_mwh": -9.0, "limits": {"min_mw": 0.0, "max_mw": 1.0}}]},
         "reference", "contract 1 (C)", "bus_id"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "path", "value", "expected"), BREAKS)
def test_a_broken_input_is_refused_by_one_problem(
    directory: Any,
    reload: Callable[..., Any],
    file: str,
    path: str,
    value: object,
    expected: tuple[str, str, str | None, str | None],
) -> None:
    if value is MISSING:
        directory.drop(file, path)
    elif not path:
        directory.documents[file] = value
    else:
        directory.put(file, path, value)
    case, problems = reload()
    errors = [problem for problem in problems if problem.kind != "warning"]
    assert [(p.kind, p.file, p.entity, p.field) for p in errors] == [expected], "\n".join(map(str, errors))
    assert case is None
    assert errors[0].message
    assert errors[0].message[-1] != "."


def test_every_break_is_told_apart() -> None:
    assert len({param.id for param in BREAKS}) == len(BREAKS) >= 40
