"""Rows of generic constraints: what they speak of, in columns and in numbers that are known beforehand."""

from __future__ import annotations

import math
from collections import defaultdict

from pycobre.lp.assembly import ABSENT
from pycobre.lp.draft import Draft
from pycobre.system import BY_BLOCK, ConstantProductivity, ConstraintRow, ConstraintTerm, GenericConstraint


class _Quantity:
    """Σ factor · column + constant + by_state · s + by_noise · ω."""

    def __init__(self) -> None:
        self.columns: dict[int, float] = defaultdict(float)
        self.constant = 0.0
        self.by_state: dict[int, float] = defaultdict(float)
        self.by_noise: dict[int, float] = defaultdict(float)

    def add(self, column: int, factor: float) -> None:
        if column != ABSENT:
            self.columns[column] += factor


def add_constraints(draft: Draft) -> None:
    """Rows of the generic constraints that hold in the stage."""
    for g, constraint in enumerate(draft.system.constraints):
        whole = constraint.rows.get((draft.stage.id, None))
        if whole is not None and not any(_follows_block(term) for term in whole.terms):
            _add_row(draft, g, constraint, whole, None)
            whole = None
        for k, block in enumerate(draft.blocks):
            row = constraint.rows.get((draft.stage.id, block.id), whole)
            if row is not None:
                _add_row(draft, g, constraint, row, k)


def _follows_block(term: ConstraintTerm) -> bool:
    return term.variable in BY_BLOCK and term.block_id is None


def _add_row(draft: Draft, g: int, constraint: GenericConstraint, row: ConstraintRow, k: int | None) -> None:
    quantity = _Quantity()
    for term in row.terms:
        _add_term(draft, quantity, term, k)
    label = f"[constraint {constraint.id}{'' if k is None else f', block {draft.blocks[k].id}'}]"
    hours = draft.stage.hours if k is None else draft.blocks[k].hours
    lp, cost = draft.lp, constraint.slack_cost_per_h * hours
    position = lp.row(f"generic{label}", row.lower - quantity.constant, row.upper - quantity.constant)
    for column, factor in quantity.columns.items():
        lp.add(position, column, factor)
    for state, factor in quantity.by_state.items():
        lp.move_by_state(position, state, -factor)
    for noise, factor in quantity.by_noise.items():
        lp.move_by_noise(position, noise, -factor)
    # A row of the whole stage stands in every block: it is the same one.
    places = slice(None) if k is None else k
    for name, bound, sign in (("below", row.lower, 1.0), ("above", row.upper, -1.0)):
        if not math.isinf(bound):
            slack = draft.slack(f"generic_{name}{label}", cost)
            draft.at[f"generic_{name}"][g, places] = slack
            lp.add(position, slack, sign)


def _add_term(draft: Draft, quantity: _Quantity, term: ConstraintTerm, k: int | None) -> None:
    kind, _, what = term.variable.partition("_")
    if term.variable in BY_BLOCK:
        if term.block_id is not None:
            k = next(i for i, block in enumerate(draft.blocks) if block.id == term.block_id)
        assert k is not None
        position = _position(draft, BY_BLOCK[term.variable], term.entity_id)
        if kind == "hydro":
            if term.bus_id is None or not draft.hydros[position].unit_groups:
                _add_flow(draft, quantity, what, position, k, term.factor)
            else:
                _add_fed(draft, quantity, what, (position, term.bus_id), k, term.factor)
        elif kind == "non":
            _add_source(draft, quantity, what, position, k, term.factor)
        else:
            for column, factor in _columns(draft, term.variable, position, k):
                quantity.add(column, term.factor * factor)
    elif term.variable == "anticipated_decision":
        position = _position(draft, "thermals", term.entity_id)
        plants = [plan.plant for plan in draft.states.deliveries]
        quantity.add(int(draft.at["committed"][plants.index(position)]), term.factor)
    else:
        _add_stage_quantity(draft, quantity, what, draft.system.hydro_position[term.entity_id], term.factor)


def _position(draft: Draft, kind: str, id: int) -> int:
    return next(i for i, entity in enumerate(getattr(draft.system, kind)) if entity.id == id)


def _columns(draft: Draft, variable: str, position: int, k: int) -> list[tuple[int, float]]:
    at = draft.at
    if variable == "bus_deficit":
        return [(int(column), 1.0) for column in at["deficit"][position, k]]
    if variable == "line_exchange":
        return [(int(at["direct"][position, k]), 1.0), (int(at["reverse"][position, k]), -1.0)]
    name = {
        "thermal_generation": "thermal",
        "line_direct": "direct",
        "line_reverse": "reverse",
        "bus_excess": "excess",
        "pumping_flow": "pumped",
        "pumping_power": "pumped",
        "contract_import": "contract",
        "contract_export": "contract",
    }[variable]
    factor = draft.system.pumps[position].mw_per_m3s if variable == "pumping_power" else 1.0
    return [(int(at[name][position, k]), factor)]


def _add_flow(draft: Draft, quantity: _Quantity, what: str, h: int, k: int, factor: float) -> None:
    at, production = draft.at, draft.hydros[h].production[draft.t]
    if what in ("turbined", "outflow"):
        quantity.add(int(at["turbined"][h, k]), factor)
    if what in ("spillage", "outflow"):
        quantity.add(int(at["spilled"][h, k]), factor)
    if what == "diversion":
        quantity.add(int(at["diverted"][h, k]), factor)
    if what == "generation":
        if isinstance(production, ConstantProductivity):
            quantity.add(int(at["turbined"][h, k]), factor * production.mw_per_m3s)
        else:
            quantity.add(int(at["generation"][h, k]), factor)


def _add_fed(
    draft: Draft, quantity: _Quantity, what: str, place: tuple[int, int], k: int, factor: float
) -> None:
    """What a plant of several unit groups turbines, or makes, for one of its buses: (position, bus id)."""
    f = next(f for f, feed in enumerate(draft.system.feeds) if (feed.hydro, feed.bus_id) == place)
    production = draft.hydros[place[0]].production[draft.t]
    if what == "turbined":
        quantity.add(int(draft.at["fed_turbined"][f, k]), factor)
    elif isinstance(production, ConstantProductivity):
        quantity.add(int(draft.at["fed_turbined"][f, k]), factor * production.mw_per_m3s)
    else:
        quantity.add(int(draft.at["fed_generation"][f, k]), factor)


def _add_source(draft: Draft, quantity: _Quantity, what: str, i: int, k: int, factor: float) -> None:
    """What a source makes, or does not; one that must run makes what is available."""
    statistics, t = draft.system.availability, draft.t
    source = draft.system.sources_in(draft.stage, draft.blocks[k])[i]
    capacity = source.generation_max_mw * float(statistics.block_factor[i, t, k])
    curtailment = what == "controllable_curtailment"
    if curtailment and not source.may_be_curtailed:
        return
    if source.may_be_curtailed:
        quantity.add(int(draft.at["source"][i, k]), -factor if curtailment else factor)
    if curtailment or not source.may_be_curtailed:
        quantity.constant += factor * capacity * float(statistics.mean[i, t])
        std = capacity * float(statistics.std[i, t])
        if std > 0.0:
            noise = draft.system.first_source_noise + statistics.drawn.index(i)
            quantity.by_noise[noise] += factor * std


def _add_stage_quantity(draft: Draft, quantity: _Quantity, what: str, h: int, factor: float) -> None:
    hydro, recursion, t = draft.hydros[h], draft.recursion, draft.t
    if what in ("storage", "storage_final", "useful_volume_final"):
        quantity.add(int(draft.at["storage"][h]), factor)
    if what in ("storage_initial", "useful_volume_initial"):
        quantity.by_state[h] += factor
    if what.startswith("useful_volume"):
        quantity.constant -= factor * hydro.storage_min_hm3
    if what == "withdrawal" and draft.serves(h):
        quantity.constant += factor * hydro.withdrawal_m3s
        _add_stage_mean(draft, quantity, "withdrawal_below", h, -factor)
        _add_stage_mean(draft, quantity, "withdrawal_above", h, factor)
    evaporation = draft.evaporation(h) if what == "evaporation" else None
    if evaporation is not None:
        quantity.constant += factor * evaporation.constant_m3s
        for span in draft.spans:
            half = factor * evaporation.m3s_per_hm3 / 2.0 * draft.span_hours(span) / draft.stage.hours
            quantity.add(int(draft.at["block_storage"][h, span[0]]), half)
            before = draft.storage_before(h, span[0])
            if before == ABSENT:
                quantity.by_state[h] += half
            else:
                quantity.add(before, half)
        _add_stage_mean(draft, quantity, "evaporation_below", h, -factor)
        _add_stage_mean(draft, quantity, "evaporation_above", h, factor)
    if what == "inflow":
        quantity.constant += factor * float(recursion.constant_m3s[h, t])
        quantity.by_noise[h] += factor * float(recursion.noise_scale_m3s[h, t])
        for lag in range(1, recursion.lag.shape[2] + 1):
            weight = float(recursion.lag[h, t, lag - 1])
            if weight != 0.0:
                quantity.by_state[draft.states.position(h, lag)] += factor * weight


def _add_stage_mean(draft: Draft, quantity: _Quantity, name: str, h: int, factor: float) -> None:
    """A flow of the layout's part *name*, mean of the stage."""
    for span in draft.spans:
        share = draft.span_hours(span) / draft.stage.hours
        quantity.add(int(draft.at[name][h, span[0]]), factor * share)
