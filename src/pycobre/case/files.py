"""The files of a case directory: their names, and what was read of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pycobre.case.config import Config
from pycobre.case.entities import (
    BusesFile,
    ContractsFile,
    HydrosFile,
    LinesFile,
    PumpingFile,
    SourcesFile,
    ThermalsFile,
)
from pycobre.case.generic import ConstraintsFile, ParametersFile
from pycobre.case.initial import InitialFile
from pycobre.case.later import LaterFile
from pycobre.case.penalties import PenaltiesFile
from pycobre.case.production import ProductionFile
from pycobre.case.record import Document
from pycobre.case.scenarios import CorrelationFile, LoadFactorsFile, SourceFactorsFile
from pycobre.case.stages import StagesFile

if TYPE_CHECKING:  # these need the names here, for hints
    from pycobre.case.documents import Faulty
    from pycobre.case.tables import Table

CONFIG = "config.json"
STAGES = "stages.json"
PENALTIES = "penalties.json"
INITIAL = "initial_conditions.json"
LATER = "post_study_stages.json"
BUSES = "system/buses.json"
LINES = "system/lines.json"
THERMALS = "system/thermals.json"
HYDROS = "system/hydros.json"
PRODUCTION = "system/hydro_production_models.json"
PLANES = "system/fpha_hyperplanes.parquet"
ENERGY = "system/hydro_energy_productivity.parquet"
INFLOW_STATS = "scenarios/inflow_seasonal_stats.parquet"
INFLOW_AR = "scenarios/inflow_ar_coefficients.parquet"
INFLOW_HISTORY = "scenarios/inflow_history.parquet"
INFLOW_ANNUAL = "scenarios/inflow_annual_component.parquet"
LOAD_STATS = "scenarios/load_seasonal_stats.parquet"
LOAD_FACTORS = "scenarios/load_factors.json"
CORRELATION = "scenarios/correlation.json"
EXTERNAL_INFLOW = "scenarios/external_inflow_scenarios.parquet"
EXTERNAL_LOAD = "scenarios/external_load_scenarios.parquet"
EXTERNAL_SOURCES = "scenarios/external_ncs_scenarios.parquet"
NOISE_OPENINGS = "scenarios/noise_openings.parquet"
THERMAL_BOUNDS = "constraints/thermal_bounds.parquet"
HYDRO_BOUNDS = "constraints/hydro_bounds.parquet"
GROUP_BOUNDS = "constraints/hydro_unit_group_bounds.parquet"
SOURCES = "system/non_controllable_sources.json"
SOURCE_STATS = "scenarios/non_controllable_stats.parquet"
SOURCE_FACTORS = "scenarios/non_controllable_factors.json"
SOURCE_BOUNDS = "constraints/ncs_bounds.parquet"
SOURCE_PENALTIES = "constraints/penalty_overrides_ncs.parquet"
GEOMETRY = "system/hydro_geometry.parquet"
TAILRACES = "system/tailrace_curves.parquet"
CONTRACTS = "system/energy_contracts.json"
CONTRACT_BOUNDS = "constraints/contract_bounds.parquet"
PUMPING = "system/pumping_stations.json"
PUMPING_BOUNDS = "constraints/pumping_bounds.parquet"
CONSTRAINTS = "constraints/generic_constraints.json"
CONSTRAINT_BOUNDS = "constraints/generic_constraint_bounds.parquet"
PARAMETERS = "constraints/generic_parameters.json"
LINE_BOUNDS = "constraints/line_bounds.parquet"
BUS_PENALTIES = "constraints/penalty_overrides_bus.parquet"
LINE_PENALTIES = "constraints/penalty_overrides_line.parquet"
HYDRO_PENALTIES = "constraints/penalty_overrides_hydro.parquet"

ENTITY_FILES = {
    "buses": BUSES,
    "lines": LINES,
    "thermals": THERMALS,
    "hydros": HYDROS,
    "sources": SOURCES,
    "contracts": CONTRACTS,
    "pumps": PUMPING,
}
"""Files that describe the entities, by their kind."""

FOLDERS = ("system", "scenarios", "constraints")


@dataclass
class CaseFiles:
    """What was read; ``None`` for a file that is absent or wrong, which ``broken`` tells apart.

    Attributes
    ----------
    broken
        Files of which nothing can be used.
    remainders
        What is left of some of them without what is wrong, by attribute.
    lost
        Ids of what was left out of each such file; ``None`` if not all are known.
    faulty
        What was left out of each such JSON file.
    overridden
        Dotted keys of the configuration that were overridden.
    """

    root: Path
    config: Config | None = None
    stages: StagesFile | None = None
    penalties: PenaltiesFile | None = None
    initial: InitialFile | None = None
    later: LaterFile | None = None
    buses: BusesFile | None = None
    lines: LinesFile | None = None
    thermals: ThermalsFile | None = None
    hydros: HydrosFile | None = None
    production: ProductionFile | None = None
    load_factors: LoadFactorsFile | None = None
    correlation: CorrelationFile | None = None
    planes: Table | None = None
    energy: Table | None = None
    inflow_stats: Table | None = None
    inflow_ar: Table | None = None
    inflow_history: Table | None = None
    inflow_annual: Table | None = None
    load_stats: Table | None = None
    external_inflow: Table | None = None
    external_load: Table | None = None
    external_sources: Table | None = None
    noise_openings: Table | None = None
    thermal_bounds: Table | None = None
    sources: SourcesFile | None = None
    source_stats: Table | None = None
    source_factors: SourceFactorsFile | None = None
    source_bounds: Table | None = None
    source_penalties: Table | None = None
    tailraces: Table | None = None
    geometry: Table | None = None
    contracts: ContractsFile | None = None
    contract_bounds: Table | None = None
    pumping: PumpingFile | None = None
    pumping_bounds: Table | None = None
    constraints: ConstraintsFile | None = None
    parameters: ParametersFile | None = None
    constraint_bounds: Table | None = None
    hydro_bounds: Table | None = None
    group_bounds: Table | None = None
    line_bounds: Table | None = None
    bus_penalties: Table | None = None
    line_penalties: Table | None = None
    hydro_penalties: Table | None = None
    broken: set[str] = field(default_factory=set)
    remainders: dict[str, Document | Table] = field(default_factory=dict)
    lost: dict[str, frozenset[int] | None] = field(default_factory=dict)
    faulty: dict[str, tuple[Faulty, ...]] = field(default_factory=dict)
    overridden: frozenset[str] = frozenset()

    def readable(self) -> CaseFiles:
        """With what is left of broken files in their place, for checks that look at what is there.

        What is missing in it may only be missing because it could not be read.
        """
        kept: dict[str, Any] = self.remainders
        return replace(self, **kept, broken=self.broken - set(self.lost))

    def faulty_in(self, file: str, group: str) -> list[Faulty]:
        """Records of a list that are wrong: what they name is none the less to be there."""
        return [faulty for faulty in self.faulty.get(file, ()) if faulty.group == group]

    def whole(self, *names: str) -> bool:
        """Whether the files of these *names* were read without leaving anything out, or are not there."""
        return (self.broken | set(self.lost)).isdisjoint(names)

    def known(self, file: str, ids: Iterable[int]) -> set[int] | None:
        """The *ids* in a file with those that could not be read; ``None`` if there may be others."""
        lost = self.lost.get(file, frozenset())
        return None if file in self.broken or lost is None else {*ids, *lost}
