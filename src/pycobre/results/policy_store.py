"""A policy on disk: ``cuts.arrow``, one row a cut and one record batch a node, and ``policy.json`` beside it.

Both are functions of the policy alone: two runs that train the same policy write the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pycobre import __version__
from pycobre.errors import ResultsError
from pycobre.results.durable import explained, replace_directory, sha256_of, sync_tree, write_text
from pycobre.results.manifest import as_json
from pycobre.sddp import Policy

FloatArray = NDArray[np.float64]

POLICY_VERSION = 1
FORMAT = "pycobre-policy"
CUTS_FILE = "cuts.arrow"
DOCUMENT_FILE = "policy.json"

_COST_NOTE = (
    "A cut says: future cost >= intercept + slope · outgoing state, in the case's currency, discounted to"
    " the stage of its node."
)
_UNITS = {"storage_hm3": "hm³", "inflow_m3s": "m³/s"}


def _column(name: str, kind: pa.DataType, unit: str, description: str) -> pa.Field:
    metadata = {b"unit": unit.encode(), b"description": description.encode()}
    return pa.field(name, kind, nullable=False, metadata=metadata)


CUTS: pa.Schema = pa.schema(
    [
        _column("node", pa.int32(), "1", "Position of the node in the policy graph."),
        _column("stage_id", pa.int32(), "1", "Stage of the node, by its id in the case."),
        _column("iteration", pa.int32(), "1", "Iteration that made the cut, from 1."),
        _column("forward_pass", pa.int32(), "1", "Forward pass that it was made at, from 0."),
        _column("slot", pa.int64(), "1", "Its place in the pool."),
        _column("intercept", pa.float64(), "currency", "Height at a state of zero."),
        # Lists of free length: nodes may differ in their states.
        _column("slope", pa.list_(pa.float64()), "currency per unit of the state", "Slope by state."),
        _column("state", pa.list_(pa.float64()), "units of the states", "Trial point of the cut."),
    ],
    metadata={b"pycobre.table": b"cuts", b"pycobre.format_version": str(POLICY_VERSION).encode()},
)  # fmt: skip
"""Columns of ``cuts.arrow``."""


def write_policy(
    directory: Path,
    policy: Policy,
    *,
    stage_ids: Sequence[int],
    state_names: Sequence[str],
    study: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Write *policy* into *directory*, replacing a policy that is there; the document that was written.

    Parameters
    ----------
    stage_ids
        Stage of each node.
    state_names
        Names of the outgoing states.
    study
        What the study wants to be known of it, such as seeds: nothing that differs from run to run.

    Raises
    ------
    ResultsError
        It can't be written, or *directory* holds something else.
    """
    if directory.exists() and {path.name for path in directory.iterdir()} - {CUTS_FILE, DOCUMENT_FILE}:
        raise ResultsError(f"{directory} holds more than a policy: name another directory")
    mark = f"{os.getpid()}-{secrets.token_hex(4)}"
    fresh = directory.with_name(f".{directory.name}.new-{mark}")
    aside = directory.with_name(f".{directory.name}.replaced-{mark}")
    with explained("write", directory):
        try:
            fresh.mkdir(parents=True)
            _write_cuts(fresh / CUTS_FILE, policy, stage_ids)
            document = _document(policy, stage_ids, state_names, sha256_of(fresh / CUTS_FILE), study or {})
            write_text(fresh / DOCUMENT_FILE, as_json(document))
            sync_tree(fresh)
            replace_directory(fresh, directory, aside)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return document


def _write_cuts(path: Path, policy: Policy, stage_ids: Sequence[int]) -> None:
    passes = policy.pool.forward_passes
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, CUTS) as writer:
        for node, stage_id in enumerate(stage_ids):
            cuts = policy.pool.of(node)
            slots = np.flatnonzero(cuts.filled > 0.0)
            if not len(slots):
                continue
            columns = {
                "node": np.full(len(slots), node),
                "stage_id": np.full(len(slots), stage_id),
                "iteration": slots // passes + 1,
                "forward_pass": slots % passes,
                "slot": slots,
                "intercept": cuts.intercept[slots],
                "slope": _lists(cuts.slope[slots]),
                "state": _lists(cuts.state[slots]),
            }
            arrays = [pa.array(columns[field.name], field.type) for field in CUTS]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=CUTS))


def _lists(rows: FloatArray) -> pa.Array:
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(rows.ravel()))


def _document(
    policy: Policy,
    stage_ids: Sequence[int],
    state_names: Sequence[str],
    cuts_sha256: str,
    study: Mapping[str, object],
) -> dict[str, Any]:
    bound = policy.lower_bound
    counts = [int(policy.pool.of(node).filled.sum()) for node in range(len(stage_ids))]
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": POLICY_VERSION,
        "pycobre_version": __version__,
        "costs": _COST_NOTE,
        "lower_bound": bound if np.isfinite(bound) else None,
        "iterations": policy.pool.iterations,
        "forward_passes": policy.pool.forward_passes,
        "states": [{"name": name, "unit": _UNITS.get(name.split("[")[0], "1")} for name in state_names],
        "nodes": [
            {"node": n, "name": node.template.name, "stage_id": stage_ids[n], "cuts": counts[n]}
            for n, node in enumerate(policy.graph.nodes)
        ],
        "study": json.loads(as_json(study)),
        "cuts_sha256": cuts_sha256,
    }
    return document | {"sha256": seal(document)}


def seal(document: Mapping[str, Any]) -> str:
    """SHA-256 of what the document says, however it is laid out."""
    content = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
