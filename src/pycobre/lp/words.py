"""Why a stage problem has no solution, in words: what can't be met, and what stands against it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycobre.lp.sparse import Sparse
from pycobre.lp.template import StageTemplate

FloatArray = NDArray[np.float64]

_NAME = re.compile(r"(?P<what>\w+)\[(?P<where>.*)\]")
_UNITS = {"hm3": "hm³", "m3s": "m³/s", "mw": "MW"}
_WORDS = {
    "balance": "power balance",
    "water": "water balance",
    "head": "generation at the head",
    "turbined_by_bus": "sum of turbined flows",
    "generation_by_bus": "sum of generation",
    "outflow_min": "minimum outflow",
    "outflow_max": "maximum outflow",
    "turbined_min": "minimum turbined flow",
    "generation_min": "minimum generation",
    "storage_min": "minimum storage",
    "storage": "final storage",
    "turbined": "turbined flow",
    "spilled": "spilled flow",
    "diverted": "diverted flow",
    "pumped": "pumped flow",
    "power": "traded power",
    "available": "available generation",
    "direct": "flow from source to target",
    "reverse": "flow from target to source",
    "delivered": "dispatch decided ahead",
    "committed": "dispatch for a later stage",
    "in_transit": "water under way",
    "generic": "bound",
}
_FLOWS = ("outflow", "turbined", "spilled", "diverted")
# Balances are where requirements meet; what can't be met is rather one of the others.
_BALANCES = ("balance", "water")


@dataclass(frozen=True)
class _Row:
    name: str
    factor: FloatArray
    lower: float
    upper: float


def explain_in_words(
    template: StageTemplate, conflict: Sequence[str], state: FloatArray, noise: FloatArray
) -> str:
    """Sentence on the rows and columns in *conflict* at an incoming *state* and *noise*; may be empty.

    One row is told as what is asked for, with the most or the least that the others leave of it; the others
    as what it stands against.

    Parameters
    ----------
    conflict
        Names of an irreducible infeasible set: without any one of them the rest can hold.
    state : (X,)
    noise : (D,)
    """
    rows = _rows(template, set(conflict), state, noise)
    columns = [k for k, name in enumerate(template.column_names) if name in set(conflict)]
    asked = sorted(rows, key=lambda row: _split(row.name)[0] in _BALANCES)
    for row in asked:
        others = [other for other in rows if other is not row]
        left = _left_of(template, row, others, columns)
        if left is None:
            continue
        limit, wanted, most = left
        unit = _split(row.name)[1]
        against = [_told(other) for other in others] + [_told_column(template, k) for k in columns]
        sentence = f"{phrase(row.name)} {'needs' if most else 'allows'} {_number(wanted, unit)}"
        sentence += f", but no {'more' if most else 'less'} than {_number(limit, unit)} can be had"
        return sentence + (f" with {', '.join(against)}" if against else "")
    return ""


def states_behind(template: StageTemplate, conflict: Sequence[str], state: FloatArray) -> dict[str, float]:
    """Those incoming states, by name, that move a row in *conflict*."""
    names, planes = set(conflict), template.planes
    moving: set[int] = set()
    for all_names, moved in (
        (template.row_names, template.row_state),
        (planes.names(template.column_names), planes.state),
    ):
        rows = [i for i, name in enumerate(all_names) if name in names]
        moving |= set(moved.column[np.isin(moved.row, rows)].tolist())
    told = template.state_names or tuple(f"state {x}" for x in range(template.states_in))
    return {told[x]: float(state[x]) for x in sorted(moving)}


def phrase(name: str) -> str:
    """What a row or column is called among people."""
    what, _, where = _split(name)
    words = _WORDS.get(what, what.replace("_", " "))
    if not where:
        return words
    places = where.split(", ")
    told = f"{words} of {places[0]}"
    return told if len(places) == 1 else f"{told} in {', '.join(places[1:])}"


def _split(name: str) -> tuple[str, str, str]:
    """What a name speaks of, in what unit, and where."""
    found = _NAME.fullmatch(name)
    what, where = (found["what"], found["where"]) if found else (name, "")
    stem, _, last = what.rpartition("_")
    if last in _UNITS:
        return stem, _UNITS[last], where
    return what, "m³/s" if what.startswith(_FLOWS) else "MW" if what.startswith("generation") else "", where


def _rows(template: StageTemplate, names: set[str], state: FloatArray, noise: FloatArray) -> list[_Row]:
    """Rows of the conflict with their bounds at *state* and *noise*."""
    planes = template.planes
    none = np.full(len(planes), -np.inf)
    return [
        *_named_rows(
            names, template.row_names, template.matrix, template.row_lower, template.row_upper,
            [(template.row_state, state), (template.row_noise, noise)],
        ),
        *_named_rows(
            names, planes.names(template.column_names), planes.matrix, none, planes.upper,
            [(planes.state, state)],
        ),
    ]  # fmt: skip


def _named_rows(
    names: set[str],
    all_names: Sequence[str],
    matrix: Sparse,
    lower: FloatArray,
    upper: FloatArray,
    moving: list[tuple[Sparse, FloatArray]],
) -> list[_Row]:
    found = []
    for i, name in enumerate(all_names):
        if name not in names:
            continue
        factor = np.zeros(matrix.shape[1])
        at = matrix.row == i
        factor[matrix.column[at]] = matrix.value[at]
        shift = 0.0
        for moved, data in moving:
            here = moved.row == i
            shift += float((moved.value[here] * data[moved.column[here]]).sum())
        found.append(_Row(name, factor, float(lower[i]) + shift, float(upper[i]) + shift))
    return found


def _left_of(
    template: StageTemplate, row: _Row, others: list[_Row], columns: list[int]
) -> tuple[float, float, bool] | None:
    """What *others* and the bounds of *columns* leave of a row; ``None`` if the row is not in the way.

    The limit, what is asked for, and whether the limit is the most.
    """
    from scipy.optimize import linprog  # takes half a second, which no rank should spend at its start

    free = [(-np.inf, np.inf)] * len(row.factor)
    for k in columns:
        free[k] = (float(template.column_lower[k]), float(template.column_upper[k]))
    matrix: list[FloatArray] = []
    bound: list[float] = []
    for other in others:
        if np.isfinite(other.upper):
            matrix, bound = [*matrix, other.factor], [*bound, other.upper]
        if np.isfinite(other.lower):
            matrix, bound = [*matrix, -other.factor], [*bound, -other.lower]
    for wanted, sign in ((row.lower, -1.0), (row.upper, 1.0)):
        if not np.isfinite(wanted):
            continue
        solved = linprog(sign * row.factor, np.array(matrix) if matrix else None, bound or None, bounds=free)
        if solved.status == 0 and sign * wanted < solved.fun:
            return float(sign * solved.fun), wanted, sign < 0.0
    return None


def _told(row: _Row) -> str:
    unit = _split(row.name)[1]
    if row.lower == row.upper:
        return f"the {phrase(row.name)}"
    bound = (
        f"at least {_number(row.lower, unit)}"
        if np.isfinite(row.lower)
        else f"at most {_number(row.upper, unit)}"
    )
    return f"the {phrase(row.name)} ({bound})"


def _told_column(template: StageTemplate, k: int) -> str:
    name, lower, upper = template.column_names[k], template.column_lower[k], template.column_upper[k]
    unit = _split(name)[1]
    if np.isfinite(upper):
        return f"the {phrase(name)} ({_number(lower, '')} to {_number(upper, unit)})"
    return f"the {phrase(name)} (at least {_number(lower, unit)})"


def _number(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}".rstrip()
