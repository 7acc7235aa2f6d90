"""Rows of what describes buses, lines, the other plants, limits by stage and constraints."""

from __future__ import annotations

from collections.abc import Iterator

from case import exercise as e
from case.row import Row, changes, columns, fields, key, refused


def network() -> Iterator[Row]:
    base = e.network
    service = {"entry_stage_id": 1, "exit_stage_id": 2, "operational_start_date": "2024-02-01"}
    file = e.BUSES
    yield key(base, file, "buses.4.id", 9)
    yield changes(base, file, "buses.0.operational_start_date", "2024-02-01")
    yield changes(base, file, "buses.4.deficit_segments.0.cost", 310.0)
    yield changes(base, file, "buses.4.deficit_segments.0.depth_mw", 3.0)
    file = e.LINES
    yield from fields(
        changes,
        base,
        file,
        "lines.1",
        source_bus_id=3,
        target_bus_id=3,
        exchange_cost=0.5,
        losses_percent=3.0,
        **service,
    )
    yield changes(
        base,
        file,
        "lines.1.capacity.direct_mw",
        0.0,
        ("lines.1.source_bus_id", 2),
        ("lines.1.target_bus_id", 4),
    )
    yield changes(base, file, "lines.1.capacity.reverse_mw", 2.0)
    yield key(e.changed, file, "lines.1.id", 9)
    file = e.THERMALS
    yield from fields(changes, base, file, "thermals.1", bus_id=2, cost_per_mwh=21.0, **service)
    yield changes(base, file, "thermals.1.generation.min_mw", 8.0)
    yield changes(base, file, "thermals.0.generation.max_mw", 40.0)
    yield key(e.changed, file, "thermals.1.id", 9)
    file = e.CONTRACTS
    yield from fields(changes, base, file, "contracts.0", bus_id=6, price_per_mwh=61.0, **service)
    yield changes(base, file, "contracts.0.type", "export")
    yield changes(base, file, "contracts.1.limits.min_mw", 1.5)
    yield changes(base, file, "contracts.0.limits.max_mw", 4.0)
    yield key(e.changed, file, "contracts.1.id", 9)
    file = e.PUMPING
    yield from fields(
        changes, base, file, "pumping_stations.0", bus_id=4, consumption_mw_per_m3s=0.5, **service
    )
    down = {
        "id": 1,
        "name": "Down",
        **e.START,
        "bus_id": 2,
        "source_hydro_id": 3,
        "destination_hydro_id": 5,
        "consumption_mw_per_m3s": 0.4,
        "flow": {"min_m3s": 1.0, "max_m3s": 2.0},
    }
    yield changes(base, file, "pumping_stations.0", down, leaf="pumping_stations[].source_hydro_id")
    yield refused(base, file, "pumping_stations.0.destination_hydro_id", 5)
    yield changes(base, file, "pumping_stations.0.flow.min_m3s", 1.5)
    yield changes(
        base,
        file,
        "pumping_stations.0.flow.max_m3s",
        1.25,
        ("pumping_stations.0.flow.min_m3s", 1.0),
        ("pumping_stations.0.consumption_mw_per_m3s", 0.0),
        ("pumping_stations.0.source_hydro_id", 5),
    )
    yield key(e.changed, file, "pumping_stations.0.id", 9)
    file = e.SOURCES
    yield from fields(
        changes,
        base,
        file,
        "non_controllable_sources.2",
        bus_id=2,
        max_generation_mw=0.5,
        curtailment_cost=0.9,
        **service,
    )
    yield changes(base, file, "non_controllable_sources.1.allow_curtailment", True)
    yield key(base, file, "non_controllable_sources.0.id", 9)
    for file, list_name, item, others in (
        (e.LOAD_FACTORS, "load_factors", "bus_id", 1),
        (e.SOURCE_FACTORS, "non_controllable_factors", "ncs_id", 3),
    ):
        # Factors that are 1 on average move no cost where each MW in a block costs the same.
        uneven = (f"{list_name}.0.block_factors.0.factor", 1.5)
        yield changes(base, file, f"{list_name}.0.{item}", others, uneven)
        yield changes(base, file, f"{list_name}.0.stage_id", 2)
        yield changes(base, file, f"{list_name}.0.block_factors.0.factor", 1.1)
        yield changes(
            base,
            file,
            f"{list_name}.0.block_factors.0.block_id",
            1,
            (f"{list_name}.0.block_factors", [{"block_id": 0, "factor": 1.4}]),
        )
    yield from columns(key, base, e.LOADS, bus_id=4, stage_id=5)
    yield from columns(changes, base, e.LOADS, mean_mw=91.0)
    yield from columns(changes, base, e.LOADS, 1, std_mw=3.0)
    yield from columns(key, base, e.SOURCE_STATS, ncs_id=3, stage_id=5)
    yield from columns(changes, base, e.SOURCE_STATS, mean=0.6, std=0.2)


def stage_limits() -> Iterator[Row]:
    base = e.changed
    for kind, other, values in (
        ("thermal", {"thermal_id": 9}, {"min_generation_mw": 8.2, "cost_per_mwh": 31.0}),
        ("line", {"line_id": 1}, {"reverse_mw": 1.5}),
        ("contract", {"contract_id": 2}, {"max_mw": 3.0, "price_per_mwh": 56.0}),
        ("pumping", {"station_id": 2}, {"min_m3s": 1.6}),
        ("ncs", {"ncs_id": 2}, {"available_generation_mw": 0.5}),
    ):
        file = e.BOUNDS.format(kind)
        yield from columns(key, base, file, **other)
        yield from columns(changes, base, file, stage_id=2, block_id=0) if kind != "thermal" else ()
        yield from columns(changes, base, file, **values)
    file = e.BOUNDS.format("thermal")
    yield changes(base, file, "stage_id.0", 2)
    yield changes(base, file, "block_id.0", 0, ("cost_per_mwh.0", None))
    yield changes(base, file, "max_generation_mw.1", 6.0)
    yield changes(
        base,
        e.BOUNDS.format("line"),
        "direct_mw.0",
        0.0,
        (e.LINES, "lines.1.source_bus_id", 2),
        (e.LINES, "lines.1.target_bus_id", 4),
    )
    yield changes(base, e.BOUNDS.format("contract"), "min_mw.1", 1.55)
    yield changes(  # pumping up the river pays where it is free
        base,
        e.BOUNDS.format("pumping"),
        "max_m3s.0",
        1.55,
        (e.PUMPING, "pumping_stations.0.consumption_mw_per_m3s", 0.0),
    )
    for kind, column, other in (
        ("bus", "excess_cost", 4),
        ("line", "exchange_cost", 1),
        ("ncs", "curtailment_cost", 1),
    ):
        file = e.OVERRIDES.format(kind)
        yield changes(base, file, f"{kind}_id.0", other)
        yield changes(base, file, "stage_id.0", 2)
        yield changes(base, file, f"{column}.0", 0.7)
    file = e.BOUNDS.format("hydro")
    for name, value in (
        ("min_storage_hm3", 150.0),
        ("max_storage_hm3", 40.0),
        ("min_outflow_m3s", 60.0),
        ("max_outflow_m3s", 2.0),
        ("min_turbined_m3s", 49.0),
        ("max_turbined_m3s", 9.0),
        ("min_generation_mw", 44.0),
        ("max_generation_mw", 9.0),
        ("min_diversion_m3s", 9.0),
        ("max_diversion_m3s", 0.0),
    ):
        also = [(e.PENALTIES, "hydro.diversion_cost", 0.0)] if name == "max_diversion_m3s" else []
        yield changes(e.limits, file, f"{name}.0", value, *also)
    yield changes(e.water, file, "water_withdrawal_m3s.0", 9.0)
    bound = ("max_turbined_m3s.0", 9.0)
    yield changes(e.limits, file, "hydro_id.0", 5, bound)
    yield changes(e.limits, file, "stage_id.0", 2, bound)
    yield changes(e.limits, file, "block_id.0", 1, bound)


def generic() -> Iterator[Row]:
    base, file = e.constraints, e.CONSTRAINTS
    yield key(base, file, "constraints.0.id", 9)
    yield changes(base, file, "constraints.1.expression", "thermal_generation(4) >= 39")
    yield changes(base, file, "constraints.0.slack.penalty", 8.0)
    yield key(base, file, "constraints.0.slack.enabled", False)
    yield changes(base, file, "expressions.0.expression", "thermal_generation(4)")
    yield key(base, file, "expressions.0.name", "other")
    file = e.PARAMETERS
    yield key(base, file, "scalar_parameters.1.id", 1)
    yield key(base, file, "scalar_parameters.1.name", "other")
    yield key(base, file, "scalar_parameters.1.kind", "seasonal")
    yield changes(base, file, "scalar_parameters.1.value", 40.0)
    yield changes(base, file, "scalar_parameters.0.values", [[0, 1.2], [1, 1.1], [2, 1.2]])
    computed = (e.CONSTRAINTS, "constraints.1.expression", "thermal_generation(4) >= 44*@energy")
    yield changes(base, file, "scalar_parameters.2.computed_spec.tag", "accumulated_productivity", computed)
    yield changes(
        base,
        file,
        "scalar_parameters.2.computed_spec.hydro_id",
        5,
        computed,
        (e.PRODUCTION, "production_models.1.stage_ranges.0.productivity_mw_per_m3s", 0.5),
    )
    blockwise = (e.CONSTRAINTS, "constraints.1.expression", "thermal_generation(4) >= @blockwise")
    yield changes(
        base,
        file,
        "scalar_parameters.3.block_values",
        [[t, k, 39.0 + k] for t in range(3) for k in range(2)],
        blockwise,
    )
    file = e.CONSTRAINT_BOUNDS
    yield from columns(key, base, file, constraint_id=9)
    yield from columns(changes, base, file, stage_id=2, block_id=1, bound_upper=10.0)
    yield changes(base, file, "bound_lower.0", 15.0, (e.LOADS, "mean_mw.0", 20.0))
