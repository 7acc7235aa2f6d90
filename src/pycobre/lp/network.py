"""Power balance of every bus in every block, and what stands in it beside hydro plants.

In MW, of bus b in block k:

    Σ g + Σ ρ q + Σ (arriving - sent) + deficit - excess = demand

A line's flow is split into direct and reverse; of what is sent the share (1 - losses) arrives. Costs are
in currency: MW · hours · cost per MWh.
"""

from __future__ import annotations

import math

from pycobre.lp.assembly import ABSENT
from pycobre.lp.draft import Draft


def add_buses(draft: Draft) -> None:
    """Balances with demand, deficit and excess."""
    system, lp, at = draft.system, draft.lp, draft.at
    random = system.load.random_buses
    for b, bus in enumerate(system.buses_in(draft.stage)):
        for k, block in enumerate(draft.blocks):
            there = bus.service.covers(draft.stage)
            factor = float(system.load.block_factor[b, draft.t, k]) if there else 0.0
            mean = float(system.load.mean_mw[b, draft.t]) * factor
            row = lp.row(f"balance_mw[bus {bus.id}, block {block.id}]", mean, mean)
            at["balance_rows"][b, k] = row
            if b in random:
                noise = len(system.hydros) + random.index(b)
                lp.move_by_noise(row, noise, float(system.load.std_mw[b, draft.t]) * factor)
            for s, segment in enumerate(bus.deficit_segments):
                column = lp.column(
                    f"deficit_mw[bus {bus.id}, block {block.id}, segment {s}]",
                    cost=segment.cost_per_mwh * block.hours,
                    upper=segment.depth_mw,
                )
                at["deficit"][b, k, s] = column
                lp.add(row, column, 1.0)
            column = lp.column(
                f"excess_mw[bus {bus.id}, block {block.id}]", cost=bus.excess_cost_per_mwh * block.hours
            )
            at["excess"][b, k] = column
            lp.add(row, column, -1.0)


def add_thermals(draft: Draft) -> None:
    """Generation of thermal plants; where it was decided ahead, its cost went with the decision."""
    sunk = {
        plan.plant
        for number, plan in enumerate(draft.states.deliveries)
        if draft.states.delivered(number, draft.t) is not None
    }
    for k, block in enumerate(draft.blocks):
        for j, thermal in enumerate(draft.system.thermals_in(draft.stage, block)):
            column = draft.lp.column(
                f"generation_mw[thermal {thermal.id}, block {block.id}]",
                cost=0.0 if j in sunk else thermal.cost_per_mwh * block.hours,
                lower=thermal.generation_min_mw,
                upper=thermal.generation_max_mw,
            )
            draft.at["thermal"][j, k] = column
            draft.lp.add(draft.balance(thermal.bus_id, k), column, 1.0)


def add_commitments(draft: Draft) -> None:
    """What is decided for later stages, and rows that deliver what was decided before."""
    lp, at, t = draft.lp, draft.at, draft.t
    for number, plan in enumerate(draft.states.deliveries):
        label = f"[thermal {draft.system.thermals[plan.plant].id}]"
        m = plan.target[t]
        delivery = None if m is None else draft.system.delivery(plan.plant, m)
        # A column stays even where nothing is decided: the state has a place a plant.
        at["committed"][number] = lp.column(
            f"committed_mw{label}",
            cost=0.0 if m is None or delivery is None else delivery.cost_per_mwh * draft.system.worth(t, m),
            lower=delivery.generation_min_mw if delivery else 0.0,
            upper=delivery.generation_max_mw if delivery else 0.0,
            keep=True,
        )
        due, made = draft.states.delivered(number, t), draft.at["thermal"][plan.plant]
        if due is None or (made == ABSENT).all():
            continue
        row = lp.row(f"delivered_mw{label}", 0.0, 0.0)
        lp.move_by_state(row, due, 1.0)
        for k, block in enumerate(draft.blocks):
            lp.add(row, int(made[k]), block.hours / draft.stage.hours)


def add_sources(draft: Draft) -> None:
    """Generation of non-controllable sources; of one that must run, less demand."""
    system, lp, statistics, t = draft.system, draft.lp, draft.system.availability, draft.t
    for k, block in enumerate(draft.blocks):
        for i, source in enumerate(system.sources_in(draft.stage, block)):
            capacity = source.generation_max_mw * float(statistics.block_factor[i, t, k])
            mean, std = capacity * float(statistics.mean[i, t]), capacity * float(statistics.std[i, t])
            noise = system.first_source_noise + statistics.drawn.index(i) if std > 0.0 else -1
            balance = draft.balance(source.bus_id, k)
            if not source.may_be_curtailed:
                lp.move(balance, -mean)
                if std > 0.0:
                    lp.move_by_noise(balance, noise, -std)
                continue
            label = f"[source {source.id}, block {block.id}]"
            column = lp.column(
                f"generation_mw{label}",
                cost=-source.curtailment_cost_per_mwh * block.hours,
                upper=capacity if std > 0.0 else mean,
            )
            draft.at["source"][i, k] = column
            lp.add(balance, column, 1.0)
            if std > 0.0:
                row = lp.row(f"available_mw{label}", -math.inf, mean)
                lp.add(row, column, 1.0)
                lp.move_by_noise(row, noise, std)


def add_contracts(draft: Draft) -> None:
    """Power bought and sold."""
    for k, block in enumerate(draft.blocks):
        for i, contract in enumerate(draft.system.contracts_in(draft.stage, block)):
            column = draft.lp.column(
                f"power_mw[contract {contract.id}, block {block.id}]",
                cost=contract.price_per_mwh * block.hours,
                lower=contract.power_min_mw,
                upper=contract.power_max_mw,
            )
            draft.at["contract"][i, k] = column
            draft.lp.add(draft.balance(contract.bus_id, k), column, -1.0 if contract.is_export else 1.0)


def add_lines(draft: Draft) -> None:
    """Exchange between buses."""
    for k, block in enumerate(draft.blocks):
        for i, line in enumerate(draft.system.lines_in(draft.stage, block)):
            for name, upper, sender, receiver in (
                ("direct", line.direct_max_mw, line.source_bus_id, line.target_bus_id),
                ("reverse", line.reverse_max_mw, line.target_bus_id, line.source_bus_id),
            ):
                column = draft.lp.column(
                    f"{name}_mw[line {line.id}, block {block.id}]",
                    cost=line.exchange_cost_per_mwh * block.hours,
                    upper=upper,
                )
                draft.at[name][i, k] = column
                draft.lp.add(draft.balance(sender, k), column, -1.0)
                draft.lp.add(draft.balance(receiver, k), column, 1.0 - line.losses_fraction)
