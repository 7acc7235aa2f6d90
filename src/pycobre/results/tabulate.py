"""From what a study computed to tables, by whole arrays: no loop over scenarios.

M scenarios, T stages, K blocks of a stage, E entities of one kind. Rows stand by scenario, stage, block,
then the entity's id, whatever the number of ranks or rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pycobre.lp import StageModel, StageOperation, recover, summed
from pycobre.results.schema import CONVERGENCE_RECOVERIES, COST_COLUMNS, TABLES
from pycobre.sddp import IterationFinished, SimulatedRound
from pycobre.system import InflowRecursion, System

FloatArray = NDArray[np.float64]
Columns = dict[str, Any]
"""Column name to array or list."""


@dataclass(frozen=True, eq=False)
class RoundOperation:
    """How the system runs in all stages of M scenarios.

    Attributes
    ----------
    first
        Number of the first scenario.
    stages
        Operation of each stage.
    cost : (M,)
        Cost of each scenario, discounted.
    stage_cost, future_cost, discount_factor : (M, T)
    """

    first: int
    stages: tuple[StageOperation, ...]
    cost: FloatArray
    stage_cost: FloatArray
    future_cost: FloatArray
    discount_factor: FloatArray

    @property
    def scenarios(self) -> int:
        """Number of scenarios M."""
        return len(self.cost)


def operate(
    system: System, recursion: InflowRecursion, models: Sequence[StageModel], round_: SimulatedRound
) -> RoundOperation:
    """Operation of every stage of a simulated round, recovered from the solved stage problems.

    Raises
    ------
    ValueError
        The policy graph is not the line of *system*'s stages.
    """
    steps = round_.walk.steps
    if [[step.node for step in level] for level in steps] != [[t] for t in range(len(system.stages))]:
        raise ValueError("tables of a hydrothermal system need a policy graph that is the line of its stages")
    line = [level[0] for level in steps]
    return RoundOperation(
        first=round_.first,
        stages=tuple(
            recover(system, recursion, models[t], t, step.state, step.noise, step.dispatch)
            for t, step in enumerate(line)
        ),
        cost=round_.cost,
        stage_cost=round_.walk.cost,
        future_cost=np.stack([step.dispatch.future for step in line], axis=1),
        discount_factor=round_.walk.discount,
    )


def simulation_tables(system: System, operation: RoundOperation) -> dict[str, pa.Table]:
    """Every table of the simulation by name, for the scenarios of one round."""
    shape = _Shape(system, operation)
    return {
        "scenarios": table_of("scenarios", {"scenario_id": shape.scenarios, "cost": operation.cost}),
        "costs": _costs(shape),
        "reservoirs": _reservoirs(shape),
        "hydros": _hydros(shape),
        "hydro_buses": _hydro_buses(shape),
        "thermals": _thermals(shape),
        "commitments": _commitments(shape),
        "transits": _transits(shape),
        "sources": _sources(shape),
        "contracts": _contracts(shape),
        "pumping": _pumping(shape),
        "constraints": _constraints(shape),
        "buses": _buses(shape),
        "exchanges": _exchanges(shape),
    }


def training_tables(history: Sequence[IterationFinished]) -> dict[str, pa.Table]:
    """Tables ``convergence`` and ``timing`` of the iterations in *history*."""
    recoveries = {
        column: [done.recoveries[step] for done in history]
        for step, column in enumerate(CONVERGENCE_RECOVERIES)
    }
    counted = [name for name in TABLES["convergence"].names if name not in recoveries]
    convergence: Columns = {name: [getattr(done, name) for done in history] for name in counted}
    timing = {name: [getattr(done, name) for done in history] for name in TABLES["timing"].names}
    return {
        "convergence": table_of("convergence", convergence | recoveries),
        "timing": table_of("timing", timing),
    }


def system_tables(system: System) -> dict[str, pa.Table]:
    """Tables ``stages`` and ``entities``: what the ids in the other tables stand for."""
    blocks = [(stage, block) for stage in system.stages for block in stage.blocks]
    stages = {
        "stage_id": [stage.id for stage, _ in blocks],
        "block_id": [block.id for _, block in blocks],
        "start_date": [stage.start_date for stage, _ in blocks],
        "end_date": [stage.end_date for stage, _ in blocks],
        "block_name": [block.name for _, block in blocks],
        "hours": [block.hours for _, block in blocks],
        "to_next_discount_factor": [stage.discount_factor for stage, _ in blocks],
    }
    rows: list[tuple[str, Any, dict[str, object]]] = [("bus", bus, {}) for bus in system.buses]
    for line in system.lines:
        ends = {"bus_id": line.source_bus_id, "target_bus_id": line.target_bus_id}
        rows.append(("line", line, {**ends, "losses_fraction": line.losses_fraction}))
    rows += [("thermal", plant, {"bus_id": plant.bus_id}) for plant in system.thermals]
    rows += [("source", plant, {"bus_id": plant.bus_id}) for plant in system.sources]
    for hydro in system.hydros:
        below = {"downstream_id": hydro.downstream_id, "diversion_id": hydro.diversion_to_id}
        bus = hydro.bus_id if len(hydro.unit_groups) < 2 else None
        rows.append(("hydro", hydro, {"bus_id": bus, **below}))
    for contract in system.contracts:
        rows.append(("export" if contract.is_export else "import", contract, {"bus_id": contract.bus_id}))
    for pump in system.pumps:
        ends = {"upstream_id": pump.source_hydro_id, "downstream_id": pump.destination_hydro_id}
        rows.append(("pumping", pump, {"bus_id": pump.bus_id, **ends}))
    rows += [("constraint", constraint, {}) for constraint in system.constraints]
    names = TABLES["entities"].names
    told = [{"kind": kind, "id": item.id, "name": item.name, **more} for kind, item, more in rows]
    entities = {name: [row.get(name) for row in told] for name in names}
    return {"stages": table_of("stages", stages), "entities": table_of("entities", entities)}


def stochastic_tables(
    system: System, recursion: InflowRecursion, openings: Sequence[FloatArray]
) -> dict[str, pa.Table]:
    """Tables ``inflow_models``, ``inflow_lags`` (those that matter) and ``openings``."""
    hydros, stages = [hydro.id for hydro in system.hydros], [stage.id for stage in system.stages]
    pairs = [(h, t) for h in range(len(hydros)) for t in range(len(stages))]
    models: Columns = {
        "hydro_id": [hydros[h] for h, _ in pairs],
        "stage_id": [stages[t] for _, t in pairs],
        "mean_m3s": system.inflow.mean_m3s.ravel(),
        "std_m3s": system.inflow.std_m3s.ravel(),
        "constant_m3s": recursion.constant_m3s.ravel(),
        "noise_scale_m3s": recursion.noise_scale_m3s.ravel(),
    }
    used = np.argwhere(recursion.lag != 0.0)
    lags: Columns = {
        "hydro_id": [hydros[h] for h, _, _ in used.tolist()],
        "stage_id": [stages[t] for _, t, _ in used.tolist()],
        "lag": used[:, 2] + 1,
        "weight": recursion.lag[recursion.lag != 0.0],
    }
    sizes = [part.shape for part in openings]
    noise: Columns = {
        "stage_id": np.repeat(stages, [rows * columns for rows, columns in sizes]),
        "opening": np.concatenate([np.repeat(np.arange(rows), columns) for rows, columns in sizes]),
        "term": np.concatenate([np.tile(np.arange(columns), rows) for rows, columns in sizes]),
        "noise": np.concatenate([part.ravel() for part in openings]),
    }
    return {
        "inflow_models": table_of("inflow_models", models),
        "inflow_lags": table_of("inflow_lags", lags),
        "openings": table_of("openings", noise),
    }


def table_of(name: str, columns: Columns) -> pa.Table:
    """Table *name* of the given columns, in the order and types of its schema."""
    schema = TABLES[name]
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


class _Shape:
    """Lays (M, E, K) arrays of all stages out as columns, and makes the index columns that belong to them."""

    def __init__(self, system: System, operation: RoundOperation) -> None:
        self.system, self.operation = system, operation
        self.count = operation.scenarios
        self.scenarios = np.arange(operation.first, operation.first + self.count, dtype=np.int32)
        self.stage_ids = np.array([stage.id for stage in system.stages], dtype=np.int32)
        self.block_ids = [np.array([b.id for b in stage.blocks], dtype=np.int32) for stage in system.stages]
        self.hours = [np.array([block.hours for block in stage.blocks]) for stage in system.stages]

    def per_block(self, part: str) -> FloatArray:
        """Column of the operation's (M, E, K) arrays called *part*."""
        return self.flat([getattr(stage, part) for stage in self.operation.stages])

    def flat(self, stages: Sequence[FloatArray]) -> FloatArray:
        """Column of one (M, E, K) array a stage."""
        rows = [part.transpose(0, 2, 1).reshape(self.count, -1) for part in stages]
        return np.concatenate(rows, axis=1).ravel()

    def per_stage(self, part: str) -> FloatArray:
        """Column of the operation's (M, E) arrays called *part*."""
        return np.concatenate([getattr(stage, part) for stage in self.operation.stages], axis=1).ravel()

    def stage_index(self, entity: str, ids: Sequence[int]) -> Columns:
        """Index columns of a table with a row a scenario, stage and entity."""
        entities = np.array(ids, dtype=np.int32)
        return self._index(
            {
                "stage_id": np.repeat(self.stage_ids, len(entities)),
                entity: np.tile(entities, len(self.stage_ids)),
            }
        )

    def block_index(self, entity: str, ids: Sequence[int]) -> Columns:
        """Index columns of a table with a row a scenario, stage, block and entity."""
        entities = np.array(ids, dtype=np.int32)
        blocks = np.concatenate(self.block_ids)
        stages = np.repeat(self.stage_ids, [len(ids) for ids in self.block_ids])
        return self._index(
            {
                "stage_id": np.repeat(stages, len(entities)),
                "block_id": np.repeat(blocks, len(entities)),
                entity: np.tile(entities, len(blocks)),
            }
        )

    def _index(self, of_scenario: Columns) -> Columns:
        rows = len(of_scenario["stage_id"])
        index = {"scenario_id": np.repeat(self.scenarios, rows)}
        return index | {name: np.tile(values, self.count) for name, values in of_scenario.items()}


def _costs(shape: _Shape) -> pa.Table:
    operation = shape.operation
    terms = {
        column: np.stack([stage.costs[term] for stage in operation.stages], axis=1).ravel()
        for term, column in COST_COLUMNS.items()
    }
    totals = {
        name: getattr(operation, name).ravel() for name in ("stage_cost", "future_cost", "discount_factor")
    }
    index = {
        "scenario_id": np.repeat(shape.scenarios, len(shape.stage_ids)),
        "stage_id": np.tile(shape.stage_ids, shape.count),
    }
    return table_of("costs", index | terms | totals)


def _reservoirs(shape: _Shape) -> pa.Table:
    index = shape.stage_index("hydro_id", [hydro.id for hydro in shape.system.hydros])
    names = TABLES["reservoirs"].names[len(index) :]
    return table_of("reservoirs", index | {name: shape.per_stage(name) for name in names})


def _hydros(shape: _Shape) -> pa.Table:
    index = shape.block_index("hydro_id", [hydro.id for hydro in shape.system.hydros])
    names = [name for name in TABLES["hydros"].names[len(index) :] if name != "outflow_m3s"]
    columns = {name: shape.per_block(name) for name in names}
    columns["outflow_m3s"] = columns["turbined_m3s"] + columns["spilled_m3s"]
    return table_of("hydros", index | columns)


def _hydro_buses(shape: _Shape) -> pa.Table:
    feeds, hydros = shape.system.feeds, shape.system.hydros
    index = shape.block_index("hydro_id", [hydros[feed.hydro].id for feed in feeds])
    index |= {"bus_id": shape.block_index("bus_id", [feed.bus_id for feed in feeds])["bus_id"]}
    names = TABLES["hydro_buses"].names[len(index) :]
    return table_of("hydro_buses", index | {name: shape.per_block(f"fed_{name}") for name in names})


def _thermals(shape: _Shape) -> pa.Table:
    system, stages = shape.system, shape.operation.stages
    cost = []
    for t, (stage, operated, hours) in enumerate(zip(system.stages, stages, shape.hours, strict=True)):
        per_mwh = np.array([plant.cost_per_mwh for plant in system.thermals_in(stage)])
        per_mwh[[plan.plant for plan in system.deliveries if plan.decided_by[t] != t]] = 0.0
        cost.append(operated.thermal_mw * (per_mwh[:, None] * hours))
    columns = {"generation_mw": shape.per_block("thermal_mw"), "generation_cost": shape.flat(cost)}
    return table_of(
        "thermals", shape.block_index("thermal_id", [plant.id for plant in system.thermals]) | columns
    )


def _commitments(shape: _Shape) -> pa.Table:
    system, stages = shape.system, shape.operation.stages
    days = [stage.start_date for stage in system.stages] + [stage.start_date for stage in system.later]
    ids, delivery, cost, delivered = [], [], [], []
    for number, plan in enumerate(system.deliveries):
        ids.append(system.thermals[plan.plant].id)
        delivery.append([None if m is None else days[m] for m in plan.target])
        cost.append([stage.commitment_cost[:, number] for stage in stages])
        shares = [hours / hours.sum() for hours in shape.hours]
        made = [
            summed(stage.thermal_mw[:, plan.plant] * share)
            for stage, share in zip(stages, shares, strict=True)
        ]
        delivered.append(made)
    index = shape.stage_index("thermal_id", ids)
    days_by_row = [days[t] for t in range(len(stages)) for days in delivery]
    columns: Columns = {
        "committed_mw": shape.per_stage("committed_mw"),
        "delivery": days_by_row * shape.count,
        "commitment_cost": _by_scenario(cost),
        "delivered_mw": _by_scenario(delivered),
    }
    return table_of("commitments", index | columns)


def _by_scenario(values: list[list[FloatArray]]) -> FloatArray:
    """Column of one (M,) array an entity and stage: by scenario, stage, then entity."""
    return np.array(values).transpose(2, 1, 0).ravel() if values else np.zeros(0)


def _transits(shape: _Shape) -> pa.Table:
    index = shape.stage_index(
        "hydro_id", [shape.system.hydros[way.hydro].id for way in shape.system.transits]
    )
    names = TABLES["transits"].names[len(index) :]
    return table_of("transits", index | {name: shape.per_stage(name) for name in names})


def _sources(shape: _Shape) -> pa.Table:
    available, made = shape.per_block("available_mw"), shape.per_block("source_mw")
    columns = {"available_mw": available, "generation_mw": made, "curtailed_mw": available - made}
    return table_of(
        "sources", shape.block_index("source_id", [source.id for source in shape.system.sources]) | columns
    )


def _contracts(shape: _Shape) -> pa.Table:
    index = shape.block_index("contract_id", [contract.id for contract in shape.system.contracts])
    return table_of("contracts", index | {"power_mw": shape.per_block("contract_mw")})


def _pumping(shape: _Shape) -> pa.Table:
    pumps, stages = shape.system.pumps, shape.operation.stages
    per_flow = np.array([pump.mw_per_m3s for pump in pumps])[:, None]
    columns = {
        "pumped_m3s": shape.per_block("pumped_m3s"),
        "consumption_mw": shape.flat([per_flow * stage.pumped_m3s for stage in stages]),
    }
    index = shape.block_index("pumping_station_id", [pump.id for pump in pumps])
    return table_of("pumping", index | columns)


def _constraints(shape: _Shape) -> pa.Table:
    columns = {"below": shape.per_block("generic_below"), "above": shape.per_block("generic_above")}
    ids = [constraint.id for constraint in shape.system.constraints]
    return table_of("constraints", shape.block_index("constraint_id", ids) | columns)


def _buses(shape: _Shape) -> pa.Table:
    system, stages = shape.system, shape.operation.stages
    deficit, cost = [], []
    for operated, hours in zip(stages, shape.hours, strict=True):
        segments = operated.deficit_mw.shape[3]
        per_mwh = np.zeros((len(system.buses), segments))
        for position, bus in enumerate(system.buses):
            per_mwh[position, : len(bus.deficit_segments)] = [s.cost_per_mwh for s in bus.deficit_segments]
        deficit.append(summed(operated.deficit_mw))
        cost.append(summed(operated.deficit_mw * (per_mwh[:, None] * hours[:, None])))
    columns = {name: shape.per_block(name) for name in ("load_mw", "excess_mw", "price_per_mwh")}
    columns |= {"deficit_mw": shape.flat(deficit), "deficit_cost": shape.flat(cost)}
    return table_of("buses", shape.block_index("bus_id", [bus.id for bus in system.buses]) | columns)


def _exchanges(shape: _Shape) -> pa.Table:
    system, lines = shape.system, shape.system.lines
    index = shape.block_index("line_id", [line.id for line in lines])
    losses = np.array([line.losses_fraction for line in lines])
    sent = [stage.direct_mw + stage.reverse_mw for stage in shape.operation.stages]
    cost = []
    for stage, hours, flow in zip(system.stages, shape.hours, sent, strict=True):
        per_mwh = np.array([line.exchange_cost_per_mwh for line in system.lines_in(stage)])
        cost.append(per_mwh[:, None] * hours * flow)
    direct, reverse = shape.per_block("direct_mw"), shape.per_block("reverse_mw")
    columns = {
        "direct_mw": direct,
        "reverse_mw": reverse,
        "net_mw": direct - reverse,
        "losses_mw": shape.flat([losses[:, None] * stage for stage in sent]),
        "exchange_cost": shape.flat(cost),
    }
    return table_of("exchanges", index | columns)
