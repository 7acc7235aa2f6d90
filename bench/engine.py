"""Training and simulation beside cobre-python 0.18.0, on the same case and the same openings, in turns.

    python bench/engine.py ROW ... [--cases CASES] [--rounds 5] [--iterations N] [--peer-python PYTHON]

A ROW is a case directory, or one of the table: 1dtoy, 4ree, mid20 and national are looked for below CASES, a
directory of cases; 24-hydros, 60-hydros and 160-hydros are generated. The openings are those that the peer
draws and exports; both then read them from the case's file. Every round runs the peer as it is shipped, with
each cut selection that ``--peer-selections`` names, and on two threads; and pycobre on one thread, on two,
and on two ranks of one. Printed are medians over the rounds.

``to the bound`` is CPU seconds until the lower bound comes within 0.1 % of the best that any reached. Where
inflows depend on those before, the peer's bound is no bound: there each is timed to within 0.1 % of its own
last one. With ``--scenarios`` both simulate that many; their seconds are wall, output included.

cobre-python needs Python 3.12 or later: name one by --peer-python, or let the script look for it. It makes
a virtual environment for the peer once, in the user's cache.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contenders import Found, changes, on_peer_openings, peer_environment, run_peer, run_pycobre
from generate import Kind, write

GENERATED = {
    "24-hydros": Kind(hydros=24, stages=36, thermals=60, lags=6),
    "60-hydros": Kind(hydros=60, stages=6, thermals=90, lags=6),
    "160-hydros": Kind(hydros=160, stages=6, thermals=130, lags=6, least_lags=1),
}
GIVEN = {
    "1dtoy": "cobre-0.18/1dtoy",
    "4ree": "cobre-0.18/4ree",
    "mid20": "synthetic/mid20",
    "national": "national/brazil-2025-01",
}
SELECTIONS: dict[str, dict[str, Any]] = {
    "level1": {"selection": {"method": "level1"}},
    "lml1": {"selection": {"method": "lml1"}},
    "domination": {"selection": {"method": "domination", "domination_tolerance": 1e-6}},
    "dynamic": {"selection": {"method": "dynamic"}},
    "budget": {"max_active_per_stage": 100},
}
SHIPPED, OWN = "cobre", "pycobre"
NEAR = 1e-3


def case_of(row: str, cases: Path | None, scratch: Path) -> Path:
    """The directory of a row."""
    if row in GENERATED:
        return write(scratch / row, GENERATED[row])
    if row in GIVEN and cases is not None:
        return cases / GIVEN[row]
    if not Path(row, "config.json").exists():
        sys.exit(f"{row} is no case directory, and without --cases no row of the table")
    return Path(row)


def contenders(
    asked: argparse.Namespace, python: Path, case: Path, scenarios: int
) -> dict[str, Callable[[], Found]]:
    """Who runs in turns, by name."""
    told = changes(asked.iterations, scenarios)
    chosen = {
        f"{SHIPPED}, {name}": told
        | {f"training.cut_selection.{key}": v for key, v in SELECTIONS[name].items()}
        for name in asked.peer_selections
    }
    made: dict[str, Callable[[], Found]] = {SHIPPED: lambda: run_peer(python, case, told, 1)}
    for name, overrides in chosen.items():
        made[name] = lambda overrides=overrides: run_peer(python, case, overrides, 1)
    made[OWN] = lambda: run_pycobre(case, told, 1, 1)
    if not asked.alone:
        made[f"{SHIPPED}, 2 threads"] = lambda: run_peer(python, case, told, 2)
        made[f"{OWN}, 2 threads"] = lambda: run_pycobre(case, told, 2, 1)
        made[f"{OWN}, 2 ranks"] = lambda: run_pycobre(case, told, 1, 2)
    return made


def seconds_to(found: Found, bound: float) -> float:
    """CPU seconds until the bound came that near, or infinity."""
    near = bound - NEAR * abs(bound)
    return next(
        (s for s, reached in zip(found.at_s, found.bounds, strict=True) if reached >= near), float("inf")
    )


def report(row: str, runs: dict[str, list[Found]], lagged: bool) -> None:
    """Print the table of one row."""

    def median(name: str, value: Callable[[Found], float]) -> float:
        return statistics.median(value(run) for run in runs[name])

    best = max(run[-1].bounds[-1] for run in runs.values())
    columns: dict[str, Callable[[Found], float]] = {
        "training CPU s": lambda run: run.train_cpu_s,
        "wall s": lambda run: run.train_s,
        "µs per LP": lambda run: 1e6 * run.train_cpu_s / run.lps,
        "to its own bound" if lagged else "to the bound": lambda run: seconds_to(
            run, run.bounds[-1] if lagged else best
        ),
        "simulation wall s": lambda run: run.simulate_s,
        "peak MB": lambda run: run.peak_mb,
    }
    if not any(run.simulate_s for run in runs[SHIPPED]):
        del columns["simulation wall s"]
    print(f"| {row} | {' | '.join(columns)} | lower bound | left to HiGHS |")
    print("|---" * (len(columns) + 3) + "|")
    for name, found in runs.items():
        cells = []
        for value in columns.values():
            own, peer = median(name, value), median(SHIPPED, value)
            times = f" ({peer / own:.2f}x)" if name != SHIPPED and own < float("inf") else ""
            cells.append(f"{own:.4g}{times}")
        print(
            f"| {name} | {' | '.join(cells)} | {found[-1].bounds[-1]:.10g} | {found[-1].handed_over or ''} |"
        )
    bounds = {found[-1].bounds[-1] for name, found in runs.items() if name.startswith(OWN)}
    print(f"bounds of pycobre equal: {len(bounds) == 1}; LPs {runs[SHIPPED][-1].lps}, {runs[OWN][-1].lps}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="+", metavar="ROW")
    parser.add_argument("--cases", type=Path, help="where the rows of the table are")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=0, help="instead of the case's own limit")
    parser.add_argument("--scenarios", type=int, default=0, help="simulated after training")
    parser.add_argument("--peer-selections", nargs="*", default=[], choices=SELECTIONS, help="cut selections")
    parser.add_argument("--alone", action="store_true", help="one thread each")
    parser.add_argument("--peer-python")
    asked = parser.parse_args()
    python = peer_environment(asked.peer_python)
    for row in asked.rows:
        with tempfile.TemporaryDirectory() as scratch:
            source = case_of(row, asked.cases, Path(scratch))
            case = on_peer_openings(python, source, Path(scratch) / "both" / source.resolve().name)
            lagged = (case / "scenarios" / "inflow_ar_coefficients.parquet").exists()
            turns = contenders(asked, python, case, asked.scenarios)
            runs: dict[str, list[Found]] = {name: [] for name in turns}
            for _ in range(asked.rounds):
                for name, run in turns.items():
                    runs[name].append(run())
        report(row, runs, lagged)


if __name__ == "__main__":
    main()
