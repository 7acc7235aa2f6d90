"""Refuses what the list of :mod:`pycobre.case.unsupported` names, wherever a case has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pycobre.case import files
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.fitted import asked_for
from pycobre.case.inflow import StageInflow
from pycobre.case.production import Choice
from pycobre.case.record import Record
from pycobre.case.stages import StageRecord, StateVariables
from pycobre.case.statistics import read_coefficients
from pycobre.case.unsupported import FIELDS, SETTINGS, UNSUPPORTED, find_refusal
from pycobre.system import season_occurrences


def refuse_unsupported(case: CaseFiles, findings: Findings) -> None:
    """Note everything in *case* that is well written and can't be honoured."""
    _refuse_settings(case, findings)
    _refuse_stages(case, findings)
    _refuse_production(case, findings)


def flatten(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, object]]:
    """Every leaf of nested objects and lists with its dotted path."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from flatten(below, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for position, below in enumerate(value):
            yield from flatten(below, (*path, str(position)))
    else:
        yield ".".join(path), value


def _refuse_settings(case: CaseFiles, findings: Findings) -> None:
    if case.config is None:
        return
    changed = case.config.model_dump(exclude_defaults=True, exclude_none=True, by_alias=True)
    for key, value in flatten(changed):
        if key.startswith("training.stopping_rules."):
            refusal = SETTINGS["training.stopping_rules.gap"] if value == "gap" else None
        else:
            refusal = find_refusal(key)
        if refusal is not None and value not in refusal.accepted:
            entity = "override" if key in case.overridden else None
            field = re.sub(r"\.(\d+)", r"[\1]", key)
            findings.add(
                UNSUPPORTED, files.CONFIG, refusal.reason, entity=entity, field=field, hint=refusal.hint
            )
    _refuse_sources(case, findings)
    if "estimation" in changed and not (case.root / files.INFLOW_HISTORY).is_file():
        findings.warn(
            files.CONFIG,
            "has no effect: there is no history to estimate from",
            field="estimation",
            hint="leave it out",
        )


def _refuse_sources(case: CaseFiles, findings: Findings) -> None:
    """Refuse a simulation with openings of its own: in-sample noise is drawn from one tree."""
    assert case.config is not None
    training, simulation = case.config.training.scenario_source, case.config.simulation.scenario_source
    ours = simulation.openings.source if simulation and simulation.openings else None
    theirs = training.openings.source if training and training.openings else "generated"
    if ours is not None and ours != theirs:
        findings.add(
            UNSUPPORTED,
            files.CONFIG,
            f'the simulation draws from the openings of the training ("{theirs}")',
            field="simulation.scenario_source.openings.source",
            hint="leave it out, or set training.scenario_source.openings.source to the same",
        )
    stalling = [rule for rule in case.config.training.stopping_rules if rule.type == "bound_stalling"]
    if len(stalling) > 1:
        findings.add(
            UNSUPPORTED,
            files.CONFIG,
            "more than one bound_stalling rule",
            field="training.stopping_rules",
            hint="keep one",
        )


def _refuse_fields(
    record: Record, table: type[Record], file: str, entity: str, findings: Findings, prefix: str = ""
) -> None:
    for name, refusal in FIELDS[table].items():
        if getattr(record, name) not in refusal.accepted:
            findings.add(
                UNSUPPORTED, file, refusal.reason, entity=entity, field=prefix + name, hint=refusal.hint
            )


def _refuse_stages(case: CaseFiles, findings: Findings) -> None:
    if case.stages is None:
        return
    graph = case.stages.policy_graph
    if graph.type != "finite_horizon":
        findings.add(
            UNSUPPORTED,
            files.STAGES,
            "horizons that repeat are not modelled for now",
            field="policy_graph.type",
            hint='use "finite_horizon"',
        )
    if graph.nodes:
        findings.add(
            UNSUPPORTED,
            files.STAGES,
            "graphs of nodes are not modelled for now",
            field="policy_graph.nodes",
            hint="leave it out: the stages then follow one another",
        )
    for stage in case.stages.stages:
        entity = name_entity("stage", stage.id)
        _refuse_fields(stage, StageRecord, files.STAGES, entity, findings)
        if stage.state_variables is not None and not stage.state_variables.storage:
            findings.add(
                UNSUPPORTED,
                files.STAGES,
                "storage is always handed to the next stage",
                entity=entity,
                field="state_variables.storage",
                hint="set it to true",
            )


def _refuse_production(case: CaseFiles, findings: Findings) -> None:
    if case.production is None:
        return
    for model in case.production.production_models:
        choices: list[tuple[str, Choice]]
        if model.selection_mode == "seasonal":
            choices = [(f"seasons[{i}].", choice) for i, choice in enumerate(model.seasons)]
        else:
            choices = [(f"stage_ranges[{i}].", choice) for i, choice in enumerate(model.stage_ranges)]
        for prefix, choice in choices:
            _refuse_choice(case, choice, model.hydro_id, prefix, findings)


def _refuse_choice(case: CaseFiles, choice: Choice, hydro: int, prefix: str, findings: Findings) -> None:
    entity = name_entity("hydro", hydro)
    unused = case.tailraces is None and choice.model != "linearized_head"
    if choice.reference_volume is not None and unused and hydro not in asked_for(case):
        findings.warn(
            files.PRODUCTION,
            "has no effect: there are no tailrace curves that depend on the level below",
            entity=entity,
            field=f"{prefix}reference_volume",
            hint="leave it out",
        )
    fpha = choice.fpha_config
    if choice.model != "fpha" or fpha is None or fpha.source == "computed":
        return
    for name in sorted(fpha.model_dump(exclude_none=True, exclude={"source"})):
        findings.add(
            UNSUPPORTED,
            files.PRODUCTION,
            "it only matters for computed planes",
            entity=entity,
            field=f"{prefix}fpha_config.{name}",
            hint="leave it out",
        )


def refuse_lags(case: CaseFiles, inflow: StageInflow | None, findings: Findings) -> None:
    """Note what keeps autoregressive lags from being honoured."""
    stages = case.stages
    used = inflow.used if inflow is not None else read_coefficients(case) != 0
    if stages is None or not used.any():
        return
    flat = [
        stage.id for stage in stages.stages if not (stage.state_variables or StateVariables()).inflow_lags
    ]
    if flat:
        findings.add(
            UNSUPPORTED,
            files.STAGES,
            "inflow lags are always handed to the next stage when inflow models have any;"
            f" stages {list_ids(flat)} say they are not",
            field="state_variables.inflow_lags",
            hint=f"set it to true in every stage, or remove the coefficients ({files.INFLOW_AR}), or set"
            " estimation.max_order to 0",
        )
    seasons = stages.season_definitions
    ordered = sorted(stages.stages, key=lambda stage: stage.id)
    spans = season_occurrences([stage.season_id for stage in ordered])
    lengths = [(ordered[span[-1]].end_date - ordered[span[0]].start_date).days for span in spans]
    custom = seasons is not None and seasons.cycle_type == "custom"
    # Where the dates are wrong, which is said already, lengths mean nothing.
    if not custom and not findings.count and max(lengths) > 2 * min(lengths):
        kind = "no seasons" if seasons is None else f"{seasons.cycle_type} seasons"
        findings.add(
            UNSUPPORTED,
            files.STAGES,
            f"autoregressive lags over stages of {min(lengths)} to {max(lengths)} days need custom seasons of"
            f" either length, but the case has {kind}",
            field="season_definitions.cycle_type",
            hint='use "custom", with the seasons of each length (months and quarters, say) and their own ids,'
            " or make the stages parts of seasons that are alike",
        )
