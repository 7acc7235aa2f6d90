"""The collectives beside three MPIs and gloo, in turns: ``python bench/comm``.

    python bench/comm [--ranks 2,4] [--rounds 3] [--only TEXT] [--peers mpich,openmpi,...] [--ours shm,...]

Every round runs each contender once, so that a busy minute falls on all. Figures are medians over the rounds
of rank 0's figures: median, p99 and mean of calls with the ranks in step, the mean of a call and the barrier
before it, in which a rank that leaves a call early waits for the others, and the mean of calls back to back.
A ratio is to the best of MPICH, Open MPI and Intel MPI on that row, by the median; the targets are those of
shm. Medians are told once more by what two processors had in common, where that was the same before a row and
after it. Environments for the peers are made once, in the user's cache.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from contenders import BEST_OF, CACHE, PEERS, Contender, ours, run
from distance import BYTES, MEASUREMENTS, Distance, compiled
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
# How far apart two processors are, by a cache line there and back: a virtual machine's move while it runs.
STATES = (("a common core", 0.0, 80.0), ("a common cache", 80.0, 300.0), ("none", 300.0, 2000.0))
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
    with tempfile.NamedTemporaryFile() as room, ThreadPoolExecutor(1) as other:
        room.truncate(BYTES * MEASUREMENTS)
        sides = [Distance(compiled(CACHE), Path(room.name), rank) for rank in (0, 1)]
        told = []
        for _ in range(runs):
            awaited = other.submit(sides[1])
            told.append(sides[0]())
            awaited.result()
    return statistics.median(told)


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
            ratio, *met = _verdict(found, row, ranks, key)
            print("| " + " | ".join([*cells, ratio, *(met if key == "median" else [])]) + " |")
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


def report_by_distance(found: Figures, contenders: list[Contender], ranks: int) -> None:
    """Print medians in step by what the two processors had in common before a row and after it."""
    names = [contender.name for contender in contenders]
    print(f"\n### {ranks} ranks, microseconds: median, ranks in step, by what processors have in common\n")
    head = ["", "processors have", *names, "shm / best MPI", "target", "met"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row, *_ in ROWS:
        for state, nearest, farthest in STATES:
            here: Figures = {
                place: [v for v in values if all(nearest <= ns < farthest for ns in v["apart"])]
                for place, values in found.items()
                if place[1] in RIVALS.get(row, (row,))
            }
            medians = {name: middle(here, name, row, "median") for name in names}
            if medians.get("shm") is None:
                continue
            cells = [
                "" if value is None else f"{value:.2f} ({len(here[name, row])})"
                for name, value in medians.items()
            ]
            print("| " + " | ".join([row, state, *cells, *_verdict(here, row, ranks, "median")]) + " |")


def _verdict(found: Figures, row: str, ranks: int, key: str) -> tuple[str, str, str]:
    """Ratio of shm to the best MPI, its target, and whether it is met."""
    rivals = [middle(found, name, r, key) for name in BEST_OF for r in RIVALS.get(row, (row,))]
    best = min((value for value in rivals if value is not None), default=None)
    mine, limit = middle(found, "shm", row, key), target(row, ranks)
    if mine is None or not best:
        return "", f"{limit:.2f}", ""
    return f"{mine / best:.2f}", f"{limit:.2f}", "yes" if mine / best <= limit else "no"


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
        found = measure(contenders, ranks, asked.rounds, jobs)
        report(found, contenders, ranks)
        report_by_distance(found, contenders, ranks)
    print("\nload average at the end {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))


if __name__ == "__main__":
    main()
