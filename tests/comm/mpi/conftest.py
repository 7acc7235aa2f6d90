"""Programs of a few lines as jobs of an MPI."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from comm.mpi.installation import Installation


@pytest.fixture
def run_ranks(mpi: Installation, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program of a few lines on some ranks; it finds ``MpiCommunicator`` imported."""

    def run(ranks: int, program: str, **options: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "program.py"
        script.write_text("from pycobre.comm.mpi import MpiCommunicator\n" + program)
        return mpi.run(ranks, [str(script)], **options)

    return run
