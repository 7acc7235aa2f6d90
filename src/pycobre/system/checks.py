"""What contradicts itself in a system, all of it, by entity and field."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pycobre.system.calendar import Stage
from pycobre.system.changes import INSIDE, EntityT
from pycobre.system.compare import NOUNS
from pycobre.system.entities import Hydro, LinearizedHead

if TYPE_CHECKING:
    from pycobre.system.network import System

# Attributes that name another entity, and the kind of it.
REFERENCES = {
    "bus_id": "buses",
    "source_bus_id": "buses",
    "target_bus_id": "buses",
    "downstream_id": "hydros",
    "diversion_to_id": "hydros",
    "source_hydro_id": "hydros",
    "destination_hydro_id": "hydros",
}
# Of all quantities, these alone may be below zero.
SIGNED = {"withdrawal_m3s", "price_per_mwh", "constant_m3s", "m3s_per_hm3", "coefficients_mm", "mean_m3s"}
SIGNED |= {
    "constant_mw",
    "mw_per_hm3",
    "mw_per_spilled_m3s",
    "factor",
    "lower",
    "upper",
    "past_mw",
    "height_m",
}
# Limits that may be missing altogether, and prices at which something is out of the question.
ENDLESS = ("_max_m3s", "_cost_per_m3s_h", "_cost_per_hm3", "depth_mw", "slack_cost_per_h", "lower", "upper")
GROUP_LIMITS = ("turbined_min_m3s", "turbined_max_m3s", "generation_min_mw", "generation_max_mw")
SAMPLING = ("saa", "lhs", "qmc_sobol", "qmc_halton", "historical_residuals")
# Kinds whose statistics have a row or column for each: their order must be known.
ORDERED = ("stages", "buses", "hydros", "sources")


def problems_of(system: System) -> list[str]:
    """Every contradiction, as ``hydro 3 (Ilha), bus_id: bus 9 does not exist``."""
    found = list(_of_ids(system))
    # Without unique ids, and the order of the rows, nothing else can be told.
    return found or [*_of_entities(system), *_of_changes(system), *_of_shapes(system)]


def _kinds(system: System) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    for name, noun in NOUNS.items():
        if name != "blocks":
            yield name, noun, getattr(system, name)


def _name(noun: str, entity: EntityT) -> str:
    return f"{noun} {entity.id} ({entity.name})" if getattr(entity, "name", "") else f"{noun} {entity.id}"


def _of_ids(system: System) -> Iterator[str]:
    for name, noun, entities in _kinds(system):
        ids = [entity.id for entity in entities]
        for id in sorted({id for id in ids if ids.count(id) > 1} if len(set(ids)) < len(ids) else set()):
            yield f"{noun} {id}, id: is given {ids.count(id)} times; {name} must be ascending by a unique id"
        if name in ORDERED and ids != sorted(ids):
            yield f"{name} must be ascending by a unique id, as their rows of statistics are, got {ids}"
    if not system.stages:
        yield "stages: there must be one at least"


def _of_entities(system: System) -> Iterator[str]:
    known = {name: {entity.id for entity in entities} for name, _, entities in _kinds(system)}
    for _, noun, entities in _kinds(system):
        for entity in entities:
            name = _name(noun, entity)
            yield from _of_record(entity, name, known)
            if noun == "stage":
                yield from _of_stage(entity, name)
    count = len(system.stages)
    blocks = {stage.id: {block.id for block in stage.blocks} for stage in system.stages}
    for hydro in system.hydros:
        name, lines = _name("hydro", hydro), hydro.evaporation
        if len(hydro.production) != count:
            yield f"{name}, production: needs a model for each of {count} stages, got {len(hydro.production)}"
        for position, model in enumerate(hydro.production):
            if isinstance(model, LinearizedHead) and not model.mw_per_m3s > 0.0:
                yield f"{name}, production[{position}], mw_per_m3s: must be above 0, got {model.mw_per_m3s:g}"
        if isinstance(lines, tuple) and lines and len(lines) != count:
            yield f"{name}, evaporation: needs a line for each of {count} stages, got {len(lines)}"
        yield from _of_groups(hydro, name, known, blocks)
    yield from _of_rivers(system)


def _of_groups(
    hydro: Hydro, name: str, known: Mapping[str, Collection[int]], blocks: Mapping[int, Collection[int]]
) -> Iterator[str]:
    ids = [group.id for group in hydro.unit_groups]
    for position, group in enumerate(hydro.unit_groups):
        label = f"{name}, unit_groups[{position}]"
        yield from _of_record(group, label, known)
        if ids.count(group.id) > 1:
            yield f"{label}, id: {group.id} is given {ids.count(group.id)} times"
        for (stage, block), values in group.changes.items():
            where = f"{label}, changes in stage {stage}"
            if stage not in blocks:
                yield f"{where}: stage {stage} does not exist"
            elif block is not None and block not in blocks[stage]:
                yield f"{where}: block {block} does not exist in this stage"
            for attribute, value in values.items():
                if attribute not in GROUP_LIMITS:
                    yield f"{where}: a unit group's {attribute} can't change"
                yield from _of_number(value, attribute, f"{where}, {attribute}")
    if hydro.unit_groups and hydro.bus_id != hydro.unit_groups[0].bus_id:
        yield f"{name}, bus_id: must be that of the first unit group, {hydro.unit_groups[0].bus_id}"


def _of_stage(stage: Stage, name: str) -> Iterator[str]:
    if stage.end_date <= stage.start_date:
        yield f"{name}, end_date: {stage.end_date} is not after the first day, {stage.start_date}"
    if [block.id for block in stage.blocks] != list(range(len(stage.blocks))) or not stage.blocks:
        yield f"{name}, blocks: must have the ids 0, 1, 2, …, got {[block.id for block in stage.blocks]}"
    if stage.num_openings < 1:
        yield f"{name}, num_openings: must be at least 1, got {stage.num_openings}"
    if stage.sampling_method not in SAMPLING:
        yield f"{name}, sampling_method: must be one of {', '.join(SAMPLING)}, got {stage.sampling_method}"
    for block in stage.blocks:
        if not block.hours > 0.0:
            yield f"{name}, block {block.id}, hours: must be above 0 h, got {block.hours}"


def _of_record(record: EntityT, name: str, known: Mapping[str, Collection[int]]) -> Iterator[str]:
    """Contradictions inside a record, and the records in it."""
    for field in fields(record):
        value, label = getattr(record, field.name), f"{name}, {field.name}"
        if field.name in REFERENCES and value is not None:
            kind = REFERENCES[field.name]
            if value not in known[kind]:
                yield f"{label}: {NOUNS[kind]} {value} does not exist"
        elif is_dataclass(value):
            yield from _of_record(value, label, known)
        elif isinstance(value, tuple):
            # Production models are often the same ones in every stage.
            once = {id(item): (position, item) for position, item in reversed(list(enumerate(value)))}
            for position, item in once.values():
                if is_dataclass(item) and not hasattr(item, "id"):
                    yield from _of_record(item, f"{label}[{position}]", known)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and "id" not in field.name:
            yield from _of_number(value, field.name, label)
        if "_max" in field.name:
            low = getattr(record, field.name.replace("_max", "_min"), None)
            if low is not None and low > value:
                yield f"{label}: the upper limit {value:g} is below the lower limit {low:g}"


def _of_number(value: float, field: str, label: str) -> Iterator[str]:
    if 0.0 <= value < math.inf:  # a national system has hundreds of thousands
        return
    endless = any(field.endswith(end) for end in ENDLESS)
    if math.isnan(value) or (math.isinf(value) and not endless):
        yield f"{label}: must be a finite number, got {value}"
    elif value < 0.0 and field not in SIGNED:
        yield f"{label}: must be at least 0, got {value:g}"


def _of_rivers(system: System) -> Iterator[str]:
    below = {hydro.id: hydro.downstream_id for hydro in system.hydros}
    reported: set[int] = set()
    for id in below:
        path: list[int] = []
        current: int | None = id
        while current is not None and current in below and current not in path:
            path.append(current)
            current = below[current]
        if current in path and current not in reported:
            loop = [*path[path.index(current) :], current]
            reported.update(loop)
            yield f"hydro {current}, downstream_id: water flows in a circle: {' -> '.join(map(str, loop))}"


def _of_changes(system: System) -> Iterator[str]:
    blocks = {stage.id: {block.id for block in stage.blocks} for stage in system.stages}
    for kind, changes in system.changes.items():
        if kind not in NOUNS or not hasattr(system, kind) or kind in ("stages", "constraints"):
            kinds = [name for name in NOUNS if name not in ("stages", "blocks", "constraints")]
            yield f"changes are of {', '.join(kinds)}, not of {kind}"
            continue
        known = {
            entity.id: {
                *vars(entity),
                *(key for name in INSIDE for key in vars(getattr(entity, name, None) or entity)),
            }
            for entity in getattr(system, kind)
        }
        for (id, stage, block), values in changes.items():
            label = f"changes of {NOUNS[kind]} {id} in stage {stage}"
            own = known.get(id)
            if own is None:
                yield f"{label}: {NOUNS[kind]} {id} does not exist"
            if stage not in blocks:
                yield f"{label}: stage {stage} does not exist"
            elif block is not None and block not in blocks[stage]:
                yield f"{label}: block {block} does not exist in this stage"
            for attribute, value in values.items():
                if own is not None and attribute not in own:
                    yield f"{label}: a {NOUNS[kind]} has no {attribute}"
                yield from _of_number(value, attribute, f"{label}, {attribute}")


def _of_shapes(system: System) -> Iterator[str]:
    T, K = len(system.stages), max(len(stage.blocks) for stage in system.stages)
    H, B, S = len(system.hydros), len(system.buses), len(system.sources)
    P = system.inflow.coefficients.shape[-1] if system.inflow.coefficients.ndim == 3 else 0
    inflow: dict[str, tuple[int, ...]] = dict.fromkeys(("mean_m3s", "std_m3s", "residual_ratio"), (H, T))
    inflow |= dict.fromkeys(("coefficients", "lag_mean_m3s", "lag_std_m3s"), (H, T, P))
    weights = system.inflow.lag_weights
    L = P if weights is None or weights.ndim != 3 else weights.shape[2]
    if weights is not None and system.inflow.residual_ratio is None:
        yield "inflow, residual_ratio: must be given with lag_weights"
    expected: dict[str, dict[str, tuple[int, ...]]] = {
        "inflow": {**inflow, "past_m3s": (H, L), "lag_weights": (T, P, L)},
        "load": {"mean_mw": (B, T), "std_mw": (B, T), "block_factor": (B, T, K)},
        "availability": {"mean": (S, T), "std": (S, T), "block_factor": (S, T, K)},
    }
    found = False
    for name, shapes in expected.items():
        for field, shape in shapes.items():
            array = getattr(getattr(system, name), field)
            if array is None:
                continue
            label = f"{name}, {field}"
            if array.shape != shape:
                found = True
                yield f"{label}: must have the shape {shape}, got {array.shape} (rows ascend by id)"
            elif np.isnan(array).any():
                yield f"{label}: holds what is no number"
            elif "std" in field and (array < 0.0).any():
                yield f"{label}: holds a deviation below 0"
    residuals = system.inflow.residuals or ((),) * T
    for t, stage in enumerate(system.stages):
        if stage.sampling_method == "historical_residuals" and not len(residuals[t]):
            yield f"stage {stage.id}, sampling_method: there are no residuals of its season"
    profiles, chosen = system.correlation.profiles, system.correlation.profile_of_stage
    if len(chosen) != T or any(not 0 <= number < len(profiles) for number in chosen):
        yield f"correlation, profile_of_stage: must name one of {len(profiles)} profiles in {T} stages each"
    for position, profile in enumerate(profiles):
        D = system.noise_dimension if not found else -1
        if not found and profile.shape != (D, D):
            yield f"correlation, profiles[{position}]: must have the shape {(D, D)}, got {profile.shape}"
