"""How long a large case takes to be read, checked and built: a generated one, or one that is given.

python bench/case.py                    160 hydros, 60 stages of 3 blocks, every statistic given
python bench/case.py --heads --history  planes computed from heads, inflow models estimated
python bench/case.py --case DIRECTORY
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from generate import Kind, write


def measure(case: Path, repeat: int) -> None:
    """Print the seconds of loading and of building, the first time and the best of the others."""
    began = time.perf_counter()
    from pycobre.case import check_case
    from pycobre.lp import build_stages
    from pycobre.stochastic import inflow_recursion

    print(f"import          {time.perf_counter() - began:6.2f} s")
    took: dict[str, list[float]] = {"load and check": [], "build all LPs": []}
    for _ in range(repeat):
        began = time.perf_counter()
        found, problems = check_case(case)
        took["load and check"].append(time.perf_counter() - began)
        if found is None:
            raise SystemExit("\n".join(f"{problem.file}: {problem}" for problem in problems))
        began = time.perf_counter()
        models = build_stages(found.system, inflow_recursion(found.system.inflow, found.system.stages))
        took["build all LPs"].append(time.perf_counter() - began)
    for name, seconds in took.items():
        print(f"{name:15} {seconds[0]:6.2f} s, again {min(seconds[1:], default=seconds[0]):.2f} s")
    template = models[0].template
    print(f"{len(models)} LPs, the first of {len(template.cost)} columns and {len(template.row_lower)} rows")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", type=Path, help="a case directory instead of a generated one")
    parser.add_argument("--hydros", type=int, default=160)
    parser.add_argument("--stages", type=int, default=60)
    parser.add_argument("--heads", action="store_true", help="planes are computed")
    parser.add_argument("--history", action="store_true", help="inflow models are estimated")
    parser.add_argument("--repeat", type=int, default=2)
    given = parser.parse_args()
    if given.case:
        measure(given.case, given.repeat)
        return
    with tempfile.TemporaryDirectory() as scratch:
        kind = Kind(given.hydros, given.stages, detailed=True, heads=given.heads, history=given.history)
        measure(write(Path(scratch), kind), given.repeat)


if __name__ == "__main__":
    main()
