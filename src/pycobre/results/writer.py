"""The writer of a run's results: tables while they come, the manifest last, everything in place at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pycobre.errors import ResultsError
from pycobre.lp import StageModel, StateLayout
from pycobre.results.durable import explained
from pycobre.results.manifest import STATUSES, write_manifest
from pycobre.results.memory import give_memory_back
from pycobre.results.parquet import TableWriter, write_table
from pycobre.results.policy_store import write_policy
from pycobre.results.schema import FOLDERS, SIMULATION
from pycobre.results.staging import Staging
from pycobre.results.tabulate import (
    operate,
    simulation_tables,
    stochastic_tables,
    system_tables,
    table_of,
    training_tables,
)
from pycobre.sddp import IterationFinished, Policy, SimulatedRound
from pycobre.system import InflowRecursion, System


class ResultsWriter:
    """Writes the results of one run; rank 0 alone makes one. A context manager.

    Nothing is seen at *directory* before :meth:`finish`; then everything is. A body that raises delivers
    what there is, with status ``failed`` (``interrupted`` for Ctrl-C); one that ends without
    :meth:`finish` leaves nothing.

    Parameters
    ----------
    directory
        Where the results will be.
    force
        Replace results of ours that are there already, when the new ones are finished.

    Raises
    ------
    ResultsError
        *directory* can't be written to, or holds something that may not be replaced.
    """

    def __init__(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        self._staging = Staging(Path(directory), force=force)
        self._root = self._staging.path
        self._streams: dict[str, TableWriter] = {}
        self._tables: dict[str, dict[str, object]] = {}
        self._lost: dict[str, str] = {}
        self._policy: dict[str, object] | None = None
        self._open = True

    @property
    def directory(self) -> Path:
        """Where the results will be."""
        return self._staging.target

    def system(self, system: System) -> None:
        """Write the tables ``stages`` and ``entities``."""
        self._check_open()
        for name, table in system_tables(system).items():
            self._whole_table(name, table)

    def stochastic(
        self, system: System, recursion: InflowRecursion, openings: Sequence[NDArray[np.float64]]
    ) -> None:
        """Write the inflow models and the openings, in place of earlier ones."""
        self._check_open()
        for name, table in stochastic_tables(system, recursion, openings).items():
            self._whole_table(name, table)

    def plane_fits(self, fits: dict[str, NDArray[np.generic]]) -> None:
        """Write how planes were fitted, by columns, in place of what was told earlier."""
        self._check_open()
        self._whole_table("plane_fits", table_of("plane_fits", fits))

    def convergence(self, history: Sequence[IterationFinished]) -> None:
        """Write the tables ``convergence`` and ``timing``, in place of earlier ones.

        Raises
        ------
        ResultsError
            They can't be written; earlier ones stay.
        """
        self._check_open()
        for name, table in training_tables(history).items():
            self._whole_table(name, table)

    def policy(
        self,
        policy: Policy,
        system: System,
        recursion: InflowRecursion,
        study: Mapping[str, object] | None = None,
    ) -> None:
        """Write the cuts of all finished iterations, in place of earlier ones.

        Parameters
        ----------
        study
            What the policy's document shall say of the study, such as seeds: nothing that differs from
            run to run.

        Raises
        ------
        ResultsError
            It can't be written; an earlier one stays.
        """
        self._check_open()
        document = write_policy(
            self._root / "policy",
            policy,
            stage_ids=[stage.id for stage in system.stages],
            state_names=StateLayout.of(recursion, system).names(system),
            study=study,
        )
        self._policy = _summary(document)

    def simulation_round(
        self,
        system: System,
        recursion: InflowRecursion,
        models: Sequence[StageModel],
        round_: SimulatedRound,
    ) -> None:
        """Append the scenarios of *round_* to the tables of the simulation.

        Raises
        ------
        ResultsError
            They can't be written.
        ValueError
            The policy graph is not the line of *system*'s stages.
        """
        self._check_open()
        # All tables before the first is written: what fails here leaves them with the same scenarios.
        tables = simulation_tables(system, operate(system, recursion, models, round_))
        for name, table in tables.items():
            with explained("write", self._path(name)):
                self._stream(name).write(table)
        del tables
        give_memory_back()

    def finish(
        self,
        fields: Mapping[str, object] | None = None,
        *,
        status: str = "complete",
        reason: str | None = None,
    ) -> Path:
        """Close the tables, write the manifest, put everything in its place at once, and say where that is.

        Parameters
        ----------
        fields
            What the manifest shall say of the run: settings, ranks, threads, times.
        status
            ``complete``, ``interrupted`` or ``failed``. After a failure a table that can't be closed
            is left out and named in the manifest; and a complete output is not replaced: what there
            is goes to ``<directory>.failed``.
        reason
            Why the run ended, such as the stopping rule's name or the error.

        Raises
        ------
        ResultsError
            The results can't be written or put in place.
        """
        self._check_open()
        if status not in STATUSES:
            raise ValueError(f"status must be one of {', '.join(STATUSES)}, got {status!r}")
        self._close_streams(keep_going=status == "failed")
        write_manifest(
            self._root,
            status=status,
            reason=reason,
            tables=self._tables,
            lost=self._lost,
            policy=self._policy,
            run=fields or {},
        )
        self._open = False
        return self._staging.deliver(beside_whole=status == "failed")

    def abandon(self) -> None:
        """Remove what was written; nothing after :meth:`finish`."""
        if self._open:
            self._open = False
            self._close_streams(keep_going=True)
            self._staging.abandon()

    def __enter__(self) -> ResultsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._open and self._worth_keeping():
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            try:
                place = self.finish(status=status, reason=f"{type(error).__name__}: {error}".rstrip(": "))
                error.add_note(f"what there is of the results is in {place}")
            except ResultsError as trouble:  # the error at hand matters more
                error.add_note("\n".join([str(trouble), *getattr(trouble, "__notes__", [])]))
                if self._open:
                    self._open = False
                    error.add_note(f"what there is of the results is in {self._staging.keep()}")
        self.abandon()

    def _worth_keeping(self) -> bool:
        return self._policy is not None or "convergence" in self._tables or bool(self._streams)

    def _path(self, name: str) -> Path:
        return self._root / FOLDERS[name] / f"{name}.parquet"

    def _whole_table(self, name: str, table: pa.Table) -> None:
        write_table(self._path(name), table)
        self._count(name, table.num_rows)

    def _count(self, name: str, rows: int) -> None:
        self._tables[name] = {"file": self._path(name).relative_to(self._root).as_posix(), "rows": rows}

    def _stream(self, name: str) -> TableWriter:
        if name not in self._streams:
            self._path(name).parent.mkdir(exist_ok=True)
            self._streams[name] = TableWriter(self._path(name), SIMULATION[name])
        return self._streams[name]

    def _close_streams(self, *, keep_going: bool) -> None:
        for name, stream in list(self._streams.items()):
            try:
                with explained("write", self._path(name)):
                    stream.close()
                self._count(name, stream.rows)
            except ResultsError as trouble:
                if not keep_going:
                    raise
                # A Parquet file without its end can't be read, and on a full disk its space is needed.
                self._path(name).unlink(missing_ok=True)
                self._lost[name] = str(trouble)
            del self._streams[name]

    def _check_open(self) -> None:
        if not self._open:
            raise ResultsError("these results are finished")


def _summary(document: Mapping[str, Any]) -> dict[str, object]:
    kept: dict[str, object] = {
        name: document[name] for name in ("iterations", "forward_passes", "lower_bound")
    }
    return kept | {"cuts": sum(node["cuts"] for node in document["nodes"])}
