"""Cases of any size, and what else bench/ has."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a module of bench/ by its name."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


@pytest.fixture
def generate(bench: Callable[[str], ModuleType], tmp_path: Path) -> Callable[..., Path]:
    """Writes a case of a kind: the attributes of bench/generate.py's Kind."""
    module = bench("generate")
    return lambda **kind: module.write(tmp_path / "case", module.Kind(**kind))
