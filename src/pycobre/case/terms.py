"""Terms of generic constraints: expressions read, named ones filled in, what they name looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pycobre.case import files
from pycobre.case.expressions import Expression, ExpressionError, Product, Variable, parse
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings, list_ids, name_entity
from pycobre.case.generic import ConstraintRecord, NamedExpression
from pycobre.case.service import entities_of
from pycobre.system import BY_BLOCK, VARIABLES

REFERENCE, SCHEMA = "reference", "schema"
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


@dataclass(frozen=True)
class Terms:
    """What a constraint's expression says; the names left in it are those of parameters.

    Attributes
    ----------
    products
        What is added up, taken to the left of the relation.
    relation
        Between these and zero; ``None`` where bounds are given by stage.
    """

    products: tuple[Product, ...]
    relation: str | None

    @property
    def names(self) -> set[str]:
        """The names left."""
        return {name for product in self.products for name, _ in product.names}


def read_terms(
    case: CaseFiles, constraints: Sequence[ConstraintRecord], findings: Findings
) -> dict[int, Terms]:
    """Terms by constraint, of those whose expression can be read."""
    named = _named_expressions(case, findings)
    entities: dict[int, str] = {}
    for record in constraints:
        entities.setdefault(record.id, name_constraint(record))
    parsed = {
        record.id: _parse(record.expression, name_constraint(record), findings) for record in constraints
    }
    result: dict[int, Terms] = {}
    for id, expression in parsed.items():
        if expression is not None:
            left = _expand(expression.left, named, entities[id], findings)
            right = _expand(expression.right, named, entities[id], findings)
            taken_over = (replace(product, number=-product.number) for product in right)
            result[id] = Terms((*left, *taken_over), expression.relation)
    return result


def name_constraint(record: ConstraintRecord) -> str:
    """Name of a constraint in a message."""
    return name_entity("constraint", record.id, record.name)


def _parse(text: str, entity: str, findings: Findings) -> Expression | None:
    try:
        return parse(text)
    except ExpressionError as error:
        position = error.position
        shown = f"{text[max(0, position - 20) : position]} >>> {text[position : position + 20]}"
        message = f"{error}, at character {position + 1}: {shown.strip()}"
        findings.add(SCHEMA, files.CONSTRAINTS, message, entity=entity, field="expression")
        return None


def _named_expressions(case: CaseFiles, findings: Findings) -> dict[str, tuple[Product, ...]]:
    named: dict[str, tuple[Product, ...]] = {}
    taken = _parameters(case)
    for record in _expressions(case):
        entity = f"expression {record.name}"
        expression = _parse(record.expression, entity, findings)
        if record.name in taken:
            findings.add(
                REFERENCE,
                files.CONSTRAINTS,
                "is the name of another expression or parameter",
                entity=entity,
                field="name",
                hint="choose another name",
            )
        taken.add(record.name)
        if expression is not None and expression.relation is not None:
            findings.add(
                SCHEMA,
                files.CONSTRAINTS,
                "a named expression has no relation",
                entity=entity,
                field="expression",
                hint="leave out <=, == or >= and what follows",
            )
        elif expression is not None:
            named[record.name] = expression.left
    return named


def _parameters(case: CaseFiles) -> set[str]:
    return {record.name for record in case.parameters.scalar_parameters} if case.parameters else set()


def _expressions(case: CaseFiles) -> list[NamedExpression]:
    return case.constraints.expressions if case.constraints else []


def _expand(
    products: tuple[Product, ...],
    named: Mapping[str, tuple[Product, ...]],
    entity: str,
    findings: Findings,
) -> tuple[Product, ...]:
    """*products* with the *named* expressions filled in."""

    def note(kind: str, message: str, hint: str) -> None:
        findings.add(kind, files.CONSTRAINTS, message, entity=entity, field="expression", hint=hint)

    result: list[Product] = []
    # Products to do, each with the names that led to it: a name inside itself would never end.
    waiting: list[tuple[Product, tuple[str, ...]]] = [(product, ()) for product in reversed(products)]
    while waiting:
        product, path = waiting.pop()
        called = next((name for name, _ in product.names if name in named), None)
        if called is None:
            result.append(product)
            continue
        if called in path or len(result) + len(waiting) > MAX_PRODUCTS:
            what = "calls itself" if called in path else f"grows beyond {MAX_PRODUCTS} terms"
            hint = "write it out without that name" if called in path else "split the constraint"
            note(REFERENCE, f"@{called} {what}", hint)
            return ()
        rest = tuple(pair for pair in product.names if pair[0] != called)
        for inner in reversed(named[called]):
            if product.variable is not None and inner.variable is not None:
                message = f"@{called} times a variable is not linear"
                note(SCHEMA, message, "let only one of the two hold a variable")
                return ()
            whole = Product(
                product.number * inner.number, rest + inner.names, product.variable or inner.variable
            )
            waiting.append((whole, (*path, called)))
    return tuple(result)


class TermLookup:
    """Looks up what terms name in a case, noting what it does not have."""

    def __init__(self, case: CaseFiles, findings: Findings) -> None:
        self._case, self._findings = case, findings
        self._ids = {
            kind: case.known(file, (entity.id for entity in entities))
            for kind, file, entities in entities_of(case)
        }
        self._defined = _parameters(case) | {expression.name for expression in _expressions(case)}

    def check(self, terms: Terms, entity: str) -> None:
        """Note every name, variable and id among *terms* that is wrong."""
        whole = self._case.whole(files.PARAMETERS, files.CONSTRAINTS)
        for product in terms.products:
            for name, _ in product.names:
                if name not in self._defined and whole:
                    near = get_close_matches(name, sorted(self._defined), n=1)
                    hint = f"did you mean @{near[0]}?" if near else f"define it in {files.PARAMETERS}"
                    message = f"@{name} is no parameter and no expression"
                    self._findings.add(
                        REFERENCE, files.CONSTRAINTS, message, entity=entity, field="expression", hint=hint
                    )
            if product.variable is not None:
                self._check_variable(product.variable, entity)
        self._check_energies(terms.names, entity)

    def _check_energies(self, names: set[str], entity: str) -> None:
        """Warn of a most stored energy beside productivities that it was not made with."""
        records = self._case.parameters.scalar_parameters if self._case.parameters else []
        specs = [record.computed_spec for record in records if record.name in names]
        tags = {(spec.tag, spec.hydro_id) for spec in specs if spec is not None}
        for hydro in sorted(hydro for tag, hydro in tags if tag == "max_stored_energy"):
            if ("accumulated_productivity", hydro) in tags:
                self._findings.warn(
                    files.CONSTRAINTS,
                    f"sets max_stored_energy of hydro {hydro} beside its accumulated_productivity, which is"
                    " that of one volume",
                    entity=entity,
                    field="expression",
                    hint="use integrated_accumulated_productivity",
                )

    def _check_variable(self, variable: Variable, entity: str) -> None:
        case = self._case

        def note(kind: str, message: str, hint: str | None = None) -> None:
            message = f"{variable.name}: {message}"
            self._findings.add(kind, files.CONSTRAINTS, message, entity=entity, field="expression", hint=hint)

        if variable.name not in VARIABLES:
            near = get_close_matches(variable.name, sorted(VARIABLES), n=1)
            note(REFERENCE, "is no variable", f"did you mean {near[0]}?" if near else None)
            return
        noun = _NOUNS[VARIABLES[variable.name]]
        if variable.name.startswith("contract_") and case.contracts is not None:
            kinds = {item.id: item.type for item in case.contracts.contracts}
            found = kinds.get(variable.entity_id if variable.entity_id is not None else -1)
            if found is not None and found not in variable.name:
                note(REFERENCE, f"contract {variable.entity_id} is an {found}", f"use contract_{found}")
        if variable.name == "anticipated_decision":
            thermals = case.thermals.thermals if case.thermals else []
            if any(item.id == variable.entity_id and item.anticipated_config is None for item in thermals):
                hint = f"use thermal_generation, or give it an anticipated_config in {files.THERMALS}"
                note(REFERENCE, f"thermal {variable.entity_id} is not dispatched ahead", hint)
        selected = dict(variable.selectors)
        pair = {"source_bus", "target_bus"}
        if variable.name == "line_exchange" and set(selected) == pair and variable.entity_id is None:
            whole = case.whole(files.LINES)
            if line_between(case, selected["source_bus"], selected["target_bus"]) is None and whole:
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
        known = self._ids[noun]
        if known is not None and variable.entity_id not in known:
            note(REFERENCE, f"{noun} {variable.entity_id} does not exist", f"ids are {list_ids(known)}")
            return
        if variable.block_id is not None and variable.name not in BY_BLOCK:
            note(SCHEMA, "is the same in every block of a stage", "leave the block out")
        if "bus" in allowed & set(selected) and case.hydros is not None:
            for plant in case.hydros.hydros:
                at = [group.bus_id for group in plant.unit_groups]
                if plant.id == variable.entity_id and selected["bus"] not in at:
                    message = f"{noun} {plant.id} has no unit group at bus {selected['bus']}"
                    note(REFERENCE, message, f"its groups are at {list_ids(at)}")


def line_between(case: CaseFiles, source: int, target: int) -> tuple[int, float] | None:
    """Line between two buses, and 1 or -1: whether it is drawn that way."""
    for line in case.lines.lines if case.lines else []:
        if (line.source_bus_id, line.target_bus_id) == (source, target):
            return line.id, 1.0
        if (line.source_bus_id, line.target_bus_id) == (target, source):
            return line.id, -1.0
    return None
