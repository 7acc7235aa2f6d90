"""The whole power system, ordered by id."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pycobre.system.ahead import Deliveries, LaterDelivery, LaterStage
from pycobre.system.calendar import Block, Stage
from pycobre.system.changes import Changes, EntityT, changed
from pycobre.system.checks import problems_of
from pycobre.system.compare import NOUNS, differences
from pycobre.system.constraints import GenericConstraint
from pycobre.system.entities import Bus, Contract, Hydro, Line, PumpingStation, Source, Thermal
from pycobre.system.groups import Feed, feeds_of
from pycobre.system.reservoirs import Evaporation, SurfaceEvaporation
from pycobre.system.travel import Transit
from pycobre.system.uncertainty import (
    INDEPENDENT,
    NO_INFLOW,
    NO_LOAD,
    NO_SOURCES,
    Correlation,
    InflowStatistics,
    LoadStatistics,
    SourceStatistics,
)
from pycobre.system.units import hm3_per_m3s

CHANGING = ("buses", "lines", "thermals", "hydros", "sources", "contracts", "pumps")
"""Kinds of entities that :attr:`System.changes` may speak of."""


@dataclass(frozen=True, eq=False, repr=False)
class System:
    """A power system and the stages it is planned over.

    Stages, buses, hydros and sources come ascending by id, and so do the rows of ``load``, ``inflow`` and
    ``availability``; other entities are put in this order. No result depends on the order of an input file.
    Statistics that are left out are none: no demand, no inflow, sources that are fully available, noise
    terms that stand alone. :func:`dataclasses.replace` changes a system.

    Raises
    ------
    ValueError
        Entities, changes and arrays contradict each other; all of it is told, by entity and field.
    """

    stages: tuple[Stage, ...]
    buses: tuple[Bus, ...]
    lines: tuple[Line, ...] = ()
    thermals: tuple[Thermal, ...] = ()
    hydros: tuple[Hydro, ...] = ()
    inflow: InflowStatistics = NO_INFLOW
    load: LoadStatistics = NO_LOAD
    correlation: Correlation = INDEPENDENT
    sources: tuple[Source, ...] = ()
    availability: SourceStatistics = NO_SOURCES
    """Of :attr:`sources`."""
    contracts: tuple[Contract, ...] = ()
    pumps: tuple[PumpingStation, ...] = ()
    constraints: tuple[GenericConstraint, ...] = ()
    changes: Mapping[str, Changes] = field(default_factory=dict)
    """What differs in single stages and blocks, by kind of entity: the name of its attribute here."""
    later: tuple[LaterStage, ...] = ()
    """Stages after the study in which something is delivered that the study decides."""

    def __post_init__(self) -> None:
        for name in ("stages", *CHANGING, "constraints"):
            entities = tuple(getattr(self, name))
            if name in ("lines", "thermals", "contracts", "pumps", "constraints"):
                entities = tuple(sorted(entities, key=lambda entity: entity.id))
            object.__setattr__(self, name, entities)
        self._fill_in()
        problems = problems_of(self)
        if problems:
            count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
            raise ValueError("\n".join([f"{count} in the system:", *(f"  - {text}" for text in problems)]))

    def _fill_in(self) -> None:
        """Put statistics of the right shape where none are given."""
        stages, blocks = len(self.stages), max((len(stage.blocks) for stage in self.stages), default=0)
        if self.inflow is NO_INFLOW:
            none = InflowStatistics.certain(np.zeros((len(self.hydros), stages)))
            object.__setattr__(self, "inflow", none)
        if self.load is NO_LOAD:
            object.__setattr__(
                self, "load", LoadStatistics.certain(np.zeros((len(self.buses), stages)), blocks)
            )
        if self.availability is NO_SOURCES:
            full = SourceStatistics.certain(np.ones((len(self.sources), stages)), blocks)
            object.__setattr__(self, "availability", full)
        if self.correlation is INDEPENDENT:
            alone = Correlation((np.eye(self.noise_dimension),), (0,) * stages)
            object.__setattr__(self, "correlation", alone)

    def __repr__(self) -> str:
        return f"System({self.contents})"

    @property
    def contents(self) -> str:
        """How much of what there is: ``3 stages from 2025-01-01 to 2025-04-01, 1 bus, 2 thermals``."""
        days = f" from {self.stages[0].start_date} to {self.stages[-1].end_date}"
        counts = [f"{len(self.stages)} stage{'s' * (len(self.stages) > 1)}{days}"]
        for name in (*CHANGING, "constraints"):
            count = len(getattr(self, name))
            if count:
                noun = NOUNS[name] if count == 1 else "pumping stations" if name == "pumps" else name
                counts.append(f"{count} {noun}")
        return ", ".join(counts)

    def differences(self, other: System) -> list[str]:
        """Where *other* is not the same, by entity and field; arrays by their values. Empty: nowhere."""
        return list(differences(self, other))

    @cached_property
    def bus_position(self) -> dict[int, int]:
        """Position of each bus id in :attr:`buses`."""
        return {bus.id: position for position, bus in enumerate(self.buses)}

    @cached_property
    def hydro_position(self) -> dict[int, int]:
        """Position of each hydro id in :attr:`hydros`."""
        return {hydro.id: position for position, hydro in enumerate(self.hydros)}

    @cached_property
    def upstream(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the hydros that release into each hydro, in the order of :attr:`hydros`."""
        above: list[list[int]] = [[] for _ in self.hydros]
        for position, hydro in enumerate(self.hydros):
            if hydro.downstream_id is not None:
                above[self.hydro_position[hydro.downstream_id]].append(position)
        return tuple(tuple(positions) for positions in above)

    @cached_property
    def down_the_river(self) -> tuple[int, ...]:
        """Positions of all hydros, each behind every one above it."""
        order: list[int] = []

        def visit(position: int) -> None:
            if position not in order:
                for above in self.upstream[position]:
                    visit(above)
                order.append(position)

        for position in range(len(self.hydros)):
            visit(position)
        return tuple(order)

    @cached_property
    def deliveries(self) -> tuple[Deliveries, ...]:
        """Of each thermal plant whose dispatch is decided ahead, which stage decides what, by position."""
        hours = [stage.hours for stage in self.stages] + [stage.hours for stage in self.later]
        return tuple(
            Deliveries.of(position, plant.ahead, hours, len(self.stages))
            for position, plant in enumerate(self.thermals)
            if plant.ahead is not None
        )

    def delivery(self, plant: int, m: int) -> LaterDelivery | None:
        """Limits and cost of what the thermal in position *plant* delivers in stage *m*, if it is there.

        Stages go on, after the study's, with the later ones.
        """
        thermal = self.thermals[plant]
        if m >= len(self.stages):
            return None if thermal.ahead is None else thermal.ahead.later.get(m - len(self.stages))
        stage = self.stages[m]
        if not self._works(thermal, stage):
            return None
        low = high = 0.0
        changes = self.changes.get("thermals", {})
        for block in stage.blocks:
            here = changed(thermal, changes, stage, block)
            low += here.generation_min_mw * (block.hours / stage.hours)
            high += here.generation_max_mw * (block.hours / stage.hours)
        return LaterDelivery(low, high, changed(thermal, changes, stage).cost_per_mwh)

    def worth(self, t: int, m: int) -> float:
        """Hours of stage *m*, times what a cost of one in it is worth in stage *t*."""
        stages: list[Stage | LaterStage] = [*self.stages, *self.later]
        return float(stages[m].hours * math.prod(stage.discount_factor for stage in stages[t:m]))

    @cached_property
    def transits(self) -> tuple[Transit, ...]:
        """Of each hydro plant whose outflow takes time to the next, where it is meanwhile, by position."""
        later = [stage.hours for stage in self.later]
        return tuple(
            Transit.of(h, plant.travel_hours, plant.past_outflow, self.stages, later, hm3_per_m3s(1.0))
            for h, plant in enumerate(self.hydros)
            if plant.travel_hours > 0.0 and plant.downstream_id is not None
        )

    @cached_property
    def feeds(self) -> tuple[Feed, ...]:
        """What hydro plants of several unit groups give to each of their buses, by plant, then bus."""
        return tuple(feed for h, plant in enumerate(self.hydros) for feed in feeds_of(h, plant.unit_groups))

    @cached_property
    def evaporation(self) -> tuple[tuple[Evaporation, ...], ...]:
        """Lines of each hydro's evaporation, one a stage; none where nothing evaporates."""
        return tuple(
            hydro.evaporation.lines((hydro.storage_min_hm3 + hydro.storage_max_hm3) / 2.0, self.stages)
            if isinstance(hydro.evaporation, SurfaceEvaporation)
            else hydro.evaporation
            for hydro in self.hydros
        )

    @cached_property
    def filling_targets_hm3(self) -> tuple[Mapping[int, float], ...]:
        """Of each hydro, by stage id, the final storages that are to be reached while it is being filled."""
        return tuple(
            {}
            if hydro.filling is None
            else hydro.filling.targets_hm3(
                hydro.storage_initial_hm3, hydro.storage_min_hm3, self.stages, self._filling_rates(hydro)
            )
            for hydro in self.hydros
        )

    def _filling_rates(self, hydro: Hydro) -> list[float]:
        plants = (changed(hydro, self.changes.get("hydros", {}), stage) for stage in self.stages)
        return [plant.filling.rate_min_m3s for plant in plants if plant.filling is not None]

    @property
    def noise_dimension(self) -> int:
        """Number of noise terms a stage: one a hydro, a bus of random demand, a source with statistics."""
        return self.first_source_noise + len(self.availability.drawn)

    @property
    def first_source_noise(self) -> int:
        """Position of the first source's noise term."""
        return len(self.hydros) + len(self.load.random_buses)

    def within_reach(self, t: int, noise: NDArray[np.float64]) -> NDArray[np.float64]:
        """Noise (.., D) of stage position *t* with what no source can follow cut off.

        Stage problems are linear in the noise, availability is not: noise must go through here before a
        problem sees it.
        """
        first = self.first_source_noise
        if not self.availability.drawn:
            return noise
        return np.concatenate([noise[..., :first], self.availability.clip(t, noise[..., first:])], axis=-1)

    def buses_in(self, stage: Stage) -> tuple[Bus, ...]:
        """Buses with the costs that hold in *stage*; without deficit out of service."""
        return tuple(
            bus if bus.service.covers(stage) else replace(bus, deficit_segments=())
            for bus in self._in("buses", self.buses, stage, None)
        )

    def _works(self, entity: Line | Thermal | Source | Contract | PumpingStation, stage: Stage) -> bool:
        """Whether an entity is there in *stage*, and so are its buses."""
        ends = (entity.source_bus_id, entity.target_bus_id) if isinstance(entity, Line) else (entity.bus_id,)
        return entity.service.covers(stage) and all(
            self.buses[self.bus_position[end]].service.covers(stage) for end in ends
        )

    def lines_in(self, stage: Stage, block: Block | None = None) -> tuple[Line, ...]:
        """Lines with what holds in *stage*, or in a *block* of it; without capacity out of service."""
        return tuple(
            line if self._works(line, stage) else replace(line, direct_max_mw=0.0, reverse_max_mw=0.0)
            for line in self._in("lines", self.lines, stage, block)
        )

    def thermals_in(self, stage: Stage, block: Block | None = None) -> tuple[Thermal, ...]:
        """Thermal plants with what holds in *stage*, or in a *block*; without capacity out of service."""
        return tuple(
            plant
            if self._works(plant, stage)
            else replace(plant, generation_min_mw=0.0, generation_max_mw=0.0)
            for plant in self._in("thermals", self.thermals, stage, block)
        )

    def sources_in(self, stage: Stage, block: Block | None = None) -> tuple[Source, ...]:
        """Sources with what holds in *stage*, or in a *block* of it; without capacity out of service."""
        return tuple(
            source if self._works(source, stage) else replace(source, generation_max_mw=0.0)
            for source in self._in("sources", self.sources, stage, block)
        )

    def contracts_in(self, stage: Stage, block: Block | None = None) -> tuple[Contract, ...]:
        """Contracts with what holds in *stage*, or in a *block* of it; without power out of service."""
        return tuple(
            contract
            if self._works(contract, stage)
            else replace(contract, power_min_mw=0.0, power_max_mw=0.0)
            for contract in self._in("contracts", self.contracts, stage, block)
        )

    def pumps_in(self, stage: Stage, block: Block | None = None) -> tuple[PumpingStation, ...]:
        """Pumping stations with what holds in *stage*, or in a *block*; without flow out of service.

        A station between reservoirs of which one is not there is out of service too.
        """
        return tuple(
            pump if self._pumps(pump, stage) else replace(pump, flow_min_m3s=0.0, flow_max_m3s=0.0)
            for pump in self._in("pumps", self.pumps, stage, block)
        )

    def _pumps(self, pump: PumpingStation, stage: Stage) -> bool:
        ends = (pump.source_hydro_id, pump.destination_hydro_id)
        plants = [self.hydros[self.hydro_position[id]] for id in ends]
        return self._works(pump, stage) and all(plant.service.covers(stage) for plant in plants)

    def hydros_in(self, stage: Stage, block: Block | None = None) -> tuple[Hydro, ...]:
        """Hydro plants with what holds in *stage*, or in a *block* of it, in service or not."""
        plants = (
            _with_groups(plant, stage, block) if plant.unit_groups else plant
            for plant in self._in("hydros", self.hydros, stage, block)
        )
        return tuple(
            _being_filled(plant, targets[stage.id]) if stage.id in targets else plant
            for plant, targets in zip(plants, self.filling_targets_hm3, strict=True)
        )

    def differs_by_block(self, kind: str, stage: Stage) -> bool:
        """Whether anything of the *kind* changes between the blocks of *stage*."""
        return (kind, stage.id) in self._changing_blocks

    @cached_property
    def _changing_blocks(self) -> frozenset[tuple[str, int]]:
        places = [(kind, *place[1:]) for kind, changes in self.changes.items() for place in changes]
        groups = [group for plant in self.hydros for group in plant.unit_groups]
        places += [("hydros", *place) for group in groups for place in group.changes]
        return frozenset((kind, stage) for kind, stage, block in places if block is not None)

    def receivers_in(self, stage: Stage) -> tuple[int | None, ...]:
        """Position of the hydro that each one's water flows on to in *stage*: the next that is there."""
        return tuple(self._receiver(hydro, stage) for hydro in self.hydros)

    def _receiver(self, hydro: Hydro, stage: Stage) -> int | None:
        return None if hydro.downstream_id is None else self.reached(hydro.downstream_id, stage)

    def reached(self, hydro_id: int, stage: Stage) -> int | None:
        """Position of the plant that water sent to *hydro_id* comes to in *stage*: the next that is there."""
        below: int | None = hydro_id
        while below is not None:
            position = self.hydro_position[below]
            if self.hydros[position].service.covers(stage):
                return position
            below = self.hydros[position].downstream_id
        return None

    def _in(
        self, kind: str, entities: tuple[EntityT, ...], stage: Stage, block: Block | None
    ) -> tuple[EntityT, ...]:
        changes = self.changes.get(kind)
        if not changes:
            return entities
        return tuple(changed(entity, changes, stage, block) for entity in entities)


def _with_groups(plant: Hydro, stage: Stage, block: Block | None) -> Hydro:
    """*plant* with the limits of its unit groups that hold; those of a single group are its own."""
    groups = tuple(group.within(stage, block) for group in plant.unit_groups)
    if len(groups) > 1:
        return replace(plant, unit_groups=groups)
    (group,) = groups
    return replace(
        plant,
        unit_groups=(),
        turbined_min_m3s=max(plant.turbined_min_m3s, group.turbined_min_m3s),
        turbined_max_m3s=min(plant.turbined_max_m3s, group.turbined_max_m3s),
        generation_min_mw=max(plant.generation_min_mw, group.generation_min_mw),
        generation_max_mw=min(plant.generation_max_mw, group.generation_max_mw),
    )


def _being_filled(plant: Hydro, target_hm3: float) -> Hydro:
    """*plant* with its turbines still, and the target in place of its minimum storage."""
    price = plant.penalties.filling_below_cost_per_hm3
    return replace(
        plant,
        storage_min_hm3=target_hm3,
        turbined_min_m3s=0.0,
        turbined_max_m3s=0.0,
        generation_min_mw=0.0,
        generation_max_mw=0.0,
        unit_groups=(),
        penalties=replace(plant.penalties, storage_below_cost_per_hm3=price),
    )
