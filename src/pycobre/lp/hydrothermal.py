"""The stage problem of a hydrothermal system, folded to what is decided.

Every subject adds its own columns and rows: :mod:`~pycobre.lp.network` the power balances,
:mod:`~pycobre.lp.water` the reservoirs, :mod:`~pycobre.lp.plants` the hydro plants between the two,
:mod:`~pycobre.lp.generic` the constraints of the study. What is a definition and not a decision
(generation of constant productivity ρ, outflow q + s, the inflow of a block) is no column; see
:mod:`pycobre.lp.recover` for its value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pycobre.lp.draft import Draft
from pycobre.lp.generic import add_constraints
from pycobre.lp.layout import Layout
from pycobre.lp.network import (
    add_buses,
    add_commitments,
    add_contracts,
    add_lines,
    add_sources,
    add_thermals,
)
from pycobre.lp.plants import add_plants
from pycobre.lp.state import StateLayout
from pycobre.lp.template import StageTemplate
from pycobre.lp.water import add_pumps, add_reservoirs, add_water_balances
from pycobre.system import InflowRecursion, System

DECIDED = ("storage", "committed", "in_transit")
"""Parts of the layout whose columns are the decided states, in the order of the state."""


@dataclass(frozen=True, eq=False)
class StageModel:
    """A stage's template and where its parts stand."""

    template: StageTemplate
    layout: Layout


def build_stages(system: System, recursion: InflowRecursion) -> tuple[StageModel, ...]:
    """Stage problems of *system*, one a stage, with inflows by *recursion*."""
    states = StateLayout.of(recursion, system)
    names = states.names(system)
    return tuple(_build(Draft(system, recursion, states, t), names) for t in range(len(system.stages)))


def _build(draft: Draft, state_names: tuple[str, ...]) -> StageModel:
    add_buses(draft)
    add_thermals(draft)
    add_commitments(draft)
    add_sources(draft)
    add_contracts(draft)
    add_lines(draft)
    add_reservoirs(draft)
    add_plants(draft)
    add_water_balances(draft)
    add_pumps(draft)
    add_constraints(draft)
    constant, by_state, by_noise = draft.states.carried(draft.recursion, draft.t)
    template = draft.lp.template(
        states_in=draft.states.size,
        noises=draft.system.noise_dimension,
        state_columns=[int(j) for name in DECIDED for j in draft.at[name]],
        carried_constant=constant,
        carried_state=by_state,
        carried_noise=by_noise,
    )
    template = replace(template, state_names=state_names)
    return StageModel(template, Layout(**draft.at))
