"""Generic constraints: a row for every stage and block that one holds in, from its terms and bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from pycobre.case import files
from pycobre.case.expressions import Variable
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.generic import ConstraintRecord
from pycobre.case.parameters import read_parameters
from pycobre.case.statistics import study_stages
from pycobre.case.tables import NULL_ID
from pycobre.case.terms import TermLookup, line_between, name_constraint, read_terms
from pycobre.system import ConstraintRow, ConstraintTerm, GenericConstraint, ProductionModel

DIMENSION, REFERENCE, SCHEMA = "dimension", "reference", "schema"

Bounds = tuple[float, float]


def resolve_constraints(
    case: CaseFiles, production: Mapping[int, tuple[ProductionModel, ...]] | None, findings: Findings
) -> tuple[GenericConstraint, ...]:
    """Constraints of the case, after noting what is wrong with them."""
    if case.constraints is None:
        bounds = case.constraint_bounds
        if bounds is not None and bounds.rows and files.CONSTRAINTS not in case.broken:
            message, hint = "there are no generic constraints", f"add {files.CONSTRAINTS}"
            findings.add(REFERENCE, files.CONSTRAINT_BOUNDS, message, hint=hint)
        return ()
    return _Resolution(case, production, findings).constraints()


class _Resolution:
    """What is known of terms and parameters while rows are worked out."""

    def __init__(
        self,
        case: CaseFiles,
        production: Mapping[int, tuple[ProductionModel, ...]] | None,
        findings: Findings,
    ) -> None:
        assert case.constraints is not None
        self.case, self.findings = case, findings
        self.records = sorted(case.constraints.constraints, key=lambda record: record.id)
        self.terms = read_terms(case, self.records, findings)
        used = {name for terms in self.terms.values() for name in terms.names}
        self.parameters = read_parameters(case, production, used, findings)

    def _note(self, kind: str, message: str, entity: str, field: str, hint: str | None = None) -> None:
        self.findings.add(kind, files.CONSTRAINTS, message, entity=entity, field=field, hint=hint)

    def constraints(self) -> tuple[GenericConstraint, ...]:
        """Every constraint that could be worked out."""
        rows = self._rows_by_constraint()
        ids = [record.id for record in self.records]
        table = self.case.constraint_bounds
        idle = set(ids) - set(table.ints["constraint_id"].tolist() if table is not None else ())
        if not self.case.whole(files.CONSTRAINT_BOUNDS):
            idle = set()
        lookup = TermLookup(self.case, self.findings)
        result: list[GenericConstraint] = []
        for record in self.records:
            entity = name_constraint(record)
            if ids.count(record.id) > 1:
                self._note(
                    REFERENCE, f"is given {ids.count(record.id)} times", entity, "id", "give each its own id"
                )
            if record.slack.enabled and record.slack.penalty is None:
                self._note(
                    SCHEMA,
                    "is required where the slack is enabled",
                    entity,
                    "slack.penalty",
                    "add it, or disable the slack",
                )
            if record.id not in self.terms:
                continue
            lookup.check(self.terms[record.id], entity)
            if record.id in idle:
                self._note_idle(record)
            price = record.slack.penalty if record.slack.enabled else None
            before = self.findings.count
            filled = {
                place: self._row(record, place, bounds)
                for place, bounds in rows.get(record.id, {}).items()
                if self._places_exist(record, place)
            }
            if self.findings.count == before:
                cost = math.inf if price is None else price
                result.append(GenericConstraint(record.id, record.name, cost, filled))
        return tuple(result)

    def _note_idle(self, record: ConstraintRecord) -> None:
        """Refuse a relation that holds in no stage; a sum without bounds is only odd."""
        relation = self.terms[record.id].relation
        message = f"holds in no stage: {files.CONSTRAINT_BOUNDS} has no row of it"
        hint = "add a row for each stage that it holds in, or leave the constraint out"
        if relation is None:
            self.findings.warn(files.CONSTRAINTS, message, entity=name_constraint(record), hint=hint)
        else:
            hint += f"; its bounds are null, since the expression has {relation}"
            self._note(REFERENCE, message, name_constraint(record), "expression", hint)

    def _rows_by_constraint(self) -> dict[int, dict[tuple[int, int | None], Bounds]]:
        table = self.case.constraint_bounds
        result: dict[int, dict[tuple[int, int | None], Bounds]] = {}
        if table is None:
            return result
        known = self.case.known(files.CONSTRAINTS, (record.id for record in self.records))
        here = {record.id for record in self.records}
        stages = self.case.known(files.STAGES, (stage.id for stage in study_stages(self.case)))
        blocks = {stage.id: [block.id for block in stage.blocks] for stage in study_stages(self.case)}
        columns = (
            table.ints["constraint_id"].tolist(),
            table.ints["stage_id"].tolist(),
            table.ints["block_id"].tolist(),
            table.floats["bound_lower"].tolist(),
            table.floats["bound_upper"].tolist(),
        )
        for id, stage, block, low, high in zip(*columns, strict=True):
            entity = f"{name_entity('constraint', id)}, stage {stage}"

            def note(kind: str, message: str, field: str, hint: str, entity: str = entity) -> None:
                self.findings.add(
                    kind, files.CONSTRAINT_BOUNDS, message, entity=entity, field=field, hint=hint
                )

            if known is not None and id not in known:
                note(REFERENCE, "does not exist", "constraint_id", f"constraints are {list_ids(known)}")
            elif stages is not None and stage not in stages:
                note(REFERENCE, "the stage does not exist", "stage_id", f"stages are {list_ids(stages)}")
            elif id not in here or stage not in blocks:
                continue  # it is there, and could not be read
            elif block not in (NULL_ID, *blocks[stage]):
                note(
                    REFERENCE,
                    f"block {block} does not exist in this stage",
                    "block_id",
                    f"blocks are {list_ids(blocks[stage])}; null means all",
                )
            elif low > high:
                note(
                    "physics",
                    f"the lower bound {low:g} is above the upper bound {high:g}",
                    "bound_lower",
                    "correct one of them",
                )
            else:
                bounds = (-math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high)
                places: list[int | None] = [None if block == NULL_ID else block]
                if block == NULL_ID and id in self.terms and self._by_block(id):
                    places = list(blocks[stage])
                for place in places:
                    result.setdefault(id, {})[stage, place] = bounds
        return result

    def _by_block(self, id: int) -> bool:
        """Whether a parameter that differs between blocks is among the constraint's names."""
        records = self.case.parameters.scalar_parameters if self.case.parameters else []
        varying = {record.name for record in records if record.kind == "per_stage_block"}
        return not varying.isdisjoint(self.terms[id].names)

    def _places_exist(self, record: ConstraintRecord, place: tuple[int, int | None]) -> bool:
        """Whether the blocks that the terms name are there in the row's stage."""
        stage = next(stage for stage in study_stages(self.case) if stage.id == place[0])
        known = {block.id for block in stage.blocks}
        for product in self.terms[record.id].products:
            block = product.variable.block_id if product.variable else None
            if block is not None and block not in known:
                self._note(
                    REFERENCE,
                    f"names block {block}, which stage {stage.id} does not have",
                    name_constraint(record),
                    "expression",
                )
                return False
        return True

    def _row(self, record: ConstraintRecord, place: tuple[int, int | None], bounds: Bounds) -> ConstraintRow:
        relation = self.terms[record.id].relation
        factors: dict[ConstraintTerm, float] = {}
        constant = 0.0
        for product in self.terms[record.id].products:
            factor = product.number
            for name, _ in product.names:
                parameter = self.parameters.get(name)
                factor *= parameter(place[0], place[1] or 0) if parameter else 0.0
            if product.variable is None:
                constant += factor
                continue
            term, sign = self._term(product.variable)
            factors[term] = factors.get(term, 0.0) + sign * factor
        low, high = bounds
        if relation is not None:
            if not (math.isinf(low) and math.isinf(high)):
                self._note(
                    DIMENSION,
                    f"has {relation} in its expression and bounds in {files.CONSTRAINT_BOUNDS}",
                    name_constraint(record),
                    "expression",
                    "keep one of them; a row whose bounds are null says where the constraint holds",
                )
            low = 0.0 if relation in (">=", "==") else -math.inf
            high = 0.0 if relation in ("<=", "==") else math.inf
        elif math.isinf(low) and math.isinf(high):
            self.findings.add(
                DIMENSION,
                files.CONSTRAINT_BOUNDS,
                "has neither a lower nor an upper bound",
                entity=f"{name_entity('constraint', record.id)}, stage {place[0]}",
                field="bound_lower",
                hint="give one of them, or leave the row out",
            )
        kept = tuple(replace(term, factor=factor) for term, factor in factors.items())
        return ConstraintRow(low - constant, high - constant, kept)

    def _term(self, variable: Variable) -> tuple[ConstraintTerm, float]:
        selected = dict(variable.selectors)
        if variable.entity_id is None and "source_bus" in selected:
            line, sign = line_between(self.case, selected["source_bus"], selected["target_bus"]) or (-1, 1.0)
            return ConstraintTerm(0.0, variable.name, line, variable.block_id), sign
        bus = selected.get("bus")
        return ConstraintTerm(0.0, variable.name, variable.entity_id or 0, variable.block_id, bus), 1.0
