"""The stage problem of a hydrothermal system, folded to what is decided.

Water balance of hydro h, volumes in hm³, ζ_k the hm³ that 1 m³/s carries in block k:

    v' + Σ_k ζ_k (q_k + s_k) - Σ_{u above h} Σ_k ζ_k (q_uk + s_uk) - ζ σ = v + ζ a

with final storage v', turbined q, spilled s and, if the case asks for it, bought inflow σ. The incoming
storage v and the inflow a = constant + Σ lag · past + scale · ω are data: they stand on the right.
Power balance of bus b in block k, in MW:

    Σ g + Σ ρ q + Σ (arriving - sent) + deficit - excess = demand

A line's flow is split into direct and reverse; of what is sent the share (1 - losses) arrives. Costs are
in currency: MW · hours · cost per MWh. Generation of constant productivity ρ, outflow q + s and the
inflow of a block are definitions and not columns; see :mod:`pycobre.lp.recover` for their values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pycobre.lp.assembly import ABSENT, Assembly
from pycobre.lp.layout import IntArray, Layout
from pycobre.lp.state import StateLayout
from pycobre.lp.template import StageTemplate
from pycobre.system import (
    Block,
    ConstantProductivity,
    Hydro,
    InflowRecursion,
    ProductionPlanes,
    System,
    hm3_per_m3s,
)


@dataclass(frozen=True, eq=False)
class StageModel:
    """A stage's template and where its parts stand."""

    template: StageTemplate
    layout: Layout


def build_stages(system: System, recursion: InflowRecursion) -> tuple[StageModel, ...]:
    """Stage problems of *system*, one a stage, with inflows by *recursion*."""
    states = StateLayout.of(recursion)
    return tuple(_StageBuilder(system, recursion, states, t).build() for t in range(len(system.stages)))


class _StageBuilder:
    """Builds one stage; every method adds one kind of entity."""

    def __init__(self, system: System, recursion: InflowRecursion, states: StateLayout, t: int) -> None:
        self.system, self.recursion, self.states, self.t = system, recursion, states, t
        self.stage = system.stages[t]
        self.blocks = self.stage.blocks
        self.lp = Assembly(f"stage {self.stage.id}")
        hydros, blocks = len(system.hydros), len(self.blocks)
        buses, lines = len(system.buses), len(system.lines)
        segments = max((len(bus.deficit_segments) for bus in system.buses), default=0)
        by_hydro = ("storage", "storage_below", "inflow_slack", "water_rows")
        limits = ("outflow_below", "outflow_above", "turbined_below", "generation_below")
        by_hydro_block = ("turbined", "spilled", "generation", *limits)
        self.at: dict[str, IntArray] = {name: _absent(hydros) for name in by_hydro}
        self.at |= {name: _absent(hydros, blocks) for name in by_hydro_block}
        self.at |= {name: _absent(lines, blocks) for name in ("direct", "reverse")}
        self.at |= {name: _absent(buses, blocks) for name in ("excess", "balance_rows")}
        self.at["thermal"] = _absent(len(system.thermals), blocks)
        self.at["deficit"] = _absent(buses, blocks, segments)

    def build(self) -> StageModel:
        for b in range(len(self.system.buses)):
            self._bus(b)
        self._thermals()
        self._lines()
        for h in range(len(self.system.hydros)):
            self._reservoir(h)
            for k, block in enumerate(self.blocks):
                self._plant(h, k, block)
        for h in range(len(self.system.hydros)):
            self._water_balance(h)
        constant, by_state, by_noise = self.states.carried(self.recursion, self.t)
        template = self.lp.template(
            states_in=self.states.size,
            noises=self.system.noise_dimension,
            state_columns=[int(j) for j in self.at["storage"]],
            carried_constant=constant,
            carried_state=by_state,
            carried_noise=by_noise,
        )
        return StageModel(template, Layout(**self.at))

    def _bus(self, b: int) -> None:
        bus, load, lp = self.system.buses[b], self.system.load, self.lp
        random = load.random_buses
        for k, block in enumerate(self.blocks):
            factor = float(load.block_factor[b, self.t, k])
            mean = float(load.mean_mw[b, self.t]) * factor
            row = lp.row(f"balance_mw[bus {bus.id}, block {block.id}]", mean, mean)
            self.at["balance_rows"][b, k] = row
            if b in random:
                noise = len(self.system.hydros) + random.index(b)
                lp.move_by_noise(row, noise, float(load.std_mw[b, self.t]) * factor)
            for s, segment in enumerate(bus.deficit_segments):
                column = lp.column(
                    f"deficit_mw[bus {bus.id}, block {block.id}, segment {s}]",
                    cost=segment.cost_per_mwh * block.hours,
                    upper=segment.depth_mw,
                )
                self.at["deficit"][b, k, s] = column
                lp.add(row, column, 1.0)
            column = lp.column(
                f"excess_mw[bus {bus.id}, block {block.id}]", cost=bus.excess_cost_per_mwh * block.hours
            )
            self.at["excess"][b, k] = column
            lp.add(row, column, -1.0)

    def _thermals(self) -> None:
        for j, thermal in enumerate(self.system.thermals_in(self.stage)):
            bus = self.system.bus_position[thermal.bus_id]
            for k, block in enumerate(self.blocks):
                column = self.lp.column(
                    f"generation_mw[thermal {thermal.id}, block {block.id}]",
                    cost=thermal.cost_per_mwh * block.hours,
                    lower=thermal.generation_min_mw,
                    upper=thermal.generation_max_mw,
                )
                self.at["thermal"][j, k] = column
                self.lp.add(int(self.at["balance_rows"][bus, k]), column, 1.0)

    def _lines(self) -> None:
        for i, line in enumerate(self.system.lines):
            source = self.system.bus_position[line.source_bus_id]
            target = self.system.bus_position[line.target_bus_id]
            for k, block in enumerate(self.blocks):
                for name, upper, sender, receiver in (
                    ("direct", line.direct_max_mw, source, target),
                    ("reverse", line.reverse_max_mw, target, source),
                ):
                    column = self.lp.column(
                        f"{name}_mw[line {line.id}, block {block.id}]",
                        cost=line.exchange_cost_per_mwh * block.hours,
                        upper=upper,
                    )
                    self.at[name][i, k] = column
                    self.lp.add(int(self.at["balance_rows"][sender, k]), column, -1.0)
                    self.lp.add(int(self.at["balance_rows"][receiver, k]), column, 1.0 - line.losses_fraction)

    def _reservoir(self, h: int) -> None:
        hydro, lp = self.system.hydros[h], self.lp
        # A storage column stays even where it can't move: the state has one place a reservoir.
        column = lp.column(f"storage_hm3[hydro {hydro.id}]", upper=hydro.storage_max_hm3, keep=True)
        self.at["storage"][h] = column
        if hydro.storage_min_hm3 > 0.0:
            below = lp.column(
                f"storage_below_hm3[hydro {hydro.id}]", cost=hydro.penalties.storage_below_cost_per_hm3
            )
            self.at["storage_below"][h] = below
            row = lp.row(f"storage_min_hm3[hydro {hydro.id}]", hydro.storage_min_hm3, math.inf)
            lp.add(row, column, 1.0)
            lp.add(row, below, 1.0)
        if self.system.inflow.nonnegativity == "penalty":
            self.at["inflow_slack"][h] = lp.column(
                f"bought_inflow_m3s[hydro {hydro.id}]",
                cost=hydro.penalties.inflow_nonnegativity_cost_per_m3s_h * self.stage.hours,
            )

    def _plant(self, h: int, k: int, block: Block) -> None:
        hydro, lp, at = self.system.hydros[h], self.lp, self.at
        penalties, label = hydro.penalties, f"[hydro {hydro.id}, block {block.id}]"
        production = hydro.production[self.t]
        turbined_max = hydro.turbined_max_m3s
        if isinstance(production, ConstantProductivity):
            turbined_max = min(turbined_max, hydro.generation_max_mw / production.mw_per_m3s)
        q = lp.column(
            f"turbined_m3s{label}", cost=penalties.turbined_cost_per_m3s_h * block.hours, upper=turbined_max
        )
        s = lp.column(f"spilled_m3s{label}", cost=penalties.spillage_cost_per_m3s_h * block.hours)
        at["turbined"][h, k], at["spilled"][h, k] = q, s
        self._production(h, k, label)
        self._soft_limit("turbined_below", h, k, label, hydro.turbined_min_m3s, [(q, 1.0)],
                         penalties.turbined_below_cost_per_m3s_h * block.hours)  # fmt: skip
        self._outflow(hydro, h, k, block, label)
        made = (
            [(q, production.mw_per_m3s)]
            if isinstance(production, ConstantProductivity)
            else [(int(at["generation"][h, k]), 1.0)]
        )
        self._soft_limit("generation_below", h, k, label, hydro.generation_min_mw, made,
                         penalties.generation_below_cost_per_mwh * block.hours)  # fmt: skip

    def _production(self, h: int, k: int, label: str) -> None:
        hydro, lp, at = self.system.hydros[h], self.lp, self.at
        production, balance = hydro.production[self.t], int(at["balance_rows"][self._bus_of(hydro), k])
        q, s = int(at["turbined"][h, k]), int(at["spilled"][h, k])
        if isinstance(production, ConstantProductivity):
            lp.add(balance, q, production.mw_per_m3s)
            return
        g = lp.column(f"generation_mw{label}", upper=hydro.generation_max_mw)
        at["generation"][h, k] = g
        lp.add(balance, g, 1.0)
        assert isinstance(production, ProductionPlanes)
        for number, plane in enumerate(production.planes):
            row = lp.row(f"plane_{number}_mw{label}", -math.inf, plane.constant_mw)
            lp.add(row, g, 1.0)
            lp.add(row, q, -plane.mw_per_m3s)
            lp.add(row, s, -plane.mw_per_spilled_m3s)
            lp.add(row, int(at["storage"][h]), -plane.mw_per_hm3 / 2.0)
            lp.move_by_state(row, h, plane.mw_per_hm3 / 2.0)

    def _soft_limit(
        self,
        name: str,
        h: int,
        k: int,
        label: str,
        minimum: float,
        terms: list[tuple[int, float]],
        cost: float,
    ) -> None:
        """Row Σ terms + missing >= minimum, where it asks for anything."""
        if minimum <= 0.0:
            return
        missing = self.lp.column(f"{name}{label}", cost=cost)
        self.at[name][h, k] = missing
        row = self.lp.row(f"{name.removesuffix('_below')}_min{label}", minimum, math.inf)
        for column, factor in terms:
            self.lp.add(row, column, factor)
        self.lp.add(row, missing, 1.0)

    def _outflow(self, hydro: Hydro, h: int, k: int, block: Block, label: str) -> None:
        lp, at, penalties = self.lp, self.at, hydro.penalties
        flows = [(int(at["turbined"][h, k]), 1.0), (int(at["spilled"][h, k]), 1.0)]
        self._soft_limit("outflow_below", h, k, label, hydro.outflow_min_m3s, flows,
                         penalties.outflow_below_cost_per_m3s_h * block.hours)  # fmt: skip
        if math.isinf(hydro.outflow_max_m3s):
            return
        above = lp.column(f"outflow_above{label}", cost=penalties.outflow_above_cost_per_m3s_h * block.hours)
        at["outflow_above"][h, k] = above
        row = lp.row(f"outflow_max{label}", -math.inf, hydro.outflow_max_m3s)
        for column, factor in flows:
            lp.add(row, column, factor)
        lp.add(row, above, -1.0)

    def _water_balance(self, h: int) -> None:
        lp, at, hydro = self.lp, self.at, self.system.hydros[h]
        volume = hm3_per_m3s(self.stage.hours)
        constant = volume * float(self.recursion.constant_m3s[h, self.t])
        row = lp.row(f"water_hm3[hydro {hydro.id}]", constant, constant)
        at["water_rows"][h] = row
        lp.add(row, int(at["storage"][h]), 1.0)
        lp.add(row, int(at["inflow_slack"][h]), -volume)
        for k, block in enumerate(self.blocks):
            in_block = hm3_per_m3s(block.hours)
            for plant, sign in ((h, 1.0), *((u, -1.0) for u in self.system.upstream[h])):
                lp.add(row, int(at["turbined"][plant, k]), sign * in_block)
                lp.add(row, int(at["spilled"][plant, k]), sign * in_block)
        lp.move_by_state(row, h, 1.0)
        for lag in range(1, self.recursion.lag.shape[2] + 1):
            weight = float(self.recursion.lag[h, self.t, lag - 1])
            if weight != 0.0:
                lp.move_by_state(row, self.states.position(h, lag), volume * weight)
        lp.move_by_noise(row, h, volume * float(self.recursion.noise_scale_m3s[h, self.t]))

    def _bus_of(self, hydro: Hydro) -> int:
        return self.system.bus_position[hydro.bus_id]


def _absent(*shape: int) -> IntArray:
    return np.full(shape, ABSENT, dtype=np.int32)
