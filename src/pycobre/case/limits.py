"""What ``constraints/*_bounds.parquet`` and ``penalty_overrides_*.parquet`` may change, and their columns."""

from __future__ import annotations

from dataclasses import dataclass

from pycobre.case import files
from pycobre.case.columns import Column, TableSpec


@dataclass(frozen=True)
class Changing:
    """A column that changes an attribute of an entity.

    Attributes
    ----------
    column
        Name in the table.
    attributes
        Names in :mod:`pycobre.system`; the value is given to each.
    by_block
        Whether it may differ between blocks.
    lower
        Least value, or ``None``.
    """

    column: str
    attributes: tuple[str, ...]
    by_block: bool = True
    lower: float | None = 0.0


@dataclass(frozen=True)
class ChangeTable:
    """A table of changes.

    Attributes
    ----------
    name
        Attribute of :class:`~pycobre.case.files.CaseFiles` that holds it.
    file
        Where it is.
    kind, noun
        The kind of entity as :attr:`pycobre.system.System.changes` calls it, and as people do.
    key
        Column that names the entity.
    columns
        What it may change.
    pairs
        Lower and upper attributes that must not cross, and their unit.
    """

    name: str
    file: str
    kind: str
    noun: str
    key: str
    columns: tuple[Changing, ...]
    pairs: tuple[tuple[str, str, str], ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether the table may name blocks."""
        return any(column.by_block for column in self.columns)

    @property
    def spec(self) -> TableSpec:
        """Its columns as a table's."""
        ids = [Column(self.key, "int32"), Column("stage_id", "int32")]
        if self.blocks:
            ids.append(Column("block_id", "int32", optional=True, nullable=True))
        numbers = [
            Column(column.column, "double", optional=True, nullable=True, minimum=column.lower)
            for column in self.columns
        ]
        return TableSpec((*ids, *numbers), tuple(column.name for column in ids), merged=True)


def _whole_stage(column: str, *attributes: str, lower: float | None = 0.0) -> Changing:
    return Changing(column, attributes, by_block=False, lower=lower)


def _price(column: str, *attributes: str) -> Changing:
    return _whole_stage(column, *(f"{attribute}_cost_per_m3s_h" for attribute in attributes))


_TURBINED = ("turbined_min_m3s", "turbined_max_m3s", "m³/s")
_OUTFLOW = ("outflow_min_m3s", "outflow_max_m3s", "m³/s")
_STORAGE = ("storage_min_hm3", "storage_max_hm3", "hm³")
_DIVERSION = ("diversion_min_m3s", "diversion_max_m3s", "m³/s")
_GENERATION = ("generation_min_mw", "generation_max_mw", "MW")

CHANGE_TABLES: tuple[ChangeTable, ...] = (
    ChangeTable(
        "thermal_bounds",
        files.THERMAL_BOUNDS,
        "thermals",
        "thermal",
        "thermal_id",
        (
            Changing("min_generation_mw", ("generation_min_mw",)),
            Changing("max_generation_mw", ("generation_max_mw",)),
            _whole_stage("cost_per_mwh", "cost_per_mwh"),
        ),
        (_GENERATION,),
    ),
    ChangeTable(
        "hydro_bounds",
        files.HYDRO_BOUNDS,
        "hydros",
        "hydro",
        "hydro_id",
        (
            _whole_stage("min_storage_hm3", "storage_min_hm3"),
            _whole_stage("max_storage_hm3", "storage_max_hm3"),
            Changing("min_outflow_m3s", ("outflow_min_m3s",)),
            Changing("max_outflow_m3s", ("outflow_max_m3s",)),
            Changing("min_turbined_m3s", ("turbined_min_m3s",)),
            Changing("max_turbined_m3s", ("turbined_max_m3s",)),
            Changing("min_generation_mw", ("generation_min_mw",)),
            Changing("max_generation_mw", ("generation_max_mw",)),
            Changing("min_diversion_m3s", ("diversion_min_m3s",)),
            Changing("max_diversion_m3s", ("diversion_max_m3s",)),
            _whole_stage("water_withdrawal_m3s", "withdrawal_m3s", lower=None),
            _whole_stage("filling_min_rate_m3s", "rate_min_m3s"),
        ),
        (_STORAGE, _OUTFLOW, _TURBINED, _GENERATION, _DIVERSION),
    ),
    ChangeTable(
        "line_bounds",
        files.LINE_BOUNDS,
        "lines",
        "line",
        "line_id",
        (Changing("direct_mw", ("direct_max_mw",)), Changing("reverse_mw", ("reverse_max_mw",))),
    ),
    ChangeTable(
        "contract_bounds",
        files.CONTRACT_BOUNDS,
        "contracts",
        "contract",
        "contract_id",
        (
            Changing("min_mw", ("power_min_mw",)),
            Changing("max_mw", ("power_max_mw",)),
            Changing("price_per_mwh", ("price_per_mwh",), lower=None),
        ),
        (("power_min_mw", "power_max_mw", "MW"),),
    ),
    ChangeTable(
        "pumping_bounds",
        files.PUMPING_BOUNDS,
        "pumps",
        "pumping station",
        "station_id",
        (Changing("min_m3s", ("flow_min_m3s",)), Changing("max_m3s", ("flow_max_m3s",))),
        (("flow_min_m3s", "flow_max_m3s", "m³/s"),),
    ),
    ChangeTable(
        "source_bounds",
        files.SOURCE_BOUNDS,
        "sources",
        "source",
        "ncs_id",
        (Changing("available_generation_mw", ("generation_max_mw",)),),
    ),
    ChangeTable(
        "source_penalties",
        files.SOURCE_PENALTIES,
        "sources",
        "source",
        "ncs_id",
        (_whole_stage("curtailment_cost", "curtailment_cost_per_mwh"),),
    ),
    ChangeTable(
        "bus_penalties",
        files.BUS_PENALTIES,
        "buses",
        "bus",
        "bus_id",
        (_whole_stage("excess_cost", "excess_cost_per_mwh"),),
    ),
    ChangeTable(
        "line_penalties",
        files.LINE_PENALTIES,
        "lines",
        "line",
        "line_id",
        (_whole_stage("exchange_cost", "exchange_cost_per_mwh"),),
    ),
    ChangeTable(
        "hydro_penalties",
        files.HYDRO_PENALTIES,
        "hydros",
        "hydro",
        "hydro_id",
        (
            _price("spillage_cost", "spillage"),
            _price("turbined_cost", "turbined"),
            _whole_stage("storage_violation_below_cost", "storage_below_cost_per_hm3"),
            _price("turbined_violation_below_cost", "turbined_below"),
            _price("outflow_violation_below_cost", "outflow_below"),
            _price("outflow_violation_above_cost", "outflow_above"),
            _whole_stage("generation_violation_below_cost", "generation_below_cost_per_mwh"),
            _price("inflow_nonnegativity_cost", "inflow_nonnegativity"),
            _price("water_withdrawal_violation_cost", "withdrawal_below", "withdrawal_above"),
            _price("water_withdrawal_violation_neg_cost", "withdrawal_below"),
            _price("water_withdrawal_violation_pos_cost", "withdrawal_above"),
            _price("diversion_cost", "diversion"),
            _price("evaporation_violation_cost", "evaporation_below", "evaporation_above"),
            _price("evaporation_violation_neg_cost", "evaporation_below"),
            _price("evaporation_violation_pos_cost", "evaporation_above"),
            _whole_stage("filling_target_violation_cost", "filling_below_cost_per_hm3"),
        ),
    ),
)
