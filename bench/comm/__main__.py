"""The collectives beside three MPIs and gloo, in turns: ``python bench/comm``.

    python bench/comm [--ranks 2,4] [--rounds 3] [--only TEXT] [--peers mpich,openmpi,...] [--ours shm,...]

Every round runs each contender once, so that a busy minute falls on all. Figures are medians over the rounds
of rank 0's figures: median, p99 and mean of calls with the ranks in step, the mean of a call and the barrier
before it, in which a rank that leaves a call early waits for the others, and the mean of calls back to back.
A ratio is to the best of MPICH, Open MPI and Intel MPI on that row, by the median; the targets are those of
shm. Environments for the peers are made once, in the user's cache.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import timeit
from collections import defaultdict
from typing import Any

from contenders import BEST_OF, CACHE, PEERS, RANKS, Contender, ours, run
from ranks import ROWS

Figures = dict[tuple[str, str], list[Any]]  # (contender, row): one entry a round

# Ratio of shm to the best MPI that rows must reach at 2 ranks.
LARGE = {"allgatherv 100 KB": 0.7, "allgatherv 1 MB": 0.7}
SPECIAL = {"prepared allreduce 32 B": 0.25, "region 16 MB": 0.3}
# What else is asked of shm: job, what it is, and what shm must keep.
OTHERS = (
    ("waiting", "CPU of a waiting rank, %", "<= 1", lambda value: value <= 1),
    ("start", "start to first barrier, s", "<= 0.25", lambda value: value <= 0.25),
    ("threads", "allreduces/s beside Python threads", ">= 3000", lambda value: value >= 3000),
    ("strangers", "allreduces/s beside two busy strangers", "", None),
)
# How far apart the processors are, after each run: a virtual machine's move while it runs.
DISTANCE = "cache line there and back, ns"
# An allreduce is what a prepared one competes with as well.
RIVALS = {"prepared allreduce 32 B": ("prepared allreduce 32 B", "allreduce 32 B")}


def target(row: str, ranks: int) -> float:
    """The largest ratio of shm to the best MPI that is good enough."""
    if ranks == 2 and row in SPECIAL:
        return SPECIAL[row]
    small = row == "barrier" or row.endswith((" 32 B", " 64 B", " 1 KB"))
    if ranks > 2:
        return 0.6 if small else 0.9
    return 0.5 if small else LARGE.get(row, 1.05)


def cache_line_ns(runs: int = 5) -> float:
    """Round trip of a cache line between two threads, median of some runs."""
    program, source = CACHE / "pingpong", RANKS.with_name("pingpong.cpp")
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["c++", "-O2", "-pthread", str(source), "-o", str(program)], check=True)
    told = [subprocess.run([program], check=True, capture_output=True).stdout for _ in range(runs)]
    return statistics.median(float(text) for text in told)


def local_us() -> dict[str, float]:
    """Collectives of a group of one on 32 bytes."""
    import numpy as np

    from pycobre.comm import LocalCommunicator, ReduceOp

    comm, send, recv = LocalCommunicator(), np.zeros(4), np.zeros(4)
    calls = {
        "barrier": comm.barrier,
        "allreduce": lambda: comm.allreduce(send, recv, ReduceOp.SUM),
        "broadcast": lambda: comm.broadcast(send, 0),
        "allgatherv": lambda: comm.allgatherv(send, recv, [4], [0]),
    }
    return {name: min(timeit.repeat(call, number=20_000, repeat=5)) * 50 for name, call in calls.items()}


# It ends with the bench, however that ends.
_STRANGER = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(100_000):
        pass
"""


def measure(contenders: list[Contender], ranks: int, rounds: int, jobs: list[str]) -> Figures:
    """All figures; jobs that need company get it."""
    found: Figures = defaultdict(list)
    plain = ",".join(job for job in jobs if job != "strangers")
    for turn in range(rounds):
        for contender in contenders:
            print(f"{ranks} ranks, round {turn + 1}: {contender.name}", file=sys.stderr)
            results = dict(run(contender, ranks, plain) or {}) if plain else {}
            if "strangers" in jobs:
                # In a session of their own, as another user's jobs are: each session gets its share.
                busy = [sys.executable, "-c", _STRANGER, str(os.getpid())]
                hogs = [subprocess.Popen(busy, start_new_session=True) for _ in range(2)]
                try:
                    results.update({"strangers": (run(contender, ranks, "strangers") or {}).get("strangers")})
                finally:
                    for hog in hogs:
                        hog.kill()
                        hog.wait()
            for row, value in results.items():
                if value is not None:
                    found[contender.name, row].append(value)
            found[contender.name, DISTANCE].append(cache_line_ns(1))
    return found


def middle(found: Figures, name: str, row: str, key: str) -> float | None:
    """Median over the rounds, ``None`` where there is no figure."""
    values = [value[key] for value in found.get((name, row), [])]
    return statistics.median(values) if values else None


def report(found: Figures, contenders: list[Contender], ranks: int) -> None:
    """Print the tables of one number of ranks."""
    names = [contender.name for contender in contenders]
    for key, what in (
        ("median", "median, ranks in step"),
        ("mean", "mean, ranks in step"),
        ("p99", "p99, ranks in step"),
        ("cycle", "mean of a barrier and the call, ranks in step"),
        ("back", "mean, back to back"),
    ):
        print(f"\n### {ranks} ranks, microseconds: {what}\n")
        head = ["", *names] + (["shm / best MPI", "target", "met"] if key == "median" else ["shm / best MPI"])
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for row, *_ in ROWS:
            values = {name: middle(found, name, row, key) for name in names}
            if not any(values.values()):
                continue
            cells = [row, *("" if value is None else f"{value:.2f}" for value in values.values())]
            rivals = [middle(found, name, r, key) for name in BEST_OF for r in RIVALS.get(row, (row,))]
            best = min((value for value in rivals if value is not None), default=None)
            mine = values.get("shm")
            ratio = mine / best if mine is not None and best else None
            cells.append("" if ratio is None else f"{ratio:.2f}")
            if key == "median":
                limit = target(row, ranks)
                cells += [f"{limit:.2f}", "" if ratio is None else "yes" if ratio <= limit else "no"]
            print("| " + " | ".join(cells) + " |")
    print(f"\n### {ranks} ranks, other figures\n\n| | " + " | ".join(names) + " | target of shm | met |")
    print("|" + "---|" * (len(names) + 3))
    for job, what, wanted, good in OTHERS:
        cells = [statistics.median(found[name, job]) if found.get((name, job)) else None for name in names]
        if not any(value is not None for value in cells):
            continue
        figures = dict(zip(names, cells, strict=True))
        mine, verdict = figures.get("shm"), ""
        if good and mine is not None:
            verdict = "yes" if good(mine) else "no"
        elif job == "strangers" and ranks == 4 and mine is not None and figures.get("MPICH"):
            wanted, verdict = ">= 100x MPICH", "yes" if mine >= 100 * figures["MPICH"] else "no"
        shown = ["" if value is None else f"{value:.6g}" for value in cells]
        print("| " + " | ".join([what, *shown, wanted, verdict]) + " |")
    print(f"\n{DISTANCE}, after each run:", end=" ")
    print("; ".join(f"{name} " + " ".join(f"{ns:.0f}" for ns in found[name, DISTANCE]) for name in names))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", default="", help="rows whose name holds this; also waiting, threads, strangers"
    )
    parser.add_argument(
        "--peers", default="mpich,open mpi,intel mpi", help="names (also open mpi tcp, gloo), or all"
    )
    parser.add_argument("--ours", default="all")
    asked = parser.parse_args()

    def chosen(contenders: list[Contender], wanted: str) -> list[Contender]:
        names = [name.strip().lower() for name in wanted.split(",") if name.strip()]
        return [c for c in contenders if "all" in names or c.name.lower() in names]

    contenders = chosen(ours(), asked.ours) + chosen(list(PEERS), asked.peers)
    jobs = [str(index) for index, (row, *_) in enumerate(ROWS) if asked.only in row]
    jobs += [job for job in ("waiting", "threads", "strangers") if asked.only in job]
    print(f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} processors,", end=" ")
    print("load average {:.1f} {:.1f} {:.1f};".format(*os.getloadavg()), end=" ")
    print(f"cache line there and back {cache_line_ns():.0f} ns; local, 32 B, us:", end=" ")
    print(", ".join(f"{name} {value:.2f}" for name, value in local_us().items()) + " (target 0.3)")
    for ranks in (int(text) for text in asked.ranks.split(",")):
        report(measure(contenders, ranks, asked.rounds, jobs), contenders, ranks)
    print("\nload average at the end {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))


if __name__ == "__main__":
    main()
