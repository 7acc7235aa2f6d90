"""A history of inflows says what the other files leave out, and can be replayed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pycobre.case.seasons import SeasonCalendar
from pycobre.case.stages import Season, SeasonDefinitions
from pycobre.stochastic import sample_openings

STATS = "scenarios/inflow_seasonal_stats.parquet"
COEFFICIENTS = "scenarios/inflow_ar_coefficients.parquet"
HISTORY = "scenarios/inflow_history.parquet"
EXTERNAL = "scenarios/external_inflow_scenarios.parquet"
LOADS = "scenarios/external_load_scenarios.parquet"
FIRST_YEAR, YEARS = 1990, 34  # up to December 2023: the study starts in January 2024


def months() -> list[tuple[dt.date, dt.date]]:
    starts = [dt.date(FIRST_YEAR + k // 12, k % 12 + 1, 1) for k in range(12 * YEARS + 1)]
    return list(pairwise(starts))


def series(seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(12 * YEARS)
    for t in range(1, len(noise)):
        noise[t] = 0.7 * noise[t - 1] + 0.7 * noise[t]
    return 40.0 + 10.0 * np.sin(np.arange(12 * YEARS) * np.pi / 6) + 5.0 * noise


@pytest.fixture
def historical(directory: Any) -> Any:
    """The small case with a history in the place of statistics, coefficients and correlation."""
    for file in (STATS, COEFFICIENTS, "scenarios/correlation.json"):
        directory.drop(file)
    rows = [
        (id, start, end, value)
        for id in (3, 5)
        for (start, end), value in zip(months(), series(id), strict=True)
    ]
    columns = zip(*rows, strict=True)
    directory.tables[HISTORY] = dict(
        zip(("hydro_id", "start_date", "end_date", "value_m3s"), map(list, columns), strict=True)
    )
    return directory


@pytest.fixture
def load(reload: Callable[..., Any]) -> Callable[..., Any]:
    def run(overrides: dict[str, object] | None = None) -> Any:
        case, problems = reload(overrides)
        assert case is not None, "\n".join(f"{p.file}: {p}" for p in problems)
        return case

    return run


def test_statistics_models_and_correlation_come_from_the_history(
    historical: Any, load: Callable[..., Any]
) -> None:
    inflow = load().system.inflow
    for row, id in enumerate((3, 5)):
        table = series(id).reshape(YEARS, 12)
        assert inflow.mean_m3s[row] == pytest.approx(table.mean(axis=0)[:3])
        assert inflow.std_m3s[row] == pytest.approx(table.std(axis=0)[:3])
        assert (inflow.coefficients[row, :, 0] > 0.4).all()
        assert inflow.past_m3s[row, 0] == pytest.approx([31.0, -2.0][row])  # observed in December
    assert ((inflow.residual_ratio > 0.0) & (inflow.residual_ratio < 1.0)).all()
    matrix = load().system.correlation.profiles[0]
    assert 0.0 < abs(matrix[0, 1]) < 0.5
    assert matrix.shape == (3, 3)
    assert (matrix[2] == [0.0, 0.0, 1.0]).all()  # demand stands alone


def test_given_statistics_stay_and_only_the_rest_is_estimated(
    historical: Any, load: Callable[..., Any]
) -> None:
    historical.tables[STATS] = {
        "hydro_id": [id for id in (3, 5) for _ in range(3)],
        "stage_id": [0, 1, 2] * 2,
        "mean_m3s": [100.0] * 6,
        "std_m3s": [7.0] * 6,
    }
    inflow = load().system.inflow
    assert (inflow.mean_m3s == 100.0).all()
    assert (inflow.std_m3s == 7.0).all()
    assert (inflow.coefficients[:, :, 0] > 0.4).all()


def test_given_coefficients_stay_and_only_the_rest_is_estimated(
    historical: Any, load: Callable[..., Any]
) -> None:
    historical.tables[COEFFICIENTS] = {
        "hydro_id": [3, 3, 3, 5, 5, 5],
        "stage_id": [0, 1, 2] * 2,
        "lag": [1] * 6,
        "coefficient": [0.25] * 6,
    }
    case = load()
    assert (case.system.inflow.coefficients == 0.25).all()
    assert case.system.inflow.mean_m3s[0, 0] == pytest.approx(series(3).reshape(YEARS, 12)[:, 0].mean())
    assert case.system.correlation.profiles[0][0, 1] != 0.0


@pytest.mark.parametrize(
    ("settings", "order"), [({"max_order": 0}, 0), ({"min_observations_per_season": 35}, 0), ({}, 1)]
)
def test_estimation_settings_decide_the_orders(
    historical: Any, load: Callable[..., Any], settings: dict[str, int], order: int
) -> None:
    historical.put("config.json", "estimation", settings)
    assert (load().system.inflow.order > 0) == (order > 0)


def test_annual_component_reaches_twelve_months_back(historical: Any, load: Callable[..., Any]) -> None:
    historical.put("config.json", "estimation", {"order_selection": "pacf_annual"})
    inflow = load().system.inflow
    assert inflow.annual is not None
    assert inflow.order == 12
    # December is observed; the other months are those of the history.
    assert inflow.past_m3s[0, 1:] == pytest.approx(series(3)[-2:-13:-1])


def test_given_annual_component_is_honoured(directory: Any, load: Callable[..., Any]) -> None:
    from pycobre.stochastic import inflow_recursion

    before = load().system
    directory.tables["scenarios/inflow_annual_component.parquet"] = {
        "hydro_id": [3],
        "stage_id": [1],
        "annual_coefficient": [0.3],
        "annual_mean_m3s": [30.0],
        "annual_std_m3s": [2.0],
    }
    directory.documents["initial_conditions.json"]["recent_observations"].append(
        {"hydro_id": 3, "start_date": "2022-12-01", "end_date": "2023-12-01", "value_m3s": 20.0}
    )
    past = [(id, -t) for id in (3, 5) for t in range(2, 13)]
    for name, values in (
        ("hydro_id", [id for id, _ in past]),
        ("stage_id", [t for _, t in past]),
        ("mean_m3s", [30.0] * len(past)),
        ("std_m3s", [3.0] * len(past)),
    ):
        directory.tables[STATS][name] += values
    system = load().system
    old, new = (inflow_recursion(s.inflow, s.stages) for s in (before, system))
    share = 0.3 / 2.0 / 12 * system.inflow.std_m3s[0, 1]
    assert new.lag[0, 1, 0] == pytest.approx(old.lag[0, 1, 0] + share)
    assert new.lag[0, 1, 1:12] == pytest.approx([share] * 11)
    assert (new.lag[0, 0, 1:] == 0.0).all()
    mean = [*system.inflow.lag_mean_m3s[0, 1]]
    assert new.constant_m3s[0, 1] == pytest.approx(old.constant_m3s[0, 1] - share * sum(mean))


def test_openings_of_historical_residuals_are_those_of_whole_years(
    historical: Any, load: Callable[..., Any]
) -> None:
    for stage in (0, 1):
        historical.put("stages.json", f"stages.{stage}.sampling_method", "historical_residuals")
        historical.put("stages.json", f"stages.{stage}.num_openings", YEARS + 3)
    historical.put("config.json", "estimation", {"max_order": 1})
    system = load().system
    openings = sample_openings(system, 1)
    again = sample_openings(system, 2)
    inflow = system.inflow
    table = np.array([series(id).reshape(YEARS, 12) for id in (3, 5)])
    z = (table - table.mean(axis=1, keepdims=True)) / table.std(axis=1, keepdims=True)
    expected = (z[:, :, 1] - inflow.coefficients[:, 1] * z[:, :, 0]) / inflow.residual_ratio[:, 1:2]
    found = {tuple(row) for row in np.round(openings[1][:, :2], 9).tolist()}
    assert found == {tuple(row) for row in np.round(expected.T, 9).tolist()}
    assert (openings[1] != again[1]).any()
    assert len(set(openings[1][:, 2])) == YEARS + 3  # demand is drawn
    # January looks back to the December before: the first year has no residual.
    assert len(inflow.residuals[0]) == YEARS - 1


def test_historical_residuals_need_a_history(directory: Any, reload: Callable[..., Any]) -> None:
    directory.put("stages.json", "stages.1.sampling_method", "historical_residuals")
    case, problems = reload()
    assert case is None
    assert [(p.kind, p.entity, p.field) for p in problems] == [("dimension", "stage 1", "sampling_method")]


def test_windows_shorter_than_a_month_are_averaged_by_days(historical: Any, load: Callable[..., Any]) -> None:
    table = historical.tables[HISTORY]
    expected = load().system.inflow.mean_m3s.copy()
    start, value = table["start_date"][0], table["value_m3s"][0]
    table["end_date"][0] = start + dt.timedelta(days=10)
    table["hydro_id"].append(3)
    table["start_date"].append(start + dt.timedelta(days=10))
    table["end_date"].append(dt.date(FIRST_YEAR, 2, 1))
    table["value_m3s"].append(value + 31.0)  # on 21 of 31 days
    mean = load().system.inflow.mean_m3s
    assert mean[0, 0] == pytest.approx(expected[0, 0] + 21.0 / YEARS)
    assert mean[:, 1:] == pytest.approx(expected[:, 1:])


@pytest.mark.parametrize(
    ("column", "row", "value", "kind", "message"),
    [
        ("end_date", 3, dt.date(1990, 5, 10), "physics", "two windows overlap"),
        ("end_date", 3, dt.date(1990, 4, 1), "physics", "ends on or before its first day"),
        ("hydro_id", 3, 77, "reference", "does not exist"),
    ],
)
def test_a_wrong_history_is_refused(
    historical: Any, reload: Callable[..., Any], column: str, row: int, value: object, kind: str, message: str
) -> None:
    historical.tables[HISTORY][column][row] = value
    case, problems = reload()
    assert case is None
    errors = [problem for problem in problems if problem.kind != "warning"]
    assert [(p.kind, p.file) for p in errors] == [(kind, HISTORY)]
    assert message in errors[0].message


def test_a_plant_without_history_is_named(historical: Any, reload: Callable[..., Any]) -> None:
    historical.keep_rows(HISTORY, lambda row: row["hydro_id"] == 3)
    case, problems = reload()
    assert case is None
    assert [(p.kind, p.entity) for p in problems if p.kind != "warning"] == [("dimension", "hydro 5 (Baixa)")]


def test_a_history_needs_seasons(historical: Any, reload: Callable[..., Any]) -> None:
    historical.drop("stages.json", "season_definitions")
    case, problems = reload()
    assert case is None
    assert ("stages.json", "season_id") in {(p.file, p.field) for p in problems}


def test_years_of_the_history_are_replayed(historical: Any, load: Callable[..., Any]) -> None:
    source = {"inflow": {"scheme": "historical"}, "historical_years": [1995, 2001]}
    historical.put("config.json", "training.scenario_source", source)
    case = load()
    found = case.scenarios["inflow", "historical"]
    assert [part.shape for part in found] == [(2, 2)] * 3
    for row, id in enumerate((3, 5)):
        table = series(id).reshape(YEARS, 12)
        assert np.array([part[:, row] for part in found]) == pytest.approx(table[[5, 11], :3].T)
    assert (case.options.training_schemes.inflow, case.options.simulation_schemes.inflow) == (
        "historical",
        "historical",
    )
    source["historical_years"] = {"from": 1995, "to": 1999}  # type: ignore[assignment]
    historical.put("config.json", "training.scenario_source", source)
    assert load().scenarios["inflow", "historical"][0].shape == (5, 2)
    del source["historical_years"]
    historical.put("config.json", "training.scenario_source", source)
    assert load().scenarios["inflow", "historical"][0].shape == (YEARS, 2)


def test_years_beyond_the_history_are_refused(historical: Any, reload: Callable[..., Any]) -> None:
    source = {"inflow": {"scheme": "historical"}, "historical_years": [1985, 1995]}
    historical.put("config.json", "training.scenario_source", source)
    case, problems = reload()
    assert case is None
    assert "1985" in next(p.message for p in problems if p.file == HISTORY)


def test_external_scenarios_are_read_by_stage(directory: Any, load: Callable[..., Any]) -> None:
    directory.put(
        "config.json",
        "training.scenario_source",
        {"inflow": {"scheme": "external"}, "load": {"scheme": "external"}},
    )
    rows = [(t, s, id) for t in range(3) for s in range(2 + t) for id in (3, 5)]
    directory.tables[EXTERNAL] = {
        "stage_id": [t for t, _, _ in rows],
        "scenario_id": [s for _, s, _ in rows],
        "hydro_id": [id for _, _, id in rows],
        "value_m3s": [100.0 * t + 10.0 * s + id for t, s, id in rows],
    }
    directory.tables[LOADS] = {
        "stage_id": [0, 1, 2],
        "scenario_id": [0, 0, 0],
        "bus_id": [2, 2, 2],
        "value_mw": [80.0, 85.0, 82.0],
    }
    case = load()
    assert [part.shape for part in case.scenarios["inflow", "external"]] == [(2, 2), (3, 2), (4, 2)]
    assert case.scenarios["inflow", "external"][1].tolist() == [
        [103.0, 105.0],
        [113.0, 115.0],
        [123.0, 125.0],
    ]
    assert [part.tolist() for part in case.scenarios["load", "external"]] == [[[80.0]], [[85.0]], [[82.0]]]


@pytest.mark.parametrize("broken", ["no file", "a gap", "history of demands"])
def test_scenarios_that_are_missing_are_named(
    directory: Any, reload: Callable[..., Any], broken: str
) -> None:
    scheme = "historical" if broken == "history of demands" else "external"
    name = "load" if broken == "history of demands" else "inflow"
    directory.put("config.json", "training.scenario_source", {name: {"scheme": scheme}})
    if broken == "a gap":
        directory.tables[EXTERNAL] = {
            "stage_id": [0, 1, 1, 2, 2],
            "scenario_id": [0] * 5,
            "hydro_id": [3, 3, 5, 3, 5],
            "value_m3s": [1.0] * 5,
        }
    case, problems = reload()
    assert case is None
    (problem,) = (p for p in problems if p.kind != "warning")
    expected = {
        "no file": ("structure", EXTERNAL),
        "a gap": ("dimension", EXTERNAL),
        "history of demands": ("dimension", "config.json"),
    }[broken]
    assert (problem.kind, problem.file) == expected


def redate(directory: Any, days: list[dt.date], cycle: str, seasons: list[dict[str, int]]) -> None:
    """Give the stages other dates, one block each, and seasons 0, 1, .. of another cycle."""
    stages = directory.documents["stages.json"]
    directory.drop("scenarios/load_factors.json")
    stages["season_definitions"] = {
        "cycle_type": cycle,
        "seasons": [{"id": k, "label": "", "month_start": 1, **season} for k, season in enumerate(seasons)],
    }
    for stage, (start, end) in zip(stages["stages"], pairwise(days), strict=True):
        stage |= {"start_date": str(start), "end_date": str(end)}
        stage["blocks"] = [{"id": 0, "name": "ALL", "hours": 24.0 * (end - start).days}]


@pytest.mark.parametrize("weekday", [1, 6])  # from Monday, as ISO weeks do, or from Saturday
def test_lags_over_weeks_reach_the_week_before(
    directory: Any, load: Callable[..., Any], weekday: int
) -> None:
    first = dt.date(2024, 1, weekday)
    redate(directory, [first + k * dt.timedelta(days=7) for k in range(4)], "weekly", [{} for _ in range(52)])
    week = {"start_date": str(first - dt.timedelta(days=7)), "end_date": str(first)}
    directory.put(
        "initial_conditions.json",
        "recent_observations",
        [{"hydro_id": id, "value_m3s": 10.0 * id, **week} for id in (3, 5)],
    )
    assert load().system.inflow.past_m3s[:, 0].tolist() == [30.0, 50.0]


def test_lags_over_custom_seasons_reach_the_season_before(directory: Any, load: Callable[..., Any]) -> None:
    wet = {"month_start": 11, "day_start": 1, "month_end": 4, "day_end": 30}
    dry = {"month_start": 5, "day_start": 1, "month_end": 10, "day_end": 31}
    days = [dt.date(2024, 5, 1), dt.date(2024, 11, 1), dt.date(2025, 5, 1), dt.date(2025, 11, 1)]
    redate(directory, days, "custom", [dry, wet])
    directory.put("stages.json", "stages.2.season_id", 0)
    season = {"start_date": "2023-11-01", "end_date": "2024-05-01"}
    directory.put(
        "initial_conditions.json",
        "recent_observations",
        [{"hydro_id": id, "value_m3s": 10.0 * id, **season} for id in (3, 5)],
    )
    directory.keep_rows(STATS, lambda row: row["stage_id"] >= 0)  # the season before comes again in stage 1
    inflow = load().system.inflow
    assert inflow.past_m3s[:, 0].tolist() == [30.0, 50.0]
    assert inflow.lag_mean_m3s[:, 0, 0] == pytest.approx(inflow.mean_m3s[:, 1])


def test_lags_over_stages_of_different_lengths_are_refused(
    directory: Any, reload: Callable[..., Any]
) -> None:
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 8), dt.date(2024, 1, 15), dt.date(2024, 2, 15)]
    redate(directory, days, "weekly", [{} for _ in range(52)])
    case, problems = reload()
    assert case is None
    assert ("unsupported", "season_definitions.cycle_type") in {(p.kind, p.field) for p in problems}


def definitions(cycle: str, *seasons: dict[str, int]) -> SeasonCalendar:
    records = [Season(id=k, label="", **{"month_start": 1, **season}) for k, season in enumerate(seasons)]
    return SeasonCalendar(SeasonDefinitions(cycle_type=cycle, seasons=records))


def test_weekly_seasons_are_iso_weeks() -> None:
    calendar = definitions("weekly", *[{} for _ in range(52)])
    for day in (dt.date(2024, 1, 1), dt.date(2020, 12, 31), dt.date(2021, 1, 4), dt.date(2023, 6, 18)):
        period = calendar.period_of(day)
        assert period.start.weekday() == 0
        assert period.start <= day < period.end == period.start + dt.timedelta(days=7)
        assert period.season_id == min(day.isocalendar().week, 52) - 1


def test_custom_seasons_run_from_day_to_day_across_the_year() -> None:
    calendar = definitions(
        "custom",
        {"month_start": 5, "day_start": 1, "month_end": 10, "day_end": 31},
        {"month_start": 11, "day_start": 1, "month_end": 4, "day_end": 30},
    )
    wet = calendar.period_of(dt.date(2024, 2, 29))
    assert (wet.start, wet.end, wet.season_id) == (dt.date(2023, 11, 1), dt.date(2024, 5, 1), 1)
    assert calendar.period_of(wet.end).season_id == 0
    assert [p.season_id for p in calendar.periods(dt.date(2023, 1, 1), dt.date(2025, 1, 1))] == [
        1,
        0,
        1,
        0,
        1,
    ]
