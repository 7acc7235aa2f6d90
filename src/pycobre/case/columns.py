"""Columns of the Parquet files: their names, types and ranges, and what tells rows apart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

# Ten years of months: far beyond any inflow model, and still an array that fits in memory.
MAX_LAG = 120

DAY = "date32[day]"
# The days that the calendar has, years 1 to 9999.
FIRST_DAY, LAST_DAY = (day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max))


@dataclass(frozen=True)
class Column:
    """A column that a table has or may have."""

    name: str
    type: str
    optional: bool = False
    nullable: bool = False
    minimum: float | None = None
    exclusive: bool = False
    maximum: float | None = None


@dataclass(frozen=True)
class TableSpec:
    """The columns of a table, and those that tell its rows apart."""

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    merged: bool = False
    """Several rows of a key may each give other columns."""


def _id(name: str, nullable: bool = False) -> Column:
    return Column(name, "int32", nullable=nullable)


INFLOW_STATS = TableSpec(
    (_id("hydro_id"), _id("stage_id"), Column("mean_m3s", "double"), Column("std_m3s", "double", minimum=0)),
    ("hydro_id", "stage_id"),
)
INFLOW_AR = TableSpec(
    (
        _id("hydro_id"),
        _id("stage_id"),
        Column("lag", "int32", minimum=1, maximum=MAX_LAG),
        Column("coefficient", "double"),
        Column("residual_std_ratio", "double", optional=True, nullable=True),
    ),
    ("hydro_id", "stage_id", "lag"),
)
INFLOW_HISTORY = TableSpec(
    (_id("hydro_id"), Column("start_date", DAY), Column("end_date", DAY), Column("value_m3s", "double")),
    ("hydro_id", "start_date"),
)
INFLOW_ANNUAL = TableSpec(
    (
        _id("hydro_id"),
        _id("stage_id"),
        Column("annual_coefficient", "double"),
        Column("annual_mean_m3s", "double"),
        Column("annual_std_m3s", "double", minimum=0, exclusive=True),
    ),
    ("hydro_id", "stage_id"),
)
LOAD_STATS = TableSpec(
    (_id("bus_id"), _id("stage_id"), Column("mean_mw", "double"), Column("std_mw", "double", minimum=0)),
    ("bus_id", "stage_id"),
)
EXTERNAL_INFLOW = TableSpec(
    (_id("stage_id"), _id("scenario_id"), _id("hydro_id"), Column("value_m3s", "double")),
    ("stage_id", "scenario_id", "hydro_id"),
)
EXTERNAL_LOAD = TableSpec(
    (_id("stage_id"), _id("scenario_id"), _id("bus_id"), Column("value_mw", "double")),
    ("stage_id", "scenario_id", "bus_id"),
)
EXTERNAL_SOURCES = TableSpec(
    (_id("stage_id"), _id("scenario_id"), _id("ncs_id"), Column("value", "double", minimum=0, maximum=1)),
    ("stage_id", "scenario_id", "ncs_id"),
)
NOISE_OPENINGS = TableSpec(
    (
        _id("stage_id"),
        Column("opening_index", "uint32"),
        Column("entity_index", "uint32"),
        Column("value", "double"),
    ),
    ("stage_id", "opening_index", "entity_index"),
)
SOURCE_STATS = TableSpec(
    (
        Column("ncs_id", "int32"),
        Column("stage_id", "int32"),
        Column("mean", "double", minimum=0, maximum=1),
        Column("std", "double", minimum=0),
    ),
    ("ncs_id", "stage_id"),
)
GEOMETRY = TableSpec(
    (
        _id("hydro_id"),
        Column("volume_hm3", "double", minimum=0),
        Column("height_m", "double"),
        Column("area_km2", "double", minimum=0),
    ),
    (),
    merged=True,
)
TAILRACES = TableSpec(
    (
        _id("hydro_id"),
        _id("family_id"),
        Column("downstream_reference_level_m", "double"),
        _id("segment_id"),
        Column("outflow_min_m3s", "double", minimum=0),
        Column("outflow_max_m3s", "double", minimum=0),
        *(Column(f"coefficient_{power}", "double") for power in range(5)),
    ),
    ("hydro_id", "family_id", "segment_id"),
)
CONSTRAINT_BOUNDS = TableSpec(
    (
        _id("constraint_id"),
        _id("stage_id"),
        Column("block_id", "int32", optional=True, nullable=True),
        Column("bound_lower", "double", optional=True, nullable=True),
        Column("bound_upper", "double", optional=True, nullable=True),
    ),
    ("constraint_id", "stage_id", "block_id"),
)
GROUP_BOUNDS = TableSpec(
    (
        _id("hydro_id"),
        _id("hydro_unit_group_id"),
        _id("stage_id"),
        Column("block_id", "int32", optional=True, nullable=True),
        *(
            Column(f"{side}_{quantity}", "double", optional=True, nullable=True, minimum=0)
            for quantity in ("turbined_m3s", "generation_mw")
            for side in ("min", "max")
        ),
    ),
    ("hydro_id", "hydro_unit_group_id", "stage_id", "block_id"),
    merged=True,
)
PLANES = TableSpec(
    (
        _id("hydro_id"),
        _id("stage_id", nullable=True),
        _id("plane_id"),
        Column("gamma_0", "double"),
        Column("gamma_v", "double", minimum=0),
        Column("gamma_q", "double", minimum=0),
        Column("gamma_s", "double"),
        Column("kappa", "double", minimum=0, exclusive=True),
    ),
    ("hydro_id", "stage_id", "plane_id"),
)
ENERGY = TableSpec(
    (
        _id("hydro_id"),
        _id("stage_id", nullable=True),
        Column("equivalent_productivity_mw_per_m3s", "double", nullable=True, minimum=0),
        Column("reference_outflow_m3s", "double", optional=True, nullable=True),
        Column(
            "specific_productivity_mw_per_m3s_per_m",
            "double",
            optional=True,
            nullable=True,
            minimum=0,
            exclusive=True,
        ),
    ),
    ("hydro_id", "stage_id"),
)
