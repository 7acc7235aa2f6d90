"""Linear constraints that a study sets beside those of its plants, buses and lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ConstraintTerm:
    """A quantity of an entity times a factor.

    ``variable`` is one of :data:`VARIABLES`. Without ``block_id`` a quantity that differs between blocks
    is that of the constraint's own block. ``bus_id`` picks the part of a hydro plant's flow or generation
    that its unit groups at one bus make.
    """

    factor: float
    variable: str
    entity_id: int
    block_id: int | None = None
    bus_id: int | None = None


@dataclass(frozen=True)
class ConstraintRow:
    """lower <= Σ terms <= upper, in one stage or block; a side that asks for nothing is infinite."""

    lower: float
    upper: float
    terms: tuple[ConstraintTerm, ...]


@dataclass(frozen=True)
class GenericConstraint:
    """A constraint, with its rows by (stage id, block id).

    Block ``None`` stands for every block of the stage, each its own row, or for the stage as a whole where
    no term differs between blocks. A unit that is missed costs ``slack_cost_per_h`` an hour of the row;
    ``math.inf``: it can't be missed.
    """

    id: int
    name: str
    slack_cost_per_h: float
    rows: Mapping[tuple[int, int | None], ConstraintRow]


BY_STAGE: Mapping[str, str] = {
    "hydro_storage": "hydros",
    "hydro_storage_final": "hydros",
    "hydro_storage_initial": "hydros",
    "hydro_useful_volume_final": "hydros",
    "hydro_useful_volume_initial": "hydros",
    "hydro_inflow": "hydros",
    "hydro_withdrawal": "hydros",
    "hydro_evaporation": "hydros",
    "anticipated_decision": "thermals",
}
"""Quantities of a whole stage, and the kind of entity that each is of."""

BY_BLOCK: Mapping[str, str] = {
    "hydro_turbined": "hydros",
    "hydro_spillage": "hydros",
    "hydro_outflow": "hydros",
    "hydro_generation": "hydros",
    "hydro_diversion": "hydros",
    "thermal_generation": "thermals",
    "line_direct": "lines",
    "line_reverse": "lines",
    "line_exchange": "lines",
    "bus_deficit": "buses",
    "bus_excess": "buses",
    "pumping_flow": "pumps",
    "pumping_power": "pumps",
    "contract_import": "contracts",
    "contract_export": "contracts",
    "non_controllable_generation": "sources",
    "non_controllable_curtailment": "sources",
}
"""Quantities that differ between blocks, and the kind of entity that each is of."""

VARIABLES: Mapping[str, str] = {**BY_STAGE, **BY_BLOCK}
"""Every quantity that a constraint may speak of."""
