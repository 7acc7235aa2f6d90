"""Hydro plants: turbined and spilled flow, generation, and the soft limits of each block.

What a plant of several unit groups turbines and makes is the sum of what its buses are given by the groups
there, which have limits of their own. Groups at one bus can't be told apart, so they are one feed: of bus b,
with κ the groups' part of what the plant can turbine,

    Σ_b q_b = q,    Σ_b g_b = g,    g_b <= κ_b (γ_0 + γ_v v + γ_s s) + γ_q q_b    for every plane,

or g_b = ρ q_b. The planes of all feeds together are never above the plant's.
"""

from __future__ import annotations

import math

from pycobre.lp.assembly import ABSENT
from pycobre.lp.draft import Draft, Term
from pycobre.system import (
    ConstantProductivity,
    Feed,
    Hydro,
    LinearizedHead,
    ProductionModel,
    ProductionPlanes,
    UnitGroup,
)


def add_plants(draft: Draft) -> None:
    """Flows and generation of the hydro plants that are there."""
    for h in range(len(draft.hydros)):
        if draft.serves(h):
            for k in range(len(draft.blocks)):
                _add_plant(draft, h, k)


def _add_plant(draft: Draft, h: int, k: int) -> None:
    hydro, lp, at, hours = draft.hydros_in_block[k][h], draft.lp, draft.at, draft.blocks[k].hours
    penalties, label = hydro.penalties, f"[hydro {hydro.id}, block {draft.blocks[k].id}]"
    q = lp.column(
        f"turbined_m3s{label}",
        cost=penalties.turbined_cost_per_m3s_h * hours,
        upper=turbined_capacity(hydro, hydro.production[draft.t]),
    )
    s = lp.column(f"spilled_m3s{label}", cost=penalties.spillage_cost_per_m3s_h * hours)
    at["turbined"][h, k], at["spilled"][h, k] = q, s
    at["diverted"][h, k] = lp.column(
        f"diverted_m3s{label}",
        cost=penalties.diversion_cost_per_m3s_h * hours,
        lower=hydro.diversion_min_m3s,
        upper=hydro.diversion_max_m3s,
    )
    made = _add_production(draft, h, k, label)
    flows = [(q, 1.0), (s, 1.0)]
    groups = hydro.unit_groups
    for name, minimum, of_groups, terms, cost in (
        (
            "turbined_below",
            hydro.turbined_min_m3s,
            sum(group.turbined_min_m3s for group in groups),
            [(q, 1.0)],
            penalties.turbined_below_cost_per_m3s_h,
        ),
        ("outflow_below", hydro.outflow_min_m3s, 0.0, flows, penalties.outflow_below_cost_per_m3s_h),
        (
            "generation_below",
            hydro.generation_min_mw,
            sum(group.generation_min_mw for group in groups),
            made,
            penalties.generation_below_cost_per_mwh,
        ),
    ):
        # What the groups' own minima ask for already is not to be paid for twice.
        if minimum > of_groups:
            at[name][h, k] = _add_minimum(draft, f"{name}{label}", minimum, terms, cost * hours)
    if not math.isinf(hydro.outflow_max_m3s):
        above = draft.slack(f"outflow_above{label}", penalties.outflow_above_cost_per_m3s_h * hours)
        at["outflow_above"][h, k] = above
        row = lp.row(f"outflow_max{label}", -math.inf, hydro.outflow_max_m3s)
        for column, factor in flows:
            lp.add(row, column, factor)
        lp.add(row, above, -1.0)
    if groups:
        _add_feeds(draft, h, k, label)
        return
    balance = draft.balance(hydro.bus_id, k)
    for column, factor in made:
        lp.add(balance, column, factor)


def turbined_capacity(turbines: Hydro | UnitGroup, production: ProductionModel) -> float:
    """Most that can be turbined, m³/s: what the turbines take, or what their generators do."""
    if isinstance(production, ConstantProductivity) and production.mw_per_m3s > 0.0:
        return min(turbines.turbined_max_m3s, turbines.generation_max_mw / production.mw_per_m3s)
    return turbines.turbined_max_m3s


def _add_production(draft: Draft, h: int, k: int, label: str) -> list[Term]:
    """Columns and factors that make up the generation."""
    hydro, at = draft.hydros_in_block[k][h], draft.at
    production, q = hydro.production[draft.t], int(at["turbined"][h, k])
    if isinstance(production, ConstantProductivity):
        return [(q, production.mw_per_m3s)]
    g = draft.lp.column(f"generation_mw{label}", upper=hydro.generation_max_mw)
    at["generation"][h, k] = g
    if g == ABSENT:
        return []
    if not hydro.unit_groups:
        _limit(draft, h, k, g, q, label)
    return [(g, 1.0)]


def _limit(draft: Draft, h: int, k: int, g: int, q: int, label: str, share: float = 1.0) -> None:
    """Let generation *g* follow from flow *q* by what hydro *h* makes of it, or a *share* of its planes."""
    production = draft.hydros[h].production[draft.t]
    if isinstance(production, LinearizedHead):
        row, slope = draft.lp.row(f"head_mw{label}", 0.0, 0.0), production.mw_per_m3s_per_hm3
        draft.lp.add(row, g, 1.0)
        draft.lp.add(row, q, -production.mw_per_m3s)
        draft.lp.head(row, q, h, production.mw_per_m3s - slope * production.reference_hm3, slope)
    elif isinstance(production, ProductionPlanes):
        _add_planes(draft, h, k, production, g, q, share)


def _add_planes(
    draft: Draft, h: int, k: int, production: ProductionPlanes, g: int, q: int, share: float
) -> None:
    """Limit generation *g* of flow *q* by the planes of hydro *h*, or a *share* of them."""
    s = int(draft.at["spilled"][h, k])
    for plane in production.planes:
        storage, by_state = draft.mean_storage(h, k, share * plane.mw_per_hm3)
        flows = [(q, plane.mw_per_m3s), (s, share * plane.mw_per_spilled_m3s)]
        draft.lp.plane(g, share * plane.constant_mw, [*flows, *storage], by_state)


def _add_feeds(draft: Draft, h: int, k: int, label: str) -> None:
    """Make flow and generation of hydro *h* the sums of what its feeds have."""
    lp, at, constant = (
        draft.lp,
        draft.at,
        isinstance(draft.hydros[h].production[draft.t], ConstantProductivity),
    )
    sums = [("turbined", lp.row(f"turbined_by_bus_m3s{label}", 0.0, 0.0))]
    if not constant:
        sums.append(("generation", lp.row(f"generation_by_bus_mw{label}", 0.0, 0.0)))
    for name, row in sums:
        lp.add(row, int(at[name][h, k]), -1.0)
    for f, feed in enumerate(draft.system.feeds):
        if feed.hydro == h:
            _add_feed(draft, f, feed, k)
            for name, row in sums:
                lp.add(row, int(at[f"fed_{name}"][f, k]), 1.0)


def _add_feed(draft: Draft, f: int, feed: Feed, k: int) -> None:
    """Flow and generation of the unit groups at one bus, and their soft limits."""
    hydro, lp, at, hours = draft.hydros_in_block[k][feed.hydro], draft.lp, draft.at, draft.blocks[k].hours
    production, groups = hydro.production[draft.t], [hydro.unit_groups[number] for number in feed.groups]
    penalties = hydro.penalties
    label = f"[hydro {hydro.id}, bus {feed.bus_id}, block {draft.blocks[k].id}]"
    # Of each group what its turbines take or its generators do, whichever is less, and then the sum.
    capacity = sum(turbined_capacity(group, production) for group in groups)
    q = lp.column(f"turbined_m3s{label}", upper=capacity)
    at["fed_turbined"][f, k] = q
    made = [(q, production.mw_per_m3s)] if isinstance(production, ConstantProductivity) else []
    if not isinstance(production, ConstantProductivity):
        g = lp.column(f"generation_mw{label}", upper=sum(group.generation_max_mw for group in groups))
        at["fed_generation"][f, k] = g
        if g != ABSENT:
            _limit(draft, feed.hydro, k, g, q, label, feed.share)
            made = [(g, 1.0)]
    for column, factor in made:
        lp.add(draft.balance(feed.bus_id, k), column, factor)
    for name, minimum, terms, cost in (
        (
            "turbined_below",
            sum(group.turbined_min_m3s for group in groups),
            [(q, 1.0)],
            penalties.turbined_below_cost_per_m3s_h,
        ),
        (
            "generation_below",
            sum(group.generation_min_mw for group in groups),
            made,
            penalties.generation_below_cost_per_mwh,
        ),
    ):
        if minimum > 0.0:
            at[f"fed_{name}"][f, k] = _add_minimum(draft, f"{name}{label}", minimum, terms, cost * hours)


def _add_minimum(draft: Draft, name: str, minimum: float, terms: list[Term], cost: float) -> int:
    """Row Σ terms + missing >= minimum; the position of what is missing."""
    missing = draft.slack(name, cost)
    row = draft.lp.row(name.replace("_below", "_min"), minimum, math.inf)
    for column, factor in terms:
        draft.lp.add(row, column, factor)
    draft.lp.add(row, missing, 1.0)
    return missing
