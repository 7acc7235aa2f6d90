"""Non-controllable sources: what is wrong with their data, and what the system makes of it."""

from __future__ import annotations

import numpy as np

from pycobre.case import files
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.service import service_of
from pycobre.case.statistics import spread, study_stages
from pycobre.system import Source, SourceStatistics

DIMENSION = "dimension"


def source_ids(case: CaseFiles) -> list[int]:
    """Ids of the sources, ascending."""
    return sorted({source.id for source in case.sources.non_controllable_sources}) if case.sources else []


def drawn_source_ids(case: CaseFiles) -> list[int]:
    """Ids of the sources that have statistics, and with them a noise term, ascending."""
    if case.source_stats is None:
        return []
    return sorted(set(case.source_stats.ints["ncs_id"].tolist()) & set(source_ids(case)))


def check_sources(case: CaseFiles, findings: Findings) -> None:
    """Note what does not fit together in the data of the sources."""
    if case.sources is None:
        for file, found in (
            (files.SOURCE_STATS, case.source_stats),
            (files.SOURCE_FACTORS, case.source_factors),
        ):
            if found is not None and files.SOURCES not in case.broken:
                findings.add(
                    "reference",
                    file,
                    "there are no non-controllable sources",
                    hint=f"add {files.SOURCES}, or remove this file",
                )
        return
    stage_ids = [stage.id for stage in study_stages(case)]
    names = {source.id: source.name for source in case.sources.non_controllable_sources}
    drawn = drawn_source_ids(case)
    if case.source_stats is not None:
        absent = np.isnan(spread(case.source_stats, "ncs_id", "mean", drawn, stage_ids))
        for id, gaps in zip(drawn, absent, strict=True):
            missing = [stage for stage, gap in zip(stage_ids, gaps, strict=True) if gap]
            if missing:
                findings.add(
                    DIMENSION,
                    files.SOURCE_STATS,
                    f"has statistics in some stages, but no row for {list_ids(missing)}",
                    entity=name_entity("source", id, names[id]),
                    field="stage_id",
                    hint="give a row for every stage, or none at all: it is fully available then",
                )
    if case.source_bounds is not None:
        for id in sorted(set(case.source_bounds.ints["ncs_id"].tolist()) & set(drawn)):
            findings.add(
                DIMENSION,
                files.SOURCE_BOUNDS,
                f"has statistics ({files.SOURCE_STATS}), which say what is available",
                entity=name_entity("source", id, names[id]),
                field="available_generation_mw",
                hint="keep either its statistics or these rows",
            )
    _check_factors(case, names, findings)


def _check_factors(case: CaseFiles, names: dict[int, str], findings: Findings) -> None:
    blocks = {stage.id: {block.id for block in stage.blocks} for stage in study_stages(case)}
    stages = case.known(files.STAGES, blocks)
    seen: set[tuple[int, int]] = set()
    for item in case.source_factors.non_controllable_factors if case.source_factors else []:
        entity = f"{name_entity('source', item.ncs_id, names.get(item.ncs_id))}, stage {item.stage_id}"
        ids = [factor.block_id for factor in item.block_factors]
        wrong: list[tuple[str, str, str]] = []
        if item.ncs_id not in names:
            wrong.append((f"source {item.ncs_id} does not exist", "ncs_id", f"ids are {list_ids(names)}"))
        if stages is not None and item.stage_id not in stages:
            wrong.append(
                (f"stage {item.stage_id} does not exist", "stage_id", f"stages are {list_ids(stages)}")
            )
        elif set(ids) - blocks.get(item.stage_id, set(ids)):
            strange = list_ids(set(ids) - blocks[item.stage_id])
            wrong.append(
                (
                    f"block {strange} does not exist in this stage",
                    "block_factors",
                    f"blocks are {list_ids(blocks[item.stage_id])}",
                )
            )
        if len(set(ids)) < len(ids):
            wrong.append(("a block is given more than once", "block_factors", "keep one"))
        if (item.ncs_id, item.stage_id) in seen:
            wrong.append(("is given more than once", "stage_id", "keep one"))
        seen.add((item.ncs_id, item.stage_id))
        for message, field, hint in wrong:
            findings.add("reference", files.SOURCE_FACTORS, message, entity=entity, field=field, hint=hint)


def build_sources(case: CaseFiles) -> tuple[Source, ...]:
    """Sources of a case without errors."""
    if case.sources is None:
        return ()
    assert case.penalties is not None
    default, stages = case.penalties.non_controllable_source.curtailment_cost, study_stages(case)
    return tuple(
        Source(
            id=source.id,
            name=source.name,
            bus_id=source.bus_id,
            generation_max_mw=source.max_generation_mw,
            may_be_curtailed=source.allow_curtailment,
            curtailment_cost_per_mwh=default if source.curtailment_cost is None else source.curtailment_cost,
            service=service_of(source, stages),
        )
        for source in sorted(case.sources.non_controllable_sources, key=lambda source: source.id)
    )


def build_source_statistics(case: CaseFiles) -> SourceStatistics:
    """Availability of the sources of a case without errors."""
    ids, stages, drawn = source_ids(case), study_stages(case), drawn_source_ids(case)
    stage_ids = [stage.id for stage in stages]
    mean, std = np.ones((len(ids), len(stages))), np.zeros((len(ids), len(stages)))
    rows = [ids.index(id) for id in drawn]
    if case.source_stats is not None and rows:
        mean[rows] = spread(case.source_stats, "ncs_id", "mean", drawn, stage_ids)
        std[rows] = spread(case.source_stats, "ncs_id", "std", drawn, stage_ids)
    factor = np.ones((len(ids), len(stages), max(len(stage.blocks) for stage in stages)))
    for item in case.source_factors.non_controllable_factors if case.source_factors else []:
        for block in item.block_factors:
            factor[ids.index(item.ncs_id), stage_ids.index(item.stage_id), block.block_id] = block.factor
    return SourceStatistics(mean, std, factor, tuple(rows))
