"""Reservoirs and their water balance, and the inflows that the next stage remembers.

Of hydro h, volumes in hm³, ζ_k the hm³ that 1 m³/s carries in block k:

    v' + Σ_k ζ_k (q_k + s_k) - Σ_{u above h} Σ_k ζ_k (q_uk + s_uk) - ζ (σ + w⁻ - w⁺ + e⁻ - e⁺)
        = v + ζ (a - w - e),    e = e0 + e1 (v + v') / 2

with final storage v', turbined q, spilled s, withdrawal w, what it is missed by, w⁻ and w⁺, evaporation
e likewise, and, if the case asks for it, bought inflow σ. Pumped and diverted water leaves one reservoir
and comes to another in the same way.
The incoming storage v and the inflow a = constant + Σ lag · past + scale · ω are data: they stand on the
right. A plant that is out of service keeps v' = v, and what would flow to it flows to the next plant that
is there, its own inflow too.

Chronological blocks have a balance each, from the storage of the block before to their own, with the mean
storage of the block in place of the stage's. Outflow that takes time to the plant below is a state while it
is under way: what was under way at the stage's start stands on the right.
"""

from __future__ import annotations

import math

from pycobre.lp.assembly import ABSENT
from pycobre.lp.draft import Draft
from pycobre.system import Evaporation, hm3_per_m3s


def add_reservoirs(draft: Draft) -> None:
    """Storages, and what may be missing or bought."""
    lp, at = draft.lp, draft.at
    for h, hydro in enumerate(draft.hydros):
        label, serves = f"[hydro {hydro.id}]", draft.serves(h)
        # A storage column stays even where it can't move: the state has one place a reservoir.
        upper = hydro.storage_max_hm3 if serves else math.inf
        final = lp.column(f"storage_hm3{label}", upper=upper, keep=True)
        at["storage"][h] = final
        for span in draft.spans:
            within = span[-1] < len(draft.blocks) - 1
            name = f"storage_hm3{draft.span_label(h, span)}"
            at["block_storage"][h, span] = lp.column(name, upper=upper, keep=True) if within else final
        if not serves:
            continue
        if hydro.storage_min_hm3 > 0.0:
            below = draft.slack(f"storage_below_hm3{label}", hydro.penalties.storage_below_cost_per_hm3)
            at["storage_below"][h] = below
            # One price for the worst moment, however many blocks there are; a filling target is of the last.
            ends = draft.spans[-1:] if draft.stage.id in draft.system.filling_targets_hm3[h] else draft.spans
            for span in ends:
                name = f"storage_min_hm3{draft.span_label(h, span)}"
                row = lp.row(name, hydro.storage_min_hm3, math.inf)
                lp.add(row, int(at["block_storage"][h, span[0]]), 1.0)
                lp.add(row, below, 1.0)
        for span in draft.spans:
            _add_slacks(draft, h, span)


def _add_slacks(draft: Draft, h: int, span: list[int]) -> None:
    """Water that may be bought, evaporate more or less, or be withdrawn more or less."""
    hydro, at, hours, label = draft.hydros[h], draft.at, draft.span_hours(span), draft.span_label(h, span)
    penalties = hydro.penalties
    if draft.system.inflow.nonnegativity == "penalty":
        at["inflow_slack"][h, span] = draft.lp.column(
            f"bought_inflow_m3s{label}", cost=penalties.inflow_nonnegativity_cost_per_m3s_h * hours
        )
    evaporation = draft.evaporation(h)
    if evaporation is not None and evaporation != Evaporation(0.0, 0.0):
        ends = [
            evaporation.constant_m3s + evaporation.m3s_per_hm3 * volume
            for volume in (0.0, hydro.storage_max_hm3)
        ]
        for name, cost, most in (
            ("evaporation_below", penalties.evaporation_below_cost_per_m3s_h, max(*ends, 0.0)),
            ("evaporation_above", penalties.evaporation_above_cost_per_m3s_h, math.inf),
        ):
            at[name][h, span] = draft.slack(f"{name}_m3s{label}", cost * hours, most)
    taken = hydro.withdrawal_m3s
    if taken != 0.0:
        # Missing it never turns taking into bringing, or the reverse.
        for name, cost, most in (
            ("withdrawal_below", penalties.withdrawal_below_cost_per_m3s_h, taken),
            ("withdrawal_above", penalties.withdrawal_above_cost_per_m3s_h, -taken),
        ):
            most = most if most > 0.0 else math.inf
            at[name][h, span] = draft.slack(f"{name}_m3s{label}", cost * hours, most)


def add_water_balances(draft: Draft) -> None:
    """The balance of every reservoir, over the stage or over each of its blocks."""
    for h in range(len(draft.hydros)):
        for span in draft.spans:
            _add_balance(draft, h, span)
    for h in range(len(draft.hydros)):
        serves, below = draft.serves(h), draft.receivers[h]
        keeper = h if serves else below
        if keeper is not None:
            for span in draft.spans:
                _add_inflow(draft, h, int(draft.at["water_rows"][keeper, span[0]]), draft.span_hours(span))
        if serves:
            _add_diversion(draft, h)
            _add_outflow(draft, h, below)
    for number in range(len(draft.states.transits)):
        _add_transit(draft, number)


def _add_balance(draft: Draft, h: int, span: list[int]) -> None:
    lp, at, hydro = draft.lp, draft.at, draft.hydros[h]
    per_flow = hm3_per_m3s(draft.span_hours(span))
    taken = hydro.withdrawal_m3s if draft.serves(h) else 0.0
    row = lp.row(f"water_hm3{draft.span_label(h, span)}", -per_flow * taken, -per_flow * taken)
    at["water_rows"][h, span] = row
    evaporation = draft.evaporation(h)
    # Half of what evaporates for the mean storage goes with the storage before, half with the one after.
    half = 0.0 if evaporation is None else per_flow * evaporation.m3s_per_hm3 / 2.0
    lp.add(row, int(at["block_storage"][h, span[0]]), 1.0 + half)
    before = draft.storage_before(h, span[0])
    if before == ABSENT:
        lp.move_by_state(row, h, 1.0 - half)
    else:
        lp.add(row, before, half - 1.0)
    if evaporation is not None:
        lp.move(row, -per_flow * evaporation.constant_m3s)
    for name, sign in (
        ("evaporation_below", -1.0),
        ("evaporation_above", 1.0),
        ("inflow_slack", -1.0),
        ("withdrawal_below", -1.0),
        ("withdrawal_above", 1.0),
    ):
        lp.add(row, int(at[name][h, span[0]]), sign * per_flow)


def _add_outflow(draft: Draft, h: int, below: int | None) -> None:
    """Let turbined and spilled water leave hydro *h*, and come to the one *below* unless it takes time."""
    lp, at = draft.lp, draft.at
    at_once = below is not None and all(transit.hydro != h for transit in draft.states.transits)
    for k, block in enumerate(draft.blocks):
        volume = hm3_per_m3s(block.hours)
        for name in ("turbined", "spilled"):
            lp.add(int(at["water_rows"][h, k]), int(at[name][h, k]), volume)
            if at_once:
                lp.add(int(at["water_rows"][below, k]), int(at[name][h, k]), -volume)


def _add_transit(draft: Draft, number: int) -> None:
    """Let water arrive that is under way, and what is released join it: b'_d = b_{d+1} + Σ share · ζ (q + s).

    The share that arrives within the stage never becomes a state.
    """
    lp, at, transit = draft.lp, draft.at, draft.states.transits[number]
    h, below, share = transit.hydro, draft.receivers[transit.hydro], transit.share[draft.t]
    arrival, label, spans = transit.arrival[draft.t], f"hydro {draft.hydros[h].id}", len(draft.spans)
    if below is not None:
        for span, part in zip(draft.spans, arrival, strict=True):
            row = int(at["water_rows"][below, span[0]])
            lp.move_by_state(row, draft.states.in_transit(number, 0), float(part))
    rows = []
    for ahead in range(transit.slots):
        last = ahead == transit.slots - 1
        fed = draft.serves(h) and bool(share[:, spans + ahead].any())
        name = f"in_transit_hm3[{label}, {ahead + 1} ahead]"
        column = lp.column(name, upper=math.inf if fed or not last else 0.0, keep=True)
        at["in_transit"][draft.states.in_transit(number, ahead) - draft.states.first_in_transit] = column
        rows.append(lp.row(name, 0.0, 0.0))
        lp.add(rows[-1], column, 1.0)
        if not last:
            lp.move_by_state(rows[-1], draft.states.in_transit(number, ahead + 1), 1.0)
    for k, block in enumerate(draft.blocks):
        volume = hm3_per_m3s(block.hours)
        for column in (int(at["turbined"][h, k]), int(at["spilled"][h, k])):
            for span, part in zip(draft.spans, share[k, :spans], strict=True):
                if below is not None:
                    lp.add(int(at["water_rows"][below, span[0]]), column, -volume * float(part))
            for row, part in zip(rows, share[k, spans:], strict=True):
                lp.add(row, column, -volume * float(part))


def _add_diversion(draft: Draft, h: int) -> None:
    """Let diverted water leave hydro *h* and come to where its channel leads."""
    lp, at, target = draft.lp, draft.at, draft.hydros[h].diversion_to_id
    end = None if target is None else draft.system.reached(target, draft.stage)
    for k, block in enumerate(draft.blocks):
        column, volume = int(at["diverted"][h, k]), hm3_per_m3s(block.hours)
        lp.add(int(at["water_rows"][h, k]), column, volume)
        if end is not None:
            lp.add(int(at["water_rows"][end, k]), column, -volume)


def add_pumps(draft: Draft) -> None:
    """Water pumped from one reservoir to another, and the power for it."""
    lp, at, positions = draft.lp, draft.at, draft.system.hydro_position
    for k, block in enumerate(draft.blocks):
        for i, pump in enumerate(draft.system.pumps_in(draft.stage, block)):
            column = lp.column(
                f"pumped_m3s[pumping station {pump.id}, block {block.id}]",
                lower=pump.flow_min_m3s,
                upper=pump.flow_max_m3s,
            )
            at["pumped"][i, k] = column
            lp.add(draft.balance(pump.bus_id, k), column, -pump.mw_per_m3s)
            volume = hm3_per_m3s(block.hours)
            lp.add(int(at["water_rows"][positions[pump.source_hydro_id], k]), column, volume)
            lp.add(int(at["water_rows"][positions[pump.destination_hydro_id], k]), column, -volume)


def _add_inflow(draft: Draft, h: int, row: int, hours: float) -> None:
    """Let the inflow of hydro *h* come into the balance *row* of so many *hours*."""
    recursion, per_flow = draft.recursion, hm3_per_m3s(hours)
    draft.lp.move(row, per_flow * float(recursion.constant_m3s[h, draft.t]))
    for lag in range(1, recursion.lag.shape[2] + 1):
        weight = float(recursion.lag[h, draft.t, lag - 1])
        if weight != 0.0:
            draft.lp.move_by_state(row, draft.states.position(h, lag), per_flow * weight)
    draft.lp.move_by_noise(row, h, per_flow * float(recursion.noise_scale_m3s[h, draft.t]))
