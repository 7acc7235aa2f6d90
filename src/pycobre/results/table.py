"""One table of the results, in whatever library reads it."""

from __future__ import annotations

import importlib
from functools import cached_property
from html import escape
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pycobre.errors import ResultsError
from pycobre.results.durable import explained
from pycobre.results.schema import index_of

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray


class Table:
    """One table of the results.

    Anything that reads Arrow takes it as it is (``polars.DataFrame(table)``, ``duckdb``, ``pyarrow.table``).

    Attributes
    ----------
    name
        The table's name.
    path
        Its Parquet file.
    rows
        Number of rows.
    """

    def __init__(self, name: str, path: Path, rows: int) -> None:
        self.name, self.path, self.rows = name, path, rows

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns with ``unit`` and ``description`` in each field's metadata."""
        with explained("read", self.path):
            return pq.read_schema(self.path)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.schema.names)

    def unit(self, column: str) -> str:
        """Unit of *column*; ``1`` if it has none."""
        return _said(self.schema.field(column), b"unit")

    def description(self, column: str) -> str:
        """What *column* means."""
        return _said(self.schema.field(column), b"description")

    def to_arrow(self, columns: list[str] | None = None) -> pa.Table:
        """Rows as a :class:`pyarrow.Table`; of *columns* only, if given."""
        with explained("read", self.path), pq.ParquetFile(self.path) as file:
            return file.read(columns=columns)

    def to_pandas(self, columns: list[str] | None = None) -> pandas.DataFrame:
        """Rows as a :class:`pandas.DataFrame`; of *columns* only, if given."""
        _extra("pandas")
        return self.to_arrow(columns).to_pandas()

    def to_polars(self, columns: list[str] | None = None) -> polars.DataFrame:
        """Rows as a :class:`polars.DataFrame`; of *columns* only, if given."""
        return _extra("polars").from_arrow(self.to_arrow(columns))

    def to_xarray(self, columns: list[str] | None = None) -> xarray.Dataset:
        """Measurements as an :class:`xarray.Dataset` with units; of *columns* only, if given.

        Dimensions are the table's index, such as ``scenario``, ``stage``, ``block`` and ``hydro``, with the
        ids as coordinates. Where there is no row (a stage of fewer blocks) stands NaN.
        """
        library = _extra("xarray")
        index = index_of(self.schema)
        wanted = [name for name in columns or self.columns if name not in index]
        table = self.to_arrow([*index, *wanted])
        dimensions = [name.removesuffix("_id") for name in index] or ["row"]
        coordinates, places = {}, []
        for name, dimension in zip(index, dimensions, strict=False):
            ids, place = np.unique(table[name].to_numpy(), return_inverse=True)
            coordinates[dimension] = (dimension, ids, self._attributes(name))
            places.append(place)
        shape = tuple(len(ids) for _, ids, _ in coordinates.values()) or (table.num_rows,)
        where = np.ravel_multi_index(tuple(places), shape) if places else np.arange(table.num_rows)
        variables = {
            name: (dimensions, _dense(table[name].to_numpy(), where, shape), self._attributes(name))
            for name in wanted
        }
        return library.Dataset(variables, coordinates)

    def _attributes(self, column: str) -> dict[str, str]:
        return {"units": self.unit(column), "long_name": self.description(column).rstrip(".")}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        file = pq.ParquetFile(self.path)
        stream: object = pa.RecordBatchReader.from_batches(
            file.schema_arrow, file.iter_batches()
        ).__arrow_c_stream__(requested_schema)
        return stream

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        wide = max(len(name) for name in self.columns)
        lines = [f"Table {self.name}: {count(self.rows, 'row')}"]
        lines += [
            f"  {name:<{wide}}  {self.unit(name):<12}  {self.description(name)}" for name in self.columns
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(self.unit(name))}</td>"
            f"<td>{escape(self.description(name))}</td></tr>"
            for name in self.columns
        )
        return (
            f"<p><b>{escape(self.name)}</b>: {count(self.rows, 'row')}</p>"
            f"<table><tr><th>column</th><th>unit</th><th>meaning</th></tr>{rows}</table>"
        )


def count(number: int, what: str) -> str:
    """Text such as ``1,200 rows`` or ``1 row``."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _said(field: pa.Field, key: bytes) -> str:
    text: bytes = (field.metadata or {}).get(key, b"")
    return text.decode()


def _dense(values: NDArray[Any], where: NDArray[np.intp], shape: tuple[int, ...]) -> NDArray[Any]:
    """*values* at flat positions *where* of an array of *shape*, with nothing (NaN, NaT, None) elsewhere."""
    if len(values) == int(np.prod(shape)):
        whole = np.empty(len(values), values.dtype)
    elif values.dtype.kind == "M":
        whole = np.full(int(np.prod(shape)), np.datetime64("NaT"), values.dtype)
    elif values.dtype == object:
        whole = np.full(int(np.prod(shape)), None, object)
    else:
        whole = np.full(int(np.prod(shape)), np.nan)
    whole[where] = values
    return whole.reshape(shape)


def _extra(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ResultsError(f"this needs {name}: pip install 'pycobre[{name}]'") from error
