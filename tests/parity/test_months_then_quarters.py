"""Months first, then quarters: lags across the change, beside one LP over the whole tree, by scipy.

The plants are those of d19. Its stages become May and June, then four quarters; the inflows follow from the
dates here, and from the numbers of the case alone.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pycobre
from parity.tree import least_cost
from pycobre.case import check_case, load_case, write_case
from pycobre.errors import CaseError
from pycobre.results import read_policy
from pycobre.stochastic import inflow_recursion

DAYS = [dt.date(2024, 5, 1), dt.date(2024, 6, 1), dt.date(2024, 7, 1), dt.date(2024, 10, 1)]
DAYS += [dt.date(2025, 1, 1), dt.date(2025, 4, 1), dt.date(2025, 7, 1)]
SEASONS = [4, 5, 14, 15, 12, 13]
OPENINGS = [1, 2, 3, 2, 1, 1]
MEAN = (40.0, 25.0)
STD = (4.0, 6.0)
"""Of months, and of quarters."""
MODELS = {(0, "month"): (0.5, 0.3), (0, "quarter"): (0.4, 0.2), (1, "month"): (0.6,), (1, "quarter"): (0.3,)}
OBSERVED = ((42.0, 36.0, 38.0, 45.0, 50.0), (26.0, 24.0, 27.0, 28.0, 30.0))
"""January to April, after December."""
MONTHS = [dt.date(2023, 12, 1), *(dt.date(2024, month, 1) for month in range(1, 6))]

Past = list[tuple[dt.date, dt.date, float]]


def kind(stage: int) -> str:
    return "month" if stage < 2 else "quarter"


@pytest.fixture
def case(shared_cases: Path, tmp_path: Path) -> Path:
    path = tmp_path / "case"
    shutil.copytree(shared_cases / "cobre-0.18" / "d19-multi-hydro-par", path, copy_function=shutil.copyfile)
    for folder in (path, path / "scenarios"):
        folder.chmod(0o755)
    content = json.loads((path / "stages.json").read_text())
    del content["pre_study_stages"]
    last = {4: 30, 6: 30, 9: 30, 11: 30, 2: 29}
    months = [
        {"id": m - 1, "label": f"month {m}", "month_start": m, "day_end": last.get(m, 31)}
        for m in range(1, 13)
    ]
    quarters = [
        {"id": 12 + q, "label": f"quarter {q + 1}", "month_start": 3 * q + 1, "month_end": 3 * q + 3}
        for q in range(4)
    ]
    content["season_definitions"] = {"cycle_type": "custom", "seasons": months + quarters}
    content["stages"] = [
        {
            "id": t,
            "start_date": str(start),
            "end_date": str(end),
            "season_id": SEASONS[t],
            "num_openings": OPENINGS[t],
            "state_variables": {"storage": True, "inflow_lags": True},
            "blocks": [{"id": 0, "name": "ALL", "hours": 24.0 * (end - start).days}],
        }
        for t, (start, end) in enumerate(pairwise(DAYS))
    ]
    (path / "stages.json").write_text(json.dumps(content))
    initial = json.loads((path / "initial_conditions.json").read_text())
    initial["recent_observations"] = [
        {"hydro_id": h, "start_date": str(start), "end_date": str(end), "value_m3s": value}
        for h in (0, 1)
        for (start, end), value in zip(pairwise(MONTHS), OBSERVED[h], strict=True)
    ]
    (path / "initial_conditions.json").write_text(json.dumps(initial))
    spread = [(h, t, MEAN[h], STD[kind(t) == "quarter"]) for h in (0, 1) for t in (-2, -1, *range(6))]
    write(path, "inflow_seasonal_stats", spread, "hydro_id", "stage_id", "mean_m3s", "std_m3s")
    models = [
        (h, t, lag, value)
        for h in (0, 1)
        for t in range(6)
        for lag, value in enumerate(MODELS[h, kind(t)], 1)
    ]
    write(path, "inflow_ar_coefficients", models, "hydro_id", "stage_id", "lag", "coefficient")
    demand = [(0, t, 100.0, 0.0) for t in range(6)]
    write(path, "load_seasonal_stats", demand, "bus_id", "stage_id", "mean_mw", "std_mw")
    return path


def write(case: Path, name: str, rows: list[tuple[Any, ...]], *columns: str) -> None:
    arrays = [
        pa.array(values, pa.int32() if isinstance(values[0], int) else pa.float64())
        for values in zip(*rows, strict=True)
    ]
    pq.write_table(pa.table(arrays, list(columns)), case / "scenarios" / f"{name}.parquet")


def before(stage: int) -> list[tuple[dt.date, dt.date]]:
    """Days of lags 1 and 2."""
    length = 1 if kind(stage) == "month" else 3
    ends = [DAYS[stage]]
    for _ in range(2):
        month = ends[-1].year * 12 + ends[-1].month - 1 - length
        ends.append(dt.date(month // 12, month % 12 + 1, 1))
    return [(start, end) for end, start in pairwise(ends)]


def mean_over(past: Past, start: dt.date, end: dt.date) -> float:
    days = [max((min(b, end) - max(a, start)).days, 0) for a, b, _ in past]
    assert sum(days) == (end - start).days
    return math.fsum(d * value for d, (_, _, value) in zip(days, past, strict=True)) / sum(days)


def inflow(h: int, stage: int, past: Past, noise: float) -> float:
    phi = MODELS[h, kind(stage)]
    if len(phi) == 1:
        left = 1.0 - phi[0] ** 2
    else:
        first = phi[0] / (1.0 - phi[1])
        left = 1.0 - phi[0] * first - phi[1] * (phi[0] * first + phi[1])
    spread = STD[kind(stage) == "quarter"]
    value = MEAN[h] + spread * math.sqrt(left) * noise
    for weight, (start, end) in zip(phi, before(stage), strict=False):
        value += weight * (mean_over(past, start, end) - MEAN[h])
    return value


def value_from(stage: int, storage: tuple[float, ...], past: list[Past], noise: dict[Any, float]) -> float:
    """Least expected cost from *stage* on."""
    productivity, turbined, most = (1.0, 0.8), (100.0, 80.0), (200.0, 150.0)
    cost: list[float] = []
    bounds: list[tuple[float, float | None]] = []
    rows: list[dict[int, float]] = []
    sides: list[float] = []
    node: dict[tuple[int, ...], int] = {}
    known: dict[tuple[int, ...], list[Past]] = {(): past}
    for t in range(stage, 6):
        hours = 24.0 * (DAYS[t + 1] - DAYS[t]).days
        carried = hours * 0.0036
        counts = OPENINGS[stage : t + 1]
        for path in itertools.product(*map(range, counts)):
            first = node[path] = len(cost)
            # Storage, turbined and spilled flow of either plant; thermal, deficit, excess.
            prices = [0.0, 0.0, 0.01, 0.0, 0.0, 0.01, 50.0, 1000.0, 0.01]
            cost += [hours * price / math.prod(counts) for price in prices]
            for h in (0, 1):
                bounds += [(0.0, most[h]), (0.0, turbined[h]), (0.0, None)]
            bounds += [(0.0, 200.0), (0.0, None), (0.0, None)]
            known[path] = []
            for h in (0, 1):
                came = inflow(h, t, known[path[:-1]][h], noise[t, path[-1], h])
                known[path].append([*known[path[:-1]][h], (DAYS[t], DAYS[t + 1], came)])
                row = {first + 3 * h: 1.0, first + 3 * h + 1: carried, first + 3 * h + 2: carried}
                if t > stage:
                    row[node[path[:-1]] + 3 * h] = -1.0
                rows.append(row)
                sides.append(carried * came + (0.0 if t > stage else storage[h]))
            power = {first + 1: productivity[0], first + 4: productivity[1]}
            rows.append(power | {first + 6: 1.0, first + 7: 1.0, first + 8: -1.0})
            sides.append(100.0)
    return least_cost(cost, rows, sides, bounds)


def observed() -> list[Past]:
    return [[(a, b, x) for (a, b), x in zip(pairwise(MONTHS), OBSERVED[h], strict=True)] for h in (0, 1)]


def test_bound_and_slopes_in_the_lags_are_those_of_the_whole_tree(case: Path, tmp_path: Path) -> None:
    settings = {"training.iterations": 80, "exports.stochastic": True}
    settings["modeling.inflow_non_negativity.method"] = "none"
    result = pycobre.train(case, output=tmp_path / "results", simulation=False, overrides=settings)
    noise = {
        (row["stage_id"], row["opening"], row["term"]): row["noise"]
        for row in result.results.openings.to_arrow().to_pylist()
    }
    assert result.lower_bound == pytest.approx(value_from(0, (100.0, 75.0), observed(), noise), rel=1e-9)

    # What May left: two storages, then by lag the inflow of either plant.
    policy = read_policy(tmp_path / "results" / "policy")
    names = [state["name"] for state in policy.document["states"]]
    state = policy.nodes[0].state[-1]
    past = observed()
    for h in (0, 1):
        past[h] = [*past[h], (DAYS[0], DAYS[1], state[names.index(f"inflow_m3s[{h}, lag 1]")])]
    may_to_january = [names.index(f"inflow_m3s[0, lag {lag}]") for lag in range(1, 6)]
    assert state[may_to_january[1:]] == pytest.approx(OBSERVED[0][:0:-1])
    cuts = policy.nodes[0]
    slope = cuts.slope[int(np.argmax(cuts.intercept + cuts.slope @ state))]
    assert (slope[may_to_january] < 0.0).all()
    step = 0.01
    for lag, place in enumerate(may_to_january, 1):
        shifted = []
        for sign in (-1.0, 1.0):
            moved = [list(of_plant) for of_plant in past]
            start, end, value = moved[0][-lag]
            moved[0][-lag] = (start, end, value + sign * step)
            shifted.append(value_from(1, tuple(state[:2]), moved, noise))
        assert slope[place] == pytest.approx((shifted[1] - shifted[0]) / (2.0 * step), rel=1e-5)


def test_a_month_within_a_quarter_before_it_deviates_as_the_quarter_did(case: Path) -> None:
    content = json.loads((case / "stages.json").read_text())
    july = {"id": 6, "season_id": 6, "start_date": "2025-07-01", "end_date": "2025-08-01"}
    july["blocks"] = [{"id": 0, "name": "ALL", "hours": 744.0}]
    content["stages"].append({**content["stages"][0], **july})
    (case / "stages.json").write_text(json.dumps(content))
    for name, more in (
        ("inflow_seasonal_stats", {"mean_m3s": 90.0, "std_m3s": 12.0}),
        ("inflow_ar_coefficients", {"lag": 1, "coefficient": 0.5}),
        ("load_seasonal_stats", {"mean_mw": 100.0, "std_mw": 0.0}),
    ):
        path = case / "scenarios" / f"{name}.parquet"
        table = pq.read_table(path)
        key = table.column_names[0]
        rows = [
            *table.to_pylist(),
            *({key: h, "stage_id": 6, **more} for h in range(1 + (key == "hydro_id"))),
        ]
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    system = load_case(case).system
    recursion = inflow_recursion(system.inflow, system.stages)
    # 90 + 12 · 0.5 · (quarter - 40) / 6
    assert recursion.lag[0, 6, 0] == pytest.approx(1.0)
    assert recursion.constant_m3s[0, 6] == pytest.approx(50.0)
    assert not recursion.lag[0, 6, 1:].any()


def test_the_system_is_written_as_a_case_and_reads_back_equal(case: Path, tmp_path: Path) -> None:
    system = load_case(case).system
    assert system.inflow.lag_weights is not None
    again = load_case(write_case(system, tmp_path / "again")).system
    assert system.differences(again) == []
    # Thirds are means of so many days that a single number, times the days, mostly rounds to another one.
    past = system.inflow.past_m3s.copy()
    for lag, (start, end) in enumerate(reversed(list(pairwise(MONTHS)))):
        days = (end - start).days
        past[:, lag] = np.where(past[:, lag] > 0.0, days * (past[:, lag] + (lag + 1) / 3.0) / days, 0.0)
    odd = replace(system, inflow=replace(system.inflow, past_m3s=past))
    assert load_case(write_case(odd, tmp_path / "odd")).system.differences(odd) == []


def test_a_study_that_begins_within_a_month_is_written_too(case: Path, tmp_path: Path) -> None:
    content = json.loads((case / "stages.json").read_text())
    content["stages"][0] |= {"start_date": "2024-05-10", "blocks": [{"id": 0, "name": "ALL", "hours": 528.0}]}
    (case / "stages.json").write_text(json.dumps(content))
    initial = json.loads((case / "initial_conditions.json").read_text())
    days = [dt.date(2023, 11, 1) + dt.timedelta(k) for k in range(192)]
    initial["recent_observations"] = [
        {"hydro_id": h, "start_date": str(start), "end_date": str(end), "value_m3s": 30.0 + start.day}
        for h in (0, 1)
        for start, end in pairwise(days)
    ]
    (case / "initial_conditions.json").write_text(json.dumps(initial))
    path = case / "scenarios" / "inflow_ar_coefficients.parquet"
    table = pq.read_table(path)
    pq.write_table(table.filter(pa.compute.equal(table["lag"], 1)), path)
    system = load_case(case).system
    assert load_case(write_case(system, tmp_path / "again")).system.differences(system) == []


def test_lags_that_the_stages_would_not_have_are_refused(case: Path, tmp_path: Path) -> None:
    system = load_case(case).system
    assert system.inflow.lag_weights is not None
    other = replace(system, inflow=replace(system.inflow, lag_weights=system.inflow.lag_weights[:, :, ::-1]))
    with pytest.raises(CaseError, match=r"inflow, lag_weights.*other shares"):
        write_case(other, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_quarters_are_estimated_from_the_means_of_their_months(case: Path) -> None:
    for name in ("inflow_seasonal_stats", "inflow_ar_coefficients"):
        (case / "scenarios" / f"{name}.parquet").unlink()
    rng = np.random.default_rng(5)
    days = [dt.date(1960 + k // 12, k % 12 + 1, 1) for k in range(12 * 60 + 1)]
    for h in (0, 1):
        series = [50.0]
        for _ in days[1:]:
            series.append(20.0 + 0.6 * series[-1] + 5.0 * float(rng.standard_normal()))
        if h == 0:
            first = series[1:]
    rows = [(0, *pair, value) for pair, value in zip(pairwise(days), first, strict=True)]
    rows += [(1, *pair, value) for pair, value in zip(pairwise(days), series[1:], strict=True)]
    columns = list(zip(*rows, strict=True))
    types = (pa.int32(), pa.date32(), pa.date32(), pa.float64())
    names = ["hydro_id", "start_date", "end_date", "value_m3s"]
    arrays = [pa.array(column, of) for column, of in zip(columns, types, strict=True)]
    pq.write_table(pa.table(arrays, names), case / "scenarios" / "inflow_history.parquet")
    system = load_case(case).system
    lengths = [
        [(days[k + 1] - days[k]).days for k in range(year * 12 + 6, year * 12 + 9)] for year in range(60)
    ]
    third = [np.average(first[year * 12 + 6 : year * 12 + 9], weights=lengths[year]) for year in range(60)]
    assert system.inflow.mean_m3s[0, 2] == pytest.approx(np.mean(third))
    assert system.inflow.std_m3s[0, 2] == pytest.approx(np.std(third))
    june = first[5::12]
    assert system.inflow.mean_m3s[0, 1] == pytest.approx(np.mean(june))
    # The quarter before is half as much a guide as the month before is (0.6): about 0.29.
    assert system.inflow.coefficients[0, :2, 0] == pytest.approx(0.6, abs=0.25)
    assert (np.abs(system.inflow.coefficients[0, 2:, 0]) < 0.55).all()


def test_a_quarter_that_nothing_is_known_of_is_named(case: Path) -> None:
    content = json.loads((case / "stages.json").read_text())
    content["stages"] = content["stages"][:4]  # without the stage that is the second quarter, as lag 1 is
    (case / "stages.json").write_text(json.dumps(content))
    for name in ("inflow_seasonal_stats", "inflow_ar_coefficients", "load_seasonal_stats"):
        path = case / "scenarios" / f"{name}.parquet"
        table = pq.read_table(path)
        pq.write_table(table.filter(pa.compute.less(table["stage_id"], 4)), path)
    found, problems = check_case(case)
    assert found is None
    told = {
        (problem.entity, problem.message.split(",")[0]) for problem in problems if problem.kind == "dimension"
    }
    assert ("stage 2", "lag 1 reaches 2024-04-01 to 2024-07-01") in told


def test_months_and_quarters_need_seasons_of_either_length(case: Path) -> None:
    content = json.loads((case / "stages.json").read_text())
    content["season_definitions"]["cycle_type"] = "monthly"
    (case / "stages.json").write_text(json.dumps(content))
    _, problems = check_case(case)
    refusal = next(problem for problem in problems if problem.kind == "unsupported")
    assert "custom seasons" in refusal.message
    assert refusal.field == "season_definitions.cycle_type"
