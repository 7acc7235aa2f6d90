"""Running the command line as a user does: as a process of its own, with an outer watchdog."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TOY = Path(__file__).parents[2] / "examples" / "toy"
WATCHDOG_SECS = 100.0
HANDS = {
    "shm": {"COBRE_SHM_NAME": f"by-hand-{os.getpid()}", "COBRE_SHM_RANK": "{rank}", "COBRE_SHM_SIZE": "2"},
    "torchrun": {
        "RANK": "{rank}",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "{port}",
        "TORCHELASTIC_RUN_ID": "none",
        "COBRE_TCP_INSECURE": "1",
    },
    "srun": {
        "SLURM_PROCID": "{rank}",
        "SLURM_LOCALID": "{rank}",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_NTASKS": "2",
        "SLURM_JOB_ID": "77",
        "SLURM_STEP_ID": "0",
        "COBRE_TCP_COORDINATOR": "localhost",
        "COBRE_TCP_PORT": "{port}",
        "COBRE_TCP_INSECURE": "1",
    },
}


@pytest.fixture
def toy() -> Path:
    """The bundled toy case."""
    return TOY


@pytest.fixture
def infeasible(tmp_path: Path) -> Path:
    """The toy case with an inflow so negative that no water can pay for it; and no inflow may be bought."""
    case = tmp_path / "case"
    shutil.copytree(TOY, case)
    openings = pq.read_table(case / "scenarios" / "noise_openings.parquet")
    values = np.where(np.array(openings["value"]) < 0, -30.0, openings["value"])
    openings = openings.set_column(openings.schema.get_field_index("value"), "value", pa.array(values))
    pq.write_table(openings, case / "scenarios" / "noise_openings.parquet")
    return case


@pytest.fixture
def clean_environment() -> dict[str, str]:
    """This process's environment without what another launch has left in it."""
    others = ("COBRE_", "_PYCOBRE_", "PMI", "OMPI_", "MPI_", "SLURM_")
    return {name: value for name, value in os.environ.items() if not name.startswith(others)}


@pytest.fixture
def pycobre_run(clean_environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``pycobre`` with arguments, finished; the environment is clean of other launches."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pycobre.app.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=WATCHDOG_SECS,
            check=False,
            env={**clean_environment, **environment},
        )

    return run


@pytest.fixture
def ranks_by_hand(
    clean_environment: dict[str, str],
) -> Callable[..., tuple[list[tuple[str, str]], list[int]]]:
    """What two ranks of ``pycobre`` printed and ended with, started with the variables of a launcher."""

    def run(launcher: str, *arguments: object, **environment: str) -> tuple[list[tuple[str, str]], list[int]]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1] - 1
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "pycobre.app.cli", *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={
                    **clean_environment,
                    **environment,
                    **{name: value.format(rank=rank, port=port) for name, value in HANDS[launcher].items()},
                },
            )
            for rank in range(2)
        ]
        try:
            told = [process.communicate(timeout=60) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        # Only ours: a run by hand in another process of the tests has a name of its own.
        assert not [path for path in Path("/dev/shm").iterdir() if f"by-hand-{os.getpid()}" in path.name]
        return told, [process.returncode for process in processes]

    return run


@pytest.fixture
def last_record() -> Callable[[str], dict[str, Any]]:
    """The last JSON line of an output."""

    def read(output: str) -> dict[str, Any]:
        records = [json.loads(line) for line in output.splitlines()]
        assert all("type" in record for record in records)
        return dict(records[-1])

    return read
