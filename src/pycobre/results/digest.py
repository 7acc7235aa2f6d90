"""Fingerprints of what a run computed, to compare runs on other backends, ranks and threads."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pycobre.results.durable import explained
from pycobre.results.open import Results

_NOT_THE_POLICY = ("pycobre_version", "cuts_sha256", "sha256")


def digest(directory: str | os.PathLike[str]) -> dict[str, str]:
    """SHA-256 of every table's content and of the policy, without ``timing`` and the manifest.

    Two runs computed the same bits exactly if these are equal. It is the content that counts, column by
    column, and not the files: another version of pyarrow may lay the same numbers out otherwise.

    Raises
    ------
    ResultsError
        There are no results, or they can't be read.
    PolicyError
        The policy is damaged.
    """
    results = Results.open(directory)
    found = {}
    for name in sorted(results.tables):
        if name == "timing":
            continue
        path = results.table(name).path
        with explained("read", path), pq.ParquetFile(path) as file:
            found[name] = _of_batches(file.schema_arrow, file.iter_batches())
    if results.manifest["policy"] is not None:
        policy = results.policy()
        document = {key: value for key, value in policy.document.items() if key not in _NOT_THE_POLICY}
        text = json.dumps(document, sort_keys=True) + _of_batches(
            policy.cuts.schema, policy.cuts.to_batches()
        )
        found["policy"] = hashlib.sha256(text.encode()).hexdigest()
    return found


def _of_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> str:
    """SHA-256 over names, types and values; the same however the rows are cut into batches."""
    columns = [(hashlib.sha256(), hashlib.sha256(), hashlib.sha256()) for _ in schema]
    for batch in batches:
        for column, (missing, lengths, values) in zip(batch.columns, columns, strict=True):
            missing.update(column.is_null().to_numpy(zero_copy_only=False).tobytes())
            if pa.types.is_string(column.type):
                lengths.update(pc.fill_null(pc.binary_length(column), 0).to_numpy().tobytes())
                values.update("".join(text or "" for text in column.to_pylist()).encode())
                continue
            if pa.types.is_list(column.type):
                lengths.update(pc.list_value_length(column).to_numpy().tobytes())
                column = column.flatten()
            if pa.types.is_date32(column.type):
                column = column.view(pa.int32())
            filled = column.fill_null(0) if column.null_count else column
            values.update(filled.to_numpy(zero_copy_only=False).tobytes())
    told = [
        [field.name, str(field.type), *(part.hexdigest() for part in parts)]
        for field, parts in zip(schema, columns, strict=True)
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
