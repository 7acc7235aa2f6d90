"""Buses, lines and plants, as frozen records with units in the names."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pycobre.system.ahead import Ahead
from pycobre.system.changes import ALWAYS, Service
from pycobre.system.groups import UnitGroup
from pycobre.system.reservoirs import Evaporation, Filling, SurfaceEvaporation
from pycobre.system.travel import PastFlow


@dataclass(frozen=True)
class DeficitSegment:
    """A slice of demand that may stay unserved, at a cost.

    Attributes
    ----------
    depth_mw
        Width of the slice; ``math.inf`` for the last one.
    cost_per_mwh
        What a MWh of it costs.
    """

    depth_mw: float
    cost_per_mwh: float


@dataclass(frozen=True)
class Bus:
    """A place where generation, exchange and demand balance in every block.

    While it is out of service it has no demand, its lines carry nothing, and of the plants, contracts and
    pumps there all but hydro plants are out of service too; what these make is excess.
    """

    id: int
    name: str
    deficit_segments: tuple[DeficitSegment, ...]
    excess_cost_per_mwh: float
    service: Service = ALWAYS


@dataclass(frozen=True)
class Line:
    """A link between two buses; what is sent arrives reduced by the losses.

    ``direct_max_mw`` and ``reverse_max_mw`` limit what is *sent*, from source to target and back;
    ``losses_fraction`` of it (0 to below 1) never arrives.
    """

    id: int
    name: str
    source_bus_id: int
    target_bus_id: int
    direct_max_mw: float
    reverse_max_mw: float
    losses_fraction: float
    exchange_cost_per_mwh: float
    service: Service = ALWAYS


@dataclass(frozen=True)
class Thermal:
    """A thermal plant with a linear cost.

    Where its dispatch is decided ``ahead``, costs go with the decision. What was decided for a stage is its
    mean generation there: blocks may differ within the limits.
    """

    id: int
    name: str
    bus_id: int
    generation_min_mw: float
    generation_max_mw: float
    cost_per_mwh: float
    service: Service = ALWAYS
    ahead: Ahead | None = None


@dataclass(frozen=True)
class Source:
    """A plant that makes what wind, sun or a river without reservoir allow; it can only be curtailed.

    What it makes saves ``curtailment_cost_per_mwh``. One that may not be curtailed makes all that is
    available and saves nothing by it.
    """

    id: int
    name: str
    bus_id: int
    generation_max_mw: float
    may_be_curtailed: bool
    curtailment_cost_per_mwh: float
    service: Service = ALWAYS


@dataclass(frozen=True)
class Contract:
    """Power that is bought from outside the system, or sold there: an import, or an export.

    A MWh of it costs ``price_per_mwh``; below zero it earns.
    """

    id: int
    name: str
    bus_id: int
    is_export: bool
    power_min_mw: float
    power_max_mw: float
    price_per_mwh: float
    service: Service = ALWAYS


@dataclass(frozen=True)
class PumpingStation:
    """Pumps that take water from one reservoir to another, at the cost of power from a bus."""

    id: int
    name: str
    bus_id: int
    source_hydro_id: int
    destination_hydro_id: int
    flow_min_m3s: float
    flow_max_m3s: float
    mw_per_m3s: float
    service: Service = ALWAYS


@dataclass(frozen=True)
class ConstantProductivity:
    """Generation proportional to turbined flow."""

    mw_per_m3s: float


@dataclass(frozen=True)
class ProductionPlane:
    """One plane of a production function: an upper limit on generation in a block.

    generation <= constant_mw + mw_per_hm3 · (mean storage) + mw_per_m3s · turbined
    + mw_per_spilled_m3s · spilled, where the mean storage is half the sum of the stage's
    incoming and final storage; of the block's, if blocks are chronological.
    """

    constant_mw: float
    mw_per_hm3: float
    mw_per_m3s: float
    mw_per_spilled_m3s: float


@dataclass(frozen=True)
class ProductionPlanes:
    """Generation below every one of these planes (FPHA)."""

    planes: tuple[ProductionPlane, ...]


@dataclass(frozen=True)
class LinearizedHead:
    """Generation proportional to turbined flow and to the head, which is a line in the storage.

    A simulation takes mw_per_m3s + mw_per_m3s_per_hm3 · (storage - reference_hm3), nothing below zero, at the
    storage that a stage begins with. A training, whose cuts need one problem a stage, takes ``mw_per_m3s``.
    """

    mw_per_m3s: float
    mw_per_m3s_per_hm3: float
    reference_hm3: float


ProductionModel = ConstantProductivity | LinearizedHead | ProductionPlanes


@dataclass(frozen=True)
class HydroPenalties:
    """What a hydro plant pays for using water badly or missing a soft limit.

    Costs of flows are per m³/s and hour, of storage per hm³, of generation per MWh. Where a limit has the
    price ``math.inf`` it can't be missed.
    """

    spillage_cost_per_m3s_h: float
    turbined_cost_per_m3s_h: float
    storage_below_cost_per_hm3: float
    turbined_below_cost_per_m3s_h: float
    outflow_below_cost_per_m3s_h: float
    outflow_above_cost_per_m3s_h: float
    generation_below_cost_per_mwh: float
    inflow_nonnegativity_cost_per_m3s_h: float
    withdrawal_below_cost_per_m3s_h: float = math.inf
    withdrawal_above_cost_per_m3s_h: float = math.inf
    evaporation_below_cost_per_m3s_h: float = math.inf
    evaporation_above_cost_per_m3s_h: float = math.inf
    diversion_cost_per_m3s_h: float = 0.0
    filling_below_cost_per_hm3: float = math.inf


@dataclass(frozen=True)
class Hydro:
    """A hydro plant with its reservoir.

    Upper limits may be ``math.inf`` (outflow). Lower limits of storage, outflow, turbined flow and
    generation, the upper limit of outflow and the withdrawal are soft: missing them costs what
    ``penalties`` says. ``production`` holds one model a stage, in the order of :attr:`System.stages`.
    ``withdrawal_m3s`` is what is taken from the reservoir for other uses; below zero it is brought there.
    ``evaporation`` follows from the surface, or holds a line a stage too, or nothing. ``diversion_to_id`` is
    the plant that a channel past the turbines leads to; what it carries is no outflow. A reservoir that is
    being filled (``filling``) has final storages to reach: missing them costs a price of its own, and the
    turbines don't turn in these stages. ``travel_hours`` is how long its outflow is under way to the plant
    below, and ``past_outflow`` what it was before the study. ``unit_groups`` are its turbines where they feed
    several buses, or have limits of their own that change by stage; without them all is given to ``bus_id``,
    which is else the first group's.

    Where a plant is out of ``service`` its reservoir keeps what it holds, and water that comes to it, its
    own inflow too, flows on to the next plant below that is there.
    """

    id: int
    name: str
    bus_id: int
    downstream_id: int | None
    storage_min_hm3: float
    storage_max_hm3: float
    storage_initial_hm3: float
    outflow_min_m3s: float
    outflow_max_m3s: float
    turbined_min_m3s: float
    turbined_max_m3s: float
    generation_min_mw: float
    generation_max_mw: float
    production: tuple[ProductionModel, ...]
    penalties: HydroPenalties
    withdrawal_m3s: float = 0.0
    evaporation: SurfaceEvaporation | tuple[Evaporation, ...] = ()
    diversion_to_id: int | None = None
    diversion_min_m3s: float = 0.0
    diversion_max_m3s: float = 0.0
    filling: Filling | None = None
    travel_hours: float = 0.0
    past_outflow: tuple[PastFlow, ...] = ()
    unit_groups: tuple[UnitGroup, ...] = ()
    service: Service = ALWAYS
