"""A file's fault hides no other problem, and makes none up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from case import exercise as e
from pycobre.case import check_case

STRANGE = {"strange": 1}


def _spoilt(directory: Any) -> Iterator[tuple[str, str]]:
    """Each file and place of it in turn while it has a fault: the file's, a record's, a table's row."""
    for file, document in directory.documents.items():
        lists = [group for group, items in document.items() if isinstance(items, list) and items]
        for group in [None, *lists]:
            place = document if group is None else document[group][0]
            place |= STRANGE
            yield file, str(group)
            for key in STRANGE:
                del place[key]
    for file, table in directory.tables.items():
        column, row = next(
            (name, row)
            for name, values in table.items()
            for row, value in enumerate(values)
            if isinstance(value, float)
        )
        before, table[column][row] = table[column][row], math.inf
        yield file, column
        table[column][row] = before


def priced_planes(directory: Any) -> None:
    """Planes, and a constraint with a productivity that a table gives a plant that has them."""
    e.constraints(directory)
    e.planes(directory)
    directory.tables[e.ENERGY] = {
        "hydro_id": [3], "stage_id": [None], "equivalent_productivity_mw_per_m3s": [0.9],
        "reference_outflow_m3s": [None], "specific_productivity_mw_per_m3s_per_m": [None],
    }  # fmt: skip


BASES = [
    e.external, e.constraints, e.changed, e.water, priced_planes, e.curves, e.history, e.annual, e.openings,
    e.split, e.steep, e.rated,
]  # fmt: skip


@pytest.mark.parametrize("base", BASES)
def test_a_fault_of_the_schema_is_the_only_problem(directory: Any, tmp_path: Path, base: e.Base) -> None:
    base(directory)
    directory.write(tmp_path)
    odd = {problem for problem in check_case(tmp_path)[1] if problem.kind == "warning"}
    told = {}
    last = None
    for file, place in _spoilt(directory):
        for changed in {file, last or file}:
            directory.write_file(tmp_path, changed)
        last = file
        _, problems = check_case(tmp_path)
        errors = [problem for problem in problems if problem.kind != "warning"]
        made_up = [problem for problem in problems if problem.kind == "warning" and problem not in odd]
        if len(errors) != 1 or made_up:
            told[file, place] = [str(problem) for problem in [*errors, *made_up]]
    assert told == {}


BOTH: list[tuple[str, e.Base, list[tuple[str, str, object]], set[tuple[str, str | None, str | None]]]] = [
    (
        "a reference of the next line",
        e.network,
        [(e.LINES, "lines.0.strange", 1), (e.LINES, "lines.1.target_bus_id", 9)],
        {(e.LINES, "line 1 (North-South)", "strange"), (e.LINES, "line 2 (Short-South)", "target_bus_id")},
    ),
    (
        "references of the plants themselves",
        e.limits,
        [
            (e.HYDROS, "hydros.0.generation.max_turbined_m3s", -1.0),
            (e.HYDROS, "hydros.0.unit_groups.0.bus_id", 77),
            (e.HYDROS, "hydros.1.name", 4),
            (e.HYDROS, "hydros.1.downstream_id", 9),
        ],
        {
            (e.HYDROS, "hydro 3 (Alta)", "generation.max_turbined_m3s"),
            (e.HYDROS, "hydro 3 (Alta)", "unit_groups[0].bus_id"),
            (e.HYDROS, "hydro 5", "name"),
            (e.HYDROS, "hydro 5", "downstream_id"),
        },
    ),
    (
        "settings that are refused",
        e.small,
        [
            (e.CONFIG, "training.selection.forward_passes", 0),
            (e.CONFIG, "training.strange", 1),
            (e.CONFIG, "exports", {"states": True}),
            (e.CONFIG, "upper_bound_evaluation", {"enabled": True}),
        ],
        {
            (e.CONFIG, None, "training.selection.forward_passes"),
            (e.CONFIG, None, "training.strange"),
            (e.CONFIG, None, "exports.states"),
            (e.CONFIG, None, "upper_bound_evaluation.enabled"),
        },
    ),
    (
        "the plant and the stage of a row",
        e.changed,
        [
            (e.BOUNDS.format("thermal"), "cost_per_mwh.0", -4.0),
            (e.BOUNDS.format("thermal"), "thermal_id.0", 77),
            (e.BOUNDS.format("thermal"), "stage_id.0", 55),
        ],
        {
            (e.BOUNDS.format("thermal"), "thermal 77, stage 55", "cost_per_mwh"),
            (e.BOUNDS.format("thermal"), "thermal 77", "thermal_id"),
            (e.BOUNDS.format("thermal"), None, "stage_id"),
        },
    ),
    (
        "a reference that is no number",
        e.network,
        [(e.THERMALS, "thermals.0.bus_id", "north")],
        {(e.THERMALS, "thermal 4 (Gas)", "bus_id")},
    ),
    (
        "the season of a stage, and the plant of a storage",
        e.annual,
        [
            (e.STAGES, "stages.0.num_openings", 0),
            (e.STAGES, "stages.0.season_id", 77),
            (e.INITIAL, "storage.0.value_hm3", -1.0),
            (e.INITIAL, "storage.0.hydro_id", 88),
        ],
        {
            (e.STAGES, "stage 0", "num_openings"),
            (e.STAGES, "stage 0", "season_id"),
            (e.INITIAL, "hydro 88", "value_hm3"),
            (e.INITIAL, "hydro 88", "storage"),
        },
    ),
    (
        "a limit of the next plant",
        e.network,
        [(e.THERMALS, "thermals.0.cost_per_mwh", -1.0), (e.THERMALS, "thermals.1.generation.min_mw", 99.0)],
        {
            (e.THERMALS, "thermal 4 (Gas)", "cost_per_mwh"),
            (e.THERMALS, "thermal 6 (Must)", "generation.min_mw"),
        },
    ),
    (
        "the river below a plant and the bounds of another",
        e.limits,
        [
            (e.HYDROS, "hydros.0.strange", 1),
            (e.HYDROS, "hydros.1.downstream_id", 9),
            (e.BOUNDS.format("hydro"), "hydro_id.0", 5),
            (e.BOUNDS.format("hydro"), "min_outflow_m3s.0", 8.0),
            (e.BOUNDS.format("hydro"), "max_outflow_m3s.0", 7.0),
        ],
        {
            (e.HYDROS, "hydro 3 (Alta)", "strange"),
            (e.HYDROS, "hydro 5 (Baixa)", "downstream_id"),
            (e.BOUNDS.format("hydro"), "hydro 5 (Baixa), stage 1", "min_outflow_m3s"),
        },
    ),
    (
        "the hours of another stage",
        e.small,
        [(e.STAGES, "stages.0.num_openings", 0), (e.STAGES, "stages.2.blocks.1.hours", 100.0)],
        {(e.STAGES, "stage 0", "num_openings"), (e.STAGES, "stage 2", "blocks")},
    ),
    (
        "a stage of another model",
        e.small,
        [
            (e.PRODUCTION, "production_models.0.stage_ranges.0.strange", 1),
            (e.PRODUCTION, "production_models.1.hydro_id", 9),
        ],
        {
            (e.PRODUCTION, "hydro 3", "stage_ranges[0].strange"),
            (e.PRODUCTION, "hydro 9", "hydro_id"),
        },
    ),
    (
        "another row of the table",
        e.small,
        [(e.INFLOW_STATS, "mean_m3s.1", math.inf), (e.INFLOW_STATS, "hydro_id.7", 9)],
        {(e.INFLOW_STATS, "hydro 3, stage 0", "mean_m3s"), (e.INFLOW_STATS, "hydro 9", "hydro_id")},
    ),
    (
        "another constraint",
        e.constraints,
        [
            (e.CONSTRAINTS, "constraints.0.slack", None),
            (e.CONSTRAINTS, "constraints.1.expression", "thermal_generation(9) >= 1"),
        ],
        {
            (e.CONSTRAINTS, "constraint 1 (Cap)", "slack"),
            (e.CONSTRAINTS, "constraint 2 (Least)", "expression"),
        },
    ),
]


@pytest.mark.parametrize(("what", "base", "changes", "expected"), BOTH, ids=[row[0] for row in BOTH])
def test_a_fault_of_the_schema_does_not_hide(
    directory: Any,
    reload: Callable[..., Any],
    what: str,
    base: e.Base,
    changes: list[tuple[str, str, object]],
    expected: set[tuple[str, str | None, str | None]],
) -> None:
    base(directory)
    for file, path, value in changes:
        directory.put(file, path, value)
    errors = [problem for problem in reload()[1] if problem.kind != "warning"]
    assert {(p.file, p.entity, p.field) for p in errors} == expected, "\n".join(map(str, errors))
