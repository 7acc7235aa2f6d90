"""Cobre's own examples, read from outside the repository: they load, or are refused for exact reasons."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pycobre.case import check_case, load_case

SHARED = Path(os.environ.get("PYCOBRE_SHARED_CASES") or Path(__file__).parents[2].parent / "shared" / "cases")
LOADED = (
    "cobre-0.18/1dtoy",
    "cobre-0.18/4ree",
    "cobre-0.18/d01-thermal-dispatch",
    "cobre-0.18/d02-single-hydro",
    "cobre-0.18/d03-two-hydro-cascade",
    "cobre-0.18/d04-transmission",
    "cobre-0.18/d05-fpha-constant-head",
    "cobre-0.18/d07-fpha-computed",
    "cobre-0.18/d08-evaporation",
    "cobre-0.18/d09-multi-deficit",
    "cobre-0.18/d10-inflow-nonnegativity",
    "cobre-0.18/d13-generic-constraint",
    "cobre-0.18/d14-block-factors",
    "cobre-0.18/d15-non-controllable-source",
    "cobre-0.18/d21-min-outflow-regression",
    "cobre-0.18/d23-bidirectional-withdrawal",
    "cobre-0.18/d24-productivity-override",
    "cobre-0.18/d27-per-stage-thermal-cost",
    "synthetic/mid20",
)
COEFFICIENTS = "scenarios/inflow_ar_coefficients.parquet"
WARNED: dict[str, set[tuple[str, str | None]]] = {
    "cobre-0.18/d12-par-annual": {
        ("scenarios/load_seasonal_stats.parquet", None),
        ("initial_conditions.json", "recent_observations"),
    },
    "cobre-0.18/d19-multi-hydro-par": {
        (COEFFICIENTS, "residual_std_ratio"),
        ("scenarios/inflow_seasonal_stats.parquet", "stage_id"),
    },
    "cobre-0.18/d28-decomp-weekly-monthly": {
        ("scenarios/load_seasonal_stats.parquet", None),
        ("stages.json", "start_date"),
        ("initial_conditions.json", "recent_observations"),
    },
    "cobre-0.18/d29-weekly-par-noise-sharing": {(COEFFICIENTS, "residual_std_ratio")},
}
OLD = sorted(
    path.relative_to(SHARED).as_posix() for path in SHARED.glob("cobre-0.5.1/*/config.json") if path.is_file()
)


def _there(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if (SHARED / name / "config.json").is_file()]


@pytest.mark.parametrize("name", _there(LOADED))
def test_an_original_loads(name: str) -> None:
    case = load_case(SHARED / name)
    assert all("standard month" in warning.message for warning in case.warnings)
    assert case.system.noise_dimension >= len(case.system.hydros)


@pytest.mark.parametrize("name", _there(tuple(WARNED)))
def test_an_original_with_oddities_loads_and_names_them(name: str) -> None:
    case = load_case(SHARED / name)
    odd = [warning for warning in case.warnings if "standard month" not in warning.message]
    assert {(warning.file, warning.field) for warning in odd} == WARNED[name]
    assert all(warning.hint for warning in odd)


@pytest.mark.parametrize("config", OLD)
def test_a_case_of_the_old_format_gets_hints_for_every_field(config: str) -> None:
    case, problems = check_case((SHARED / config).parent)
    assert case is None
    schema = [problem for problem in problems if problem.kind == "schema"]
    assert schema
    assert all(problem.hint for problem in schema if problem.message != "is required")
