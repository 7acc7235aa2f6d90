"""Hydro plants: turbined and spilled flow, generation, and the soft limits of each block."""

from __future__ import annotations

import math

from pycobre.lp.assembly import ABSENT
from pycobre.lp.draft import Draft, Term
from pycobre.system import ConstantProductivity, Hydro, ProductionPlanes


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
        upper=turbined_capacity(hydro, draft.t),
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
    balance = draft.balance(hydro.bus_id, k)
    for column, factor in made:
        lp.add(balance, column, factor)
    flows = [(q, 1.0), (s, 1.0)]
    for name, minimum, terms, cost in (
        ("turbined_below", hydro.turbined_min_m3s, [(q, 1.0)], penalties.turbined_below_cost_per_m3s_h),
        ("outflow_below", hydro.outflow_min_m3s, flows, penalties.outflow_below_cost_per_m3s_h),
        ("generation_below", hydro.generation_min_mw, made, penalties.generation_below_cost_per_mwh),
    ):
        if minimum > 0.0:
            at[name][h, k] = _add_minimum(draft, f"{name}{label}", minimum, terms, cost * hours)
    if not math.isinf(hydro.outflow_max_m3s):
        above = draft.slack(f"outflow_above{label}", penalties.outflow_above_cost_per_m3s_h * hours)
        at["outflow_above"][h, k] = above
        row = lp.row(f"outflow_max{label}", -math.inf, hydro.outflow_max_m3s)
        for column, factor in flows:
            lp.add(row, column, factor)
        lp.add(row, above, -1.0)


def turbined_capacity(hydro: Hydro, t: int) -> float:
    """Most that can be turbined, m³/s: what the turbines take, or what their generators do."""
    production = hydro.production[t]
    if isinstance(production, ConstantProductivity) and production.mw_per_m3s > 0.0:
        return min(hydro.turbined_max_m3s, hydro.generation_max_mw / production.mw_per_m3s)
    return hydro.turbined_max_m3s


def _add_production(draft: Draft, h: int, k: int, label: str) -> list[Term]:
    """Columns and factors that make up the generation."""
    hydro, lp, at = draft.hydros_in_block[k][h], draft.lp, draft.at
    production = hydro.production[draft.t]
    q, s = int(at["turbined"][h, k]), int(at["spilled"][h, k])
    if isinstance(production, ConstantProductivity):
        return [(q, production.mw_per_m3s)]
    g = lp.column(f"generation_mw{label}", upper=hydro.generation_max_mw)
    at["generation"][h, k] = g
    if g == ABSENT:
        return []
    assert isinstance(production, ProductionPlanes)
    after, before = int(at["block_storage"][h, k]), draft.storage_before(h, k)
    for plane in production.planes:
        storage = plane.mw_per_hm3 / 2.0  # of the mean: half is of the storage before, half of that after
        terms = [(q, plane.mw_per_m3s), (s, plane.mw_per_spilled_m3s), (after, storage)]
        if before == ABSENT:
            lp.plane(g, plane.constant_mw, terms, [(h, storage)])
        else:
            lp.plane(g, plane.constant_mw, [*terms, (before, storage)], [])
    return [(g, 1.0)]


def _add_minimum(draft: Draft, name: str, minimum: float, terms: list[Term], cost: float) -> int:
    """Row Σ terms + missing >= minimum; the position of what is missing."""
    missing = draft.slack(name, cost)
    row = draft.lp.row(name.replace("_below", "_min"), minimum, math.inf)
    for column, factor in terms:
        draft.lp.add(row, column, factor)
    draft.lp.add(row, missing, 1.0)
    return missing
