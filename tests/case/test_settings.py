"""No setting is accepted and then does nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from pycobre.case import renames
from pycobre.case.config import Config
from pycobre.case.load import DOCUMENTS
from pycobre.case.unsupported import HONOURED_SETTINGS, SETTINGS, find_refusal


def _models(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return [model for part in get_args(annotation) for model in _models(part)]
    return []


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        below = _models(field.annotation)
        for inner in below:
            yield from _leaves(inner, f"{key}.")
        if not below:
            yield key


def test_every_setting_is_honoured_or_refused() -> None:
    keys = set(_leaves(Config)) - {"$schema"}
    assert len(keys) > 60

    def honoured(key: str) -> bool:
        return any(key == known or key.startswith(f"{known}.") for known in HONOURED_SETTINGS)

    assert [key for key in sorted(keys) if not honoured(key) and find_refusal(key) is None] == []
    assert [key for key in sorted(keys) if honoured(key) and find_refusal(key) is not None] == []
    assert [key for key in SETTINGS if key != "training.stopping_rules.gap" and not any(
        leaf == key or leaf.startswith(f"{key}.") for leaf in keys)] == []  # fmt: skip


def test_defaults_written_out_are_accepted(directory: Any, reload: Callable[..., Any]) -> None:
    """A file may spell out what holds anyway."""
    config = directory.documents["config.json"]
    config["training"] |= {
        "enabled": True,
        "cut_selection": {"selection": None},
        "parallelism": {"backward_scheduler": {"method": "by_scenario"}},
        "solver": {"retry_max_attempts": 5, "retry_time_budget_seconds": 30.0, "backward": {}},
        "scenario_source": {"openings": {"source": "generated"}, "load": {"scheme": "in_sample"}},
    }
    config["simulation"] |= {"io_channel_capacity": 64, "solver": None}
    config |= {
        "modeling": {"inflow_non_negativity": {"method": "penalty"}, "cost_scale_factor": None},
        "policy": {"mode": "fresh", "boundary": None, "checkpointing": {"enabled": False}},
        "estimation": {"max_order": 6, "order_selection": "pacf"},
        "exports": {"states": False},
        "upper_bound_evaluation": {"enabled": False, "lipschitz": {"mode": None}},
    }
    case, problems = reload()
    assert problems == ()
    assert case is not None


def test_estimation_without_history_is_warned_of(directory: Any, reload: Callable[..., Any]) -> None:
    directory.put("config.json", "estimation", {"max_order": 3})
    case, problems = reload()
    assert case is not None
    assert [(p.kind, p.field) for p in problems] == [("warning", "estimation")]


@pytest.mark.parametrize(("file", "path"), sorted(renames.UNKNOWN))
def test_an_old_name_is_answered_with_the_new_one(
    directory: Any, reload: Callable[..., Any], file: str, path: str
) -> None:
    directory.documents.setdefault("constraints/generic_constraints.json", {"constraints": [{}]})
    steps = path.split(".")
    place = directory.documents[file]
    for step in steps[:-1]:
        place = place.setdefault(step, {})
        place = place[0] if isinstance(place, list) else place
    place[steps[-1]] = 1
    problems = [p for p in reload()[1] if p.message == "is not a field of this object"]
    assert [(p.file, p.hint) for p in problems] == [(file, renames.UNKNOWN[file, path])]


@pytest.mark.parametrize(("file", "column"), sorted(renames.COLUMNS))
def test_an_old_column_is_answered_with_the_new_one(
    directory: Any, reload: Callable[..., Any], file: str, column: str
) -> None:
    directory.tables[file] = {column: [1.0]}
    (problem,) = [p for p in reload()[1] if p.message == "is not a column of this table"]
    assert (problem.file, problem.field, problem.hint) == (file, column, renames.COLUMNS[file, column])


@pytest.mark.parametrize("file", sorted(renames.FILES))
def test_a_file_that_is_not_read_any_more_is_refused(
    directory: Any, reload: Callable[..., Any], file: str
) -> None:
    directory.documents[file] = {}
    (problem,) = reload()[1]
    assert (problem.kind, problem.file, problem.hint) == ("structure", file, renames.FILES[file])


@pytest.mark.parametrize(
    ("file", "path", "hint"),
    [
        ("config.json", "training.stoping_rules", "did you mean stopping_rules?"),
        ("config.json", "training.selection.forward_pass", "did you mean forward_passes?"),
        ("system/hydros.json", "hydros.0.reservoir.max_storage", "did you mean max_storage_hm3?"),
        ("system/hydros.json", "hydros.0.zzz", "leave it out: it would have no effect"),
        ("stages.json", "stages.0.season", "did you mean season_id?"),
        (
            "scenarios/correlation.json",
            "profiles.default.correlation_group",
            "did you mean correlation_groups?",
        ),
    ],
)
def test_an_unknown_field_is_answered_with_a_near_one(
    directory: Any, reload: Callable[..., Any], file: str, path: str, hint: str
) -> None:
    directory.put(file, path, 1)
    assert [p.hint for p in reload()[1] if p.field and p.field.endswith(path.split(".")[-1])] == [hint]


def test_every_document_exports_its_json_schema_with_units() -> None:
    schemas = {
        file: json.dumps(model.model_json_schema(), ensure_ascii=False) for _, file, model, _ in DOCUMENTS
    }
    assert "Trajectories an iteration" in schemas["config.json"]
    assert "hm³" in schemas["system/hydros.json"]
    assert "currency per MWh" in schemas["penalties.json"]


@pytest.mark.parametrize(
    ("file", "path", "value", "field", "message"),
    [
        (
            "stages.json",
            "stages.0.risk_measure",
            "cvar",
            "risk_measure",
            "must be 'expectation', got \"cvar\"",
        ),
        (
            "stages.json",
            "stages.0.risk_measure",
            {"cvar": {"alpha": 2.0, "lambda": 0.5}},
            "risk_measure.cvar.alpha",
            "must be at most 1, got 2.0",
        ),
        (
            "config.json",
            "training.scenario_source",
            {"historical_years": {"from": 1940}},
            "training.scenario_source.historical_years.to",
            "is required",
        ),
        (
            "config.json",
            "training.scenario_source",
            {"seed": 1.5},
            "training.scenario_source.seed",
            "must be a",
        ),
        ("config.json", "training.selection", {}, "training.selection.method", "is required"),
    ],
)
def test_a_fault_in_one_arm_of_a_union_is_told_once(
    directory: Any, reload: Callable[..., Any], file: str, path: str, value: object, field: str, message: str
) -> None:
    directory.put(file, path, value)
    (problem,) = reload()[1]
    assert problem.field == field
    assert message in problem.message
