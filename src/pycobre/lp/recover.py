"""From the columns of a solved stage problem back to plants, buses and lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.lp.hydrothermal import StageModel
from pycobre.lp.layout import IntArray, summed, take
from pycobre.lp.solution import Dispatch
from pycobre.lp.state import StateLayout
from pycobre.system import ConstantProductivity, InflowRecursion, Stage, System, hm3_per_m3s

FloatArray = NDArray[np.float64]

COST_TERMS = {
    "thermal": ("thermal",),
    "commitment": ("committed",),
    "source": ("source",),
    "contract": ("contract",),
    "deficit": ("deficit",),
    "excess": ("excess",),
    "exchange": ("direct", "reverse"),
    "spillage": ("spilled",),
    "turbined": ("turbined",),
    "storage_violation": ("storage_below",),
    "outflow_violation": ("outflow_below", "outflow_above"),
    "turbined_violation": ("turbined_below", "fed_turbined_below"),
    "generation_violation": ("generation_below", "fed_generation_below"),
    "inflow_penalty": ("inflow_slack",),
    "generic_violation": ("generic_below", "generic_above"),
    "diversion": ("diverted",),
    "evaporation_violation": ("evaporation_below", "evaporation_above"),
    "withdrawal_violation": ("withdrawal_below", "withdrawal_above"),
}
"""Terms of a stage's cost, and the parts of the layout whose columns make them up."""


@dataclass(frozen=True, eq=False)
class StageOperation:
    """How the system runs in one stage, for M scenarios.

    H hydros, J thermals, B buses, L lines, K blocks, S deficit segments, in the system's order.

    Attributes
    ----------
    storage_initial_hm3, storage_final_hm3, storage_below_hm3, inflow_m3s, bought_inflow_m3s : (M, H)
    evaporated_m3s, evaporation_below_m3s, evaporation_above_m3s : (M, H)
        What evaporates, and what that is less or more than it should.
    withdrawn_m3s, withdrawal_below_m3s, withdrawal_above_m3s : (M, H)
        What is withdrawn, and what that is less or more than it shall be.
    water_value_per_hm3 : (M, H)
        What one more hm³ in the reservoir would save; at the start of the stage, if blocks are chronological.
    storage_hm3 : (M, H, K)
        At the end of each block; of the stage, where blocks are parallel.
    in_transit_initial_hm3, released_hm3, arrived_hm3, in_transit_final_hm3 : (M, X)
        Of X plants whose outflow takes time to the next.
    turbined_m3s, spilled_m3s, diverted_m3s, generation_mw : (M, H, K)
        What flows past a plant that is out of service counts as spilled.
    outflow_below_m3s, outflow_above_m3s, turbined_below_m3s, generation_below_mw : (M, H, K)
    fed_turbined_m3s, fed_generation_mw, fed_turbined_below_m3s, fed_generation_below_mw : (M, F, K)
        Of F feeds, the parts of plants with several unit groups that a bus gets; what a plant lacks to its
        minima has what its feeds lack in it.
    committed_mw, commitment_cost : (M, A)
        What is decided for a later stage, of A plants that are dispatched ahead, and what it costs.
    thermal_mw : (M, J, K)
    available_mw, source_mw : (M, R, K)
        What R non-controllable sources could make, and do.
    deficit_mw : (M, B, K, S)
    excess_mw, load_mw, price_per_mwh : (M, B, K)
        The price is what one more MWh of demand would cost.
    direct_mw, reverse_mw : (M, L, K)
        Sent, before losses.
    contract_mw : (M, C, K)
        Power of C contracts.
    pumped_m3s : (M, P, K)
        Flow of P pumping stations.
    generic_below, generic_above : (M, G, K)
        What is missing to the bounds of G generic constraints.
    costs
        Term of :data:`COST_TERMS` to its cost, each (M,), not discounted.
    """

    storage_initial_hm3: FloatArray
    storage_final_hm3: FloatArray
    storage_below_hm3: FloatArray
    inflow_m3s: FloatArray
    bought_inflow_m3s: FloatArray
    evaporated_m3s: FloatArray
    evaporation_below_m3s: FloatArray
    evaporation_above_m3s: FloatArray
    withdrawn_m3s: FloatArray
    withdrawal_below_m3s: FloatArray
    withdrawal_above_m3s: FloatArray
    water_value_per_hm3: FloatArray
    storage_hm3: FloatArray
    in_transit_initial_hm3: FloatArray
    released_hm3: FloatArray
    arrived_hm3: FloatArray
    in_transit_final_hm3: FloatArray
    turbined_m3s: FloatArray
    spilled_m3s: FloatArray
    diverted_m3s: FloatArray
    generation_mw: FloatArray
    outflow_below_m3s: FloatArray
    outflow_above_m3s: FloatArray
    turbined_below_m3s: FloatArray
    generation_below_mw: FloatArray
    fed_turbined_m3s: FloatArray
    fed_generation_mw: FloatArray
    fed_turbined_below_m3s: FloatArray
    fed_generation_below_mw: FloatArray
    committed_mw: FloatArray
    commitment_cost: FloatArray
    thermal_mw: FloatArray
    available_mw: FloatArray
    source_mw: FloatArray
    deficit_mw: FloatArray
    excess_mw: FloatArray
    load_mw: FloatArray
    price_per_mwh: FloatArray
    direct_mw: FloatArray
    reverse_mw: FloatArray
    contract_mw: FloatArray
    pumped_m3s: FloatArray
    generic_below: FloatArray
    generic_above: FloatArray
    costs: dict[str, FloatArray]


def recover(
    system: System,
    recursion: InflowRecursion,
    model: StageModel,
    t: int,
    states: FloatArray,
    noises: FloatArray,
    dispatch: Dispatch,
) -> StageOperation:
    """Operation of stage position *t* at incoming *states* (M, X) and *noises* (M, D)."""
    at, x, stage = model.layout, dispatch.primal, system.stages[t]
    hours = np.array([block.hours for block in stage.blocks])
    turbined, spilled = take(x, at.turbined), take(x, at.spilled)
    inflow, diverted = _inflow(system, recursion, t, states, noises), take(x, at.diverted)
    available = _available(system, t, noises)

    def mean(positions: IntArray) -> FloatArray:
        """Mean of the stage, of what blocks have each or all alike."""
        values = take(x, positions)
        return summed(values * (hours / stage.hours)) if stage.chronological else values[..., 0]

    storage = take(x, at.block_storage)
    evaporated = _evaporated(system, t, _mean_storage(stage, states[:, : len(system.hydros)], storage))
    evaporation_below, evaporation_above = mean(at.evaporation_below), mean(at.evaporation_above)
    below, above = mean(at.withdrawal_below), mean(at.withdrawal_above)
    fed, fed_below = take(x, at.fed_turbined), take(x, at.fed_turbined_below)
    fed_generation_below = take(x, at.fed_generation_below)
    under_way = _under_way(system, recursion, t, states, turbined + spilled, take(x, at.in_transit))
    return StageOperation(
        storage_initial_hm3=states[:, : len(system.hydros)],
        storage_final_hm3=take(x, at.storage),
        storage_below_hm3=take(x, at.storage_below),
        inflow_m3s=inflow,
        bought_inflow_m3s=mean(at.inflow_slack),
        evaporated_m3s=evaporated - evaporation_below + evaporation_above,
        evaporation_below_m3s=evaporation_below,
        evaporation_above_m3s=evaporation_above,
        withdrawn_m3s=_withdrawal(system, t) - below + above,
        withdrawal_below_m3s=below,
        withdrawal_above_m3s=above,
        water_value_per_hm3=-take(dispatch.row_dual, at.water_rows[:, 0]),
        storage_hm3=storage,
        in_transit_initial_hm3=under_way.initial_hm3,
        released_hm3=under_way.released_hm3,
        arrived_hm3=summed(under_way.arrived_m3s * hm3_of(hours)),
        in_transit_final_hm3=under_way.final_hm3,
        turbined_m3s=turbined,
        spilled_m3s=_spilled(system, t, inflow, turbined, spilled, diverted, under_way.arrived_m3s),
        diverted_m3s=diverted,
        generation_mw=_generation(system, t, turbined, take(x, at.generation)),
        outflow_below_m3s=take(x, at.outflow_below),
        outflow_above_m3s=take(x, at.outflow_above),
        turbined_below_m3s=_with_feeds(system, take(x, at.turbined_below), fed_below),
        generation_below_mw=_with_feeds(system, take(x, at.generation_below), fed_generation_below),
        fed_turbined_m3s=fed,
        fed_generation_mw=_fed_generation(system, t, fed, take(x, at.fed_generation)),
        fed_turbined_below_m3s=fed_below,
        fed_generation_below_mw=fed_generation_below,
        committed_mw=take(x, at.committed),
        commitment_cost=take(x, at.committed) * model.template.cost[at.committed],
        thermal_mw=take(x, at.thermal),
        available_mw=available,
        source_mw=np.where(_curtailable(system), take(x, at.source), available),
        deficit_mw=take(x, at.deficit),
        excess_mw=take(x, at.excess),
        load_mw=_load(system, t, noises),
        price_per_mwh=take(dispatch.row_dual, at.balance_rows) / hours,
        direct_mw=take(x, at.direct),
        reverse_mw=take(x, at.reverse),
        contract_mw=take(x, at.contract),
        pumped_m3s=take(x, at.pumped),
        generic_below=take(x, at.generic_below),
        generic_above=take(x, at.generic_above),
        costs={term: _cost(model, x, parts) for term, parts in COST_TERMS.items()},
    )


def _inflow(
    system: System, recursion: InflowRecursion, t: int, states: FloatArray, noises: FloatArray
) -> FloatArray:
    layout = StateLayout.of(recursion, system)
    inflow = recursion.constant_m3s[:, t] + recursion.noise_scale_m3s[:, t] * noises[:, : layout.hydros]
    for hydro, lag in layout.lags:
        inflow[:, hydro] += recursion.lag[hydro, t, lag - 1] * states[:, layout.position(hydro, lag)]
    return np.asarray(inflow)


def hm3_of(hours: FloatArray) -> FloatArray:
    """Water volume that a flow of 1 m³/s carries in each block."""
    return np.array([hm3_per_m3s(float(length)) for length in hours])


def _mean_storage(stage: Stage, initial: FloatArray, storage: FloatArray) -> FloatArray:
    """Mean (M, H) over the stage, on straight lines from block to block if they are chronological."""
    if not stage.chronological:
        return np.asarray((initial + storage[..., -1]) / 2.0)
    hours = np.array([block.hours for block in stage.blocks])
    before = np.concatenate([initial[..., None], storage[..., :-1]], axis=-1)
    return summed((before + storage) / 2.0 * (hours / stage.hours))


@dataclass(frozen=True, eq=False)
class _UnderWay:
    """Water of X plants on its way to the next: volumes (M, X), and what arrives (M, X, K)."""

    initial_hm3: FloatArray
    released_hm3: FloatArray
    arrived_m3s: FloatArray
    final_hm3: FloatArray


def _under_way(
    system: System,
    recursion: InflowRecursion,
    t: int,
    states: FloatArray,
    outflow_m3s: FloatArray,
    under_way_hm3: FloatArray,
) -> _UnderWay:
    layout, stage = StateLayout.of(recursion, system), system.stages[t]
    hours = np.array([block.hours for block in stage.blocks])
    spans = hours if stage.chronological else np.array([stage.hours])
    shape = (len(states), len(layout.transits))
    initial, released, final = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    arrived = np.zeros((*shape, len(hours)))
    for number, transit in enumerate(layout.transits):
        places = slice(layout.in_transit(number, 0), layout.in_transit(number, transit.slots))
        volume = outflow_m3s[:, transit.hydro] * hm3_of(hours)
        initial[:, number] = summed(states[:, places])
        ours = slice(places.start - layout.first_in_transit, places.stop - layout.first_in_transit)
        final[:, number] = summed(under_way_hm3[:, ours])
        released[:, number] = summed(volume)
        here = transit.share[t][:, : len(spans)]  # of each block's release, in each span
        coming = summed(volume[:, None] * here.T) + states[:, places.start, None] * transit.arrival[t]
        arrived[:, number] = coming / hm3_of(spans)
    return _UnderWay(initial, released, arrived, final)


def _withdrawal(system: System, t: int) -> FloatArray:
    stage = system.stages[t]
    return np.array(
        [plant.withdrawal_m3s if plant.service.covers(stage) else 0.0 for plant in system.hydros_in(stage)]
    )


def _evaporated(system: System, t: int, mean_hm3: FloatArray) -> FloatArray:
    """What should evaporate at a mean storage."""
    lines = np.zeros((2, len(system.hydros)))
    for h, (plant, own) in enumerate(zip(system.hydros, system.evaporation, strict=True)):
        if own and plant.service.covers(system.stages[t]):
            lines[:, h] = own[t].constant_m3s, own[t].m3s_per_hm3
    return np.asarray(lines[0] + lines[1] * mean_hm3)


def _spilled(
    system: System,
    t: int,
    inflow: FloatArray,
    turbined: FloatArray,
    spilled: FloatArray,
    diverted: FloatArray,
    arrived: FloatArray,
) -> FloatArray:
    """Spilled flow, with what flows past plants that are out of service."""
    stage = system.stages[t]
    absent = [not plant.service.covers(stage) for plant in system.hydros]
    if not any(absent):
        return spilled
    result, slow = spilled.copy(), [transit.hydro for transit in system.transits]
    for h in system.down_the_river:
        if absent[h]:
            result[:, h] = inflow[:, h, None]
            for above in system.upstream[h]:
                if above in slow:
                    result[:, h] += arrived[:, slow.index(above)]
                if above not in slow or absent[above]:
                    result[:, h] += turbined[:, above] + result[:, above]
            for beside, plant in enumerate(system.hydros):
                if plant.diversion_to_id == system.hydros[h].id:
                    result[:, h] += diverted[:, beside]
    return result


def _generation(system: System, t: int, turbined: FloatArray, generation: FloatArray) -> FloatArray:
    made = generation.copy()
    for h, hydro in enumerate(system.hydros):
        production = hydro.production[t]
        if isinstance(production, ConstantProductivity):
            made[:, h] = production.mw_per_m3s * turbined[:, h]
    return made


def _fed_generation(system: System, t: int, turbined: FloatArray, generation: FloatArray) -> FloatArray:
    made = generation.copy()
    for f, feed in enumerate(system.feeds):
        production = system.hydros[feed.hydro].production[t]
        if isinstance(production, ConstantProductivity):
            made[:, f] = production.mw_per_m3s * turbined[:, f]
    return made


def _with_feeds(system: System, of_plants: FloatArray, of_feeds: FloatArray) -> FloatArray:
    """(M, H, K) values of plants with what their feeds (M, F, K) have added."""
    total = of_plants.copy()
    for f, feed in enumerate(system.feeds):
        total[:, feed.hydro] += of_feeds[:, f]
    return total


def _load(system: System, t: int, noises: FloatArray) -> FloatArray:
    load, blocks = system.load, len(system.stages[t].blocks)
    demand = np.repeat(load.mean_mw[None, :, t], len(noises), axis=0)
    for place, bus in enumerate(load.random_buses, start=len(system.hydros)):
        demand[:, bus] += load.std_mw[bus, t] * noises[:, place]
    there = np.array([bus.service.covers(system.stages[t]) for bus in system.buses], dtype=np.float64)
    return np.asarray(demand[:, :, None] * (load.block_factor[:, t, :blocks] * there[:, None]))


def _available(system: System, t: int, noises: FloatArray) -> FloatArray:
    statistics, stage = system.availability, system.stages[t]
    share = np.repeat(statistics.mean[None, :, t] if system.sources else np.zeros((1, 0)), len(noises), 0)
    for place, source in enumerate(statistics.drawn, start=system.first_source_noise):
        share[:, source] += statistics.std[source, t] * noises[:, place]
    capacity = np.array(
        [[s.generation_max_mw for s in system.sources_in(stage, block)] for block in stage.blocks]
    ).T.reshape(len(system.sources), len(stage.blocks))
    factor = statistics.block_factor[:, t, : len(stage.blocks)] if system.sources else capacity
    return np.asarray(share[:, :, None] * (capacity * factor))


def _curtailable(system: System) -> NDArray[np.bool_]:
    flags = [source.may_be_curtailed for source in system.sources]
    return np.array(flags, dtype=np.bool_).reshape(1, -1, 1)


def _cost(model: StageModel, x: FloatArray, parts: tuple[str, ...]) -> FloatArray:
    total = np.zeros(len(x))
    for part in parts:
        positions: IntArray = getattr(model.layout, part).ravel()
        # One by one: a fixed order of summation; once, where a column stands in several places.
        for column in dict.fromkeys(positions[positions >= 0].tolist()):
            total += model.template.cost[column] * x[:, column]
    return total
