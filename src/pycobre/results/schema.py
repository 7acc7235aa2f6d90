"""Every table of the results: columns, types, units, what they mean, and which of them tell rows apart.

The one place that says so: writer, reader, documentation and tests all go by it. Units and descriptions
travel in the files' own metadata. Currency is the case's; ``1`` is the unit of what has none.
"""

from __future__ import annotations

import pyarrow as pa

from pycobre.lp import COST_TERMS, LADDER

FORMAT_VERSION = 1
"""Of the whole results directory; rises when a reader of an older version would misread it."""

CURRENCY = "currency"
CONVERGENCE_RECOVERIES = tuple(
    "recoveries_" + "".join(c if c.isalnum() else "_" for c in step.name) for step in LADDER
)
"""Columns of ``convergence`` that count recoveries, one a step of the solver's ladder."""

COST_COLUMNS = {term: f"{term}_cost" for term in COST_TERMS}
"""Term of a stage's cost to its column in ``costs``."""


def _cost_meaning(term: str) -> str:
    if term == "commitment":
        return "Cost of what the stage decides for a later one, discounted from there, but no further."
    if term == "source":
        return "Less than nothing: what sources save by generating, not discounted."
    return f"Cost of {term.replace('_', ' ')}, not discounted."


def _column(name: str, kind: pa.DataType, unit: str, description: str, *, nullable: bool = False) -> pa.Field:
    metadata = {b"unit": unit.encode(), b"description": description.encode()}
    return pa.field(name, kind, nullable=nullable, metadata=metadata)


def _number(name: str, unit: str, description: str) -> pa.Field:
    return _column(name, pa.float64(), unit, description)


def _count(name: str, description: str) -> pa.Field:
    return _column(name, pa.int64(), "1", description)


def _id(name: str, description: str) -> pa.Field:
    return _column(name, pa.int32(), "1", description)


_ITERATION = _id("iteration", "Iteration, from 1.")
_SCENARIO = _id("scenario_id", "Simulated scenario, from 0.")
_STAGE = _id("stage_id", "Stage, by its id in the case.")
_BLOCK = _id("block_id", "Block of the stage, by its id in the case.")
_HYDRO = _id("hydro_id", "Hydro plant, by its id in the case.")
_THERMAL = _id("thermal_id", "Thermal plant, by its id in the case.")
_BUS = _id("bus_id", "Bus, by its id in the case.")
_LINE = _id("line_id", "Line, by its id in the case.")
_SOURCE = _id("source_id", "Non-controllable source, by its id in the case.")
_CONTRACT = _id("contract_id", "Energy contract, by its id in the case.")
_PUMP = _id("pumping_station_id", "Pumping station, by its id in the case.")
_CONSTRAINT = _id("constraint_id", "Generic constraint, by its id in the case.")
_NAME = _column("name", pa.string(), "1", "Name in the case.")


def _table(name: str, index: list[pa.Field], columns: list[pa.Field]) -> tuple[str, pa.Schema]:
    metadata = {
        b"pycobre.table": name.encode(),
        b"pycobre.format_version": str(FORMAT_VERSION).encode(),
        b"pycobre.index": ",".join(field.name for field in index).encode(),
    }
    return name, pa.schema([*index, *columns], metadata=metadata)


TRAINING: dict[str, pa.Schema] = dict(
    [
        _table(
            "convergence",
            [_ITERATION],
            [
                _number("lower_bound", CURRENCY, "No policy costs less on the tree of openings."),
                _number("forward_mean", CURRENCY, "Mean cost of the iteration's forward passes."),
                _number("forward_std", CURRENCY, "Sample standard deviation of the forward passes' costs."),
                _count("cuts", "Cuts in the pool after the iteration."),
                _count("lp_solves", "Stage problems solved so far."),
                _count("pivots", "Simplex iterations so far."),
                _count("handed_over", "Units of work that the dense solver left to HiGHS so far."),
                *(
                    _count(column, f"Stage problems that needed the solver's step '{step.name}' so far.")
                    for column, step in zip(CONVERGENCE_RECOVERIES, LADDER, strict=True)
                ),
            ],
        ),
        # The times stand apart: they alone differ from run to run.
        _table(
            "timing",
            [_ITERATION],
            [
                _number("forward_s", "s", "Wall time of the forward pass on rank 0, exchange included."),
                _number("backward_s", "s", "Wall time of the backward pass on rank 0, exchange included."),
                _number("bound_s", "s", "Wall time of the lower bound on rank 0."),
                _number("elapsed_s", "s", "Wall time since training began, on rank 0."),
            ],
        ),
    ]
)
"""Tables of the training, one row an iteration."""

SYSTEM: dict[str, pa.Schema] = dict(
    [
        _table(
            "stages",
            [_STAGE, _BLOCK],
            [
                _column("start_date", pa.date32(), "1", "First day of the stage."),
                _column("end_date", pa.date32(), "1", "The day after the stage's last."),
                _column("block_name", pa.string(), "1", "Name of the block."),
                _number("hours", "h", "Length of the block."),
                _number("to_next_discount_factor", "1", "Worth, in this stage, of one in the next."),
            ],
        ),
        _table(
            "entities",
            [
                _column("kind", pa.string(), "1", "bus, line, constraint, or the kind of plant or contract."),
                _id("id", "Id in the case."),
            ],
            [
                _NAME,
                _column(
                    "bus_id", pa.int32(), "1", "Bus of a plant, unless it feeds several; source of a line.",
                    nullable=True,
                ),
                _column("target_bus_id", pa.int32(), "1", "Target of a line.", nullable=True),
                _column("upstream_id", pa.int32(), "1", "Hydro plant that is pumped from.", nullable=True),
                _column("diversion_id", pa.int32(), "1", "Hydro plant that is diverted to.", nullable=True),
                _column(
                    "downstream_id", pa.int32(), "1", "Hydro plant below a hydro plant, or pumped to.",
                    nullable=True,
                ),
                _column(
                    "losses_fraction", pa.float64(), "1", "Share of what a line is sent that never arrives.",
                    nullable=True,
                ),
            ],
        ),
    ]
)  # fmt: skip
"""What the ids in the other tables stand for, so that they can be read without the case."""

STOCHASTIC: dict[str, pa.Schema] = dict(
    [
        _table(
            "inflow_models",
            [_HYDRO, _STAGE],
            [
                _number("mean_m3s", "m³/s", "Mean inflow."),
                _number("std_m3s", "m³/s", "Standard deviation of the inflow."),
                _number("constant_m3s", "m³/s", "Inflow with zero lags and noise."),
                _number("noise_scale_m3s", "m³/s", "What a unit of noise adds."),
            ],
        ),
        _table(
            "inflow_lags",
            [_HYDRO, _STAGE, _id("lag", "How many periods back, from 1.")],
            [
                _number(
                    "weight", "1", "What a unit of the inflow so long ago adds; an annual component included."
                )
            ],
        ),
        _table(
            "openings",
            [
                _STAGE,
                _id("opening", "Opening, from 0."),
                _id("term", "Noise term, in the order of the case."),
            ],
            [_number("noise", "1", "Noise of the term.")],
        ),
    ]
)
"""Inflow models and openings that the study used, if it is to export them."""

PRODUCTION: dict[str, pa.Schema] = dict(
    [
        _table(
            "plane_fits",
            [_HYDRO, _STAGE, _id("point", "Point of the grid, from 0.")],
            [
                _number("volume_hm3", "hm³", "Volume of the point."),
                _number("turbined_m3s", "m³/s", "Turbined flow of the point; nothing is spilled."),
                _number("exact_mw", "MW", "What the exact function makes there."),
                _number("fitted_mw", "MW", "What the planes make there."),
            ],
        ),
    ]
)
"""How computed planes were fitted, if the study is to export it."""

SIMULATION: dict[str, pa.Schema] = dict(
    [
        _table(
            "scenarios",
            [_SCENARIO],
            [_number("cost", CURRENCY, "Cost of all stages, discounted to the first.")],
        ),
        _table(
            "costs",
            [_SCENARIO, _STAGE],
            [
                *(_number(column, CURRENCY, _cost_meaning(term)) for term, column in COST_COLUMNS.items()),
                _number("stage_cost", CURRENCY, "Cost of the stage, not discounted."),
                _number("future_cost", CURRENCY, "What the policy expects of the stages after it."),
                _number("discount_factor", "1", "Worth of a cost of this stage in the first."),
            ],
        ),
        _table(
            "reservoirs",
            [_SCENARIO, _STAGE, _HYDRO],
            [
                _number("storage_initial_hm3", "hm³", "Storage at the start of the stage."),
                _number("storage_final_hm3", "hm³", "Storage at the end of the stage."),
                _number(
                    "storage_below_hm3",
                    "hm³",
                    "What the storage lacks to its minimum; of several block ends the most.",
                ),
                _number("inflow_m3s", "m³/s", "Incremental natural inflow, mean of the stage."),
                _number("bought_inflow_m3s", "m³/s", "Water bought on top of the inflow, mean of the stage."),
                _number("evaporated_m3s", "m³/s", "Water that evaporates, mean of the stage."),
                _number("evaporation_below_m3s", "m³/s", "What evaporates less than it should."),
                _number("evaporation_above_m3s", "m³/s", "What evaporates more than it should."),
                _number("withdrawn_m3s", "m³/s", "Water taken for other uses; below zero it is brought."),
                _number("withdrawal_below_m3s", "m³/s", "What is withdrawn less than it should be."),
                _number("withdrawal_above_m3s", "m³/s", "What is withdrawn more than it should be."),
                _number(
                    "water_value_per_hm3", f"{CURRENCY}/hm³", "What one more hm³ in the reservoir saves."
                ),
            ],
        ),
        _table(
            "hydros",
            [_SCENARIO, _STAGE, _BLOCK, _HYDRO],
            [
                _number("turbined_m3s", "m³/s", "Flow through the turbines."),
                _number("spilled_m3s", "m³/s", "Flow past the turbines, or a plant out of service."),
                _number("storage_hm3", "hm³", "As the block ends; as the stage does, if they are parallel."),
                _number("diverted_m3s", "m³/s", "Flow of the channel to another plant; no outflow."),
                _number("outflow_m3s", "m³/s", "Turbined and spilled flow together."),
                _number("generation_mw", "MW", "Generation."),
                _number("outflow_below_m3s", "m³/s", "What the outflow lacks to its minimum."),
                _number("outflow_above_m3s", "m³/s", "Outflow beyond its maximum."),
                _number("turbined_below_m3s", "m³/s", "What the turbined flow lacks to its minima."),
                _number("generation_below_mw", "MW", "What the generation lacks to its minima."),
            ],
        ),
        _table(
            "hydro_buses",
            [_SCENARIO, _STAGE, _BLOCK, _HYDRO, _BUS],
            [
                _number("turbined_m3s", "m³/s", "Flow through the unit groups at the bus."),
                _number("generation_mw", "MW", "What they give to the bus."),
                _number("turbined_below_m3s", "m³/s", "What their flow lacks to its minimum."),
                _number("generation_below_mw", "MW", "What their generation lacks to its minimum."),
            ],
        ),
        _table(
            "thermals",
            [_SCENARIO, _STAGE, _BLOCK, _THERMAL],
            [
                _number("generation_mw", "MW", "Generation."),
                _number(
                    "generation_cost",
                    CURRENCY,
                    "Its cost in the block, not discounted; none if decided ahead.",
                ),
            ],
        ),
        _table(
            "commitments",
            [_SCENARIO, _STAGE, _THERMAL],
            [
                _number("committed_mw", "MW", "Mean generation that is decided for a later stage."),
                _column(
                    "delivery",
                    pa.date32(),
                    "1",
                    "First day of that stage; none where nothing is decided.",
                    nullable=True,
                ),
                _number("commitment_cost", CURRENCY, "Its cost, discounted to the stage that decides."),
                _number("delivered_mw", "MW", "Mean generation in the stage."),
            ],
        ),
        _table(
            "transits",
            [_SCENARIO, _STAGE, _HYDRO],
            [
                _number("in_transit_initial_hm3", "hm³", "Under way to the next plant as the stage starts."),
                _number("released_hm3", "hm³", "Outflow of the plant in the stage."),
                _number("arrived_hm3", "hm³", "What arrives of both in the stage."),
                _number("in_transit_final_hm3", "hm³", "Under way as the stage ends."),
            ],
        ),
        _table(
            "sources",
            [_SCENARIO, _STAGE, _BLOCK, _SOURCE],
            [
                _number("available_mw", "MW", "What could be generated."),
                _number("generation_mw", "MW", "Generation."),
                _number("curtailed_mw", "MW", "What is available and not generated."),
            ],
        ),
        _table(
            "contracts",
            [_SCENARIO, _STAGE, _BLOCK, _CONTRACT],
            [_number("power_mw", "MW", "Bought by an import, sold by an export.")],
        ),
        _table(
            "pumping",
            [_SCENARIO, _STAGE, _BLOCK, _PUMP],
            [
                _number("pumped_m3s", "m³/s", "Flow from one reservoir to the other."),
                _number("consumption_mw", "MW", "Power that it takes."),
            ],
        ),
        _table(
            "constraints",
            [_SCENARIO, _STAGE, _BLOCK, _CONSTRAINT],
            [
                _number("below", "1", "What is missing to the lower bound, in the constraint's own unit."),
                _number("above", "1", "What is beyond the upper bound, in the constraint's own unit."),
            ],
        ),
        _table(
            "buses",
            [_SCENARIO, _STAGE, _BLOCK, _BUS],
            [
                _number("load_mw", "MW", "Demand."),
                _number("deficit_mw", "MW", "Demand not served, all deficit segments together."),
                _number("deficit_cost", CURRENCY, "Its cost in the block by segment, not discounted."),
                _number("excess_mw", "MW", "Generation that nobody takes."),
                _number("price_per_mwh", f"{CURRENCY}/MWh", "What one more MWh of demand costs."),
            ],
        ),
        _table(
            "exchanges",
            [_SCENARIO, _STAGE, _BLOCK, _LINE],
            [
                _number("direct_mw", "MW", "Sent from source to target, before losses."),
                _number("reverse_mw", "MW", "Sent from target to source, before losses."),
                _number("net_mw", "MW", "Direct less reverse, before losses."),
                _number("losses_mw", "MW", "What is sent, either way, and never arrives."),
                _number("exchange_cost", CURRENCY, "Cost in the block, not discounted."),
            ],
        ),
    ]
)
"""Tables of the simulation. Rows stand by scenario, stage, block, then the entity's id."""

TABLES: dict[str, pa.Schema] = TRAINING | SYSTEM | STOCHASTIC | PRODUCTION | SIMULATION
"""Every table by name."""

FOLDERS: dict[str, str] = (
    dict.fromkeys(TRAINING, "training")
    | dict.fromkeys(SYSTEM, "system")
    | dict.fromkeys(STOCHASTIC, "stochastic")
    | dict.fromkeys(PRODUCTION, "production")
    | dict.fromkeys(SIMULATION, "simulation")
)
"""Folder of each table within the results directory."""


def index_of(schema: pa.Schema) -> tuple[str, ...]:
    """Columns of a table of ours that tell its rows apart; none if the table does not say."""
    names: str = (schema.metadata or {}).get(b"pycobre.index", b"").decode()
    return tuple(name for name in names.split(",") if name)
