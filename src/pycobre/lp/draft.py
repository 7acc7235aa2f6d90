"""A hydrothermal stage problem on the drawing board: what it is about, and where its parts stand so far."""

from __future__ import annotations

import math

import numpy as np

from pycobre.lp.assembly import ABSENT, Assembly
from pycobre.lp.layout import IntArray
from pycobre.lp.state import StateLayout
from pycobre.system import Evaporation, InflowRecursion, System

Term = tuple[int, float]
"""A column and its factor."""


class Draft:
    """One stage's problem while the rooms of the power system add to it, each its own columns and rows.

    Attributes
    ----------
    lp
        The columns and rows so far.
    at
        Positions by the names of :class:`~pycobre.lp.layout.Layout`.
    hydros
        Hydro plants with what holds in the stage as a whole.
    hydros_in_block
        The same with what holds in each block.
    receivers
        Position of the plant that each one's water flows on to, or ``None``.
    spans
        Over what reservoirs balance: the positions of the stage's blocks all together, or one by one if
        they are chronological.
    """

    def __init__(self, system: System, recursion: InflowRecursion, states: StateLayout, t: int) -> None:
        self.system, self.recursion, self.states, self.t = system, recursion, states, t
        self.stage = system.stages[t]
        self.blocks = self.stage.blocks
        self.lp = Assembly(f"stage {self.stage.id}")
        self.hydros = system.hydros_in(self.stage)
        differs = system.differs_by_block("hydros", self.stage)
        self.hydros_in_block = [
            system.hydros_in(self.stage, block) if differs else self.hydros for block in self.blocks
        ]
        self.receivers = system.receivers_in(self.stage)
        every = range(len(self.blocks))
        self.spans = [[k] for k in every] if self.stage.chronological else [list(every)]
        hydros, blocks = len(system.hydros), len(self.blocks)
        buses, lines = len(system.buses), len(system.lines)
        segments = max((len(bus.deficit_segments) for bus in system.buses), default=0)
        by_hydro = ("storage", "storage_below")
        water = ("block_storage", "inflow_slack", "evaporation_below", "evaporation_above", "water_rows")
        limits = ("outflow_below", "outflow_above", "turbined_below", "generation_below")
        by_hydro_block = (
            *("turbined", "spilled", "generation", "diverted", *limits),
            *(*water, "withdrawal_below", "withdrawal_above"),
        )
        self.at: dict[str, IntArray] = {name: _absent(hydros) for name in by_hydro}
        self.at |= {name: _absent(hydros, blocks) for name in by_hydro_block}
        self.at |= {name: _absent(lines, blocks) for name in ("direct", "reverse")}
        self.at |= {name: _absent(buses, blocks) for name in ("excess", "balance_rows")}
        fed = ("fed_turbined", "fed_generation", "fed_turbined_below", "fed_generation_below")
        self.at |= {name: _absent(len(system.feeds), blocks) for name in fed}
        self.at["thermal"] = _absent(len(system.thermals), blocks)
        self.at["committed"] = _absent(len(states.deliveries))
        self.at["in_transit"] = _absent(sum(transit.slots for transit in states.transits))
        self.at["contract"] = _absent(len(system.contracts), blocks)
        self.at["pumped"] = _absent(len(system.pumps), blocks)
        self.at["source"] = _absent(len(system.sources), blocks)
        self.at |= {
            name: _absent(len(system.constraints), blocks) for name in ("generic_below", "generic_above")
        }
        self.at["deficit"] = _absent(buses, blocks, segments)

    def balance(self, bus_id: int, k: int) -> int:
        """Row of a bus's power balance in the block at position *k*."""
        return int(self.at["balance_rows"][self.system.bus_position[bus_id], k])

    def serves(self, h: int) -> bool:
        """Whether the hydro at position *h* is there in this stage."""
        return self.hydros[h].service.covers(self.stage)

    def mean_storage(self, h: int, k: int, factor: float) -> tuple[list[Term], list[Term]]:
        """Columns and incoming states that *factor* · mean storage of hydro *h* is made of.

        The mean over block *k*, or over the stage.
        """
        half = factor / 2.0
        end, before = (int(self.at["block_storage"][h, k]), half), self.storage_before(h, k)
        return ([end], [(h, half)]) if before == ABSENT else ([end, (before, half)], [])

    def storage_before(self, h: int, k: int) -> int:
        """Column of hydro *h*'s storage as block *k* begins; ABSENT where that is the incoming state's."""
        return int(self.at["block_storage"][h, k - 1]) if self.stage.chronological and k > 0 else ABSENT

    def span_hours(self, span: list[int]) -> float:
        """Length of a span of blocks."""
        return self.stage.hours if len(span) == len(self.blocks) else self.blocks[span[0]].hours

    def span_label(self, h: int, span: list[int]) -> str:
        """Name of hydro *h*, and of the block if the span is only one of several."""
        block = "" if len(span) == len(self.blocks) else f", block {self.blocks[span[0]].id}"
        return f"[hydro {self.hydros[h].id}{block}]"

    def evaporation(self, h: int) -> Evaporation | None:
        """Evaporation of the hydro at position *h*, if it has any."""
        lines = self.system.evaporation[h]
        return lines[self.t] if lines and self.serves(h) else None

    def slack(self, name: str, cost: float, upper: float = math.inf) -> int:
        """Column for missing a limit at *cost* a unit; ABSENT where no price lets it be missed."""
        return ABSENT if math.isinf(cost) else self.lp.column(name, cost=cost, upper=upper)


def _absent(*shape: int) -> IntArray:
    return np.full(shape, ABSENT, dtype=np.int32)
