"""Balances of a simulation, from its written tables alone: power, water, storage and money.

Scenarios are read in batches, so results larger than memory can be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pycobre.errors import ResultsError
from pycobre.results.durable import explained
from pycobre.results.schema import COST_COLUMNS
from pycobre.system import hm3_per_m3s

if TYPE_CHECKING:
    from pycobre.results.open import Results

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-6
"""What a balance may miss, relative to the sum of its terms' sizes where that is above 1."""

_BATCH_ROWS = 2_000_000


@dataclass(frozen=True)
class Balance:
    """One kind of balance in all scenarios.

    Attributes
    ----------
    name, unit
        What balances, and in what unit.
    count
        How many of them there are.
    worst
        The largest miss.
    place
        Where it is.
    broken
        How many miss by more than :data:`TOLERANCE` allows.
    """

    name: str
    unit: str
    count: int
    worst: float
    place: str
    broken: int

    @property
    def holds(self) -> bool:
        """Whether none is broken."""
        return self.broken == 0

    def __str__(self) -> str:
        told = f"{self.name}: {self.count:,} balances, the worst misses {self.worst:.2g} {self.unit}"
        return told if self.holds else f"{told} ({self.place}); {self.broken:,} are broken"


def check_balances(results: Results) -> tuple[Balance, ...]:
    """Every balance that the tables of a simulation must keep, in the order in which they are told.

    Those of which the study has none are left out, such as that of water under way where none takes time.

    Raises
    ------
    ResultsError
        There is no simulation, or a table lacks rows.
    """
    if "scenarios" not in results.tables:
        raise ResultsError(f"{results.path} holds no simulation to check")
    found: dict[str, Balance] = {}
    for batch in _batches(results):
        water = (_water(batch), _continuity(batch), *_under_way(batch))
        for balance in (_power(batch), *water, _commitments(batch), *_money(batch)):
            found[balance.name] = _joined(found.get(balance.name), balance)
    return tuple(balance for balance in found.values() if balance.count)


def _joined(before: Balance | None, now: Balance) -> Balance:
    if before is None:
        return now
    # As within a batch: of broken ones the worst, not a large one that is within its tolerance.
    worse = max(before, now, key=lambda balance: (not balance.holds, balance.worst))
    return replace(worse, count=before.count + now.count, broken=before.broken + now.broken)


class _Batch:
    """M scenarios: columns as (M, T or all blocks, entities) arrays, and what they stand for."""

    def __init__(
        self, results: Results, ids: NDArray[np.int32], blocks: pa.Table, entities: list[dict[str, Any]]
    ) -> None:
        self._results, self.ids = results, ids
        self.stage_of_block, self.block = (blocks[name].to_numpy() for name in ("stage_id", "block_id"))
        self.hours: FloatArray = blocks["hours"].to_numpy()
        self.starts = np.flatnonzero(np.diff(self.stage_of_block, prepend=self.stage_of_block[0] - 1))
        self.stage = self.stage_of_block[self.starts]
        self.start_date = blocks["start_date"].to_numpy()[self.starts]
        self.entities: dict[str, list[dict[str, Any]]] = {}
        for row in entities:
            self.entities.setdefault(row["kind"], []).append(row)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Entities of a kind, by id."""
        return self.entities.get(kind, [])

    def per_block(self, table: str, *columns: str) -> list[FloatArray]:
        """(M, blocks of all stages, entities) arrays of *columns*."""
        return self._read(table, columns, len(self.hours))

    def per_stage(self, table: str, *columns: str) -> list[FloatArray]:
        """(M, T, entities) arrays of *columns*; one entity where the table has none."""
        return self._read(table, columns, len(self.starts))

    def per_scenario(self, table: str, *columns: str) -> list[FloatArray]:
        """(M, 1, 1) arrays of *columns*."""
        return self._read(table, columns, 1)

    def by_stage_hm3(self, flow_m3s: FloatArray) -> FloatArray:
        """(M, T, entities) volumes of (M, blocks, entities) flows."""
        volumes = flow_m3s * np.array([hm3_per_m3s(hours) for hours in self.hours])[:, None]
        return np.asarray(np.add.reduceat(volumes, self.starts, axis=1))

    def sent_to(self, kind: str, rows: list[dict[str, Any]], column: str) -> FloatArray:
        """(entities, places) matrix: 1 where the *column* of an entity names the place, of a *kind*."""
        places = {row["id"]: k for k, row in enumerate(self.of(kind))}
        result = np.zeros((len(rows), len(places)))
        for k, row in enumerate(rows):
            if row[column] is not None:
                result[k, places[row[column]]] = 1.0
        return result

    def _read(self, name: str, columns: tuple[str, ...], places: int) -> list[FloatArray]:
        table = _rows_of(self._results, name, self.ids, ["scenario_id", *columns])
        count, rest = divmod(table.num_rows, len(self.ids) * places)
        if rest or (np.diff(table["scenario_id"].to_numpy()) < 0).any():
            raise ResultsError(
                f"table {name} of {self._results.path} lacks rows, or they stand in another order"
            )
        return [table[column].to_numpy().reshape(len(self.ids), places, count) for column in columns]


def _batches(results: Results) -> Iterator[_Batch]:
    ids: NDArray[np.int32] = results.table("scenarios").to_arrow(["scenario_id"])["scenario_id"].to_numpy()
    rows = max(results.table(name).rows for name in ("hydros", "thermals", "buses", "exchanges"))
    size = max(1, _BATCH_ROWS * len(ids) // max(rows, 1))
    blocks, entities = results.table("stages").to_arrow(), results.table("entities").to_arrow().to_pylist()
    for first in range(0, len(ids), size):
        yield _Batch(results, ids[first : first + size], blocks, entities)


def _rows_of(results: Results, name: str, ids: NDArray[np.int32], columns: list[str]) -> pa.Table:
    import pyarrow.dataset as ds  # imports pandas, which no rank should do at its start

    path, scenario = results.table(name).path, ds.field("scenario_id")
    with explained("read", path):
        rows = ds.dataset(path).to_table(
            columns, filter=(scenario >= int(ids[0])) & (scenario <= int(ids[-1]))
        )
    return rows


def _power(batch: _Batch) -> Balance:
    load, deficit, excess = batch.per_block("buses", "load_mw", "deficit_mw", "excess_mw")
    terms = [deficit, -excess, -load]
    for kind, table, column, sign in (
        ("hydro", "hydros", "generation_mw", 1.0),
        ("thermal", "thermals", "generation_mw", 1.0),
        ("source", "sources", "generation_mw", 1.0),
        ("pumping", "pumping", "consumption_mw", -1.0),
    ):
        (power,) = batch.per_block(table, column)
        terms.append(sign * power @ batch.sent_to("bus", batch.of(kind), "bus_id"))
    buses, power = batch.per_block("hydro_buses", "bus_id", "generation_mw")
    fed = [{"bus_id": int(id)} for id in buses[0, 0]]
    terms.append(power @ batch.sent_to("bus", fed, "bus_id"))
    contracts = sorted(batch.of("import") + batch.of("export"), key=lambda row: int(row["id"]))
    (traded,) = batch.per_block("contracts", "power_mw")
    signs = np.array([-1.0 if row["kind"] == "export" else 1.0 for row in contracts])
    terms.append((traded * signs) @ batch.sent_to("bus", contracts, "bus_id"))
    lines = batch.of("line")
    kept = 1.0 - np.array([row["losses_fraction"] for row in lines])
    direct, reverse = batch.per_block("exchanges", "direct_mw", "reverse_mw")
    terms.append((reverse * kept - direct) @ batch.sent_to("bus", lines, "bus_id"))
    terms.append((direct * kept - reverse) @ batch.sent_to("bus", lines, "target_bus_id"))

    def place(m: int, k: int, b: int) -> str:
        where = f"stage {batch.stage_of_block[k]}, block {batch.block[k]}"
        return f"scenario {batch.ids[m]}, {where}, bus {batch.of('bus')[b]['id']}"

    return _balance("power", "MW", terms, place)


def _water(batch: _Batch) -> Balance:
    hydros, pumps = batch.of("hydro"), batch.of("pumping")
    initial, final = batch.per_stage("reservoirs", "storage_initial_hm3", "storage_final_hm3")
    hours = np.add.reduceat(batch.hours, batch.starts)
    stage_hm3 = np.array([hm3_per_m3s(h) for h in hours])[:, None]
    names = ("inflow_m3s", "bought_inflow_m3s", "evaporated_m3s", "withdrawn_m3s")
    inflow, bought, evaporated, withdrawn = (
        flow * stage_hm3 for flow in batch.per_stage("reservoirs", *names)
    )
    released, diverted = (
        batch.by_stage_hm3(flow) for flow in batch.per_block("hydros", "outflow_m3s", "diverted_m3s")
    )
    (pumped,) = (batch.by_stage_hm3(flow) for flow in batch.per_block("pumping", "pumped_m3s"))
    # What takes time comes as the table of transits says, all else at once.
    slow = _slow(batch)
    leaving, arriving = batch.per_stage("transits", "released_hm3", "arrived_hm3")
    below = batch.sent_to("hydro", hydros, "downstream_id")
    terms = [
        initial,
        -final,
        inflow,
        bought,
        -evaporated,
        -withdrawn,
        -released,
        (released - leaving @ slow) @ below,
        arriving @ slow @ below,
        -diverted,
        diverted @ batch.sent_to("hydro", hydros, "diversion_id"),
        -pumped @ batch.sent_to("hydro", pumps, "upstream_id"),
        pumped @ batch.sent_to("hydro", pumps, "downstream_id"),
    ]
    return _balance("water", "hm³", terms, lambda m, t, h: _reservoir(batch, m, t, h))


def _continuity(batch: _Batch) -> Balance:
    initial, final = batch.per_stage("reservoirs", "storage_initial_hm3", "storage_final_hm3")
    terms = [initial[:, 1:], -final[:, :-1]]
    return _balance(
        "storage from stage to stage", "hm³", terms, lambda m, t, h: _reservoir(batch, m, t + 1, h)
    )


def _slow(batch: _Batch) -> FloatArray:
    """(transits, hydros) matrix: 1 where a transit is of a hydro."""
    (ids,) = batch.per_stage("transits", "hydro_id")
    rows = [{"hydro_id": int(id)} for id in ids[0, 0]]
    return batch.sent_to("hydro", rows, "hydro_id")


def _under_way(batch: _Batch) -> tuple[Balance, Balance]:
    """Water between plants, in every stage and from stage to stage."""
    names = ("in_transit_initial_hm3", "released_hm3", "arrived_hm3", "in_transit_final_hm3")
    (ids,) = batch.per_stage("transits", "hydro_id")
    initial, released, arrived, final = batch.per_stage("transits", *names)

    def place(m: int, t: int, x: int) -> str:
        return f"scenario {batch.ids[m]}, stage {batch.stage[t]}, hydro {ids[0, 0, x]}"

    on = _balance("water under way", "hm³", [initial, released, -arrived, -final], place)
    terms = [initial[:, 1:], -final[:, :-1]]
    later = _balance("water under way from stage to stage", "hm³", terms, lambda m, t, x: place(m, t + 1, x))
    return on, later


def _commitments(batch: _Batch) -> Balance:
    """What was decided for a stage of the study is delivered in it."""
    names = ("thermal_id", "committed_mw", "delivered_mw", "delivery")
    ids, committed, delivered, delivery = batch.per_stage("commitments", *names)
    pairs = [
        (t, m, a)
        for t, m in product(range(len(batch.stage)), repeat=2)
        for a in range(delivery.shape[2])
        if delivery[0, t, a] == batch.start_date[m]
    ]
    decided, due = np.zeros((2, len(batch.ids), len(pairs), 1))
    for k, (t, m, a) in enumerate(pairs):
        decided[:, k, 0], due[:, k, 0] = committed[:, t, a], delivered[:, m, a]

    def place(m: int, k: int, _: int) -> str:
        return f"scenario {batch.ids[m]}, stage {batch.stage[pairs[k][1]]}, thermal {ids[0, 0, pairs[k][2]]}"

    return _balance("dispatch decided ahead", "MW", [decided, -due], place)


def _money(batch: _Batch) -> tuple[Balance, Balance]:
    stage_cost, discount = batch.per_stage("costs", "stage_cost", "discount_factor")
    parts = batch.per_stage("costs", *COST_COLUMNS.values())
    (total,) = batch.per_scenario("scenarios", "cost")
    of_stage = _balance(
        "cost of a stage",
        "currency",
        [*parts, -stage_cost],
        lambda m, t, _: f"scenario {batch.ids[m]}, stage {batch.stage[t]}",
    )
    stages = np.moveaxis(stage_cost * discount, 1, 0)
    of_scenario = _balance(
        "cost of a scenario",
        "currency",
        [*stages[..., None], -total],
        lambda m, *_: f"scenario {batch.ids[m]}",
    )
    return of_stage, of_scenario


def _reservoir(batch: _Batch, m: int, t: int, h: int) -> str:
    return f"scenario {batch.ids[m]}, stage {batch.stage[t]}, hydro {batch.of('hydro')[h]['id']}"


def _balance(
    name: str, unit: str, terms: Sequence[FloatArray], place: Callable[[int, int, int], str]
) -> Balance:
    """Whether *terms* (M, places, entities) add up to nothing."""
    missed, size = np.zeros(terms[0].shape), np.zeros(terms[0].shape)
    for term in terms:
        missed += term
        size += np.abs(term)
    missed = np.where(np.isfinite(missed), np.abs(missed), np.inf)
    if missed.size == 0:
        return Balance(name, unit, 0, 0.0, "", 0)
    broken = missed > TOLERANCE * np.maximum(1.0, size)
    # Of broken ones the worst, not a large one that is within its tolerance.
    ranked = np.where(broken, missed, 0.0) if broken.any() else missed
    m, k, e = (int(i) for i in np.unravel_index(int(np.argmax(ranked)), missed.shape))
    return Balance(name, unit, missed.size, float(missed[m, k, e]), place(m, k, e), int(broken.sum()))
