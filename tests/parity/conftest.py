"""Cases of any size."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"

Generate = Callable[..., Path]


@pytest.fixture
def generate(tmp_path: Path) -> Generate:
    """Writes a case by bench/generate.py: sizes as ``hydros=8``, kinds as ``heads=True``."""

    def write(**kind: int | bool) -> Path:
        told = [text for name, value in kind.items() for text in (f"--{name}", str(value)) if text != "True"]
        command = [sys.executable, BENCH / "generate.py", tmp_path / "case", *told]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return tmp_path / "case"

    return write
