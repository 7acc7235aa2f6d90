"""A small system with everything that tables show, and a study of it: trained, simulated, recovered."""

import math
from dataclasses import dataclass, fields, replace
from datetime import date

import numpy as np
import pytest

from pycobre.comm import LocalCommunicator
from pycobre.lp import HighsSolver, StageModel, StateLayout, build_stages, cost_scale_of
from pycobre.results import ResultsWriter
from pycobre.sddp import (
    IterationLimit,
    Node,
    Policy,
    PolicyGraph,
    SimulatedRound,
    Stopping,
    TrainingSettings,
    simulate,
    train,
)
from pycobre.stochastic import inflow_recursion, sample_openings, uncorrelated
from pycobre.system import (
    Ahead,
    Block,
    Bus,
    ConstantProductivity,
    ConstraintRow,
    ConstraintTerm,
    Contract,
    DeficitSegment,
    Evaporation,
    GenericConstraint,
    Hydro,
    HydroPenalties,
    InflowRecursion,
    InflowStatistics,
    Line,
    LoadStatistics,
    PastFlow,
    PumpingStation,
    Source,
    SourceStatistics,
    Stage,
    System,
    Thermal,
)

SCENARIOS = 7


def stages() -> tuple[Stage, ...]:
    """Three stages of two, one and two blocks, the last two one after the other."""
    months = [date(2030, month, 1) for month in (1, 2, 3, 4)]
    blocks = [
        (Block(0, "low", 300.0), Block(1, "high", 444.0)),
        (Block(0, "all", 672.0),),
        (Block(0, "low", 244.0), Block(1, "high", 500.0)),
    ]
    return tuple(
        Stage(
            id=10 + t,
            start_date=months[t],
            end_date=months[t + 1],
            season_id=t,
            blocks=blocks[t],
            num_openings=4,
            annual_discount_rate=0.1 if t < 2 else 0.0,
            chronological=t == 2,
        )
        for t in range(3)
    )


def tiny_system() -> System:
    penalties = HydroPenalties(0.01, 0.0, 50.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    production = (ConstantProductivity(0.9),) * 3

    def hydro(number: int, bus: int, below: int | None, **limits: object) -> Hydro:
        plain = {
            "storage_min_hm3": 20.0, "storage_max_hm3": 400.0, "storage_initial_hm3": 150.0,
            "outflow_min_m3s": 10.0, "outflow_max_m3s": 180.0, "turbined_min_m3s": 0.0,
            "turbined_max_m3s": 120.0, "generation_min_mw": 0.0, "generation_max_mw": 100.0,
        }  # fmt: skip
        return Hydro(
            id=number, name=f"H{number}", bus_id=bus, downstream_id=below, production=production,
            penalties=penalties, **(plain | limits),
        )  # fmt: skip

    statistics = InflowStatistics(
        mean_m3s=np.array([[40.0, 60.0, 30.0], [15.0, 20.0, 10.0]]),
        std_m3s=np.array([[12.0, 20.0, 9.0], [14.0, 9.0, 8.0]]),
        coefficients=np.full((2, 3, 1), 0.4),
        lag_mean_m3s=np.array([[[35.0], [40.0], [60.0]], [[12.0], [15.0], [20.0]]]),
        lag_std_m3s=np.array([[[10.0], [12.0], [20.0]], [[6.0], [14.0], [9.0]]]),
        past_m3s=np.array([[38.0], [11.0]]),
        nonnegativity="penalty",
    )
    demand = LoadStatistics(
        mean_mw=np.array([[70.0, 75.0, 80.0], [90.0, 95.0, 100.0]]),
        std_mw=np.array([[0.0, 0.0, 0.0], [8.0, 9.0, 10.0]]),
        block_factor=np.array([[[0.8, 1.3], [1.0, 1.0], [0.9, 1.1]], [[0.9, 1.2], [1.0, 1.0], [0.7, 1.4]]]),
    )
    return System(
        stages=stages(),
        buses=(
            Bus(1, "north", (DeficitSegment(5.0, 200.0), DeficitSegment(math.inf, 900.0)), 1.0),
            Bus(4, "south", (DeficitSegment(math.inf, 700.0),), 1.5),
        ),
        lines=(Line(3, "north-south", 1, 4, 60.0, 40.0, 0.05, 0.5),),
        thermals=(
            Thermal(2, "gas", 1, 5.0, 40.0, 90.0),
            Thermal(5, "oil", 4, 0.0, 25.0, 250.0),
            Thermal(6, "shipped gas", 4, 0.0, 9.0, 60.0, ahead=Ahead(lead_stages=1, past_mw={10: 4.0})),
        ),
        hydros=(
            hydro(
                7,
                1,
                9,
                diversion_to_id=9,
                travel_hours=100.0,
                past_outflow=(PastFlow(date(2029, 12, 20), date(2030, 1, 1), 70.0),),
                diversion_min_m3s=2.0,
                diversion_max_m3s=5.0,
                outflow_min_m3s=110.0,
                turbined_min_m3s=100.0,
            ),
            hydro(
                9,
                4,
                None,
                storage_initial_hm3=60.0,
                storage_max_hm3=90.0,
                turbined_min_m3s=45.0,
                turbined_max_m3s=60.0,
                withdrawal_m3s=3.0,
                evaporation=(Evaporation(0.5, 0.01),) * 3,
            ),
        ),
        inflow=statistics,
        load=demand,
        correlation=uncorrelated(4, 3),
        constraints=(
            GenericConstraint(
                11,
                "gas and oil",
                30.0,
                {
                    (10, None): ConstraintRow(
                        -math.inf,
                        30.0,
                        (
                            ConstraintTerm(1.0, "thermal_generation", 2),
                            ConstraintTerm(0.5, "thermal_generation", 5),
                        ),
                    ),
                    (11, None): ConstraintRow(70.0, math.inf, (ConstraintTerm(1.0, "hydro_storage", 9),)),
                },
            ),
        ),
        contracts=(Contract(1, "abroad", 4, True, 0.0, 10.0, -60.0),),
        pumps=(PumpingStation(2, "up", 1, 9, 7, 1.0, 4.0, 0.5),),
        sources=(Source(6, "wind", 4, 9.0, True, 0.2), Source(8, "sun", 1, 4.0, False, 0.0)),
        availability=SourceStatistics(
            np.array([[0.5] * 3, [0.25] * 3]), np.array([[0.4] * 3, [0.0] * 3]), np.ones((2, 3, 2)), (0,)
        ),
    )


@dataclass(frozen=True, eq=False)
class Study:
    system: System
    recursion: InflowRecursion
    models: tuple[StageModel, ...]
    policy: Policy
    solvers: list[HighsSolver]
    round: SimulatedRound

    def fresh_policy(self, passes: int = 2) -> Policy:
        return Policy(self.policy.graph, LocalCommunicator(), passes)


@pytest.fixture(scope="session")
def study() -> Study:
    system = tiny_system()
    recursion = inflow_recursion(system.inflow, system.stages)
    models = build_stages(system, recursion)
    graph = PolicyGraph.line(
        [
            Node(model.template, system.within_reach(t, noise))
            for t, (model, noise) in enumerate(zip(models, sample_openings(system, 3), strict=True))
        ],
        StateLayout.of(recursion, system).initial(system),
        [stage.discount_factor for stage in system.stages[:-1]],
    )
    scale = cost_scale_of([model.template for model in models])
    solvers = [
        HighsSolver(node.template, future_lower=low, cost_scale=scale)
        for node, low in zip(graph.nodes, graph.future_cost_lower(), strict=True)
    ]
    comm = LocalCommunicator()
    policy = Policy(graph, comm, 2)
    for _ in train(policy, solvers, TrainingSettings(Stopping((IterationLimit(4),)), 11), comm):
        pass
    (round_,) = simulate(policy, solvers, SCENARIOS, 5, comm)
    return Study(system, recursion, models, policy, solvers, round_)


def part_of(whole: SimulatedRound, start: int, stop: int) -> SimulatedRound:
    """Scenarios *start* to *stop* - 1 of a round, as a round of their own."""

    def rows(array):
        return array[start:stop]

    steps = tuple(
        tuple(
            replace(
                step,
                members=np.arange(stop - start),
                opening=rows(step.opening),
                state=rows(step.state),
                noise=rows(step.noise),
                dispatch=replace(
                    step.dispatch,
                    **{f.name: rows(getattr(step.dispatch, f.name)) for f in fields(step.dispatch)},
                ),
            )
            for step in level
        )
        for level in whole.walk.steps
    )
    walk = whole.walk
    return SimulatedRound(
        whole.first + start,
        replace(
            walk,
            node=rows(walk.node),
            state=rows(walk.state),
            cost=rows(walk.cost),
            discount=rows(walk.discount),
            steps=steps,
        ),
        rows(whole.cost),
    )


@pytest.fixture(scope="session")
def cut_round():
    return part_of


@pytest.fixture
def write(study, tmp_path):
    """Writes the study's results to a directory of the test's own."""

    def write_to(name: str = "out", *, force: bool = False, rounds=None, **finish):
        with ResultsWriter(tmp_path / name, force=force) as writer:
            writer.system(study.system)
            writer.convergence(study.policy.history)
            writer.policy(study.policy, study.system, study.recursion, {"seed": 11})
            for round_ in rounds or [study.round]:
                writer.simulation_round(study.system, study.recursion, study.models, round_)
            return writer.finish({"ranks": 1}, **finish)

    return write_to
