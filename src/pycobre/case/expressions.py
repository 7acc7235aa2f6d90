"""Linear expressions of generic constraints: from text to terms.

::

    constraint  =  sum [ ("<=" | ">=" | "==") sum ]
    sum         =  ["-"] product { ("+" | "-") product }
    product     =  factor { "*" factor }
    factor      =  number | "@" name | name "(" arguments ")" | "(" sum ")"
    arguments   =  [number [ "," number ]] { "," name "=" number }

A product holds at most one variable: expressions are linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark><=|>=|==|[-+*(),@=<>]))"
)
RELATIONS = ("<=", ">=", "==")
MAX_DEPTH = 50
"""Parentheses inside parentheses: far beyond any constraint, and far from the interpreter's limit."""


class ExpressionError(Exception):
    """A text that is no linear expression, and the character (from 0) where that shows."""

    def __init__(self, position: int, message: str) -> None:
        self.position = position
        super().__init__(message)


@dataclass(frozen=True)
class Variable:
    """A quantity of an entity, as it is written."""

    name: str
    position: int
    entity_id: int | None
    block_id: int | None
    selectors: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Product:
    """A number times named values, each with its position, times a variable or nothing."""

    number: float
    names: tuple[tuple[str, int], ...] = ()
    variable: Variable | None = None


@dataclass(frozen=True)
class Expression:
    """Products that are added up; what stands right of a relation is there too."""

    left: tuple[Product, ...]
    relation: str | None = None
    right: tuple[Product, ...] = ()


@dataclass
class _Text:
    """Tokens of a text: (kind, content, position), and which comes next."""

    text: str
    tokens: list[tuple[str, str, int]] = field(default_factory=list)
    next: int = 0

    def __post_init__(self) -> None:
        self.tokens = [*_tokens(self.text), ("end", "the end", len(self.text))]

    @property
    def position(self) -> int:
        return self.tokens[self.next][2]

    def take(self, *marks: str) -> str | None:
        """The next token if it is one of *marks*, which is then done with."""
        kind, content, _ = self.tokens[self.next]
        if kind == "mark" and content in marks:
            self.next += 1
            return content
        return None

    def take_kind(self, kind: str) -> str | None:
        """The next token's content if it is of *kind*."""
        found, content, _ = self.tokens[self.next]
        if found != kind:
            return None
        self.next += 1
        return content

    def fail(self, wanted: str) -> ExpressionError:
        return ExpressionError(self.position, f"expected {wanted}, got {self.tokens[self.next][1]}")


def parse(text: str) -> Expression:
    """Expression that *text* says.

    Raises
    ------
    ExpressionError
        It says none.
    """
    source = _Text(text)
    left = _sum(source, 0)
    relation = source.take(*RELATIONS)
    right = _sum(source, 0) if relation else ()
    if source.take_kind("end") is None:
        if source.take(*RELATIONS):
            source.next -= 1
            raise ExpressionError(source.position, "there is one relation at most")
        raise source.fail("+ or - between terms" if relation else "+, - or one of <=, >=, ==")
    return Expression(left, relation, right)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise ExpressionError(start, f"{text[start]!r} belongs to no expression")
        kind = str(match.lastgroup)
        yield kind, match[kind], match.start(kind)
        position = match.end()


def _sum(source: _Text, depth: int) -> tuple[Product, ...]:
    if depth > MAX_DEPTH:
        raise ExpressionError(source.position, f"more than {MAX_DEPTH} parentheses inside one another")
    products: list[Product] = []
    sign = -1.0 if source.take("-") else 1.0
    while True:
        products += [replace(product, number=sign * product.number) for product in _product(source, depth)]
        mark = source.take("+", "-")
        if mark is None:
            return tuple(products)
        sign = -1.0 if mark == "-" else 1.0


def _product(source: _Text, depth: int) -> list[Product]:
    result = _factor(source, depth)
    while source.take("*"):
        position = source.position
        other = _factor(source, depth)
        if any(a.variable and b.variable for a in result for b in other):
            raise ExpressionError(position, "two variables multiplied are not linear")
        result = [
            Product(a.number * b.number, a.names + b.names, a.variable or b.variable)
            for a in result
            for b in other
        ]
    return result


def _factor(source: _Text, depth: int) -> list[Product]:
    position = source.position
    number = source.take_kind("number")
    if number is not None:
        return [Product(float(number))]
    if source.take("("):
        inner = list(_sum(source, depth + 1))
        if not source.take(")"):
            raise source.fail(f"')' for the '(' at character {position + 1}")
        return inner
    if source.take("@"):
        name = source.take_kind("name")
        if name is None:
            raise source.fail("a name after @")
        return [Product(1.0, ((name, position),))]
    name = source.take_kind("name")
    if name is None:
        raise source.fail("a number, a variable, @ or '('")
    return [Product(1.0, (), _variable(source, name, position))]


def _variable(source: _Text, name: str, position: int) -> Variable:
    if not source.take("("):
        raise source.fail(f"'(' after {name}")
    numbers: list[int] = []
    selectors: list[tuple[str, int]] = []
    while True:
        selector = source.take_kind("name")
        if selector is not None and not source.take("="):
            raise source.fail(f"'=' after {selector}")
        start, number = source.position, source.take_kind("number")
        if number is None:
            raise source.fail("an id")
        if not number.isdigit():
            raise ExpressionError(start, f"an id is a whole number, got {number}")
        if selector is not None:
            selectors.append((selector, int(number)))
        elif selectors or len(numbers) == 2:
            raise ExpressionError(start, "an id and a block come first, and nothing else without a name")
        else:
            numbers.append(int(number))
        if source.take(")"):
            break
        if not source.take(","):
            raise source.fail("',' or ')'")
    entity, block = [*numbers, None, None][:2]
    return Variable(name, position, entity, block, tuple(selectors))
