"""Without pandas, polars or xarray: said so by name, and everything else works on."""

import sys

import pytest

from pycobre.errors import ResultsError
from pycobre.results import Results, digest


@pytest.mark.parametrize("name", ["pandas", "polars", "xarray"])
def test_an_absent_package_is_named_with_its_extra(write, monkeypatch, name):
    results = Results.open(write())
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ResultsError, match=rf"needs {name}: pip install 'pycobre\[{name}\]'"):
        getattr(results.hydros, f"to_{name}")()
    assert results.hydros.to_arrow().num_rows == results.hydros.rows
    assert digest(results.path)
