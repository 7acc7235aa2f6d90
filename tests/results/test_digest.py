"""A digest is of what was computed: equal for equal numbers, and for nothing else."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pycobre.results import ResultsWriter, digest
from pycobre.results.digest import _of_batches


def test_it_covers_every_table_but_timing_and_the_policy(write):
    found = digest(write())
    assert set(found) == {
        "stages", "entities", "convergence", "scenarios", "costs", "reservoirs", "hydros", "thermals",
        "commitments", "transits", "hydro_buses",
        "sources", "constraints", "contracts", "pumping", "buses", "exchanges", "policy",
    }  # fmt: skip
    assert len(set(found.values())) == len(found)


def test_times_do_not_change_it_and_a_last_bit_does(study, tmp_path):
    history = study.policy.history

    def written(name, last):
        with ResultsWriter(tmp_path / name) as writer:
            writer.convergence([*history[:-1], last])
            return digest(writer.finish({"name": name}))

    plain = written("a", history[-1])
    assert written("b", replace(history[-1], elapsed_s=1e9, forward_s=3.0)) == plain
    bound = float(np.nextafter(history[-1].lower_bound, np.inf))
    assert written("c", replace(history[-1], lower_bound=bound)) != plain


def test_it_does_not_depend_on_how_a_file_is_laid_out(write):
    place = write()
    before = digest(place)
    path = place / "simulation" / "hydros.parquet"
    pq.write_table(pq.ParquetFile(path).read(), path, row_group_size=3, compression="snappy")
    assert digest(place) == before


def test_missing_values_lists_and_texts_count_by_place():
    schema = pa.schema([("a", pa.string()), ("b", pa.list_(pa.float64())), ("c", pa.int32())])

    def of(rows, cut):
        batches = pa.Table.from_pylist(rows, schema).to_batches(max_chunksize=cut)
        return _of_batches(schema, batches)

    rows = [{"a": "x", "b": [1.0, 2.0], "c": 0}, {"a": "yz", "b": [3.0], "c": None}]
    assert of(rows, 1) == of(rows, 2)
    others = [
        [{"a": "xy", "b": [1.0, 2.0], "c": 0}, {"a": "z", "b": [3.0], "c": None}],
        [{"a": "x", "b": [1.0], "c": 0}, {"a": "yz", "b": [2.0, 3.0], "c": None}],
        [{"a": "x", "b": [1.0, 2.0], "c": None}, {"a": "yz", "b": [3.0], "c": 0}],
        [{"a": "x", "b": [1.0, 2.0], "c": 0}, {"a": "yz", "b": [3.0], "c": 0}],
        [{"a": "x", "b": [-0.0, 2.0], "c": 0}, {"a": "yz", "b": [3.0], "c": None}],
    ]
    assert len({of(rows, 2), *(of(other, 2) for other in others)}) == 6
