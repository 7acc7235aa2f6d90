"""What starting a rank costs: it loads nothing heavy that only some later step needs."""

import subprocess
import sys


def test_a_rank_starts_without_what_takes_long_to_load() -> None:
    heavy = {"pandas", "polars", "xarray", "matplotlib", "scipy", "pyarrow.dataset", "mpi4py", "hypothesis"}
    program = "import sys, pycobre.app.worker; print(*sys.modules, sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert heavy & set(ran.stdout.split()) == set()
