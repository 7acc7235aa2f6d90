"""examples/brazil-4 says what its source says: recomputed here without the script that wrote it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

CASE = Path(__file__).parents[2] / "examples" / "brazil-4"
NAMES = ("SOUTHEAST", "SOUTH", "NORTHEAST", "NORTH")
KNOWN_KEYS = {
    "config.json": {"training", "simulation", "modeling"},
    "stages.json": {"policy_graph", "season_definitions", "stages"},
    "penalties.json": {"bus", "line", "hydro", "non_controllable_source"},
    "initial_conditions.json": {"storage", "filling_storage", "recent_observations"},
    "system/buses.json": {"buses"},
    "system/lines.json": {"lines"},
    "system/thermals.json": {"thermals"},
    "system/hydros.json": {"hydros"},
    "system/hydro_production_models.json": {"production_models"},
    "scenarios/correlation.json": {"method", "profiles"},
}
TABLES = ("inflow_seasonal_stats", "inflow_ar_coefficients", "load_seasonal_stats")


def source(name):
    return pd.read_csv(CASE / "source" / f"{name}.csv")


def document(name):
    return json.loads((CASE / name).read_text(encoding="utf-8"))


def table(name):
    return pd.DataFrame(pq.read_table(CASE / "scenarios" / f"{name}.parquet").to_pydict())


@pytest.fixture(scope="module")
def record():
    """Monthly inflows of the complete years: rows are (year, month) in order, columns the subsystems."""
    wide = source("inflow").set_index(["subsystem", "year"]).unstack("subsystem")
    wide = wide.dropna()
    assert len(wide) == 82
    assert 1983 not in wide.index
    months = list(dict.fromkeys(wide.columns.get_level_values(0)))
    frames = [wide[month].assign(month=m) for m, month in enumerate(months)]
    return pd.concat(frames).set_index("month", append=True).sort_index()[list(NAMES)]


def lagged(record):
    """The month before each row, missing where the record has none."""
    previous = record.copy()
    year, month = record.index.get_level_values("year"), record.index.get_level_values("month")
    follower = [(y + (m == 11), (m + 1) % 12) for y, m in zip(year, month, strict=True)]
    previous.index = pd.MultiIndex.from_tuples(follower, names=record.index.names)
    return previous.reindex(record.index)


def by_hydro_and_month(frame, column):
    stages = frame.assign(month=frame["stage_id"] % 12)
    cells = stages.groupby(["hydro_id", "month"])[column]
    assert (cells.nunique() == 1).all()
    assert (cells.count() == 2).all()
    return cells.first().unstack("hydro_id").to_numpy()


def test_means_and_deviations_are_those_of_82_years(record):
    stats = table("inflow_seasonal_stats")
    months = record.groupby("month")
    half_a_cent = 0.005 + 1e-9
    np.testing.assert_allclose(
        by_hydro_and_month(stats, "mean_m3s"), months.mean().to_numpy(), rtol=0, atol=half_a_cent
    )
    np.testing.assert_allclose(
        by_hydro_and_month(stats, "std_m3s"), months.std(ddof=0).to_numpy(), rtol=0, atol=half_a_cent
    )


def test_coefficients_are_correlations_with_the_month_before(record):
    previous = lagged(record)
    assert previous.isna().all(axis=1).sum() == 2  # the Januaries of 1931 and 1984
    expected = [
        [record[name].xs(m, level="month").corr(previous[name].xs(m, level="month")) for name in NAMES]
        for m in range(12)
    ]
    coefficients = table("inflow_ar_coefficients")
    assert (coefficients["lag"] == 1).all()
    np.testing.assert_allclose(
        by_hydro_and_month(coefficients, "coefficient"), expected, rtol=0, atol=0.5e-6 + 1e-12
    )
    assert coefficients["coefficient"].between(-1, 1, inclusive="neither").all()


def test_correlation_is_that_of_the_standardised_residuals(record):
    months = record.groupby("month")
    standardised = (record - months.transform("mean")) / months.transform(lambda x: x.std(ddof=0))
    phi = by_hydro_and_month(table("inflow_ar_coefficients"), "coefficient")
    phi = phi[record.index.get_level_values("month")]
    residuals = (standardised - phi * lagged(standardised)) / np.sqrt(1 - phi**2)
    (group,) = document("scenarios/correlation.json")["profiles"]["default"]["correlation_groups"]
    matrix = np.array(group["matrix"])
    assert [entity["id"] for entity in group["entities"]] == [0, 1, 2, 3]
    np.testing.assert_allclose(matrix, residuals.dropna().corr().to_numpy(), rtol=0, atol=2e-6)
    assert (np.diag(matrix) == 1.0).all()
    assert (matrix == matrix.T).all()
    assert np.linalg.eigvalsh(matrix).min() > 0


def test_demand_is_the_published_one():
    load = table("load_seasonal_stats").pivot(index="stage_id", columns="bus_id", values="mean_mw")
    published = source("demand").drop(columns="month").to_numpy(dtype=float)
    np.testing.assert_array_equal(load[[0, 1, 2, 3]].to_numpy(), np.vstack([published, published]))
    assert (load[4] == 0.0).all()
    assert (table("load_seasonal_stats")["std_mw"] == 0.0).all()


def test_thermals_are_the_published_ones():
    published = source("thermals")
    thermals = document("system/thermals.json")["thermals"]
    assert len(thermals) == len(published) == 95
    assert [t["id"] for t in thermals] == list(range(95))
    assert [NAMES[t["bus_id"]] for t in thermals] == list(published["subsystem"])
    assert [t["cost_per_mwh"] for t in thermals] == list(published["cost_per_mwh"])
    for key, column in (("min_mw", "generation_min_mw"), ("max_mw", "generation_max_mw")):
        assert [t["generation"][key] for t in thermals] == list(published[column])
    assert all(0 <= t["generation"]["min_mw"] <= t["generation"]["max_mw"] for t in thermals)


def test_reservoirs_are_the_published_energies():
    published = source("subsystems")
    hydros = document("system/hydros.json")["hydros"]
    conditions = document("initial_conditions.json")
    largest = [h["reservoir"]["max_storage_hm3"] for h in hydros]
    initial = [s["value_hm3"] for s in conditions["storage"]]
    assert [h["name"] for h in hydros] == list(published["subsystem"]) == list(NAMES)
    np.testing.assert_allclose(largest, published["stored_energy_max_mwmonth"] * 730 * 0.0036, rtol=1e-9)
    np.testing.assert_allclose(initial, published["stored_energy_initial_mwmonth"] * 730 * 0.0036, rtol=1e-8)
    assert all(0 <= start <= full for start, full in zip(initial, largest, strict=True))
    for key in ("max_turbined_m3s", "max_generation_mw"):
        assert [h["generation"][key] for h in hydros] == list(published["hydro_generation_max_mw"])
        assert [h["unit_groups"][0][key] for h in hydros] == list(published["hydro_generation_max_mw"])
    observed = [o["value_m3s"] for o in conditions["recent_observations"]]
    assert observed == [39717.564, 6632.5141, 15897.183, 2525.2938]


def test_observed_inflows_are_of_the_month_before_and_plausible(record):
    conditions = document("initial_conditions.json")
    first = document("stages.json")["stages"][0]["start_date"]
    assert {o["end_date"] for o in conditions["recent_observations"]} == {first}
    december = record.xs(11, level="month")
    observed = [o["value_m3s"] for o in conditions["recent_observations"]]
    assert (((observed - december.mean()) / december.std()).abs() < 2).all()


def test_deficit_segments_are_shares_of_the_mean_demand():
    published = source("deficit")
    demand = source("demand").drop(columns="month").mean().to_numpy()
    entries = document("system/buses.json")["buses"]
    assert "deficit_segments" not in entries[4]
    for entry, mean in zip(entries, demand, strict=False):
        segments = entry["deficit_segments"]
        assert [s["cost"] for s in segments] == list(published["cost_per_mwh"])
        depths = [s["depth_mw"] for s in segments[:-1]]
        np.testing.assert_allclose(
            depths, published["depth_fraction"][:-1] * mean, rtol=0, atol=0.5e-4 + 1e-9
        )
        assert segments[-1]["depth_mw"] is None
    costs = [s["cost"] for s in entries[0]["deficit_segments"]]
    assert costs == sorted(costs)
    assert max(costs) < document("penalties.json")["hydro"]["inflow_nonnegativity_cost"]


def test_lines_carry_the_published_exchanges():
    names = [*NAMES, "TRANSSHIPMENT"]
    found = {}
    for line in document("system/lines.json")["lines"]:
        source_bus, target_bus = names[line["source_bus_id"]], names[line["target_bus_id"]]
        assert line["source_bus_id"] < line["target_bus_id"]
        found[source_bus, target_bus] = (line["capacity"]["direct_mw"], line["exchange_cost"])
        found[target_bus, source_bus] = (line["capacity"]["reverse_mw"], line["exchange_cost"])
    published = {
        (row["from"], row["to"]): (row["limit_mw"], row["cost_per_mwh"])
        for row in source("exchange").to_dict("records")
    }
    assert found == published


def test_stages_follow_the_calendar_and_discount_as_published():
    stages = document("stages.json")
    dates = [(np.datetime64(s["start_date"]), np.datetime64(s["end_date"])) for s in stages["stages"]]
    assert len(dates) == 24
    assert [end for _, end in dates[:-1]] == [start for start, _ in dates[1:]]
    for (start, end), stage in zip(dates, stages["stages"], strict=True):
        assert stage["season_id"] == start.astype("datetime64[M]").astype(int) % 12
        assert sum(block["hours"] for block in stage["blocks"]) == 24 * (end - start).astype(int)
    rate = stages["policy_graph"]["annual_discount_rate"]
    assert (1 + rate) ** (-1 / 12) == pytest.approx(0.9906, abs=1e-10)


def test_json_files_have_known_keys_only():
    for name, known in KNOWN_KEYS.items():
        assert set(document(name)) <= known, name
    found = {str(path.relative_to(CASE).as_posix()) for path in CASE.rglob("*.json")}
    assert found == set(KNOWN_KEYS)


def test_script_gives_the_committed_files(tmp_path):
    subprocess.run([sys.executable, CASE / "make_case.py", tmp_path], check=True)
    for name in KNOWN_KEYS:
        assert (tmp_path / name).read_bytes() == (CASE / name).read_bytes(), name
    for name in TABLES:
        path = Path("scenarios", f"{name}.parquet")
        fresh, committed = pq.ParquetFile(tmp_path / path), pq.ParquetFile(CASE / path)
        assert fresh.read().equals(committed.read(), check_metadata=True), name
        # The footer of a Parquet file names the library that wrote it.
        if fresh.metadata.created_by == committed.metadata.created_by:
            assert (tmp_path / path).read_bytes() == (CASE / path).read_bytes(), name


def extensive_value(record):
    """Solve January to March over the tree of the record's years; the inflow of January is known."""
    years = record.index.get_level_values("year").unique()
    nodes = [(), *((i,) for i in years), *((i, j) for i in years for j in years)]
    system = source("subsystems")
    thermals, exchange = source("thermals"), source("exchange")
    demand, deficit = source("demand").drop(columns="month"), source("deficit")
    names = [*NAMES, "TRANSSHIPMENT"]

    # Columns of a node: stored, spilled, turbined by subsystem; thermals; deficits; exchanges.
    first_thermal = 12
    first_deficit = first_thermal + len(thermals)
    first_exchange = first_deficit + 16
    width = first_exchange + len(exchange)
    matrix = lil_matrix((9 * len(nodes), width * len(nodes)))
    rhs, cost, bounds = np.zeros(9 * len(nodes)), np.zeros(width * len(nodes)), []
    for n, node in enumerate(nodes):
        t, row, at = len(node), 9 * n, width * n
        inflow = record.loc[(node[-1], t)].to_numpy() if node else system["inflow_initial_mwmed"]
        for i in range(4):
            matrix[row + i, [at + i, at + 4 + i, at + 8 + i]] = 1.0
            rhs[row + i] = inflow[i]
            if node:
                matrix[row + i, width * nodes.index(node[:-1]) + i] = -1.0
            else:
                rhs[row + i] += system["stored_energy_initial_mwmonth"][i]
            matrix[row + 4 + i, at + 8 + i] = 1.0
            matrix[row + 4 + i, at + first_deficit + 4 * i : at + first_deficit + 4 * i + 4] = 1.0
            rhs[row + 4 + i] = demand.iloc[t, i]
        for k, name in enumerate(thermals["subsystem"]):
            matrix[row + 4 + NAMES.index(name), at + first_thermal + k] = 1.0
        for k, (origin, target) in enumerate(zip(exchange["from"], exchange["to"], strict=True)):
            matrix[row + 4 + names.index(origin), at + first_exchange + k] = -1.0
            matrix[row + 4 + names.index(target), at + first_exchange + k] = 1.0
        stage_cost = np.concatenate(
            [
                np.repeat([0.0, 0.001, 0.0], 4),
                thermals["cost_per_mwh"],
                np.tile(deficit["cost_per_mwh"], 4),
                exchange["cost_per_mwh"],
            ]
        )
        cost[at : at + width] = (0.9906 / len(years)) ** t * stage_cost
        bounds += [(0.0, bound) for bound in system["stored_energy_max_mwmonth"]]
        bounds += [(0.0, None)] * 4
        bounds += [(0.0, bound) for bound in system["hydro_generation_max_mw"]]
        bounds += list(zip(thermals["generation_min_mw"], thermals["generation_max_mw"], strict=True))
        bounds += [(0.0, share * demand.iloc[t, i]) for i in range(4) for share in deficit["depth_fraction"]]
        bounds += [(0.0, bound) for bound in exchange["limit_mw"]]
    result = linprog(cost, A_eq=matrix.tocsr(), b_eq=rhs, bounds=bounds)
    assert result.success, result.message
    return result.fun


def test_source_has_the_known_value_of_three_stages(record):
    # In R$/MWh times MWmed, as the literature counts; solved before, independently, from the files of msppy.
    first_five = record.loc[1931:1935]
    assert extensive_value(first_five) == pytest.approx(866292.0822, abs=0.1)
