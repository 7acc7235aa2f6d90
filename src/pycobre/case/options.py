"""How a study is run, as its configuration says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pycobre.case import files
from pycobre.case.config import (
    BoundStalling,
    ByScenario,
    Config,
    CutSelection,
    Domination,
    DynamicSelection,
    IterationLimit,
    NearOptimalSelection,
    Parallelism,
    SampledPasses,
    ScenarioSource,
    TimeLimit,
)
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings

DEFAULT_SEED = 42


@dataclass(frozen=True)
class BoundStallingOption:
    """Stop when the lower bound improves by less than *tolerance* (relative) over *iterations*."""

    iterations: int
    tolerance: float


@dataclass(frozen=True)
class RowOption:
    """Which cuts are rows of their stage problem, as :class:`pycobre.sddp.RowSelection` says it.

    Whatever is chosen, other cuts join where they are violated: only speed depends on it.
    """

    method: Literal["binding", "highest", "oldest_highest"] = "binding"
    recent_iterations: int = 5
    tolerance: float = 0.0
    every: int = 1
    first_iteration: int = 1
    most_rows: int | None = None


@dataclass(frozen=True)
class Schemes:
    """Where forward passes take the noise of each class from.

    ``in_sample``: the openings; ``out_of_sample``: drawn anew; ``external``: given scenarios;
    ``historical``: years of the record.
    """

    inflow: str = "in_sample"
    load: str = "in_sample"
    ncs: str = "in_sample"

    @property
    def in_sample(self) -> bool:
        """Whether the openings are all the noise there is."""
        return self.inflow == self.load == self.ncs == "in_sample"


@dataclass(frozen=True)
class StudyOptions:
    """How a study is trained and simulated.

    Attributes
    ----------
    forward_passes
        Trajectories an iteration.
    iteration_limit
        Most iterations of the training.
    time_limit_s
        Most seconds of the training, or ``None``.
    bound_stalling
        When the bound counts as stalled, or ``None``.
    stopping_mode
        ``any`` rule ends the training, or ``all`` of them together; the iteration limit always does.
    tree_seed, forward_seed, simulation_seed
        Seeds of the openings, of the training's trajectories and of the simulation's.
    simulation_scenarios
        Trajectories of the simulation, 0 without one.
    training_schemes, simulation_schemes
        Where the trajectories' noise comes from.
    cost_scale_factor
        Divisor of the costs inside the stage problems, or ``None`` to choose one.
    export_stochastic
        Whether the results hold the inflow models and the openings.
    export_fits
        Whether they hold how computed planes were fitted.
    rows
        Which cuts are rows.
    openings_a_part
        Most openings of a trial point that are one unit of work, or ``half`` of a stage's; ``None`` for the
        engine's choice.
    """

    forward_passes: int = 4
    iteration_limit: int = 100
    time_limit_s: float | None = None
    bound_stalling: BoundStallingOption | None = None
    stopping_mode: str = "any"
    tree_seed: int = DEFAULT_SEED
    forward_seed: int = DEFAULT_SEED
    simulation_seed: int = DEFAULT_SEED
    simulation_scenarios: int = 0
    training_schemes: Schemes = Schemes()
    simulation_schemes: Schemes = Schemes()
    cost_scale_factor: float | None = None
    export_stochastic: bool = False
    export_fits: bool = False
    rows: RowOption = RowOption()
    openings_a_part: int | Literal["half"] | None = None


def check_options(case: CaseFiles, findings: Findings) -> None:
    """Note settings of the configuration that do not fit together."""
    config = case.config
    if config is None:
        return
    if not any(isinstance(rule, IterationLimit) for rule in config.training.stopping_rules):
        findings.add(
            "schema",
            files.CONFIG,
            "must hold an iteration_limit",
            field="training.stopping_rules",
            hint='add {"type": "iteration_limit", "limit": 100}',
        )
    if config.simulation.enabled and config.simulation.selection is None:
        findings.add(
            "schema",
            files.CONFIG,
            "is required when the simulation is enabled",
            field="simulation.selection",
            hint='such as {"method": "sampled", "num_scenarios": 100}',
        )
    if config.training.cut_selection.row_activity_tolerance is not None:
        findings.warn(
            files.CONFIG,
            "has no effect: whether a cut is binding is read from the solver's basis, without a tolerance",
            field="training.cut_selection.row_activity_tolerance",
            hint="leave it out",
        )
    if not config.simulation.enabled and any(
        key.startswith("simulation.selection") for key in case.overridden
    ):
        findings.warn(
            files.CONFIG,
            "the number of scenarios has no effect: the simulation is off",
            entity="override",
            field="simulation.selection.num_scenarios",
            hint="set simulation.enabled to true",
        )


def read_options(config: Config) -> StudyOptions:
    """Options of a configuration that was checked."""
    training, simulation = config.training, config.simulation
    pick = min if training.stopping_mode == "any" else max
    limits = [rule.limit for rule in training.stopping_rules if isinstance(rule, IterationLimit)]
    seconds = [rule.seconds for rule in training.stopping_rules if isinstance(rule, TimeLimit)]
    stalling = [rule for rule in training.stopping_rules if isinstance(rule, BoundStalling)]
    assert isinstance(training.selection, SampledPasses)
    forward_seed = training.scenario_source.seed if training.scenario_source else None
    simulation_seed = simulation.scenario_source.seed if simulation.scenario_source else None
    scenarios = getattr(simulation.selection, "num_scenarios", 0) if simulation.enabled else 0
    return StudyOptions(
        forward_passes=training.selection.forward_passes,
        iteration_limit=pick(limits),
        time_limit_s=pick(seconds) if seconds else None,
        bound_stalling=BoundStallingOption(stalling[0].iterations, stalling[0].tolerance)
        if stalling
        else None,
        stopping_mode=training.stopping_mode,
        tree_seed=_first(training.tree_seed),
        forward_seed=_first(forward_seed),
        simulation_seed=_first(simulation_seed, forward_seed),
        simulation_scenarios=int(scenarios),
        training_schemes=_schemes(training.scenario_source),
        simulation_schemes=_schemes(simulation.scenario_source or training.scenario_source),
        cost_scale_factor=config.modeling.cost_scale_factor,
        export_stochastic=config.exports.stochastic,
        export_fits=config.exports.fpha_deviation_points,
        rows=_rows(training.cut_selection),
        openings_a_part=_openings_a_part(training.parallelism),
    )


def _rows(selection: CutSelection) -> RowOption:
    method, most = selection.selection, selection.max_active_per_stage
    if isinstance(method, NearOptimalSelection):
        return RowOption(
            method="highest" if method.method == "level1" else "oldest_highest",
            tolerance=method.tie_tolerance,
            every=method.check_frequency,
            most_rows=most,
        )
    if isinstance(method, Domination):
        return RowOption(
            method="highest",
            tolerance=method.domination_tolerance,
            every=method.check_frequency,
            most_rows=most,
        )
    if isinstance(method, DynamicSelection):
        # The format counts the iterations before the one at hand.
        recent, first = method.seed_window + 1, method.start_iteration
        return RowOption(recent_iterations=recent, first_iteration=first, most_rows=most)
    return RowOption(most_rows=most)


def _openings_a_part(parallelism: Parallelism) -> int | Literal["half"] | None:
    scheduler = parallelism.backward_scheduler
    return None if isinstance(scheduler, ByScenario) else scheduler.block_size or "half"


def _schemes(source: ScenarioSource | None) -> Schemes:
    if source is None:
        return Schemes()
    chosen = {name: getattr(source, name) for name in ("inflow", "load", "ncs")}
    return Schemes(**{name: scheme.scheme for name, scheme in chosen.items() if scheme is not None})


def _first(*seeds: int | None) -> int:
    """First seed that is given; without one the study is still the same every time."""
    return next((seed for seed in seeds if seed is not None), DEFAULT_SEED)
