"""The balances that anyone can check: they hold as written, and a changed number is found and placed."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pycobre
from pycobre.errors import ResultsError
from pycobre.results import Results
from pycobre.results import check as checks

NAMES = [
    "power",
    "water",
    "storage from stage to stage",
    "water under way",
    "water under way from stage to stage",
    "dispatch decided ahead",
    "cost of a stage",
    "cost of a scenario",
]


@pytest.fixture
def written(write):
    return Results.open(write())


def spoil(results, table, column, row, by):
    """Add to one number of a table behind the results' back."""
    path = results.table(table).path
    whole = pq.read_table(path)
    values = whole[column].to_pylist()
    values[row] += by
    field = whole.schema.field(column)
    pq.write_table(whole.set_column(whole.schema.get_field_index(column), field, [values]), path)


def broken(results):
    return {balance.name: balance for balance in results.check() if not balance.holds}


def test_all_balances_hold(written):
    found = written.check()
    assert [balance.name for balance in found] == NAMES
    assert all(balance.holds and balance.count > 0 for balance in found)


def test_balances_that_a_study_does_not_have_are_not_told(tmp_path):
    toy = Path(__file__).parents[2] / "examples" / "toy"
    results = pycobre.train(toy, output=tmp_path / "out", simulation=True).results
    found = [balance.name for balance in results.check()]
    assert found == [name for name in NAMES if "under way" not in name and "ahead" not in name]


@pytest.mark.parametrize(
    ("table", "column", "balances"),
    [
        ("thermals", "generation_mw", {"power"}),
        ("hydros", "generation_mw", {"power"}),
        ("sources", "generation_mw", {"power"}),
        ("contracts", "power_mw", {"power"}),
        ("pumping", "consumption_mw", {"power"}),
        ("exchanges", "direct_mw", {"power"}),
        ("buses", "load_mw", {"power"}),
        ("hydros", "outflow_m3s", {"water"}),
        ("hydros", "diverted_m3s", {"water"}),
        ("pumping", "pumped_m3s", {"water"}),
        ("reservoirs", "inflow_m3s", {"water"}),
        ("reservoirs", "evaporated_m3s", {"water"}),
        ("reservoirs", "withdrawn_m3s", {"water"}),
        ("reservoirs", "storage_final_hm3", {"water", "storage from stage to stage"}),
        ("transits", "arrived_hm3", {"water", "water under way"}),
        ("transits", "released_hm3", {"water", "water under way"}),
        ("transits", "in_transit_final_hm3", {"water under way", "water under way from stage to stage"}),
        ("commitments", "committed_mw", {"dispatch decided ahead"}),
        ("costs", "thermal_cost", {"cost of a stage"}),
        ("scenarios", "cost", {"cost of a scenario"}),
    ],
)
def test_a_changed_number_breaks_its_balance(written, table, column, balances):
    whole = abs(written.table(table).to_pandas()[column][0])
    spoil(written, table, column, 0, 1.0 + whole)
    assert set(broken(written)) == balances


def test_a_broken_balance_says_where_and_how_much(written):
    stage = written.stages.to_pandas().stage_id[2]
    row = written.buses.to_pandas().query(f"scenario_id == 3 and stage_id == {stage}").index[0]
    spoil(written, "buses", "load_mw", int(row), 2.5)
    power = broken(written)["power"]
    assert (power.broken, power.worst) == (1, pytest.approx(2.5))
    assert power.place.startswith(f"scenario 3, stage {stage}, block 0, bus ")
    assert power.place in str(power)


def test_scenarios_in_batches_are_checked_all_the_same(written, monkeypatch):
    whole = written.check()
    monkeypatch.setattr(checks, "_BATCH_ROWS", 1)
    assert written.check() == whole


def test_a_table_that_lacks_rows_is_named(written):
    path = written.hydros.path
    whole = pq.read_table(path)
    pq.write_table(pa.table(whole).slice(1), path)
    with pytest.raises(ResultsError, match=r"table hydros of .* lacks rows"):
        written.check()


@pytest.mark.parametrize("broken_first", [True, False])
def test_the_place_told_is_that_of_a_broken_balance_whatever_batch_it_is_in(broken_first):
    large = checks.Balance("water", "hm³", 5, 9.0, "a large reservoir, within its tolerance", 0)
    small = checks.Balance("water", "hm³", 5, 1.0, "a small reservoir", 1)
    told = checks._joined(small, large) if broken_first else checks._joined(large, small)
    assert (told.count, told.worst, told.place, told.broken) == (10, 1.0, "a small reservoir", 1)
