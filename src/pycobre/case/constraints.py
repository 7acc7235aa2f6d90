"""Generic constraints: expressions understood, names filled in, a row for every stage and block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from pycobre.case import files
from pycobre.case.expressions import Expression, ExpressionError, Product, Variable, parse
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.generic import ConstraintRecord
from pycobre.case.parameters import Parameter, read_parameters
from pycobre.case.service import entities_of
from pycobre.case.statistics import study_stages
from pycobre.case.tables import NULL_ID
from pycobre.system import (
    BY_BLOCK,
    VARIABLES,
    ConstraintRow,
    ConstraintTerm,
    GenericConstraint,
    ProductionModel,
)

DIMENSION, REFERENCE, SCHEMA = "dimension", "reference", "schema"
MAX_PRODUCTS = 10_000
"""Terms that named expressions may grow to: a name that calls another twice grows fast."""
_OF_BUS = ("hydro_turbined", "hydro_generation")
_NOUNS = {
    "hydros": "hydro",
    "thermals": "thermal",
    "lines": "line",
    "buses": "bus",
    "sources": "source",
    "contracts": "contract",
    "pumps": "pumping station",
}

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
    """What is known of the names while constraints are worked out."""

    def __init__(
        self,
        case: CaseFiles,
        production: Mapping[int, tuple[ProductionModel, ...]] | None,
        findings: Findings,
    ) -> None:
        assert case.constraints is not None
        self.case, self.findings = case, findings
        self.records = sorted(case.constraints.constraints, key=lambda record: record.id)
        self.ids = {
            kind: case.known(file, (entity.id for entity in entities))
            for kind, file, entities in entities_of(case)
        }
        self.named = self._named_expressions()
        parsed = {record.id: self._parse(record.expression, self._entity(record)) for record in self.records}
        self.expressions = {id: expression for id, expression in parsed.items() if expression is not None}
        self.products = {
            id: (
                self._expand(expression.left, id),
                self._expand(expression.right, id),
            )
            for id, expression in self.expressions.items()
        }
        used = {
            name
            for left, right in self.products.values()
            for product in (*left, *right)
            for name, _ in product.names
        }
        self.parameters: dict[str, Parameter] = read_parameters(case, production, used, findings)

    def _entity(self, record: ConstraintRecord) -> str:
        return name_entity("constraint", record.id, record.name)

    def _note(self, kind: str, message: str, entity: str, field: str, hint: str | None = None) -> None:
        self.findings.add(kind, files.CONSTRAINTS, message, entity=entity, field=field, hint=hint)

    def _parse(self, text: str, entity: str) -> Expression | None:
        try:
            return parse(text)
        except ExpressionError as error:
            self._note_at(text, error.position, str(error), entity)
            return None

    def _note_at(self, text: str, position: int, message: str, entity: str, kind: str = SCHEMA) -> None:
        shown = f"{text[max(0, position - 20) : position]} >>> {text[position : position + 20]}"
        self._note(kind, f"{message}, at character {position + 1}: {shown.strip()}", entity, "expression")

    def _named_expressions(self) -> dict[str, tuple[Product, ...]]:
        assert self.case.constraints is not None
        named: dict[str, tuple[Product, ...]] = {}
        parameters = self.case.parameters.scalar_parameters if self.case.parameters else []
        taken = {parameter.name for parameter in parameters}
        for record in self.case.constraints.expressions:
            entity = f"expression {record.name}"
            expression = self._parse(record.expression, entity)
            if record.name in taken:
                self._note(
                    REFERENCE,
                    "is the name of another expression or parameter",
                    entity,
                    "name",
                    "choose another name",
                )
            taken.add(record.name)
            if expression is not None and expression.relation is not None:
                self._note(
                    SCHEMA,
                    "a named expression has no relation",
                    entity,
                    "expression",
                    "leave out <=, == or >= and what follows",
                )
            elif expression is not None:
                named[record.name] = expression.left
        return named

    def _expand(self, products: tuple[Product, ...], id: int) -> tuple[Product, ...]:
        """*products* with the named expressions filled in; the names left are parameters."""
        record = next(record for record in self.records if record.id == id)
        result: list[Product] = []
        # Products to do, each with the names that led to it: a name inside itself would never end.
        waiting: list[tuple[Product, tuple[str, ...]]] = [(product, ()) for product in reversed(products)]
        while waiting:
            product, path = waiting.pop()
            called = next((name for name, _ in product.names if name in self.named), None)
            if called is None:
                result.append(product)
                continue
            if called in path or len(result) + len(waiting) > MAX_PRODUCTS:
                what = "calls itself" if called in path else f"grows beyond {MAX_PRODUCTS} terms"
                hint = "write it out without that name" if called in path else "split the constraint"
                self._note(REFERENCE, f"@{called} {what}", self._entity(record), "expression", hint)
                return ()
            rest = tuple(pair for pair in product.names if pair[0] != called)
            for inner in reversed(self.named[called]):
                if product.variable is not None and inner.variable is not None:
                    message = f"@{called} times a variable is not linear"
                    hint = "let only one of the two hold a variable"
                    self._note(SCHEMA, message, self._entity(record), "expression", hint)
                    return ()
                whole = Product(
                    product.number * inner.number, rest + inner.names, product.variable or inner.variable
                )
                waiting.append((whole, (*path, called)))
        return tuple(result)

    def constraints(self) -> tuple[GenericConstraint, ...]:
        """Every constraint that could be worked out."""
        rows = self._rows_by_constraint()
        ids = [record.id for record in self.records]
        table = self.case.constraint_bounds
        idle = set(ids) - set(table.ints["constraint_id"].tolist() if table is not None else ())
        if not self.case.whole(files.CONSTRAINT_BOUNDS):
            idle = set()
        result: list[GenericConstraint] = []
        for record in self.records:
            entity = self._entity(record)
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
            if record.id not in self.expressions:
                continue
            self._check_names(record)
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
        relation = self.expressions[record.id].relation
        message = f"holds in no stage: {files.CONSTRAINT_BOUNDS} has no row of it"
        hint = "add a row for each stage that it holds in, or leave the constraint out"
        if relation is None:
            self.findings.warn(files.CONSTRAINTS, message, entity=self._entity(record), hint=hint)
        else:
            hint += f"; its bounds are null, since the expression has {relation}"
            self._note(REFERENCE, message, self._entity(record), "expression", hint)

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
                if block == NULL_ID and id in self.products and self._by_block(id):
                    places = list(blocks[stage])
                for place in places:
                    result.setdefault(id, {})[stage, place] = bounds
        return result

    def _by_block(self, id: int) -> bool:
        """Whether a parameter that differs between blocks is among the constraint's names."""
        records = self.case.parameters.scalar_parameters if self.case.parameters else []
        varying = {record.name for record in records if record.kind == "per_stage_block"}
        left, right = self.products[id]
        return any(name in varying for product in (*left, *right) for name, _ in product.names)

    def _check_names(self, record: ConstraintRecord) -> None:
        assert self.case.constraints is not None
        left, right = self.products[record.id]
        entity = self._entity(record)
        defined = {p.name for p in self.case.parameters.scalar_parameters} if self.case.parameters else set()
        defined |= {expression.name for expression in self.case.constraints.expressions}
        whole = self.case.whole(files.PARAMETERS, files.CONSTRAINTS)
        for product in (*left, *right):
            for name, _ in product.names:
                if name not in defined and whole:
                    near = get_close_matches(name, sorted(defined), n=1)
                    hint = f"did you mean @{near[0]}?" if near else f"define it in {files.PARAMETERS}"
                    self._note(
                        REFERENCE, f"@{name} is no parameter and no expression", entity, "expression", hint
                    )
            if product.variable is not None:
                self._check_variable(product.variable, entity)
        self._check_energies({name for product in (*left, *right) for name, _ in product.names}, entity)

    def _check_energies(self, names: set[str], entity: str) -> None:
        """Warn of a most stored energy beside productivities that it was not made with."""
        records = self.case.parameters.scalar_parameters if self.case.parameters else []
        specs = [record.computed_spec for record in records if record.name in names]
        tags = {(spec.tag, spec.hydro_id) for spec in specs if spec is not None}
        for hydro in sorted(hydro for tag, hydro in tags if tag == "max_stored_energy"):
            if ("accumulated_productivity", hydro) in tags:
                self.findings.warn(
                    files.CONSTRAINTS,
                    f"sets max_stored_energy of hydro {hydro} beside its accumulated_productivity, which is"
                    " that of one volume",
                    entity=entity,
                    field="expression",
                    hint="use integrated_accumulated_productivity",
                )

    def _check_variable(self, variable: Variable, entity: str) -> None:
        def note(kind: str, message: str, hint: str | None = None) -> None:
            self._note(kind, f"{variable.name}: {message}", entity, "expression", hint)

        if variable.name not in VARIABLES:
            near = get_close_matches(variable.name, sorted(VARIABLES), n=1)
            note(REFERENCE, "is no variable", f"did you mean {near[0]}?" if near else None)
            return
        noun = _NOUNS[VARIABLES[variable.name]]
        if variable.name.startswith("contract_") and self.case.contracts is not None:
            kinds = {item.id: item.type for item in self.case.contracts.contracts}
            found = kinds.get(variable.entity_id if variable.entity_id is not None else -1)
            if found is not None and found not in variable.name:
                note(REFERENCE, f"contract {variable.entity_id} is an {found}", f"use contract_{found}")
        if variable.name == "anticipated_decision":
            thermals = self.case.thermals.thermals if self.case.thermals else []
            if any(item.id == variable.entity_id and item.anticipated_config is None for item in thermals):
                hint = f"use thermal_generation, or give it an anticipated_config in {files.THERMALS}"
                note(REFERENCE, f"thermal {variable.entity_id} is not dispatched ahead", hint)
        selected = dict(variable.selectors)
        pair = {"source_bus", "target_bus"}
        if variable.name == "line_exchange" and set(selected) == pair and variable.entity_id is None:
            whole = self.case.whole(files.LINES)
            if self._line_between(selected["source_bus"], selected["target_bus"]) is None and whole:
                note(
                    REFERENCE,
                    f"no line joins buses {selected['source_bus']} and {selected['target_bus']}",
                    "swap the two, or name the line by its id",
                )
            return
        allowed = {"bus"} if variable.name in _OF_BUS else set()
        if set(selected) - allowed:
            note(
                SCHEMA,
                f"{', '.join(sorted(set(selected) - allowed))}= is not for this variable",
                "leave it out",
            )
        known = self.ids[noun]
        if known is not None and variable.entity_id not in known:
            note(REFERENCE, f"{noun} {variable.entity_id} does not exist", f"ids are {list_ids(known)}")
            return
        if variable.block_id is not None and variable.name not in BY_BLOCK:
            note(SCHEMA, "is the same in every block of a stage", "leave the block out")
        if "bus" in allowed & set(selected) and self.case.hydros is not None:
            for plant in self.case.hydros.hydros:
                at = [group.bus_id for group in plant.unit_groups]
                if plant.id == variable.entity_id and selected["bus"] not in at:
                    message = f"{noun} {plant.id} has no unit group at bus {selected['bus']}"
                    note(REFERENCE, message, f"its groups are at {list_ids(at)}")

    def _line_between(self, source: int, target: int) -> tuple[int, float] | None:
        """Line between two buses, and 1 or -1: whether it is drawn that way."""
        for line in self.case.lines.lines if self.case.lines else []:
            if (line.source_bus_id, line.target_bus_id) == (source, target):
                return line.id, 1.0
            if (line.source_bus_id, line.target_bus_id) == (target, source):
                return line.id, -1.0
        return None

    def _places_exist(self, record: ConstraintRecord, place: tuple[int, int | None]) -> bool:
        """Whether the blocks that the terms name are there in the row's stage."""
        stage = next(stage for stage in study_stages(self.case) if stage.id == place[0])
        known = {block.id for block in stage.blocks}
        left, right = self.products[record.id]
        for product in (*left, *right):
            block = product.variable.block_id if product.variable else None
            if block is not None and block not in known:
                self._note(
                    REFERENCE,
                    f"names block {block}, which stage {stage.id} does not have",
                    self._entity(record),
                    "expression",
                )
                return False
        return True

    def _row(self, record: ConstraintRecord, place: tuple[int, int | None], bounds: Bounds) -> ConstraintRow:
        left, right = self.products[record.id]
        relation = self.expressions[record.id].relation
        terms: dict[ConstraintTerm, float] = {}
        constant = 0.0
        signed = [*left, *(replace(product, number=-product.number) for product in right)]
        for product in signed:
            factor = product.number
            for name, _ in product.names:
                parameter = self.parameters.get(name)
                factor *= parameter(place[0], place[1] or 0) if parameter else 0.0
            if product.variable is None:
                constant += factor
                continue
            term, sign = self._term(product.variable)
            terms[term] = terms.get(term, 0.0) + sign * factor
        low, high = bounds
        if relation is not None:
            if not (math.isinf(low) and math.isinf(high)):
                self._note(
                    DIMENSION,
                    f"has {relation} in its expression and bounds in {files.CONSTRAINT_BOUNDS}",
                    self._entity(record),
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
        kept = tuple(replace(term, factor=factor) for term, factor in terms.items())
        return ConstraintRow(low - constant, high - constant, kept)

    def _term(self, variable: Variable) -> tuple[ConstraintTerm, float]:
        selected = dict(variable.selectors)
        if variable.entity_id is None and "source_bus" in selected:
            line, sign = self._line_between(selected["source_bus"], selected["target_bus"]) or (-1, 1.0)
            return ConstraintTerm(0.0, variable.name, line, variable.block_id), sign
        bus = selected.get("bus")
        return ConstraintTerm(0.0, variable.name, variable.entity_id or 0, variable.block_id, bus), 1.0
