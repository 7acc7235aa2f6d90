"""What tests of several rooms share."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from comm.mpi.installation import Installation, impi, mpich, mpich40, openmpi
from pycobre.comm import LocalCommunicator
from pycobre.lp import HighsSolver, cost_scale_of
from pycobre.sddp import IterationLimit, Policy, PolicyGraph, Stopping, TrainingSettings, train

HERE = Path(__file__).parent
SHARED_MEMORY = Path("/dev/shm")

Train = Callable[..., tuple[Policy, list[HighsSolver]]]


def pytest_configure() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would all ranks that tests send it to."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: somebody always waits for a process or a time-out."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.fixture(autouse=True, scope="module")
def quick_start(request: pytest.FixtureRequest) -> Iterator[None]:
    """Ranks that only talk start without the threads of a BLAS, which are a third of their start."""
    with pytest.MonkeyPatch.context() as environment:
        if request.path.relative_to(HERE).parts[0] in ("comm", "faults"):
            environment.setenv("OPENBLAS_NUM_THREADS", "1")
        yield


@pytest.fixture
def train_graph() -> Train:
    """Trains a graph on one rank and returns the policy with its solvers."""

    def run(
        graph: PolicyGraph, *, iterations: int, forward_passes: int = 1, threads: int = 1, seed: int = 1
    ) -> tuple[Policy, list[HighsSolver]]:
        comm = LocalCommunicator()
        scale = cost_scale_of([node.template for node in graph.nodes])
        solvers = [
            HighsSolver(node.template, future_lower=lower, cost_scale=scale, threads=threads)
            for node, lower in zip(graph.nodes, graph.future_cost_lower(), strict=True)
        ]
        policy = Policy(graph, comm, forward_passes)
        settings = TrainingSettings(Stopping((IterationLimit(iterations),)), seed)
        for _ in train(policy, solvers, settings, comm):
            pass
        return policy, solvers

    return run


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """Directory of the peer's published cases, where somebody has put it beside this repository."""
    given = os.environ.get("PYCOBRE_SHARED_CASES")
    place = Path(given) if given else Path(__file__).parents[2] / "shared" / "cases"
    if not place.is_dir():
        pytest.skip("the peer's published cases are not beside this repository")
    return place


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(made, id=made.__name__, marks=pytest.mark.xdist_group(made.__name__))
        for made in (mpich, mpich40, openmpi, impi)
    ],
)
def mpi(request: pytest.FixtureRequest) -> Iterator[Installation]:
    """Each of the MPIs that the tests fetch."""
    before = set(SHARED_MEMORY.glob("mpich_shm_*"))
    yield request.param()
    if request.param in (mpich, mpich40):  # it leaves one behind of every job that is aborted
        for segment in set(SHARED_MEMORY.glob("mpich_shm_*")) - before:
            if not in_use(segment):  # a job of another process of the tests may have come since
                segment.unlink(missing_ok=True)


def in_use(segment: Path) -> bool:
    """Whether any process has *segment* open or mapped."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(segment) in (process / "maps").read_text():
                return True
            if any(link.readlink() == segment for link in (process / "fd").iterdir()):
                return True
    return False
