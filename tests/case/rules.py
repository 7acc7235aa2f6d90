"""The rules that Cobre checks a case by, each with an input that breaks it, or why there is none.

The numbers are Cobre's; rules that it retired are left out. What it only warns of may be an error here, and
the other way round: :attr:`Broken.severity` says what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from case import exercise as e
from case.delay_fields import COMMITMENTS, LATER, RELEASES, ahead, river
from case.exercise import (
    BOUNDS,
    CONFIG,
    CONSTRAINT_BOUNDS,
    CONSTRAINTS,
    CORRELATION,
    GEOMETRY,
    HYDROS,
    INITIAL,
    LAGS,
    PARAMETERS,
    PENALTIES,
    PLANES,
    PRODUCTION,
    STAGES,
)

Change = tuple[str, str, object]


@dataclass(frozen=True)
class Broken:
    """Changes of a base that break a rule, and the field that is named for it."""

    base: e.Base
    changes: tuple[Change, ...]
    file: str
    field: str | None
    severity: str = "error"


def breaks(base: e.Base, file: str, path: str, value: object, *more: Change, field: str | None = "",
           where: str | None = None) -> Broken:  # fmt: skip
    """A broken input; the field that is named is the last step of the path unless it is given."""
    named = path.rsplit(".", 1)[-1] if field == "" else field
    return Broken(base, ((file, path, value), *more), where or file, named)


def warns(base: e.Base, file: str, path: str, value: object, *more: Change, field: str | None = "",
          where: str | None = None) -> Broken:  # fmt: skip
    """An odd input, which is warned of."""
    broken = breaks(base, file, path, value, *more, field=field, where=where)
    return Broken(broken.base, broken.changes, broken.file, broken.field, "warning")


GROUP_BOUNDS = e.BOUNDS.format("hydro_unit_group")
GROUP = "profiles.default.correlation_groups.0"
HYDRO_BOUNDS, THERMAL_BOUNDS = BOUNDS.format("hydro"), BOUNDS.format("thermal")
SLACK = {"enabled": False}
ENTITY = {"type": "load", "id": 2}

# fmt: off
BROKEN: dict[str, Broken] = {
    "structural.1": breaks(e.small, "system/scalar_parameters.json", "", {}, field=None),
    "structural.2": breaks(e.small, CONFIG, "", None, field=None),
    "schema.2": breaks(e.small, STAGES, "", "{", field=None),
    "schema.3": breaks(e.small, PENALTIES, "bus.excess_cost", "high"),
    "referential.1": breaks(e.small, HYDROS, "hydros.1.downstream_id", 99),
    "referential.2": breaks(e.small, CORRELATION, f"{GROUP}.entities.0.type", "wind",
                            field="entities[0].type"),
    "referential.4": breaks(e.constraints, CONSTRAINT_BOUNDS, "bound_lower.0", None,
                            (CONSTRAINT_BOUNDS, "bound_upper.0", None), field="bound_lower"),
    "referential.5": breaks(e.constraints, CONSTRAINT_BOUNDS, "bound_lower.0", 30.0, field="bound_lower"),
    "referential.6": breaks(e.constraints, CONSTRAINT_BOUNDS, "constraint_id.1", 1, field="expression",
                            where=CONSTRAINTS),
    "referential.7": breaks(e.changed, BOUNDS.format("ncs"), "stage_id.0", 9, field="stage_id"),
    "referential.8": breaks(e.network, e.SOURCE_FACTORS, "non_controllable_factors.0.stage_id", 9),
    "referential.9": breaks(e.constraints, CONSTRAINTS, "constraints.1.expression",
                            "thermal_generation(99) <= 1"),
    "referential.10": breaks(e.constraints, CONSTRAINTS, "constraints.1.expression",
                             "hydro_turbined(3, bus=2) <= 1"),
    "dimensional.1": breaks(e.small, e.INFLOW_STATS, "stage_id.1", -9, field="stage_id"),
    "dimensional.2": breaks(e.small, e.LOADS, "bus_id.0", 1, field="stage_id"),
    "dimensional.3": breaks(e.small, CORRELATION, f"{GROUP}.matrix", [[1.0, 0.5]]),
    "dimensional.4": breaks(e.small, CORRELATION, f"{GROUP}.matrix", [[1.0, 0.5], [0.5]]),
    "dimensional.5": breaks(e.small, CORRELATION, "schedule", [{"stage_id": 1, "profile_name": "defualt"}]),
    "dimensional.6": breaks(e.planes, PLANES, "hydro_id.0", 5, (PLANES, "hydro_id.1", 5), field="stage_id"),
    "dimensional.7": breaks(e.planes, GEOMETRY, "hydro_id", [3] * 4, field="hydro_id"),
    "semantic.5a.1": breaks(e.small, HYDROS, "hydros.1.downstream_id", 3),
    "semantic.5a.2": breaks(e.small, HYDROS, "hydros.0.reservoir.min_storage_hm3", 300.0),
    "semantic.5a.3": breaks(e.small, HYDROS, "hydros.0.generation.min_turbined_m3s", 60.0),
    "semantic.5a.4": breaks(e.small, HYDROS, "hydros.0.outflow.max_outflow_m3s", 0.5,
                            field="min_outflow_m3s"),
    "semantic.5a.5": breaks(e.small, HYDROS, "hydros.0.generation.min_generation_mw", 60.0),
    "semantic.5a.6": breaks(e.small, HYDROS, "hydros.0.exit_stage_id", 1, (HYDROS, "hydros.0.entry_stage_id",
                                                                           2)),
    "semantic.5a.7": breaks(e.water, HYDROS, "hydros.10.filling.start_stage_id", 7),
    "semantic.5a.7a": breaks(e.water, HYDROS, "hydros.10.entry_stage_id", None),
    "semantic.5a.7b": warns(e.water, HYDROS, "hydros.10.entry_stage_id", 9),
    "semantic.5a.8": breaks(e.planes, GEOMETRY, "volume_hm3.1", 0.0, field="volume_hm3"),
    "semantic.5a.9": breaks(e.planes, GEOMETRY, "height_m.1", 340.0, field="height_m"),
    "semantic.5a.10": breaks(e.planes, GEOMETRY, "area_km2.1", 0.5, field="area_km2"),
    "semantic.5a.11": breaks(e.planes, PLANES, "stage_id", [0, 1], field="stage_id"),
    "semantic.5a.12": breaks(e.planes, PLANES, "gamma_s.0", 0.1, field="gamma_s"),
    "semantic.5a.13": breaks(e.small, e.THERMALS, "thermals.0.generation.min_mw", 70.0),
    "semantic.5a.14": breaks(ahead, e.THERMALS, "thermals.0.anticipated_config.lead_stages", 0),
    "semantic.5a.15": breaks(ahead, INITIAL, f"{COMMITMENTS}.1.end_date", "2024-01-31", field=COMMITMENTS),
    "semantic.5a.17": breaks(e.constraints, CONSTRAINTS, "constraints.1.expression",
                             "anticipated_decision(4) <= @least + 0*@energy"),
    "semantic.5a.19": breaks(e.network, e.PUMPING, "pumping_stations.0.destination_hydro_id", 5),
    "semantic.5a.20": breaks(e.constraints, CONSTRAINTS, "constraints.1.expression",
                             "thermal_generation(4, 7) <= 1"),
    "semantic.5a.28": warns(ahead, LATER, "stages.0.duration_hours", 168.0,
                            (LATER, "stages.1.start_date", "2024-04-08"),
                            field="anticipated_config.lead_stages", where=e.THERMALS),
    "semantic.5a.29": breaks(e.annual, STAGES, "season_definitions.cycle_type", "custom", field=None,
                             where=e.ANNUAL),
    "semantic.5a.30": breaks(e.small, INITIAL, "recent_observations.0.start_date", "2023-12-05",
                             field="recent_observations"),
    "semantic.5a.32": breaks(e.small, INITIAL, "recent_observations.0.end_date", "2024-01-05",
                             field="recent_observations"),
    "semantic.5a.34": breaks(e.small, STAGES, "stages.0.season_id", None, (LAGS, "lag.1", 2),
                             (LAGS, "stage_id.1", 0), field="season_id"),
    "semantic.5a.35": breaks(e.changed, THERMAL_BOUNDS, "block_id.0", 7, field="block_id"),
    "semantic.5a.36": breaks(e.changed, THERMAL_BOUNDS, "thermal_id.1", 6, field="max_generation_mw"),
    "semantic.5a.37": breaks(e.changed, THERMAL_BOUNDS, "block_id.0", 1, field="cost_per_mwh"),
    "semantic.5a.40": breaks(e.small, HYDROS, "hydros.0.unit_groups.0.min_turbined_m3s", 60.0),
    "referential.3": breaks(e.split, GROUP_BOUNDS, "hydro_unit_group_id.0", 7, field="hydro_unit_group_id"),
    "semantic.5a.39": breaks(e.split, HYDROS, "hydros.0.unit_groups.1.id", 0, field="unit_groups"),
    "semantic.5a.45": breaks(e.split, GROUP_BOUNDS, "max_turbined_m3s.0", 31.0, field="max_turbined_m3s"),
    "semantic.5a.46": breaks(e.limits, HYDRO_BOUNDS, "min_diversion_m3s.0", 1.0, (HYDROS,
                                                                                  "hydros.0.diversion", None),
                             field="min_diversion_m3s"),
    "semantic.5a.47": breaks(ahead, LATER, "stages.0.start_date", "2024-04-02", field="stages"),
    "semantic.5a.49": breaks(e.changed, THERMAL_BOUNDS, "stage_id.0", 9, field="stage_id"),
    "semantic.5a.50": breaks(e.small, HYDROS, "hydros.0.evaporation", {"coefficients_mm": [1.0] * 12},
                             field="hydro_id", where=GEOMETRY),
    "semantic.5a.51": warns(e.constraints, CONSTRAINTS, "constraints.1.expression",
                            "thermal_generation(4) >= @least + 0*@energy - 0*@most",
                            (PARAMETERS, "scalar_parameters.2.computed_spec.tag", "accumulated_productivity"),
                            (PARAMETERS, "scalar_parameters.3", {
                                "id": 4, "name": "most", "kind": "computed",
                                "computed_spec": {"tag": "max_stored_energy", "hydro_id": 3}})),
    "travel_time.1": breaks(river, HYDROS, "hydros.0.travel_time_hours", -1.0),
    "travel_time.4": breaks(river, HYDROS, "hydros.0.travel_time_hours", 3000.0),
    "travel_time.5": breaks(river, INITIAL, f"{RELEASES}.0.start_date", "2023-12-31", field=RELEASES),
    "travel_time.5b": breaks(river, INITIAL, f"{RELEASES}.0.end_date", "2024-01-02", field=RELEASES),
    "semantic.5b.1": breaks(e.small, STAGES, "policy_graph.transitions",
                            [{"source_id": 0, "target_id": 9,
                              "probability": 1.0}], field="policy_graph.transitions[0]"),
    "semantic.5b.2": breaks(e.small, STAGES, "policy_graph.transitions",
                            [{"source_id": 0, "target_id": 1,
                              "probability": 0.5}], field="policy_graph.transitions[0]"),
    "semantic.5b.10": warns(e.small, PENALTIES, "hydro.spillage_cost", 0.0, field="hydro.spillage_cost"),
    "semantic.5b.11": breaks(e.planes, HYDROS, "hydros.0.penalties", {"turbined_cost": -1.0},
                             field="turbined_cost"),
    "semantic.5b.14": breaks(e.small, CORRELATION, f"{GROUP}.matrix", [[1.0, 0.5], [0.4, 1.0]]),
    "semantic.5b.15": breaks(e.small, CORRELATION, f"{GROUP}.matrix", [[1.0, 0.5], [0.5, 0.9]]),
    "semantic.5b.16": breaks(e.small, CORRELATION, f"{GROUP}.matrix", [[1.0, 1.5], [1.5, 1.0]]),
    "semantic.5b.16a": breaks(e.small, CORRELATION, f"{GROUP}.entities.0", ENTITY, field="entities"),
    "semantic.5b.17": breaks(e.small, e.LOAD_FACTORS, "load_factors.0.block_factors.0.block_id", 7,
                             field="block_factors"),
    "semantic.5b.19": breaks(e.history, STAGES, "season_definitions", None, field="season_id"),
    "semantic.5b.20": warns(e.history, CONFIG, "estimation.min_observations_per_season", 99, field=None,
                            where=e.HISTORY),
    "semantic.5b.21": breaks(e.history, e.HISTORY, "hydro_id", [3] * 528 + [9] * 528, field=None),
    "semantic.5b.25": warns(e.small, STAGES, "stages.1.num_openings", 3,
                            (STAGES, "stages.1.sampling_method", "qmc_sobol")),
    "semantic.5b.27": breaks(e.small, STAGES, "stages.0.season_id", 12),
    "semantic.5b.28": breaks(e.gappy, STAGES, "stages.0.num_openings", 2, field=None, where=e.HISTORY),
    "semantic.5b.31.2": breaks(e.quarterly, STAGES, "stages.0.num_openings", 2, field="end_date",
                               where=e.HISTORY),
    "semantic.5b.33": warns(e.water, HYDROS, "hydros.10.filling.filling_min_rate_m3s", 0.5),
    "semantic.5b.34": breaks(e.small, STAGES, "stages.0.state_variables.inflow_lags", False),
    "semantic.5b.35.2": breaks(e.small, LAGS, "coefficient.0", 9.0, field="coefficient"),
    "semantic.5b.44a": breaks(e.small, CONFIG, "training.scenario_source", {"inflow": {"scheme": "external"}},
                              field=None, where=e.EXTERNAL.format("inflow")),
    "semantic.5b.46": breaks(e.external, e.EXTERNAL.format("inflow"), "scenario_id.0", 7,
                             field="scenario_id"),
    "semantic.5b.47": breaks(e.external, e.EXTERNAL.format("inflow"), "stage_id.0", 7, field="stage_id"),
    "semantic.5b.52": breaks(e.small, STAGES, "stages.0.blocks", []),
    "productivity_resolution.1": warns(e.bare, PRODUCTION,
                                       "production_models.0.stage_ranges.0.productivity_mw_per_m3s",
                                       0.9, field="equivalent_productivity_mw_per_m3s", where=e.ENERGY),
    "productivity_resolution.2": breaks(
        e.small, PRODUCTION,
                                        "production_models.0.stage_ranges.0.productivity_mw_per_m3s", None),
    "scalar_parameters.A": breaks(e.constraints, PARAMETERS, "scalar_parameters.2.computed_spec.hydro_id", 9),
    "scalar_parameters.B": breaks(e.constraints, PARAMETERS, "scalar_parameters.0.values", [[0, 1.0], [2,
                                                                                                       1.0]]),
    "scalar_parameters.C": breaks(e.constraints, PARAMETERS, "scalar_parameters.1.name", "weight"),
}

_NODES = "graphs of nodes are refused whole (policy_graph.nodes)"
_PRICES = "prices are taken as they are given, in whatever order they stand"
WITHOUT: dict[str, str] = {
    "schema.1": "a file that can't be read is made by its rights alone: tests/case/test_robust.py",
    "referential.11": "contracts are modelled, so no term of them is without effect",
    "semantic.5a.18": "thermal_generation is what is delivered, anticipated_decision what is decided",
    "semantic.5a.31": "periods that no model reads are not looked at",
    "semantic.5a.33": "lags are whole periods: a season under way is its first stage's own",
    "semantic.5a.34a": "negative inflows are observed, and documented as allowed",
    "semantic.5a.38": "what is decided ahead is a mean, and has to fit within the mean of its blocks' limits",
    **dict.fromkeys(("semantic.5a.41", "semantic.5a.43", "semantic.5a.44"),
                    "limits of the plant, of its group and of a stage all hold, whichever is the tighter"),
    "semantic.5a.52": "a station is off while one of its reservoirs is not there",
    "travel_time.2": "no time is no delay, as where it is left out",
    "travel_time.3": "a short delay is one like any other",
    "travel_time.6": "each river has its own delay, whatever else comes to the plant below",
    "travel_time.12": "water that comes to a plant out of service flows on",
    "semantic.5b.3": "horizons that repeat are refused whole (policy_graph.type)",
    "semantic.5b.8": _PRICES,
    "semantic.5b.9": _PRICES,
    "semantic.5b.12": "an inflow without deviation is certain, whatever its source",
    "semantic.5b.29": "stages of one season are its parts, however long; lags want custom seasons, if unlike",
    "semantic.5b.30": "a study may be shorter than the year whose seasons it defines",
    "semantic.5b.31.1": "observations are averaged by days, however short they are",
    "semantic.5b.35.1": "order 1 needs no season, and higher orders without one are refused (semantic.5a.34)",
    **dict.fromkeys(("semantic.5b.36", "semantic.5b.37", "semantic.5b.38.1", "semantic.5b.38.2",
                     "semantic.5b.38.3",
                     "semantic.5b.39", "semantic.5b.40", "semantic.5b.41", "semantic.5b.42", "semantic.5b.43",
                     "semantic.5b.44", "semantic.5b.48"), _NODES),
    "semantic.5b.45": "classes take turns among their own scenarios, as many as each has",
    "semantic.5b.50": "a replayed inflow becomes noise of the model around what its lags say",
}
# fmt: on
