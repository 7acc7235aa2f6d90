"""``constraints/generic_*`` of a system that is written as a case."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pycobre.case import files
from pycobre.case.write_config import Json
from pycobre.case.write_tables import Rows
from pycobre.system import ConstraintTerm, GenericConstraint, Stage, System


def constraint_files(system: System) -> tuple[dict[str, Json], Rows]:
    """Generic constraints, with a parameter for each factor that is not the same everywhere; their bounds.

    A constraint whose rows have other terms than its first, not only other factors, reads back differently.
    """
    records: list[Json] = []
    parameters: list[Json] = []
    bounds: Rows = []
    for constraint in system.constraints:
        price = constraint.slack_cost_per_h
        slack = {"enabled": False} if math.isinf(price) else {"enabled": True, "penalty": price}
        records.append(
            {
                "id": constraint.id,
                "name": constraint.name,
                "expression": " ".join(_terms(constraint, system.stages, parameters)) or "0",
                "slack": slack,
            }
        )
        for (stage, block), row in constraint.rows.items():
            where = {"constraint_id": constraint.id, "stage_id": stage, "block_id": block}
            low, high = (None if math.isinf(side) else side for side in (row.lower, row.upper))
            bounds.append({**where, "bound_lower": low, "bound_upper": high})
    documents: dict[str, Json] = {files.CONSTRAINTS: {"constraints": records}}
    if parameters:
        documents[files.PARAMETERS] = {"scalar_parameters": parameters}
    return documents, bounds


def _terms(constraint: GenericConstraint, stages: tuple[Stage, ...], parameters: list[Json]) -> Iterator[str]:
    """Terms of the first row, each with its sign; *parameters* grow by the factors that vary."""
    first = next(iter(constraint.rows.values()), None)
    for number, term in enumerate(first.terms if first is not None else ()):
        factors = {
            place: row.terms[number].factor
            for place, row in constraint.rows.items()
            if number < len(row.terms)
        }
        if len(set(factors.values())) == 1:
            sign = "-" if math.copysign(1.0, term.factor) < 0 else "+" if number else ""
            factor = repr(abs(term.factor))
        else:
            sign, factor = "+" if number else "", f"@factor_{len(parameters)}"
            parameters.append(_parameter(len(parameters), factors, stages))
        yield f"{sign} {factor}*{_variable(term)}".strip()


def _variable(term: ConstraintTerm) -> str:
    block = "" if term.block_id is None else f", {term.block_id}"
    bus = "" if term.bus_id is None else f", bus={term.bus_id}"
    return f"{term.variable}({term.entity_id}{block}{bus})"


def _parameter(number: int, factors: dict[tuple[int, int | None], float], stages: tuple[Stage, ...]) -> Json:
    """The factors as a parameter: by stage if they are alike in its blocks; zero where there is no row."""
    record: Json = {"id": number, "name": f"factor_{number}"}
    by_stage = {stage: factor for (stage, _), factor in factors.items()}
    if all(by_stage[stage] == factor for (stage, _), factor in factors.items()):
        values = [[stage.id, by_stage.get(stage.id, 0.0)] for stage in stages]
        return {**record, "kind": "per_stage", "values": values}
    values = [
        [stage.id, block.id, factors.get((stage.id, block.id), 0.0)]
        for stage in stages
        for block in stage.blocks
    ]
    return {**record, "kind": "per_stage_block", "block_values": values}
