"""Scenarios that forward passes can replay: given ones, and years of the history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np

from pycobre.case import files
from pycobre.case.config import ScenarioSource, YearRange
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.history import average, check_windows, day_of, number_of
from pycobre.case.sources import drawn_source_ids
from pycobre.case.statistics import hydro_ids, positions, random_bus_ids, spread, study_stages
from pycobre.case.tables import FloatArray, Table

DIMENSION = "dimension"
Scenarios = dict[tuple[str, str], tuple[FloatArray, ...]]
"""By class and scheme: one array (S, n) a stage, in m³/s, MW or shares of capacity; hydros, random buses or
sources with statistics by id."""


def resolve_scenarios(case: CaseFiles, findings: Findings) -> Scenarios:
    """Every scenario that some forward pass replays, after noting what is missing."""
    if case.config is None or case.stages is None or case.hydros is None or case.buses is None:
        return {}
    training, simulation = case.config.training.scenario_source, case.config.simulation.scenario_source
    sources = [source for source in (training, simulation) if source is not None]
    wanted = {
        (name, scheme.scheme)
        for source in sources
        for name in ("inflow", "load", "ncs")
        if (scheme := getattr(source, name)) is not None
    }
    found: Scenarios = {}
    external: tuple[tuple[str, str, Table | None, str, str, list[int]], ...] = (
        ("inflow", files.EXTERNAL_INFLOW, case.external_inflow, "hydro", "value_m3s", hydro_ids(case)),
        ("load", files.EXTERNAL_LOAD, case.external_load, "bus", "value_mw", random_bus_ids(case)),
        ("ncs", files.EXTERNAL_SOURCES, case.external_sources, "ncs", "value", drawn_source_ids(case)),
    )
    # What says which entities are random, beside the hydros, which all are.
    random = {"load": {files.LOAD_STATS}, "ncs": {files.SOURCES, files.SOURCE_STATS}}
    for name, file, table, kind, value, ids in external:
        there = (case.root / file).is_file()
        if (name, "external") not in wanted:
            if there:
                findings.warn(file, f"no forward pass replays external scenarios of the class {name}")
        elif not there:
            findings.add(
                "structure",
                file,
                "is missing, but forward passes shall replay it",
                hint=f"add the file, or choose another scheme for scenario_source.{name}",
            )
        elif table is not None and not case.broken.intersection(random.get(name, ())):
            found[name, "external"] = _external(case, table, file, kind, value, ids, findings)
            _check_certain(case, table, file, kind, value, ids, findings)
    for name, what in (("load", "demands"), ("ncs", "the sources' availability")):
        if (name, "historical") in wanted:
            findings.add(
                DIMENSION,
                files.CONFIG,
                f"there is no history of {what} to replay",
                field=f"scenario_source.{name}.scheme",
                hint='use "in_sample", "out_of_sample" or "external"',
            )
    _resolve_history(case, sources, ("inflow", "historical") in wanted, found, findings)
    return found


def _external(
    case: CaseFiles, table: Table, file: str, kind: str, value: str, ids: list[int], findings: Findings
) -> tuple[FloatArray, ...]:
    stages, column = study_stages(case), positions(ids, table.ints[f"{kind}_id"])
    found = []
    for stage in stages:
        rows = np.flatnonzero((table.ints["stage_id"] == stage.id) & (column >= 0))
        numbers = np.unique(table.ints["scenario_id"][rows])
        values = np.full((len(numbers), len(ids)), np.nan)
        values[np.searchsorted(numbers, table.ints["scenario_id"][rows]), column[rows]] = table.floats[value][
            rows
        ]
        entity = name_entity("stage", stage.id)
        if len(numbers) == 0 or np.isnan(values).any():
            lost = [id for id, gap in zip(ids, np.isnan(values).any(axis=0), strict=True) if gap]
            findings.add(
                DIMENSION,
                file,
                f"has no value in some scenario for {kind} {list_ids(lost)}" if lost else "has no scenario",
                entity=entity,
                field="scenario_id",
                hint="every scenario needs every plant, bus of random demand, or source with statistics",
            )
            continue
        found.append(values)
    return tuple(found) if len(found) == len(stages) else ()


def _check_certain(
    case: CaseFiles, table: Table, file: str, kind: str, value: str, ids: list[int], findings: Findings
) -> None:
    """Note scenarios of buses and sources that have no noise, and so can't follow them."""
    stages = [stage.id for stage in study_stages(case)]
    others = sorted(set(table.ints[f"{kind}_id"].tolist()) - set(ids))
    certain = np.ones((len(others), len(stages)))  # all of a source's capacity
    if kind == "bus":
        certain[:] = 0.0
        if case.load_stats is not None:
            certain[:] = np.nan_to_num(spread(case.load_stats, "bus_id", "mean_mw", others, stages))
    rows, columns = positions(others, table.ints[f"{kind}_id"]), positions(stages, table.ints["stage_id"])
    inside = (rows >= 0) & (columns >= 0)
    missed = ~np.isclose(table.floats[value][inside], certain[rows[inside], columns[inside]])
    noun = "source" if kind == "ncs" else kind
    for row in sorted(set(rows[inside][missed].tolist())):
        findings.add(
            DIMENSION,
            file,
            "has scenarios, but nothing random that could follow them",
            entity=name_entity(noun, others[row]),
            field=value,
            hint="give it a deviation in some stage, or leave its rows out",
        )


def _resolve_history(
    case: CaseFiles, sources: Sequence[ScenarioSource], wanted: bool, found: Scenarios, findings: Findings
) -> None:
    given = [source.historical_years for source in sources if source.historical_years is not None]
    if not wanted:
        if given:
            findings.warn(
                files.CONFIG,
                "has no effect: no forward pass replays the history",
                field="scenario_source.historical_years",
                hint="leave it out",
            )
        return
    if case.inflow_history is None:
        if not (case.root / files.INFLOW_HISTORY).is_file():
            findings.add(
                "structure",
                files.INFLOW_HISTORY,
                "is missing, but forward passes shall replay it",
                hint="add it, or choose another scheme than historical",
            )
        return
    if any(years != given[0] for years in given):
        findings.add(
            DIMENSION,
            files.CONFIG,
            "training and simulation must replay the same years",
            field="simulation.scenario_source.historical_years",
            hint="give the same years twice, or once",
        )
    if not check_windows(case, findings):
        return
    table = case.inflow_history
    first, last = (day_of(int(day)) for day in (table.ints["start_date"].min(), table.ints["end_date"].max()))
    years = _years(given[0]) if given else list(range(first.year, last.year + 1))
    values = {year: _replayed(case, year) for year in years}
    whole = [year for year in years if not np.isnan(values[year]).any()]
    short = sorted(set(years) - set(whole))
    if not whole or (given and short):
        findings.add(
            DIMENSION,
            files.INFLOW_HISTORY,
            f"does not cover the study's periods of every plant from years {list_ids(short)}",
            hint="choose other training.scenario_source.historical_years",
        )
        return
    stacked = np.array([values[year] for year in whole])
    found["inflow", "historical"] = tuple(stacked[:, :, t] for t in range(stacked.shape[2]))


def _years(given: list[int] | YearRange) -> list[int]:
    return sorted(set(given)) if isinstance(given, list) else list(range(given.from_, given.to_ + 1))


def _replayed(case: CaseFiles, year: int) -> FloatArray:
    """Inflows (H, T) of the study's periods if its first stage were in *year*."""
    assert case.inflow_history is not None
    stages, ids = study_stages(case), hydro_ids(case)
    back = stages[0].start_date.year - year
    starts = np.array([number_of(_earlier(stage.start_date, back)) for stage in stages], dtype=np.int64)
    ends = np.array([number_of(_earlier(stage.end_date, back)) for stage in stages], dtype=np.int64)
    rows = positions(ids, case.inflow_history.ints["hydro_id"])
    return average(case.inflow_history, rows, len(ids), starts, ends)


def _earlier(day: date, years: int) -> date:
    """The same day so many years before; the first of March for a leap day that year has not."""
    try:
        return day.replace(year=day.year - years)
    except ValueError:
        return date(day.year - years, 3, 1)
