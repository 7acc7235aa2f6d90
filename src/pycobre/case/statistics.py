"""Tables by entity and stage as dense arrays, in the system's order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pycobre.case.files import CaseFiles
from pycobre.case.stages import StageRecord
from pycobre.case.tables import BoolArray, FloatArray, IntArray, Table


def study_stages(case: CaseFiles) -> list[StageRecord]:
    """Stages ascending by id; empty if they could not be read."""
    return sorted(case.stages.stages, key=lambda stage: stage.id) if case.stages else []


def positions(ids: Sequence[int], values: IntArray) -> IntArray:
    """Where each of *values* is in the ascending *ids*; -1 where it is not."""
    known = np.asarray(ids, dtype=np.int64)
    if known.size == 0:
        return np.full(values.shape, -1, dtype=np.int64)
    found = np.minimum(np.searchsorted(known, values), known.size - 1)
    return np.where(known[found] == values, found, -1)


def spread(
    table: Table, key: str, value: str, entity_ids: Sequence[int], stage_ids: Sequence[int]
) -> FloatArray:
    """Values of a column by entity and stage; NaN where the table has no row."""
    rows, columns = positions(entity_ids, table.ints[key]), positions(stage_ids, table.ints["stage_id"])
    known: BoolArray = (rows >= 0) & (columns >= 0)
    dense = np.full((len(entity_ids), len(stage_ids)), np.nan)
    dense[rows[known], columns[known]] = table.floats[value][known]
    return dense


def hydro_ids(case: CaseFiles) -> list[int]:
    """Ids of the hydro plants, ascending."""
    return sorted({hydro.id for hydro in case.hydros.hydros}) if case.hydros else []


def bus_ids(case: CaseFiles) -> list[int]:
    """Ids of the buses, ascending."""
    return sorted({bus.id for bus in case.buses.buses}) if case.buses else []


def random_bus_ids(case: CaseFiles) -> list[int]:
    """Ids of the buses whose demand is random in some study stage, ascending."""
    if case.load_stats is None:
        return []
    ids = bus_ids(case)
    std = spread(case.load_stats, "bus_id", "std_mw", ids, [stage.id for stage in study_stages(case)])
    random: BoolArray = np.any(std > 0, axis=1)
    return [id for id, drawn in zip(ids, random.tolist(), strict=True) if drawn]


def read_coefficients(case: CaseFiles) -> FloatArray:
    """Standardised autoregressive coefficients that the case gives, (H, T, P); no lag if it gives none."""
    ids, stage_ids = hydro_ids(case), [stage.id for stage in study_stages(case)]
    table = case.inflow_ar
    if table is None:
        return np.zeros((len(ids), len(stage_ids), 0))
    rows, columns = positions(ids, table.ints["hydro_id"]), positions(stage_ids, table.ints["stage_id"])
    lags, values = table.ints["lag"], table.floats["coefficient"]
    known = (rows >= 0) & (columns >= 0) & (values != 0)
    coefficients = np.zeros((len(ids), len(stage_ids), int(lags[known].max(initial=0))))
    coefficients[rows[known], columns[known], lags[known] - 1] = values[known]
    return coefficients
