"""Rows of what describes hydro plants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from case import exercise as e
from case.row import Row, changes, columns, fields, key, refused

PRICES = (
    "spillage_cost",
    "turbined_cost",
    "storage_violation_below_cost",
    "turbined_violation_below_cost",
    "outflow_violation_below_cost",
    "outflow_violation_above_cost",
    "generation_violation_below_cost",
    "inflow_nonnegativity_cost",
    "diversion_cost",
    "filling_target_violation_cost",
    "evaporation_violation_cost",
    "water_withdrawal_violation_cost",
)
SIDES = tuple(
    f"{name}_violation_{side}_cost" for name in ("evaporation", "water_withdrawal") for side in ("neg", "pos")
)
# The plant, by its position in the base, that pays each price.
PAYER = {
    "spillage_cost": 2,
    "turbined_cost": 4,
    "storage_violation_below_cost": 3,
    "turbined_violation_below_cost": 4,
    "outflow_violation_below_cost": 4,
    "outflow_violation_above_cost": 5,
    "generation_violation_below_cost": 4,
    "inflow_nonnegativity_cost": 12,
    "diversion_cost": 11,
    "filling_target_violation_cost": 10,
    "evaporation_violation_cost": 6,
    "water_withdrawal_violation_cost": 8,
    "evaporation_violation_neg_cost": 6,
    "evaporation_violation_pos_cost": 7,
    "water_withdrawal_violation_neg_cost": 8,
    "water_withdrawal_violation_pos_cost": 9,
}


def penalties() -> Iterator[Row]:
    file = e.PENALTIES
    yield changes(e.network, file, "bus.deficit_segments.0.cost", 510.0)
    yield changes(e.network, file, "bus.deficit_segments.0.depth_mw", 4.0)
    yield changes(e.network, file, "bus.excess_cost", 0.3)
    yield changes(e.network, file, "line.exchange_cost", 0.4)
    yield changes(e.network, file, "non_controllable_source.curtailment_cost", 0.6)
    without = [(f"hydro.{name}", None) for name in SIDES]
    for name in PRICES:
        yield changes(
            e.water, file, f"hydro.{name}", 1.25, *(without if f"{name[:5]}" in ("evapo", "water") else [])
        )
    for name in SIDES:
        yield changes(e.water, file, f"hydro.{name}", 1.75)
    for name in PRICES:
        own = f"hydros.{PAYER[name]}.penalties.{name}"
        yield changes(e.own_prices, e.HYDROS, own, 1.25)
    for name in (*PRICES, *SIDES):
        yield changes(e.stage_prices, e.OVERRIDES.format("hydro"), f"{name}.{PAYER[name] - 2}", 1.25)
    yield changes(
        e.stage_prices,
        e.OVERRIDES.format("hydro"),
        "hydro_id.0",
        11,
        ("spillage_cost.0", 9.0),
        ("hydro_id.1", 10),
    )
    yield changes(e.stage_prices, e.OVERRIDES.format("hydro"), "stage_id.0", 2, ("spillage_cost.0", 9.0))


def hydros() -> Iterator[Row]:
    small, file = e.small, e.HYDROS
    yield key(small, file, "hydros.1.id", 9)
    yield changes(small, file, "hydros.0.downstream_id", None)
    yield changes(e.water, file, "hydros.3.reservoir.min_storage_hm3", 9.0)
    yield changes(small, file, "hydros.1.reservoir.max_storage_hm3", 51.0)
    yield changes(small, file, "hydros.0.outflow.min_outflow_m3s", 90.0)
    yield changes(small, file, "hydros.0.outflow.max_outflow_m3s", 9.0)
    yield refused(small, file, "hydros.0.generation.model", "fpha")
    yield from fields(
        changes,
        small,
        file,
        "hydros.0.generation",
        min_turbined_m3s=49.0,
        max_turbined_m3s=20.0,
        min_generation_mw=44.0,
        max_generation_mw=9.0,
    )
    low, high = "hydros.0.unit_groups.1", "hydros.0.unit_groups.0"
    yield from fields(changes, e.split, file, low, min_turbined_m3s=8.0, min_generation_mw=7.0)
    yield from fields(changes, e.split, file, high, max_turbined_m3s=21.0, max_generation_mw=12.0)
    yield changes(e.split, file, "hydros.0.unit_groups.1.bus_id", 1)
    yield key(e.split, file, "hydros.0.unit_groups.1.id", 7)
    table = e.BOUNDS.format("hydro_unit_group")
    yield from columns(changes, e.split, table, 0, max_turbined_m3s=9.0)
    yield from columns(changes, e.split, table, 1, block_id=None, min_turbined_m3s=8.0, min_generation_mw=8.0)
    yield from columns(changes, e.split, table, 2, max_generation_mw=5.0)
    yield from columns(key, e.split, table, 1, hydro_id=5, hydro_unit_group_id=0, stage_id=2)
    yield from fields(
        changes,
        small,
        file,
        "hydros.0",
        entry_stage_id=1,
        exit_stage_id=1,
        operational_start_date="2024-02-01",
    )
    yield changes(
        e.limits, file, "hydros.0.diversion.max_flow_m3s", 0.0, (e.PENALTIES, "hydro.diversion_cost", 0.0)
    )
    yield changes(e.water, file, "hydros.11.diversion.downstream_id", 5)
    yield changes(e.water, file, "hydros.6.evaporation.coefficients_mm", [300.0] * 12)
    yield changes(e.water, file, "hydros.7.evaporation.reference_volumes_hm3", [5.0] * 12)
    yield changes(
        e.water, file, "hydros.10.filling.start_stage_id", 1, (e.INITIAL, "filling_storage.0.value_hm3", 0.0)
    )
    yield changes(e.water, file, "hydros.10.filling.filling_min_rate_m3s", 4.0)
    yield changes(e.water, e.BOUNDS.format("hydro"), "filling_min_rate_m3s.4", 5.0)
    yield refused(e.planes, file, "hydros.1.efficiency.type", "variable")
    yield changes(e.planes, file, "hydros.1.efficiency.value", 0.9)
    yield changes(
        e.planes,
        file,
        "hydros.1.hydraulic_losses",
        {"type": "constant", "value_m": 4.0},
        leaf="hydros[].hydraulic_losses.type",
    )
    yield changes(e.planes, file, "hydros.1.hydraulic_losses.value", 0.05)
    yield changes(
        e.planes,
        file,
        "hydros.1.hydraulic_losses.value_m",
        5.0,
        ("hydros.1.hydraulic_losses", {"type": "constant", "value_m": 4.0}),
    )
    yield changes(e.planes, file, "hydros.1.tailrace.coefficients", [300.0, 0.06])
    points = {
        "type": "piecewise",
        "points": [{"outflow_m3s": 0.0, "height_m": 300.0}, {"outflow_m3s": 99.0, "height_m": 309.0}],
    }
    yield changes(e.planes, file, "hydros.1.tailrace", points, leaf="hydros[].tailrace.type")
    yield changes(e.planes, file, "hydros.1.tailrace.points.1.height_m", 319.0, ("hydros.1.tailrace", points))
    yield changes(
        e.planes, file, "hydros.1.tailrace.points.1.outflow_m3s", 70.0, ("hydros.1.tailrace", points)
    )
    yield changes(e.planes, file, "hydros.1.specific_productivity_mw_per_m3s_per_m", 0.008)


def seasonal(hydro_id: int, model: str = "constant_productivity", **choice: Any) -> dict[str, Any]:
    seasons = [{"season_id": season, "model": model, **choice} for season in range(3)]
    return {"hydro_id": hydro_id, "selection_mode": "seasonal", "default_model": model, "seasons": seasons}


def production() -> Iterator[Row]:
    small, file = e.small, e.PRODUCTION
    by_distance = {"method": "distance", "tolerance_pct": 0.05, "n_samples": 9}
    given = ("fpha_plane_reduction", by_distance)
    yield changes(
        e.planes,
        file,
        "fpha_plane_reduction.tolerance_deg",
        4.0,
        ("fpha_plane_reduction", {"method": "angle", "tolerance_deg": 0.0}),
    )
    yield changes(e.planes, file, "fpha_plane_reduction.tolerance_pct", 1.0, given)
    yield changes(e.planes, file, "fpha_plane_reduction.n_samples", 1, given)
    yield changes(
        e.planes,
        file,
        "fpha_plane_reduction",
        {"method": "angle", "tolerance_deg": 4.0},
        leaf="fpha_plane_reduction.method",
    )
    yield key(small, file, "production_models.0.hydro_id", 9)
    yield changes(
        small,
        file,
        "production_models.0",
        seasonal(3, productivity_mw_per_m3s=0.7),
        leaf="production_models[].selection_mode",
    )
    first = "production_models.0.stage_ranges.0"
    two = (
        f"{first[:-2]}",
        [
            {
                "start_stage_id": 0,
                "end_stage_id": 1,
                "model": "constant_productivity",
                "productivity_mw_per_m3s": 0.9,
            },
            {"start_stage_id": 2, "model": "constant_productivity", "productivity_mw_per_m3s": 0.5},
        ],
    )
    yield refused(
        small, file, f"{first}.start_stage_id", 1, leaf="production_models[].stage_ranges[].start_stage_id"
    )
    yield refused(small, file, f"{first}.end_stage_id", 2, two)
    yield changes(small, file, f"{first}.productivity_mw_per_m3s", 0.8)
    yield changes(e.steep, file, f"{first}.model", "linearized_head", two)
    given = ("production_models.0", seasonal(3, productivity_mw_per_m3s=0.7))
    of_season = "production_models.0.seasons.1"
    some = seasonal(3, productivity_mw_per_m3s=0.7)
    some["seasons"] = some["seasons"][:2]
    without = ("production_models.0", some)
    yield changes(e.steep, file, "production_models.0.default_model", "linearized_head", without)
    yield key(small, file, f"{of_season}.season_id", 9, given)
    yield changes(small, file, f"{of_season}.productivity_mw_per_m3s", 0.6, given)
    yield changes(e.steep, file, f"{of_season}.model", "linearized_head", given)
    config = {"source": "computed", "fitting_window": {}}
    by_season = ("production_models.1", seasonal(5, "fpha", fpha_config=config))
    for base, place, also in (
        (
            e.planes,
            "production_models.1.stage_ranges.0.fpha_config",
            [("production_models.1.stage_ranges.0.fpha_config.fitting_window", {})],
        ),
        (e.planes, "production_models.1.seasons.1.fpha_config", [by_season]),
    ):
        for name, value in (
            ("volume_min_hm3", 50.0),
            ("volume_max_hm3", 100.0),
            ("volume_min_percentile", 0.3),
            ("volume_max_percentile", 0.7),
        ):
            yield changes(base, file, f"{place}.fitting_window.{name}", value, *also)
        yield changes(base, file, f"{place}.max_planes_per_hydro", 2, *also)
        yield key(base, file, f"{place}.source", "precomputed", *also)
        yield changes(base, file, f"{place}.turbine_discretization_points", 3, *also)
        yield changes(base, file, f"{place}.volume_discretization_points", 3, *also)
    seen = seasonal(3, productivity_mw_per_m3s=0.9, reference_volume={"volume_hm3": 100.0})
    for place, also in (("stage_ranges.0", []), ("seasons.0", [("production_models.0", seen)])):
        where = f"production_models.0.{place}.reference_volume"
        yield changes(e.curves, file, f"{where}.volume_hm3", 20.0, *also)
        yield changes(
            e.curves,
            file,
            where,
            {"percentile": 0.1},
            *also,
            leaf=f"production_models[].{place[:-2]}[].reference_volume.percentile",
        )


def heads() -> Iterator[Row]:
    yield from columns(key, e.planes, e.PLANES, hydro_id=5, stage_id=1, plane_id=1)
    yield from columns(changes, e.planes, e.PLANES, gamma_0=1.5, gamma_v=0.005, gamma_q=0.6, kappa=0.8)
    yield changes(
        e.planes,
        e.PLANES,
        "gamma_s.0",
        -0.2,
        (e.HYDROS, "hydros.0.reservoir.max_storage_hm3", 101.0),
        (e.INFLOW_STATS, "mean_m3s.1", 95.0),
    )
    yield from columns(key, e.planes, e.GEOMETRY, hydro_id=3)
    yield from columns(changes, e.planes, e.GEOMETRY, 1, volume_hm3=50.0, height_m=385.0)
    yield changes(e.water, e.GEOMETRY, "area_km2.1", 7.0)
    yield from columns(key, e.curves, e.TAILRACES, hydro_id=3, family_id=2, outflow_max_m3s=40.0)
    yield from columns(key, e.curves, e.TAILRACES, downstream_reference_level_m=290.0, outflow_min_m3s=30.0)
    for power in range(5):
        yield changes(e.curves, e.TAILRACES, f"coefficient_{power}.0", (305.0, 0.06, 3e-4, 3e-6, 3e-8)[power])
    yield from columns(key, e.curves, e.ENERGY, hydro_id=3, stage_id=1)
    yield from columns(changes, e.rated, e.ENERGY, reference_outflow_m3s=30.0)
    yield from columns(changes, e.curves, e.ENERGY, specific_productivity_mw_per_m3s_per_m=0.007)
    bare = ("equivalent_productivity_mw_per_m3s.0", 0.8)
    yield changes(e.bare, e.ENERGY, "equivalent_productivity_mw_per_m3s.0", 0.7, bare)
