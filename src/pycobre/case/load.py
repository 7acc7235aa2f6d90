"""A case directory read, checked layer by layer, and turned into a power system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from pycobre.case import columns, files, renames, tables
from pycobre.case.ahead import check_ahead
from pycobre.case.build import Resolved, build_system
from pycobre.case.calendar import check_calendar
from pycobre.case.changes import resolve_changes
from pycobre.case.config import Config
from pycobre.case.constraints import resolve_constraints
from pycobre.case.dimensions import check_dimensions
from pycobre.case.documents import UNREADABLE, Remainder, parse_document, read_json
from pycobre.case.entities import (
    BusesFile,
    ContractsFile,
    HydrosFile,
    LinesFile,
    PumpingFile,
    SourcesFile,
    ThermalsFile,
)
from pycobre.case.estimation import estimate_inflow
from pycobre.case.files import CaseFiles
from pycobre.case.filling import check_filling
from pycobre.case.findings import Findings
from pycobre.case.fitting import Fit
from pycobre.case.format import FORMAT_VERSION, version_of
from pycobre.case.generic import ConstraintsFile, ParametersFile
from pycobre.case.geometry import read_geometry, resolve_evaporation
from pycobre.case.groups import resolve_groups
from pycobre.case.inflow import check_residuals, stage_inflow
from pycobre.case.initial import InitialFile
from pycobre.case.lags import note_impossible, resolve_lags
from pycobre.case.later import LaterFile
from pycobre.case.limits import CHANGE_TABLES
from pycobre.case.noise import resolve_correlation, resolve_openings
from pycobre.case.options import StudyOptions, check_options, read_options
from pycobre.case.overrides import apply_overrides
from pycobre.case.penalties import PenaltiesFile
from pycobre.case.physics import check_physics
from pycobre.case.plants import resolve_production
from pycobre.case.production import ProductionFile
from pycobre.case.record import Document
from pycobre.case.references import check_references
from pycobre.case.refusals import refuse_lags, refuse_unsupported
from pycobre.case.replay import Scenarios, resolve_scenarios
from pycobre.case.scenarios import CorrelationFile, LoadFactorsFile, SourceFactorsFile
from pycobre.case.service import check_service
from pycobre.case.sources import check_sources
from pycobre.case.stages import StagesFile
from pycobre.case.tables import FloatArray
from pycobre.case.travel import check_travel
from pycobre.errors import CaseError, Problem
from pycobre.stochastic import ImpossibleModel, inflow_recursion
from pycobre.system import System

# (attribute of CaseFiles, file, records, required)
DOCUMENTS: tuple[tuple[str, str, type[Document], bool], ...] = (
    ("config", files.CONFIG, Config, True),
    ("stages", files.STAGES, StagesFile, True),
    ("penalties", files.PENALTIES, PenaltiesFile, True),
    ("initial", files.INITIAL, InitialFile, True),
    ("later", files.LATER, LaterFile, False),
    ("buses", files.BUSES, BusesFile, True),
    ("lines", files.LINES, LinesFile, True),
    ("thermals", files.THERMALS, ThermalsFile, True),
    ("hydros", files.HYDROS, HydrosFile, True),
    ("production", files.PRODUCTION, ProductionFile, False),
    ("load_factors", files.LOAD_FACTORS, LoadFactorsFile, False),
    ("sources", files.SOURCES, SourcesFile, False),
    ("contracts", files.CONTRACTS, ContractsFile, False),
    ("pumping", files.PUMPING, PumpingFile, False),
    ("source_factors", files.SOURCE_FACTORS, SourceFactorsFile, False),
    ("constraints", files.CONSTRAINTS, ConstraintsFile, False),
    ("parameters", files.PARAMETERS, ParametersFile, False),
    ("correlation", files.CORRELATION, CorrelationFile, False),
)
TABLES: tuple[tuple[str, str, columns.TableSpec], ...] = (
    ("planes", files.PLANES, columns.PLANES),
    ("energy", files.ENERGY, columns.ENERGY),
    ("inflow_stats", files.INFLOW_STATS, columns.INFLOW_STATS),
    ("inflow_ar", files.INFLOW_AR, columns.INFLOW_AR),
    ("inflow_history", files.INFLOW_HISTORY, columns.INFLOW_HISTORY),
    ("inflow_annual", files.INFLOW_ANNUAL, columns.INFLOW_ANNUAL),
    ("load_stats", files.LOAD_STATS, columns.LOAD_STATS),
    ("external_inflow", files.EXTERNAL_INFLOW, columns.EXTERNAL_INFLOW),
    ("external_load", files.EXTERNAL_LOAD, columns.EXTERNAL_LOAD),
    ("external_sources", files.EXTERNAL_SOURCES, columns.EXTERNAL_SOURCES),
    ("noise_openings", files.NOISE_OPENINGS, columns.NOISE_OPENINGS),
    ("source_stats", files.SOURCE_STATS, columns.SOURCE_STATS),
    ("tailraces", files.TAILRACES, columns.TAILRACES),
    ("geometry", files.GEOMETRY, columns.GEOMETRY),
    ("group_bounds", files.GROUP_BOUNDS, columns.GROUP_BOUNDS),
    ("constraint_bounds", files.CONSTRAINT_BOUNDS, columns.CONSTRAINT_BOUNDS),
    *((table.name, table.file, table.spec) for table in CHANGE_TABLES),
)


@dataclass(frozen=True, eq=False)
class Case:
    """A case directory that was read and found right.

    Attributes
    ----------
    path
        The directory; ``None`` for a case that was made in Python.
    system
        The power system, its stages and statistics.
    options
        How to train and simulate.
    openings
        Given noise, one array of shape (openings, noise dimension) a stage; ``None`` if it is drawn.
    scenarios
        What forward passes replay, by class (``inflow``, ``load``, ``ncs``) and scheme (``external``,
        ``historical``): one array a stage, (scenarios, hydros) in m³/s, (scenarios, buses of random
        demand) in MW, or (scenarios, sources with statistics) as shares of the capacity.
    warnings
        What is odd about the case, but honoured.
    fits
        How computed planes were fitted, by hydro and stage id.
    """

    path: Path | None
    system: System
    options: StudyOptions
    openings: tuple[FloatArray, ...] | None
    scenarios: Scenarios
    warnings: tuple[Problem, ...]
    fits: Mapping[tuple[int, int], Fit] = field(default_factory=dict)

    def __repr__(self) -> str:
        where = "made in Python" if self.path is None else str(self.path)
        warnings = f"; {len(self.warnings)} warning{'s' * (len(self.warnings) > 1)}" if self.warnings else ""
        return f"Case({where}: {self.system.contents}{warnings})"


def load_case(path: str | PathLike[str], overrides: Mapping[str, object] | None = None) -> Case:
    """Case in a directory of Cobre's 0.18 format.

    Parameters
    ----------
    path
        The case directory.
    overrides
        Settings on top of ``config.json`` by dotted key, such as
        ``{"training.selection.forward_passes": 8}``, or by one of the short keys ``training.iterations``,
        ``training.forward_passes`` and ``simulation.num_scenarios``.

    Raises
    ------
    CaseError
        The case is wrong or asks for something that can't be honoured; ``problems`` lists everything.
    """
    case, problems = check_case(path, overrides)
    if case is None:
        raise CaseError([problem for problem in problems if problem.kind != "warning"])
    return case


def check_case(
    path: str | PathLike[str], overrides: Mapping[str, object] | None = None
) -> tuple[Case | None, tuple[Problem, ...]]:
    """Case, or ``None`` if it has errors, and all problems found: errors first, then warnings.

    The parameters are those of :func:`load_case`.
    """
    findings = Findings()
    root = Path(path)
    if not any((root / file).is_file() for _, file, _, required in DOCUMENTS if required):
        reason = "is not a directory" if root.exists() else "does not exist"
        findings.add(
            "structure",
            str(root),
            "holds none of the files of a case" if root.is_dir() else reason,
            hint="give the directory that holds config.json and the folders system and scenarios",
        )
        return None, findings.errors
    files_read = _read(root, overrides or {}, findings)
    _note_strangers(root, findings)
    readable = files_read.readable()
    refuse_unsupported(readable, findings)
    check_options(files_read, findings)
    check_references(readable, findings)
    check_dimensions(files_read, findings)
    check_calendar(readable, findings)
    check_physics(readable, findings)
    check_service(readable, findings)
    check_filling(files_read, findings)
    check_sources(files_read, findings)
    check_travel(files_read, findings)
    groups = resolve_groups(readable, findings)
    changes = resolve_changes(readable, groups, findings)
    check_ahead(files_read, changes, findings)
    production = resolve_production(files_read, findings)
    evaporation = resolve_evaporation(files_read, read_geometry(files_read.geometry), findings)
    constraints = resolve_constraints(readable, production.models if production else None, findings)
    estimated = estimate_inflow(files_read, findings)
    inflow = stage_inflow(files_read, estimated)
    check_residuals(files_read, inflow, findings)
    refuse_lags(files_read, inflow, findings)
    lags = resolve_lags(files_read, inflow, estimated, findings)
    correlation = resolve_correlation(files_read, estimated, findings)
    openings = resolve_openings(files_read, findings)
    scenarios = resolve_scenarios(files_read, findings)
    problems = findings.errors + findings.warnings
    if findings.errors or production is None or inflow is None or lags is None or correlation is None:
        return None, problems
    assert files_read.config is not None
    system = build_system(
        files_read,
        Resolved(
            inflow=inflow,
            lags=lags,
            production=production.models,
            correlation=correlation,
            changes=changes,
            constraints=constraints,
            evaporation=evaporation,
            groups=groups,
        ),
    )
    try:
        inflow_recursion(system.inflow, system.stages)
    except ImpossibleModel as error:
        note_impossible(files_read, error.hydro, error.stage, findings)
        return None, findings.errors + findings.warnings
    case = Case(
        path=root,
        system=system,
        options=read_options(files_read.config),
        openings=openings,
        scenarios=scenarios,
        warnings=findings.warnings,
        fits=production.fits,
    )
    return case, problems


def _read(root: Path, overrides: Mapping[str, object], findings: Findings) -> CaseFiles:
    result = CaseFiles(root)
    for name, file, model, required in DOCUMENTS:
        if not (root / file).is_file():
            if required:
                findings.add("structure", file, "the file is missing", hint="every case needs it")
                result.broken.add(file)
            continue
        content = read_json(root, file, findings)
        content, overridden = apply_overrides(file, content, overrides, findings)
        if file == files.CONFIG:
            result.overridden = overridden
        parsed: Document | Remainder[Document] | None = None
        if content is not UNREADABLE:
            parsed = parse_document(content, file, model, findings, overridden)
        if isinstance(parsed, Document):
            _check_version(file, parsed.schema_uri, findings)
            setattr(result, name, parsed)
            continue
        result.broken.add(file)
        if parsed is not None:
            result.remainders[name], result.lost[file] = parsed.document, parsed.lost
            result.faulty[file] = parsed.faulty
    for name, file, spec in TABLES:
        if (root / file).is_file():
            table, whole = tables.read_table(root, file, spec, findings)
            if whole:
                setattr(result, name, table)
                continue
            result.broken.add(file)
            if table is not None:
                result.remainders[name], result.lost[file] = table, None
    return result


def _check_version(file: str, uri: str | None, findings: Findings) -> None:
    version = version_of(uri)
    if version not in (None, FORMAT_VERSION):
        findings.add(
            "schema",
            file,
            f"is written for format {version}, and this reads {FORMAT_VERSION}",
            field="$schema",
            hint="use a pycobre of that format; for what Cobre 0.5.1 reads, pycobre migrate",
        )


def _note_strangers(root: Path, findings: Findings) -> None:
    """Note files that nothing reads: a misspelt name would otherwise go unnoticed."""
    known = {file for _, file, _, _ in DOCUMENTS} | {file for _, file, _ in TABLES}
    found = [path for path in sorted(root.iterdir()) if path.suffix in (".json", ".parquet")]
    for folder in files.FOLDERS:
        if (root / folder).is_dir():
            found += sorted((root / folder).rglob("*"))
    for path in found:
        file = path.relative_to(root).as_posix()
        if not path.is_file() or path.name.startswith(".") or file in known:
            continue
        if file in renames.FILES:
            findings.add("structure", file, "is not read since 0.18", hint=renames.FILES[file])
            continue
        near = get_close_matches(file, sorted(known), n=1, cutoff=0.8)
        findings.warn(
            file,
            "is not part of the format and is not read",
            hint=f"did you mean {near[0]}?" if near else None,
        )
