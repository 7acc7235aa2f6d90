"""Parameters of generic constraints: one number for every stage and block."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pycobre.case import files
from pycobre.case.energy import Energy
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids
from pycobre.case.generic import Computed, ParameterRecord
from pycobre.case.stages import StageRecord
from pycobre.case.statistics import study_stages
from pycobre.system import ProductionModel

Parameter = Callable[[int, int], float]
"""Value by stage id and block id."""

_PAYLOAD = {
    "constant": "value",
    "per_stage": "values",
    "seasonal": "values",
    "computed": "computed_spec",
    "per_stage_block": "block_values",
}


def read_parameters(
    case: CaseFiles,
    production: Mapping[int, tuple[ProductionModel, ...]] | None,
    used: set[str],
    findings: Findings,
) -> dict[str, Parameter]:
    """Parameters by name, those among *used* checked in full."""
    records = case.parameters.scalar_parameters if case.parameters else []
    result: dict[str, Parameter] = {}
    energy = None
    if production is not None and any(record.computed_spec for record in records):
        energy = Energy(case, production)
    names, ids = [record.name for record in records], [record.id for record in records]
    for record in records:
        entity = f"parameter {record.id} ({record.name})"

        def note(kind: str, message: str, field: str, hint: str, entity: str = entity) -> None:
            findings.add(kind, files.PARAMETERS, message, entity=entity, field=field, hint=hint)

        if names.count(record.name) > 1 or ids.count(record.id) > 1:
            note("reference", "shares its id or its name with another one", "name", "choose others")
        wanted = _PAYLOAD[record.kind]
        for field in sorted(set(_PAYLOAD.values())):
            if (getattr(record, field) is not None) != (field == wanted):
                what = "is required for" if field == wanted else "does not belong to"
                hint = "add it, or change kind" if field == wanted else "leave it out, or change kind"
                note("schema", f'{what} kind "{record.kind}"', field, hint)
        if record.name in used and getattr(record, wanted) is not None:
            parameter = _parameter(case, record, energy, note)
            if parameter is not None:
                result[record.name] = parameter
    return result


def _parameter(
    case: CaseFiles,
    record: ParameterRecord,
    energy: Energy | None,
    note: Callable[[str, str, str, str], None],
) -> Parameter | None:
    stages = study_stages(case)
    if record.computed_spec is not None:
        return _computed(case, record.computed_spec, energy, note)
    if record.value is not None:
        constant = record.value
        return lambda stage, block: constant
    field = _PAYLOAD[record.kind]
    rows = record.values if record.values is not None else record.block_values or []
    keys = [tuple(int(key) for key in row[:-1]) for row in rows]
    values = {key: float(row[-1]) for key, row in zip(keys, rows, strict=True)}
    if len(values) < len(rows):
        note("dimension", "a key is given more than once", field, "keep one row for each")
        return None
    needed: set[tuple[int, ...]]
    if record.kind == "per_stage":
        needed = {(stage.id,) for stage in stages}
    elif record.kind == "seasonal":
        if any(stage.season_id is None for stage in stages):
            note("dimension", "needs a season_id in every stage", field, f"add them in {files.STAGES}")
            return None
        needed = {(stage.season_id,) for stage in stages if stage.season_id is not None}
    else:
        needed = {(stage.id, block.id) for stage in stages for block in stage.blocks}
    missing = needed - set(values)
    if missing:
        note(
            "dimension",
            f"has no value for {list_ids(key[0] for key in missing)}",
            field,
            "add a row for each",
        )
        return None
    if record.kind == "per_stage":
        return lambda stage, block: values[(stage,)]
    if record.kind == "per_stage_block":
        return lambda stage, block: values[stage, block]
    season = {stage.id: stage.season_id for stage in stages}
    return lambda stage, block: values[(int(season[stage] or 0),)]


def _computed(
    case: CaseFiles,
    spec: Computed,
    energy: Energy | None,
    note: Callable[[str, str, str, str], None],
) -> Parameter | None:
    hydros = {hydro.id: hydro for hydro in case.hydros.hydros} if case.hydros else {}
    if spec.hydro_id not in hydros:
        known = case.known(files.HYDROS, hydros)
        if known is not None and spec.hydro_id not in known:
            note(
                "reference",
                f"hydro {spec.hydro_id} does not exist",
                "computed_spec.hydro_id",
                f"ids are {list_ids(known)}",
            )
        return None
    reservoir = hydros[spec.hydro_id].reservoir
    if spec.tag in ("min_storage", "max_storage"):
        volume = reservoir.min_storage_hm3 if spec.tag == "min_storage" else reservoir.max_storage_hm3
        return lambda stage, block: volume
    if energy is None:
        return None
    by_stage = {stage.id: _value(energy, spec, stage, t) for t, stage in enumerate(study_stages(case))}
    unknown = [stage for stage, value in by_stage.items() if value != value]
    if unknown:
        note(
            "dimension",
            f"a plant on its way has no productivity in stages {list_ids(unknown)}",
            "computed_spec",
            f"give it one in {files.ENERGY}, or heights in {files.GEOMETRY}",
        )
        return None
    return lambda stage, block: by_stage[stage]


def _value(energy: Energy, spec: Computed, stage: StageRecord, t: int) -> float:
    """What a tag stands for in a stage; NaN where a plant has no productivity."""
    hydro, tag = spec.hydro_id, spec.tag
    if tag == "reference_volume":
        return energy.reference_hm3(hydro, stage)
    if tag == "reference_turbine":
        return energy.reference_m3s(hydro, stage)
    if tag == "specific_productivity":
        return energy.specific_mw(hydro, stage)
    if tag == "equivalent_productivity":
        return energy.equivalent_mw(hydro, stage, t)
    if tag == "accumulated_productivity":
        return sum(energy.equivalent_mw(plant, stage, t) for plant in energy.down_from(hydro))
    if tag == "integrated_equivalent_productivity":
        return energy.integrated_mw(hydro, stage, t)
    accumulated = sum(energy.integrated_mw(plant, stage, t) for plant in energy.down_from(hydro))
    return accumulated * energy.span_hm3(hydro) if tag == "max_stored_energy" else accumulated
