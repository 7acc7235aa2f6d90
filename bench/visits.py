"""What Python and NumPy take of a visit of a stage: `python bench/visits.py CASE [iterations]`.

Trains in this process on one thread. What solvers' native calls take is subtracted, all else is glue:
of the forward pass, the backward pass, the bound, and the rest of an iteration. Processor time of the thread.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pycobre
from pycobre import _native
from pycobre.sddp.backward import Backward

VISITS = ("expectation", "by_opening", "dispatch")
NATIVE = ("__init__", *VISITS, "keep_starts", "add_cuts", "choose_rows")

clock = time.thread_time
spent: Counter[str] = Counter()  # in ns
calls: Counter[str] = Counter()


def timed(kind: Any) -> Any:
    """A class that does what *kind* does, and counts what its calls take."""

    def counting(name: str) -> Callable[..., Any]:
        inner = getattr(kind, name)

        def call(self: Any, *given: Any, **named: Any) -> Any:
            began = clock()
            result = inner(self, *given, **named)
            spent["native"] += round((clock() - began) * 1e9)
            calls["visits"] += name in VISITS
            return result

        return call

    return type(kind.__name__, (kind,), {name: counting(name) for name in NATIVE if hasattr(kind, name)})


def part(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    """*inner*, whose time without that of native calls is counted as that of a part of training."""

    def call(*given: Any, **named: Any) -> Any:
        began, native = clock(), spent["native"]
        result = inner(*given, **named)
        spent[name] += round((clock() - began) * 1e9) - (spent["native"] - native)
        return result

    return call


def main(case: str, iterations: int | None = None) -> None:
    """Print the glue of a visit, and where it is."""
    training = importlib.import_module("pycobre.sddp.train")
    run = importlib.import_module("pycobre.study.run")
    train = run.train

    def watched(*given: Any) -> Iterator[Any]:
        began, native = clock(), spent["native"]
        yield from train(*given)
        spent["all"] += round((clock() - began) * 1e9) - (spent["native"] - native)

    native = dict(vars(_native))
    native |= {name: timed(native[name]) for name in ("DenseProblem", "StageProblem")}
    stand_in = type("native", (), native)
    with (
        patch("pycobre.lp.dense._native", stand_in),
        patch("pycobre.lp.highs._native", stand_in),
        patch.object(training, "walk", part("forward", training.walk)),
        patch.object(Backward, "add_cuts", part("backward", Backward.add_cuts)),
        patch.object(Backward, "lower_bound", part("bound", Backward.lower_bound)),
        patch.object(run, "train", watched),
    ):
        overrides = {} if iterations is None else {"training.iterations": iterations}
        count = pycobre.train(case, overrides=overrides, threads=1).summary.iterations
    visits = calls["visits"]
    print(
        f"{visits} visits in {count} iterations; native calls {spent['native'] / visits / 1e3:.1f} µs a visit"
    )
    print(f"glue {spent['all'] / visits / 1e3:.1f} µs a visit; of an iteration, µs:")
    parts = {name: spent[name] for name in ("forward", "backward", "bound")}
    for name, nanoseconds in (parts | {"rest": spent["all"] - sum(parts.values())}).items():
        print(f"  {name:9}{nanoseconds / count / 1e3:8.1f}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
