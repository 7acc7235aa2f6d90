"""Where the files of a case are, as the format says."""

from __future__ import annotations

CONFIG, STAGES, PENALTIES, INITIAL = "config.json", "stages.json", "penalties.json", "initial_conditions.json"
BUSES, LINES, THERMALS, HYDROS = (f"system/{kind}.json" for kind in ("buses", "lines", "thermals", "hydros"))
PRODUCTION = "system/hydro_production_models.json"
SOURCES, CONTRACTS, PUMPING = (
    f"system/{kind}.json" for kind in ("non_controllable_sources", "energy_contracts", "pumping_stations")
)
PLANES, ENERGY = "system/fpha_hyperplanes.parquet", "system/hydro_energy_productivity.parquet"
GEOMETRY, TAILRACES = "system/hydro_geometry.parquet", "system/tailrace_curves.parquet"
INFLOW_STATS, LAGS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
HISTORY, ANNUAL = "scenarios/inflow_history.parquet", "scenarios/inflow_annual_component.parquet"
LOADS, LOAD_FACTORS = "scenarios/load_seasonal_stats.parquet", "scenarios/load_factors.json"
SOURCE_STATS = "scenarios/non_controllable_stats.parquet"
SOURCE_FACTORS = "scenarios/non_controllable_factors.json"
CORRELATION, OPENINGS = "scenarios/correlation.json", "scenarios/noise_openings.parquet"
EXTERNAL = "scenarios/external_{}_scenarios.parquet"
CONSTRAINTS = "constraints/generic_constraints.json"
PARAMETERS = "constraints/generic_parameters.json"
CONSTRAINT_BOUNDS = "constraints/generic_constraint_bounds.parquet"
BOUNDS = "constraints/{}_bounds.parquet"
OVERRIDES = "constraints/penalty_overrides_{}.parquet"
