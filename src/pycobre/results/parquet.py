"""Parquet files whose bytes depend on their rows alone, not on the portions in which they came."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pycobre.results.durable import whole_file
from pycobre.results.schema import index_of

ROWS_A_GROUP = 32_768
"""Rows of every row group but the last; what a table's writer holds in memory at most, twice over."""


class TableWriter:
    """Writes one table to one file, row group by row group; a context manager.

    Parameters
    ----------
    path
        The file.
    schema
        The table's columns.

    Attributes
    ----------
    rows
        Rows in the file so far; all that were given once it is closed.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self._waiting: list[pa.Table] = []
        self._failure: OSError | None = None
        self._closed = False
        self._file = pa.OSFile(str(path), "wb")
        # Index columns repeat; measurements don't, and a dictionary of them would only cost time.
        self._writer = pq.ParquetWriter(
            self._file, schema, compression="zstd", use_dictionary=list(index_of(schema))
        )

    def write(self, table: pa.Table) -> None:
        """Append *table*; only whole row groups go to the file."""
        self._waiting.append(table)
        if sum(portion.num_rows for portion in self._waiting) < ROWS_A_GROUP:
            return
        rows = pa.concat_tables(self._waiting).combine_chunks()
        whole = rows.num_rows - rows.num_rows % ROWS_A_GROUP
        rest = rows.slice(whole)
        self._waiting = [rest.take(np.arange(rest.num_rows))]  # a slice would keep all of them alive
        for start in range(0, whole, ROWS_A_GROUP):
            self._write_group(rows.slice(start, ROWS_A_GROUP))

    def close(self) -> None:
        """Write what waits and the file's end.

        A file that could not be written whole fails here every time, for it can't be read.
        """
        if not self._closed:
            self._closed = True
            try:
                self._end()
            except OSError as error:
                self._failure = self._failure or error
                self._writer.is_open = False  # or it would try again when it is collected
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write_group(self, rows: pa.Table) -> None:
        try:
            self._writer.write_table(rows, row_group_size=ROWS_A_GROUP)
        except OSError as error:
            self._failure = error
            raise
        self.rows += rows.num_rows  # here, so that it is right after a Ctrl-C too

    def _end(self) -> None:
        try:
            if self._failure is None and self._waiting:
                rest = pa.concat_tables(self._waiting).combine_chunks()
                if rest.num_rows:
                    self._write_group(rest)
            self._writer.close()
        finally:
            self._waiting = []
            self._file.close()


def write_table(path: Path, table: pa.Table) -> None:
    """Write *table* to *path*, whole or not at all."""
    with whole_file(path) as fresh, TableWriter(fresh, table.schema) as writer:
        writer.write(table)
