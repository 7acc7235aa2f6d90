"""Units are what names say: a study in another currency, or of twice as much of everything, is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

import pycobre
from case import exercise as e
from pycobre.system import System

QUANTITIES = ("_mw", "_m3s", "_hm3", "_km2")
BASES = [e.changed, e.water, e.own_prices, e.stage_prices, e.planes, e.constraints, e.annual, e.limits]


def is_price(name: str) -> bool:
    return "cost" in name or "price" in name


def is_quantity(name: str) -> bool:
    """Bounds of generic constraints are of the quantities that they add up."""
    return (name.endswith(QUANTITIES) and "_per_" not in name) or name in ("lower", "upper")


def doubled(value: Any, which: Callable[[str], bool], name: str = "") -> Any:
    """*value* with every number twice that has a name of *which*."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: getattr(value, part.name) for part in fields(value) if part.init}
        return replace(value, **{key: doubled(part, which, key) for key, part in parts.items()})
    if isinstance(value, Mapping):
        return {
            key: doubled(part, which, key if isinstance(key, str) else name) for key, part in value.items()
        }
    if isinstance(value, tuple):
        return tuple(doubled(part, which, name) for part in value)
    return 2.0 * value if isinstance(value, float | np.ndarray) and which(name) else value


@pytest.mark.parametrize("base", BASES)
def test_money_and_quantities_may_be_counted_otherwise(
    directory: Any, reload: Callable[..., Any], base: e.Base
) -> None:
    base(directory)
    case, problems = reload()
    assert case is not None, problems

    def run(system: System) -> tuple[float, float]:
        summary = pycobre.train(system, case.options, threads=1, simulation=True).summary
        assert summary.simulated_mean is not None
        return summary.lower_bound, summary.simulated_mean

    bound, cost = run(case.system)
    assert bound > 0.0
    # Solvers see the same numbers: costs are divided by a power of two near their median.
    assert run(doubled(case.system, is_price)) == (2.0 * bound, 2.0 * cost)
    assert run(doubled(case.system, is_quantity)) == pytest.approx((2.0 * bound, 2.0 * cost), rel=1e-9)
