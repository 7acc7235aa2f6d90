"""Nothing contradicts the reservoirs, the machines or the network."""

from __future__ import annotations

from collections.abc import Sequence

from pycobre.case import files
from pycobre.case.changes import hydro_limits
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, name_entity
from pycobre.case.penalties import SegmentRecord

PHYSICS = "physics"


def check_physics(case: CaseFiles, findings: Findings) -> None:
    """Note every impossible limit and connection."""
    _check_limits(case, findings)
    _check_hydros(case, findings)
    _check_deficit(case, findings)
    _check_prices(case, findings)


def _check_limits(case: CaseFiles, findings: Findings) -> None:
    def check(file: str, entity: str, field: str, low: float, high: float | None, unit: str) -> None:
        if high is not None and low > high:
            findings.add(
                PHYSICS,
                file,
                f"the lower limit {low:g} {unit} is above the upper limit {high:g} {unit}",
                entity=entity,
                field=field,
                hint="correct one of them",
            )

    for line in case.lines.lines if case.lines else []:
        if line.source_bus_id == line.target_bus_id:
            findings.add(
                PHYSICS,
                files.LINES,
                f"leads from bus {line.source_bus_id} to itself",
                entity=name_entity("line", line.id, line.name),
                field="target_bus_id",
                hint="name another bus, or leave the line out",
            )
    for thermal in case.thermals.thermals if case.thermals else []:
        entity = name_entity("thermal", thermal.id, thermal.name)
        generation = thermal.generation
        check(files.THERMALS, entity, "generation.min_mw", generation.min_mw, generation.max_mw, "MW")
    for contract in case.contracts.contracts if case.contracts else []:
        entity, limits = name_entity("contract", contract.id, contract.name), contract.limits
        check(files.CONTRACTS, entity, "limits.min_mw", limits.min_mw, limits.max_mw, "MW")
    for pump in case.pumping.pumping_stations if case.pumping else []:
        entity = name_entity("pumping station", pump.id, pump.name)
        check(files.PUMPING, entity, "flow.min_m3s", pump.flow.min_m3s, pump.flow.max_m3s, "m³/s")
        if pump.source_hydro_id == pump.destination_hydro_id:
            message = f"pumps from hydro {pump.source_hydro_id} to itself"
            findings.add(
                PHYSICS,
                files.PUMPING,
                message,
                entity=entity,
                field="destination_hydro_id",
                hint="name another plant, or leave the station out",
            )
    for hydro in case.hydros.hydros if case.hydros else []:
        entity = name_entity("hydro", hydro.id, hydro.name)
        store, flow = hydro.reservoir, hydro.outflow
        low, high = store.min_storage_hm3, store.max_storage_hm3
        check(files.HYDROS, entity, "reservoir.min_storage_hm3", low, high, "hm³")
        check(
            files.HYDROS,
            entity,
            "outflow.min_outflow_m3s",
            flow.min_outflow_m3s,
            flow.max_outflow_m3s,
            "m³/s",
        )
        for name, unit in (("turbined_m3s", "m³/s"), ("generation_mw", "MW")):
            groups = [(group, f"unit_groups[{number}]") for number, group in enumerate(hydro.unit_groups)]
            for owner, prefix in ((hydro.generation, "generation"), *groups):
                low, high = getattr(owner, f"min_{name}"), getattr(owner, f"max_{name}")
                check(files.HYDROS, entity, f"{prefix}.min_{name}", low, high, unit)
            if len(groups) > 1:
                continue
            quantity, _, unit_name = name.partition("_")
            held = hydro_limits(hydro)
            low, high = held[f"{quantity}_min_{unit_name}"], held[f"{quantity}_max_{unit_name}"]
            plant = getattr(hydro.generation, f"min_{name}"), getattr(hydro.generation, f"max_{name}")
            group = getattr(hydro.unit_groups[0], f"min_{name}"), getattr(hydro.unit_groups[0], f"max_{name}")
            if low > high and plant[0] <= plant[1] and group[0] <= group[1]:
                findings.add(
                    PHYSICS,
                    files.HYDROS,
                    f"the plant's limits ({plant[0]:g} to {plant[1]:g} {unit}) and its unit group's"
                    f" ({group[0]:g} to {group[1]:g} {unit}) have nothing in common",
                    entity=entity,
                    field=f"unit_groups[0].min_{name}",
                    hint="the narrower of both holds: let them overlap",
                )


def _check_hydros(case: CaseFiles, findings: Findings) -> None:
    if case.hydros is None:
        return
    hydros = {hydro.id: hydro for hydro in case.hydros.hydros}
    for item in case.initial.storage if case.initial else []:
        hydro = hydros.get(item.hydro_id)
        if hydro is None:
            continue
        low, high = hydro.reservoir.min_storage_hm3, hydro.reservoir.max_storage_hm3
        if low <= high and not low <= item.value_hm3 <= high:
            findings.add(
                PHYSICS,
                files.INITIAL,
                f"initial storage {item.value_hm3:g} hm³ is outside its limits, {low:g} to {high:g} hm³",
                entity=name_entity("hydro", hydro.id, hydro.name),
                field="storage",
                hint=f"correct it, or the limits in {files.HYDROS}",
            )
    for hydro in hydros.values():
        if hydro.diversion is not None and hydro.diversion.downstream_id == hydro.id:
            findings.add(
                PHYSICS,
                files.HYDROS,
                "diverts water to itself",
                entity=name_entity("hydro", hydro.id, hydro.name),
                field="diversion.downstream_id",
            )
    reported: set[int] = set()
    for id in sorted(hydros):
        path: list[int] = []
        current: int | None = id
        while current in hydros and current not in path:
            path.append(current)
            current = hydros[current].downstream_id
        if current in path and current not in reported:
            loop = [*path[path.index(current) :], current]
            reported.update(loop)
            findings.add(
                PHYSICS,
                files.HYDROS,
                f"water flows in a circle: {' -> '.join(map(str, loop))}",
                entity=name_entity("hydro", loop[0], hydros[loop[0]].name),
                field="downstream_id",
                hint="the last plant of a river has downstream_id null",
            )


def _check_deficit(case: CaseFiles, findings: Findings) -> None:
    def check(file: str, entity: str | None, field: str, segments: Sequence[SegmentRecord]) -> None:
        bounded = [segment.depth_mw is not None for segment in segments]
        if bounded[-1] or not all(bounded[:-1]):
            findings.add(
                PHYSICS,
                file,
                "exactly the last segment must be without limit (depth_mw null)",
                entity=entity,
                field=field,
                hint="otherwise demand that can't be met leaves the problem without solution",
            )
        costs = [segment.cost for segment in segments]
        if costs != sorted(costs):
            findings.add(
                PHYSICS,
                file,
                f"costs must not fall from one segment to the next, got {', '.join(f'{c:g}' for c in costs)}",
                entity=entity,
                field=field,
                hint="order the segments by cost: the cheapest is used first in any case",
            )

    if case.penalties is not None:
        check(files.PENALTIES, None, "bus.deficit_segments", case.penalties.bus.deficit_segments)
    for bus in case.buses.buses if case.buses else []:
        if bus.deficit_segments is not None:
            entity = name_entity("bus", bus.id, bus.name)
            check(files.BUSES, entity, "deficit_segments", bus.deficit_segments)


def _check_prices(case: CaseFiles, findings: Findings) -> None:
    """Warn of water that may be thrown away for nothing."""
    if case.penalties is None or case.hydros is None or not case.whole(files.PENALTIES):
        return
    default = case.penalties.hydro
    for hydro in sorted(case.hydros.hydros, key=lambda hydro: hydro.id):
        for field, verb in (("spillage_cost", "spilling"), ("diversion_cost", "diverting")):
            own = getattr(hydro.penalties, field, None)
            if (getattr(default, field) if own is None else own) > 0.0:
                continue
            if field == "diversion_cost" and hydro.diversion is None:
                continue
            findings.warn(
                files.PENALTIES if own is None else files.HYDROS,
                f"{verb} costs nothing, so water that is worth nothing may go either way",
                entity=name_entity("hydro", hydro.id, hydro.name),
                field=f"hydro.{field}" if own is None else f"penalties.{field}",
                hint="give it a small price, such as 0.01",
            )
