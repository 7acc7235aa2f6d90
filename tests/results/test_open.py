"""Results open lazily and go into whatever library reads them."""

import json
import shutil

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from pycobre.errors import PolicyError, ResultsError
from pycobre.results import Results

GOLDEN = """\
Results out: complete (iteration_limit)
  policy        4 iterations, 16 cuts, BOUND
  stages        5 rows
  entities      13 rows
  convergence   4 rows
  timing        4 rows
  scenarios     7 rows
  costs         21 rows
  reservoirs    42 rows
  hydros        70 rows
  hydro_buses   0 rows
  thermals      105 rows
  commitments   21 rows
  transits      21 rows
  sources       70 rows
  contracts     35 rows
  pumping       35 rows
  constraints   35 rows
  buses         70 rows
  exchanges     35 rows"""

GOLDEN_TABLE = """\
Table scenarios: 7 rows
  scenario_id  1             Simulated scenario, from 0.
  cost         currency      Cost of all stages, discounted to the first."""


@pytest.fixture
def results(write):
    return Results.open(write(reason="iteration_limit"))


def test_results_show_what_they_are(results, study):
    bound = f"lower bound {study.policy.lower_bound:,.2f}"
    assert repr(results) == GOLDEN.replace("BOUND", bound)
    assert (
        f"<tr><td><code>policy</code></td><td>4 iterations, 16 cuts, {bound}</td></tr>"
        in results._repr_html_()
    )
    assert "<b>Results out: complete (iteration_limit)</b>" in results._repr_html_()


def test_a_table_shows_what_its_columns_mean(results):
    assert repr(results.scenarios) == GOLDEN_TABLE
    assert "<tr><td><code>cost</code></td><td>currency</td>" in results.scenarios._repr_html_()


def test_what_users_put_in_a_reason_does_not_become_html(write):
    assert "<script>" not in Results.open(write(reason="<script>"))._repr_html_()


def test_opening_reads_the_manifest_alone(write):
    place = write()
    for folder in ("simulation", "training", "system", "policy"):
        shutil.rmtree(place / folder)
    results = Results.open(place)
    assert "hydros" in results.tables
    with pytest.raises(ResultsError, match=r"can't read .*hydros\.parquet"):
        results.hydros.to_arrow()
    with pytest.raises(PolicyError):
        results.policy()
    with pytest.raises(ResultsError, match=r"simulation/hydros\.parquet is missing"):
        results.verify()


def test_tables_are_attributes(results):
    assert results.hydros.name == "hydros"
    assert "hydros" in dir(results)
    with pytest.raises(AttributeError, match="no table 'windmills'"):
        _ = results.windmills
    with pytest.raises(ResultsError, match="table windmills is not in"):
        results.table("windmills")


def test_to_pandas_and_to_polars_have_all_rows_and_columns(results):
    for name in results.tables:
        table = results.table(name)
        assert table.to_pandas().shape == table.to_polars().shape == (len(table), len(table.columns))
    assert list(results.buses.to_pandas(["bus_id", "load_mw"])) == ["bus_id", "load_mw"]
    assert results.buses.to_polars(["load_mw"]).columns == ["load_mw"]


def test_a_table_is_an_arrow_stream(results):
    frame = pl.DataFrame(results.hydros)
    assert frame.equals(results.hydros.to_polars())
    read = pa.table(results.hydros)
    assert read.schema.equals(results.hydros.schema, check_metadata=True)
    assert read.equals(results.hydros.to_arrow())


def test_to_xarray_has_a_dimension_an_index_and_nan_where_there_is_no_block(results):
    hydros = results.hydros.to_xarray()
    assert dict(hydros.sizes) == {"scenario": 7, "stage": 3, "block": 2, "hydro": 2}
    assert list(hydros.hydro.values) == [7, 9]
    assert hydros.turbined_m3s.attrs["units"] == "m³/s"
    assert np.isnan(hydros.turbined_m3s.sel(stage=11, block=1)).all()
    frame = results.hydros.to_pandas()
    row = frame[
        (frame.scenario_id == 4) & (frame.stage_id == 12) & (frame.block_id == 1) & (frame.hydro_id == 9)
    ]
    assert float(hydros.turbined_m3s.sel(scenario=4, stage=12, block=1, hydro=9)) == row.turbined_m3s.item()


@pytest.mark.parametrize(
    ("table", "sizes"),
    [
        ("convergence", {"iteration": 4}),
        ("scenarios", {"scenario": 7}),
        ("costs", {"scenario": 7, "stage": 3}),
        ("reservoirs", {"scenario": 7, "stage": 3, "hydro": 2}),
        ("thermals", {"scenario": 7, "stage": 3, "block": 2, "thermal": 3}),
        ("buses", {"scenario": 7, "stage": 3, "block": 2, "bus": 2}),
        ("sources", {"scenario": 7, "stage": 3, "block": 2, "source": 2}),
        ("exchanges", {"scenario": 7, "stage": 3, "block": 2, "line": 1}),
        ("stages", {"stage": 3, "block": 2}),
        ("entities", {"kind": 8, "id": 10}),
    ],
)
def test_to_xarray_has_the_dimensions_of_every_table(results, table, sizes):
    assert dict(results.table(table).to_xarray().sizes) == sizes


def test_whole_numbers_stay_whole_in_xarray(results):
    assert results.convergence.to_xarray().cuts.dtype == np.int64


def test_a_path_that_looks_like_a_partition_adds_no_column(write, tmp_path):
    place = write().rename(tmp_path / "run=7")
    assert Results.open(place).hydros.to_arrow().column_names == list(Results.open(place).hydros.columns)


def test_changed_files_are_found(results):
    path = results.path / "simulation" / "hydros.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ResultsError, match=r"simulation/hydros\.parquet was changed"):
        results.verify()


def test_what_is_not_there_or_from_a_later_version_is_named(write, tmp_path):
    with pytest.raises(ResultsError, match="no results in"):
        Results.open(tmp_path / "nowhere")
    place = write()
    manifest = json.loads((place / "manifest.json").read_text()) | {"format_version": 8}
    (place / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ResultsError, match="results format 8"):
        Results.open(place)
