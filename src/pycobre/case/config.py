"""``config.json``: how the study is trained and simulated."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from pycobre.case.record import Count, Document, Record, Seconds, Seed, shape_of

Unsigned = Annotated[int, Field(ge=0, lt=2**32)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class SampledPasses(Record):
    """Forward passes drawn at random."""

    method: Literal["sampled"]
    forward_passes: Count = Field(description="Trajectories an iteration")


class SampledScenarios(Record):
    """Simulated scenarios drawn at random."""

    method: Literal["sampled"]
    num_scenarios: Count = Field(description="Trajectories of the simulation")


class Enumerated(Record):
    """Every path through the openings."""

    method: Literal["enumerated"]


class IterationLimit(Record):
    """Stop after so many iterations."""

    type: Literal["iteration_limit"]
    limit: Count


class TimeLimit(Record):
    """Stop after so many seconds."""

    type: Literal["time_limit"]
    seconds: Seconds


class BoundStalling(Record):
    """Stop when the lower bound no longer improves."""

    type: Literal["bound_stalling"]
    iterations: Count = Field(description="Window that is compared, iterations")
    tolerance: NonNegative = Field(description="Relative improvement over the window")


class Gap(Record):
    """Stop when an exact upper bound is near."""

    type: Literal["gap"]
    tolerance: NonNegative | None = None
    relative_tolerance: NonNegative | None = Field(default=None, description="percent")


StoppingRule = Annotated[IterationLimit | TimeLimit | BoundStalling | Gap, Field(discriminator="type")]


class ClassScheme(Record):
    """Where the noise of one class comes from in a forward pass."""

    scheme: Literal["in_sample", "out_of_sample", "external", "historical"]


class Openings(Record):
    """Where the openings of every stage come from."""

    source: Literal["generated", "file"]


class YearRange(Record):
    """Years of the record, both ends included."""

    # "from" is a keyword of Python, hence the aliases.
    from_: int = Field(alias="from")
    to_: int = Field(alias="to")


class ScenarioSource(Record):
    """What a forward pass samples."""

    seed: Seed | None = None
    inflow: ClassScheme | None = None
    load: ClassScheme | None = None
    ncs: ClassScheme | None = None
    openings: Openings | None = None
    historical_years: (
        Annotated[
            Annotated[list[int], Tag("list")] | Annotated[YearRange, Tag("object")], Discriminator(shape_of)
        ]
        | None
    ) = None


class NearOptimalSelection(Record):
    """Keep cuts that were nearly highest somewhere (level 1, or its oldest only)."""

    method: Literal["level1", "lml1"]
    check_frequency: Count = 5
    tie_tolerance: NonNegative = 1e-10


class Domination(Record):
    """Drop cuts that are below others everywhere visited."""

    method: Literal["domination"]
    domination_tolerance: NonNegative
    check_frequency: Count = 5


class DynamicSelection(Record):
    """Load cuts into a problem as they are violated."""

    method: Literal["dynamic"]
    candidate_recency: Count | None = None
    max_added_per_round: Count = 10
    seed_window: Unsigned = 5
    start_iteration: Count = 2
    violation_tolerance: Positive = 1e-10


class CutSelection(Record):
    """Which cuts stay in the stage problems."""

    selection: Annotated[
        NearOptimalSelection | Domination | DynamicSelection | None, Field(discriminator="method")
    ] = None
    max_active_per_stage: Count | None = None
    row_activity_tolerance: NonNegative | None = None


class ByScenario(Record):
    """A backward work item is a trial point."""

    method: Literal["by_scenario"]


class ByNode(Record):
    """A backward work item is a block of a trial point's openings."""

    method: Literal["by_node"]
    block_size: Count | None = None


class Parallelism(Record):
    """How work is dealt to workers."""

    backward_scheduler: Annotated[ByScenario | ByNode, Field(discriminator="method")] = ByScenario(
        method="by_scenario"
    )


class SolverProfile(Record):
    """Options of the LP solver in one phase; an absent one keeps the tuned value."""

    cost_perturbation: NonNegative | None = None
    dual_edge_weight: Literal["devex", "steepest_edge", "dantzig"] | None = None
    dual_feasibility_tolerance: Positive | None = None
    factor_pivot_threshold: Positive | None = None
    presolve: Literal["on", "off", "choose"] | None = None
    price: Literal["row", "row_hyper_sparse"] | None = None
    primal_feasibility_tolerance: Positive | None = None
    refactor_error_tolerance: Positive | None = None
    scale: Literal["off", "solver_scaling"] | None = None
    simplex_update_limit: Unsigned | None = None
    steepest_edge_devex_fallback_threshold: Positive | None = None
    use_warm_start: bool | None = None


class TrainingSolver(Record):
    """The LP solver of the training."""

    backward: SolverProfile | None = None
    forward: SolverProfile | None = None
    retry_max_attempts: Unsigned = 5
    retry_time_budget_seconds: NonNegative = 30.0


class Training(Record):
    """The training of the policy."""

    enabled: bool = True
    selection: Annotated[SampledPasses | Enumerated, Field(discriminator="method")]
    stopping_rules: list[StoppingRule] = Field(min_length=1)
    stopping_mode: Literal["any", "all"] = "any"
    tree_seed: Seed | None = None
    scenario_source: ScenarioSource | None = None
    cut_selection: CutSelection = CutSelection()
    parallelism: Parallelism = Parallelism()
    solver: TrainingSolver = TrainingSolver()


class Simulation(Record):
    """The simulation of the trained policy."""

    enabled: bool = False
    selection: Annotated[SampledScenarios | Enumerated | None, Field(discriminator="method")] = None
    scenario_source: ScenarioSource | None = None
    solver: SolverProfile | None = None
    io_channel_capacity: Unsigned = 64


class InflowNonNegativity(Record):
    """What happens to negative inflows."""

    method: Literal["none", "truncation", "penalty", "truncation_with_penalty"] = "penalty"


class Modeling(Record):
    """Choices of the model."""

    inflow_non_negativity: InflowNonNegativity = InflowNonNegativity()
    cost_scale_factor: Positive | None = Field(
        default=None, description="Divisor of the costs inside the LPs"
    )


class Boundary(Record):
    """Cuts of another study at the end of this one."""

    path: str
    strict: bool = False


class Checkpointing(Record):
    """Policies written during the training."""

    enabled: bool | None = None
    initial_iteration: Unsigned | None = None
    interval_iterations: Unsigned | None = None
    store_basis: bool | None = None
    compress: bool | None = None


class Policy(Record):
    """Where the policy is kept and what the training starts from."""

    path: str = "./policy"
    mode: Literal["fresh", "warm_start", "resume"] = "fresh"
    boundary: Boundary | None = None
    checkpointing: Checkpointing = Checkpointing()


class Estimation(Record):
    """Fitting of inflow models from history."""

    max_order: Unsigned = 6
    min_observations_per_season: Unsigned = 30
    order_selection: Literal["pacf", "pacf_annual"] = "pacf"
    max_coefficient_magnitude: Positive | None = None


class Exports(Record):
    """Optional output files."""

    states: bool = False
    stochastic: bool = False
    fpha_deviation_points: bool = False


class Lipschitz(Record):
    """Constants of the inner approximation."""

    mode: str | None = None
    fallback_value: Positive | None = None
    scale_factor: Positive | None = None


class UpperBoundEvaluation(Record):
    """Upper bounds by inner approximation."""

    enabled: bool | None = None
    initial_iteration: Unsigned | None = None
    interval_iterations: Unsigned | None = None
    lipschitz: Lipschitz = Lipschitz()


class Config(Document):
    """``config.json``."""

    training: Training
    simulation: Simulation = Simulation()
    modeling: Modeling = Modeling()
    policy: Policy = Policy()
    estimation: Estimation = Estimation()
    exports: Exports = Exports()
    upper_bound_evaluation: UpperBoundEvaluation = UpperBoundEvaluation()
