"""One run of a study on one rank: build, train, simulate, write."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from pycobre.case import Case, Fit, Schemes, StudyOptions
from pycobre.comm import Backend, ranks_here, usable_cpus
from pycobre.lp import (
    HeadSolver,
    StageModel,
    StageSolver,
    StateLayout,
    build_stages,
    cost_scale_of,
    stage_solver,
)
from pycobre.results import ResultsWriter, give_memory_back
from pycobre.sddp import (
    BoundStalling,
    Cvar,
    IterationLimit,
    Node,
    Policy,
    PolicyGraph,
    RowSelection,
    SimulationSummary,
    Stopping,
    TimeLimit,
    TrainingFinished,
    TrainingSettings,
    gather,
    simulate,
    train,
)
from pycobre.stochastic import ForwardNoise, correlation_factor, raisable, sample_openings
from pycobre.study.events import RunFinished, RunSettings, SimulationProgress, StudyEvent, StudyStarted
from pycobre.study.noise import Replays, forward_noise, noise_floors
from pycobre.system import InflowRecursion

FloatArray = NDArray[np.float64]

_BOUND_ROUNDING = 1e-9
"""Relative: a bound may lie this much above an exact cost by rounding alone."""


class Run:
    """One run of a study on one rank; rank 0 has a writer."""

    def __init__(
        self,
        case: Case,
        recursion: InflowRecursion,
        replays: Replays,
        overrides: Mapping[str, object],
        comm: Backend,
        settings: RunSettings,
        writer: ResultsWriter | None,
    ) -> None:
        self.case, self.replays, self.overrides = case, replays, overrides
        self.comm, self.settings, self.writer = comm, settings, writer
        self.system, self.options = case.system, case.options
        # Noise that is truncated must be able to move every inflow, certain ones too.
        self.recursion = raisable(recursion) if self.system.inflow.truncated else recursion
        self.given_recursion = recursion
        self.floors = noise_floors(self.system, recursion)
        # Cuts are no bounds where a truncated inflow depends on the state.
        self._bends = self.system.inflow.truncated and bool((recursion.lag != 0.0).any())
        self.models: tuple[StageModel, ...] = build_stages(self.system, self.recursion)
        # Nor where a simulation takes the head of the storage at hand, and the training that of a reference.
        self._bends |= any(len(model.template.heads) for model in self.models)
        self.policy: Policy | None = None
        # Beside the output, which is replaced as a whole; any rank may have to write there.
        self.dump_directory = str(settings.output.with_name(settings.output.name + ".dump"))

    def events(self) -> Iterator[StudyEvent]:
        """Everything that the run tells."""
        comm, settings, options = self.comm, self.settings, self.options
        threads = settings.threads or _default_threads(comm)
        graph = self._graph()
        policy = self.policy = Policy(
            graph,
            comm,
            options.forward_passes,
            RowSelection(**vars(options.rows)),
            self._openings_a_part(),
        )
        solvers = self._solvers(graph, threads)
        yield self._started(threads, graph)

        began = time.monotonic()
        training = TrainingSettings(
            stopping=_stopping(options),
            seed=options.forward_seed,
            interrupt=settings.interrupt,
            dump_directory=self.dump_directory,
            source=self._source(options.training_schemes),
        )
        reason = ""
        for event in train(policy, solvers, training, comm):
            if isinstance(event, TrainingFinished):
                reason = event.reason
            yield event
        train_s = time.monotonic() - began
        self.write_training()

        began = time.monotonic()
        costs: list[float] = []
        if reason != "interrupted" and settings.simulation and options.simulation_scenarios:
            for progress in self._simulate(policy, solvers, costs):
                yield progress
                if self._interrupted():
                    reason = "interrupted"
                    break
        finished = self._finished(policy, reason, costs, train_s, time.monotonic() - began)
        if self.writer:
            status = "complete" if finished.status == "done" else finished.status
            self.writer.finish(self._manifest(threads, finished), status=status, reason=reason)
        policy.pool.close()
        yield finished

    def write_training(self) -> None:
        """Write bounds and cuts of the finished iterations."""
        if self.writer is None or self.policy is None or not self.policy.history:
            return
        seeds = {"tree_seed": self.options.tree_seed, "forward_seed": self.options.forward_seed}
        self.writer.system(self.system)
        if self.options.export_stochastic:
            openings = [node.openings for node in self.policy.graph.nodes]
            self.writer.stochastic(self.system, self.given_recursion, openings)
        if self.options.export_fits:
            self.writer.plane_fits(_columns_of(self.case.fits))
        self.writer.convergence(self.policy.history)
        self.writer.policy(self.policy, self.system, self.recursion, seeds)

    def _graph(self) -> PolicyGraph:
        nodes = [
            Node(
                model.template,
                openings,
                risk=Cvar(stage.cvar_tail, stage.cvar_weight) if stage.risk_averse else None,
                floor=floor,
            )
            for stage, model, floor, openings in zip(
                self.system.stages, self.models, self.floors, self._openings(), strict=True
            )
        ]
        factors = [stage.discount_factor for stage in self.system.stages[:-1]]
        return PolicyGraph.line(
            nodes, StateLayout.of(self.recursion, self.system).initial(self.system), factors
        )

    def _openings_a_part(self) -> list[int] | None:
        most = self.options.openings_a_part
        if most is None:
            return None
        return [-(-stage.num_openings // 2) if most == "half" else most for stage in self.system.stages]

    def _openings(self) -> list[FloatArray]:
        """Openings of every stage, drawn on rank 0, one copy a machine.

        Drawn once, because the factor of a correlation matrix may differ in its last bits between machines.
        """
        shapes = [(stage.num_openings, self.system.noise_dimension) for stage in self.system.stages]
        sizes = [rows * columns for rows, columns in shapes]
        flat = np.zeros(sum(sizes))
        if self.comm.rank == 0:
            given = self.case.openings
            openings = sample_openings(self.system, self.options.tree_seed) if given is None else given
            openings = tuple(self.system.within_reach(t, noise) for t, noise in enumerate(openings))
            flat = np.concatenate([opening.ravel() for opening in openings])
        self.comm.broadcast(flat, 0)
        region = self.comm.create_shared_region(max(len(flat), 1), np.float64)
        if self.comm.is_leader:
            region.as_mut_slice()[: len(flat)] = flat
        region.fence()
        whole, starts = region.as_slice(), np.cumsum([0, *sizes])
        return [
            whole[start : start + size].reshape(shape)
            for start, size, shape in zip(starts[:-1], sizes, shapes, strict=True)
        ]

    def _source(self, schemes: Schemes) -> ForwardNoise | None:
        """Where forward passes take their noise from, with correlation factors that rank 0 worked out."""
        if schemes.in_sample:
            return None
        profiles, terms = self.system.correlation.profiles, self.system.noise_dimension
        factors = np.zeros((len(profiles), terms, terms))
        if self.comm.rank == 0:
            factors[:] = [correlation_factor(profile) for profile in profiles]
        self.comm.broadcast(factors.reshape(-1), 0)
        return forward_noise(self.system, self.replays, schemes, tuple(factors))

    def _solvers(self, graph: PolicyGraph, threads: int) -> list[StageSolver]:
        scale = self._cost_scale
        return [
            stage_solver(
                node.template, self.settings.solver, future_lower=lower, cost_scale=scale, threads=threads
            )
            for node, lower in zip(graph.nodes, graph.future_cost_lower(), strict=True)
        ]

    def _simulate(
        self, policy: Policy, solvers: list[StageSolver], costs: list[float]
    ) -> Iterator[SimulationProgress]:
        total = self.options.simulation_scenarios
        give_memory_back()  # of training: a simulation's first round takes as much
        for part in simulate(
            policy,
            self._at_heads(policy, solvers),
            total,
            self.options.simulation_seed,
            self.comm,
            self.dump_directory,
            self._source(self.options.simulation_schemes),
        ):
            if self.writer:
                self.writer.simulation_round(self.system, self.recursion, self.models, part)
            costs.extend(float(cost) for cost in part.cost)
            del part  # before the next round is as large again
            summary = SimulationSummary.of(np.array(costs))
            yield SimulationProgress(self.comm.rank, len(costs), total, summary.mean, summary.ci95)

    def _at_heads(self, policy: Policy, solvers: list[StageSolver]) -> list[StageSolver]:
        """Solvers for a simulation: those of stages with heads take each scenario's own."""
        result = list(solvers)
        for n, (node, lower) in enumerate(
            zip(policy.graph.nodes, policy.graph.future_cost_lower(), strict=True)
        ):
            if len(node.template.heads):
                cuts = policy.pool.of(n)
                filled = np.flatnonzero(cuts.filled > 0.0)
                make = partial(
                    stage_solver,
                    kind=self.settings.solver,
                    future_lower=lower,
                    cost_scale=self._cost_scale,
                )
                given = cuts.intercept[filled], cuts.slope[filled]
                result[n] = HeadSolver(solvers[n], make, given)
        return result

    @cached_property
    def _cost_scale(self) -> float:
        return self.options.cost_scale_factor or cost_scale_of([model.template for model in self.models])

    def _interrupted(self) -> bool:
        """Whether any rank was asked to stop: the same answer on all."""
        wish = np.array([self.settings.interrupt.is_set()])
        return bool(gather(self.comm, wish, [1] * self.comm.size).any())

    def _started(self, threads: int, graph: PolicyGraph) -> StudyStarted:
        system, options = self.system, self.options
        return StudyStarted(
            rank=self.comm.rank,
            case=str(self.case.path or self.system),
            output=str(self.settings.output),
            backend=self.comm.backend,
            ranks=self.comm.size,
            threads=threads,
            stages=len(system.stages),
            buses=len(system.buses),
            lines=len(system.lines),
            thermals=len(system.thermals),
            hydros=len(system.hydros),
            states=len(graph.initial_state),
            forward_passes=options.forward_passes,
            iteration_limit=options.iteration_limit,
            simulation_scenarios=options.simulation_scenarios if self.settings.simulation else 0,
            warnings=tuple(f"{problem.file}: {problem}" for problem in self.case.warnings),
        )

    def _finished(
        self, policy: Policy, reason: str, costs: list[float], train_s: float, simulate_s: float
    ) -> RunFinished:
        last = policy.history[-1]
        cpu = gather(self.comm, np.array([time.process_time()]), [1] * self.comm.size)
        summary = SimulationSummary.of(np.array(costs)) if costs else None
        risks = {node.risk for node in policy.graph.nodes}
        measure = risks.pop() if len(risks) == 1 else None  # of all, where they have the same one
        holds, risk_averse = None, any(stage.risk_averse for stage in self.system.stages)
        if summary and not risk_averse and self.options.simulation_schemes.in_sample and not self._bends:
            slack = summary.ci95 + _BOUND_ROUNDING * abs(last.lower_bound)
            holds = last.lower_bound <= summary.mean + slack
        return RunFinished(
            rank=self.comm.rank,
            status="interrupted" if reason == "interrupted" else "done",
            reason=reason,
            iterations=last.iteration,
            lower_bound=last.lower_bound,
            simulated_mean=summary.mean if summary else None,
            simulated_std=summary.std if summary else None,
            simulated_ci95=summary.ci95 if summary else None,
            simulated_risk_adjusted=measure.of(np.array(costs)) if measure and costs else None,
            bound_holds=holds,
            risk_averse=risk_averse,
            lp_solves=last.lp_solves + len(costs) * len(self.system.stages),
            recoveries=last.recoveries,
            handed_over=last.handed_over,
            train_s=train_s,
            simulate_s=simulate_s,
            cpu_s=float(cpu.sum()),
            output=str(self.settings.output),
        )

    def _manifest(self, threads: int, finished: RunFinished) -> dict[str, object]:
        return {
            **{name: value for name, value in vars(finished).items() if name != "rank"},
            "case": None if self.case.path is None else str(self.case.path.resolve()),
            "system": str(self.system),
            "overrides": self.overrides,
            "options": vars(self.options),
            "backend": self.comm.backend,
            "ranks": self.comm.size,
            "threads": threads,
            "warnings": [f"{problem.file}: {problem}" for problem in self.case.warnings],
        }


def _columns_of(fits: Mapping[tuple[int, int], Fit]) -> dict[str, NDArray[np.generic]]:
    """Columns of the table of fits, a row a point."""
    sizes = [len(fit.exact_mw) for fit in fits.values()]
    ids = np.array(list(fits), dtype=np.int64).reshape(-1, 2)
    columns: dict[str, NDArray[np.generic]] = {
        "hydro_id": np.repeat(ids[:, 0], sizes),
        "stage_id": np.repeat(ids[:, 1], sizes),
        "point": np.concatenate([np.arange(0), *map(np.arange, sizes)]),
    }
    for name in ("volume_hm3", "turbined_m3s", "exact_mw", "fitted_mw"):
        columns[name] = np.concatenate([np.zeros(0), *(getattr(fit, name) for fit in fits.values())])
    return columns


def _stopping(options: StudyOptions) -> Stopping:
    rules: list[IterationLimit | TimeLimit | BoundStalling] = [IterationLimit(options.iteration_limit)]
    if options.time_limit_s is not None:
        rules.append(TimeLimit(options.time_limit_s))
    if options.bound_stalling is not None:
        rules.append(BoundStalling(options.bound_stalling.iterations, options.bound_stalling.tolerance))
    return Stopping(tuple(rules), options.stopping_mode)


def _default_threads(comm: Backend) -> int:
    """Usable cores shared among the ranks of this machine, at least one."""
    return max(1, usable_cpus() // ranks_here(comm))
