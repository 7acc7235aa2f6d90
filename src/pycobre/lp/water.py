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
"""

from __future__ import annotations

import math

from pycobre.lp.draft import Draft
from pycobre.system import Evaporation, hm3_per_m3s


def add_reservoirs(draft: Draft) -> None:
    """Final storages, and what may be missing or bought."""
    lp, at, hours = draft.lp, draft.at, draft.stage.hours
    for h, hydro in enumerate(draft.hydros):
        label, penalties = f"[hydro {hydro.id}]", hydro.penalties
        serves = draft.serves(h)
        # A storage column stays even where it can't move: the state has one place a reservoir.
        upper = hydro.storage_max_hm3 if serves else math.inf
        column = lp.column(f"storage_hm3{label}", upper=upper, keep=True)
        at["storage"][h] = column
        if not serves:
            continue
        if hydro.storage_min_hm3 > 0.0:
            below = draft.slack(f"storage_below_hm3{label}", penalties.storage_below_cost_per_hm3)
            at["storage_below"][h] = below
            row = lp.row(f"storage_min_hm3{label}", hydro.storage_min_hm3, math.inf)
            lp.add(row, column, 1.0)
            lp.add(row, below, 1.0)
        if draft.system.inflow.nonnegativity == "penalty":
            at["inflow_slack"][h] = lp.column(
                f"bought_inflow_m3s{label}", cost=penalties.inflow_nonnegativity_cost_per_m3s_h * hours
            )
        _add_evaporation_slacks(draft, h)
        taken = hydro.withdrawal_m3s
        if taken != 0.0:
            # Missing it never turns taking into bringing, or the reverse.
            at["withdrawal_below"][h] = draft.slack(
                f"withdrawal_below_m3s{label}",
                penalties.withdrawal_below_cost_per_m3s_h * hours,
                taken if taken > 0.0 else math.inf,
            )
            at["withdrawal_above"][h] = draft.slack(
                f"withdrawal_above_m3s{label}",
                penalties.withdrawal_above_cost_per_m3s_h * hours,
                -taken if taken < 0.0 else math.inf,
            )


def _add_evaporation_slacks(draft: Draft, h: int) -> None:
    """What may evaporate less, down to nothing, or more."""
    evaporation, hydro = draft.evaporation(h), draft.hydros[h]
    if evaporation is None or evaporation == Evaporation(0.0, 0.0):
        return
    label, hours = f"[hydro {hydro.id}]", draft.stage.hours
    ends = [
        evaporation.constant_m3s + evaporation.m3s_per_hm3 * volume for volume in (0.0, hydro.storage_max_hm3)
    ]
    for name, cost, most in (
        ("evaporation_below", hydro.penalties.evaporation_below_cost_per_m3s_h, max(*ends, 0.0)),
        ("evaporation_above", hydro.penalties.evaporation_above_cost_per_m3s_h, math.inf),
    ):
        draft.at[name][h] = draft.slack(f"{name}_m3s{label}", cost * hours, most)


def add_water_balances(draft: Draft) -> None:
    """The balance of every reservoir."""
    lp, at, stage_hm3 = draft.lp, draft.at, hm3_per_m3s(draft.stage.hours)
    for h, hydro in enumerate(draft.hydros):
        taken = hydro.withdrawal_m3s if draft.serves(h) else 0.0
        row = lp.row(f"water_hm3[hydro {hydro.id}]", -stage_hm3 * taken, -stage_hm3 * taken)
        at["water_rows"][h] = row
        evaporation = draft.evaporation(h)
        # Half of what evaporates for the mean storage goes with the incoming, half with the final one.
        half = 0.0 if evaporation is None else stage_hm3 * evaporation.m3s_per_hm3 / 2.0
        lp.add(row, int(at["storage"][h]), 1.0 + half)
        lp.move_by_state(row, h, 1.0 - half)
        if evaporation is not None:
            lp.move(row, -stage_hm3 * evaporation.constant_m3s)
        lp.add(row, int(at["evaporation_below"][h]), -stage_hm3)
        lp.add(row, int(at["evaporation_above"][h]), stage_hm3)
        lp.add(row, int(at["inflow_slack"][h]), -stage_hm3)
        lp.add(row, int(at["withdrawal_below"][h]), -stage_hm3)
        lp.add(row, int(at["withdrawal_above"][h]), stage_hm3)
    for h in range(len(draft.hydros)):
        serves, below = draft.serves(h), draft.receivers[h]
        keeper = h if serves else below
        if keeper is not None:
            _add_inflow(draft, h, int(at["water_rows"][keeper]), stage_hm3)
        if not serves:
            continue
        _add_diversion(draft, h)
        for place, sign in ((h, 1.0), (below, -1.0)):
            if place is None:
                continue
            for k, block in enumerate(draft.blocks):
                volume = sign * hm3_per_m3s(block.hours)
                lp.add(int(at["water_rows"][place]), int(at["turbined"][h, k]), volume)
                lp.add(int(at["water_rows"][place]), int(at["spilled"][h, k]), volume)


def _add_diversion(draft: Draft, h: int) -> None:
    """Let diverted water leave hydro *h* and come to where its channel leads."""
    lp, at, target = draft.lp, draft.at, draft.hydros[h].diversion_to_id
    end = None if target is None else draft.system.reached(target, draft.stage)
    for k, block in enumerate(draft.blocks):
        column, volume = int(at["diverted"][h, k]), hm3_per_m3s(block.hours)
        lp.add(int(at["water_rows"][h]), column, volume)
        if end is not None:
            lp.add(int(at["water_rows"][end]), column, -volume)


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
            lp.add(int(at["water_rows"][positions[pump.source_hydro_id]]), column, volume)
            lp.add(int(at["water_rows"][positions[pump.destination_hydro_id]]), column, -volume)


def _add_inflow(draft: Draft, h: int, row: int, stage_hm3: float) -> None:
    """Let the inflow of hydro *h* come into the balance *row*."""
    recursion = draft.recursion
    draft.lp.move(row, stage_hm3 * float(recursion.constant_m3s[h, draft.t]))
    for lag in range(1, recursion.lag.shape[2] + 1):
        weight = float(recursion.lag[h, draft.t, lag - 1])
        if weight != 0.0:
            draft.lp.move_by_state(row, draft.states.position(h, lag), stage_hm3 * weight)
    draft.lp.move_by_noise(row, h, stage_hm3 * float(recursion.noise_scale_m3s[h, draft.t]))
