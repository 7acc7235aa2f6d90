"""A policy read back from disk."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pycobre import __version__
from pycobre.errors import PolicyError
from pycobre.results.policy_store import CUTS_FILE, DOCUMENT_FILE, FORMAT, POLICY_VERSION, seal
from pycobre.sddp import Policy

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StoredCuts:
    """Cuts of one node, in slot order.

    θ >= intercept + slope · s' for the outgoing state s'.

    Attributes
    ----------
    stage_id
        Stage of the node.
    slot : (C,)
        Place in the pool: (iteration - 1) · forward passes + forward pass.
    intercept : (C,)
    slope, state : (C, X')
        *state* is the trial point that the cut was made at.
    """

    stage_id: int
    slot: IntArray
    intercept: FloatArray
    slope: FloatArray
    state: FloatArray


@dataclass(frozen=True, eq=False)
class StoredPolicy:
    """A policy read from disk.

    Attributes
    ----------
    document
        ``policy.json``: versions, states, nodes, bound, and what the study said of itself.
    nodes
        Cuts of each node, by its position in the policy graph.
    cuts
        All cuts as an Arrow table.
    """

    document: dict[str, Any]
    nodes: tuple[StoredCuts, ...]
    cuts: pa.Table

    @property
    def lower_bound(self) -> float:
        """Bound after the last iteration; ``-inf`` before the first."""
        bound = self.document["lower_bound"]
        return -np.inf if bound is None else float(bound)

    @property
    def iterations(self) -> int:
        """Number of finished iterations."""
        return int(self.document["iterations"])

    @property
    def forward_passes(self) -> int:
        """Forward passes, and slots, an iteration."""
        return int(self.document["forward_passes"])

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """Names of the outgoing states, in their order."""
        return tuple(state["name"] for state in self.document["states"])

    def evaluate(self, node: int, state: FloatArray) -> float:
        """Future cost after *node* that the cuts promise at outgoing *state*; ``-inf`` without cuts.

        Raises
        ------
        PolicyError
            *state* is shorter or longer than the policy's.
        """
        cuts = self.nodes[node]
        if np.shape(state) != (len(self.state_names),):
            raise PolicyError(f"a state has {len(self.state_names)} numbers, got shape {np.shape(state)}")
        # The expression of Policy.evaluate, for the same bits.
        heights = cuts.intercept + np.einsum("cx,x->c", cuts.slope, state)
        return float(np.max(heights, initial=-np.inf))

    def load_into(self, policy: Policy) -> None:
        """Put the cuts into the pool of *policy*, a fresh one; collective, like everything of a pool.

        Raises
        ------
        PolicyError
            The policy is for another graph, other states or another number of forward passes.
        """
        graph, pool = policy.graph, policy.pool
        if len(graph.nodes) != len(self.nodes):
            raise PolicyError(
                f"the stored policy has {len(self.nodes)} stages, the study has {len(graph.nodes)}"
            )
        if pool.forward_passes != self.forward_passes:
            raise PolicyError(
                f"the stored policy has {self.forward_passes} forward passes an iteration, the study has"
                f" {pool.forward_passes}"
            )
        for node, (here, stored) in enumerate(zip(graph.nodes, self.nodes, strict=True)):
            if len(stored.slot) and here.template.states_out != stored.slope.shape[1]:
                raise PolicyError(
                    f"stage {stored.stage_id} of the stored policy has {stored.slope.shape[1]} states, the"
                    f" study's {here.template.states_out}"
                )
            if len(stored.slot) and not graph.arcs_from(node):
                raise PolicyError(
                    f"stage {stored.stage_id} has cuts in the stored policy, but no future here"
                )
        pool.reserve(self.iterations)
        for node, stored in enumerate(self.nodes):
            if len(stored.slot):
                pool.write(node, stored.slot, stored.intercept, stored.slope, stored.state)
        pool.finish(self.iterations)


def read_policy(directory: str | os.PathLike[str]) -> StoredPolicy:
    """The policy in *directory*, or in the folder ``policy`` of a results directory.

    Raises
    ------
    PolicyError
        There is none, it is damaged, or a later version of pycobre wrote it.
    """
    folder = Path(directory)
    if (folder / "policy").is_dir():
        folder = folder / "policy"
    document = _read_document(folder / DOCUMENT_FILE)
    try:
        content = (folder / CUTS_FILE).read_bytes()
    except OSError as error:
        raise PolicyError(f"{folder / CUTS_FILE} can't be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != document["cuts_sha256"]:
        raise PolicyError(f"{folder / CUTS_FILE} is damaged: its SHA-256 is not the one in {DOCUMENT_FILE}")
    cuts = pa.ipc.open_file(pa.BufferReader(content)).read_all()
    return StoredPolicy(document, _nodes(document, cuts), cuts)


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise PolicyError(f"there is no policy in {path.parent}: {path.name} is missing") from error
    except OSError as error:
        raise PolicyError(f"{path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise PolicyError(f"{path} is damaged: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise PolicyError(f"{path} is not a policy of pycobre")
    version = document.get("format_version")
    if version != POLICY_VERSION:
        raise PolicyError(
            f"{path} has policy format {version}, written by pycobre {document.get('pycobre_version')}; this"
            f" pycobre {__version__} reads format {POLICY_VERSION}: use that version or a later one"
        )
    if document.get("sha256") != seal(document):
        raise PolicyError(f"{path} is damaged: its content does not match its SHA-256")
    return document


def _nodes(document: Mapping[str, Any], cuts: pa.Table) -> tuple[StoredCuts, ...]:
    batches = {batch.column("node")[0].as_py(): batch for batch in cuts.to_batches() if batch.num_rows}
    states = len(document["states"])
    return tuple(_stored(batches.get(node["node"]), node["stage_id"], states) for node in document["nodes"])


def _stored(batch: pa.RecordBatch | None, stage_id: int, states: int) -> StoredCuts:
    if batch is None:
        nothing = np.empty((0, states))
        return StoredCuts(stage_id, np.empty(0, dtype=np.int64), np.empty(0), nothing, nothing)
    count = batch.num_rows
    vectors = [batch.column(name).flatten().to_numpy().reshape(count, -1) for name in ("slope", "state")]
    return StoredCuts(
        stage_id,
        batch.column("slot").to_numpy(),
        batch.column("intercept").to_numpy(),
        vectors[0],
        vectors[1],
    )
