"""What a m³/s is worth at a plant, and at all below it: numbers for parameters of generic constraints.

With heads as for computed planes, at the plant's largest flow, a plant makes k · head of a m³/s: at its
reference volume, or in the mean of its storage limits. The level is a chain of lines, so its mean is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings
from pycobre.case.fitted import Fitting
from pycobre.case.fitting import Head
from pycobre.case.plants import read_energy, read_references
from pycobre.case.stages import StageRecord
from pycobre.case.tables import NULL_ID, Table
from pycobre.system import ProductionModel, ProductionPlanes

OUTFLOW = "reference_outflow_m3s"


class Energy:
    """Productivities of the plants of a case whose production is right."""

    def __init__(self, case: CaseFiles, production: Mapping[int, tuple[ProductionModel, ...]]) -> None:
        self.production = production
        self.hydros = {hydro.id: hydro for hydro in case.hydros.hydros} if case.hydros else {}
        # What is wrong with heads was noted when the production models were resolved.
        self.heads = Fitting(case, read_references(case), Findings())
        self.given = read_energy(case.energy)
        self.outflows = _read_outflows(case.energy)

    def reference_hm3(self, hydro: int, stage: StageRecord) -> float:
        """Volume that the plant's head is taken at."""
        return self.heads.reference_hm3(self.hydros[hydro], stage)

    def reference_m3s(self, hydro: int, stage: StageRecord) -> float:
        """Turbined flow that the case names for the plant, else its largest."""
        most = self.hydros[hydro].generation.max_turbined_m3s
        return self.outflows.get((hydro, stage.id), self.outflows.get((hydro, NULL_ID), most))

    def specific_mw(self, hydro: int, stage: StageRecord) -> float:
        """MW that the plant makes of 1 m³/s and m."""
        return self.heads.specific_mw(self.hydros[hydro], stage)

    def equivalent_mw(self, hydro: int, stage: StageRecord, t: int) -> float:
        """MW per m³/s at the reference volume; NaN where nothing says it."""
        model = self.production[hydro][t]
        if not isinstance(model, ProductionPlanes):
            return model.mw_per_m3s
        given = self.given.get((hydro, stage.id), self.given.get((hydro, NULL_ID)))
        if given is not None:
            return given
        head = self.heads.head(self.hydros[hydro], stage)
        return float("nan") if head is None else _mw_per_m3s(head, *[self.reference_hm3(hydro, stage)] * 2)

    def integrated_mw(self, hydro: int, stage: StageRecord, t: int) -> float:
        """MW per m³/s in the mean of the storage limits.

        A productivity that a table gives stands above it; where no heads are known, it is that at the
        reference volume.
        """
        given = self.given.get((hydro, stage.id), self.given.get((hydro, NULL_ID)))
        if given is not None:
            return given
        plant = self.hydros[hydro]
        head, store = self.heads.head(plant, stage), plant.reservoir
        if head is None or not self.heads.has_specific(plant, stage):
            return self.equivalent_mw(hydro, stage, t)
        return _mw_per_m3s(head, store.min_storage_hm3, store.max_storage_hm3)

    def down_from(self, hydro: int) -> Iterator[int]:
        """The plant, and all that its water comes to."""
        seen: set[int] = set()
        below: int | None = hydro
        while below is not None and below in self.hydros and below not in seen:
            seen.add(below)
            yield below
            below = self.hydros[below].downstream_id

    def span_hm3(self, hydro: int) -> float:
        """Volume between the plant's storage limits."""
        store = self.hydros[hydro].reservoir
        return store.max_storage_hm3 - store.min_storage_hm3


def _mw_per_m3s(head: Head, low_hm3: float, high_hm3: float) -> float:
    """Productivity in the mean of a range of volumes, at the plant's largest flow."""
    points = head.geometry.volume_hm3
    # Beyond its points the geometry says nothing.
    low, high = (float(np.clip(volume, points[0], points[-1])) for volume in (low_hm3, high_hm3))
    volumes = np.array([low, *points[(points > low) & (points < high)], high])
    net = head.net_m(volumes, np.full(len(volumes), head.hydro.generation.max_turbined_m3s))
    steps = np.diff(volumes)
    mean = float(np.sum(steps * (net[1:] + net[:-1]) / 2.0)) / (high - low) if high > low else float(net[0])
    return head.mw_per_m3s_m * mean


def _read_outflows(table: Table | None) -> dict[tuple[int, int], float]:
    if table is None:
        return {}
    values = table.floats[OUTFLOW]
    known = ~np.isnan(values)
    keys = zip(table.ints["hydro_id"][known].tolist(), table.ints["stage_id"][known].tolist(), strict=True)
    return dict(zip(keys, values[known].tolist(), strict=True))
