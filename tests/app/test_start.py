"""What a start costs: nothing heavy is loaded that only some later step, or another command, needs."""

import subprocess
import sys


def loaded(program: str) -> set[str]:
    """Modules that a fresh interpreter has loaded after *program*."""
    program = f"import sys; {program}; print(*sys.modules, sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_a_rank_starts_without_what_takes_long_to_load() -> None:
    heavy = {"pandas", "polars", "xarray", "matplotlib", "scipy", "pyarrow.dataset", "mpi4py", "hypothesis"}
    assert heavy & loaded("import pycobre.app.worker") == set()


def test_launching_a_program_loads_neither_the_case_reader_nor_the_solvers() -> None:
    launching = "from pycobre.app.cli import app; app(['launch', '-n', '2', 'true'], standalone_mode=False)"
    heavy = {"pyarrow", "scipy"} | {f"pycobre.{room}" for room in ("case", "lp", "sddp", "results", "study")}
    assert heavy & loaded(launching) == set()


def test_a_rank_that_meets_others_does_not_load_what_starts_them() -> None:
    meeting = "from pycobre.comm import create_communicator; create_communicator('local').barrier()"
    starting = {"pycobre.comm.handout", "pycobre.comm.process", "pycobre.comm.tcp", "subprocess"}
    assert starting & loaded(meeting) == set()
