"""Which backend is chosen: told, then found set, then local."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import types
import uuid

import pytest

from pycobre.comm import (
    BackendKind,
    LocalCommunicator,
    ShmCommunicator,
    ShmConfig,
    available_backends,
    create_communicator,
)
from pycobre.errors import BackendNotAvailable, InitializationFailed, InvalidBackend, MissingConfiguration

LAUNCHERS = ("PMI", "OMPI_", "MPI_", "SLURM_", "COBRE_", "_PYCOBRE_", "TORCHELASTIC_", "MASTER_", "JOB_")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for variable in list(os.environ):
        if variable.startswith(LAUNCHERS) or variable in ("RANK", "WORLD_SIZE"):
            monkeypatch.delenv(variable)


@pytest.fixture
def installed(monkeypatch):
    """A function that says whether mpi4py is there, and stands in for what would start MPI."""

    def say(mpi4py: bool, size: int = 4) -> type:
        class MpiCommunicator(LocalCommunicator):
            closed = False

            def __init__(self) -> None:
                super().__init__()
                self.backend, self.size = "mpi", size

            def close(self) -> None:
                type(self).closed = True

        find = importlib.util.find_spec
        there = importlib.machinery.ModuleSpec("mpi4py", None) if mpi4py else None
        monkeypatch.setattr(
            "importlib.util.find_spec", lambda name, *more: there if name == "mpi4py" else find(name, *more)
        )
        room = types.ModuleType("pycobre.comm.mpi")
        room.MpiCommunicator = MpiCommunicator
        monkeypatch.setitem(sys.modules, "pycobre.comm.mpi", room)
        return MpiCommunicator

    return say


@pytest.fixture
def meeting_nobody(monkeypatch):
    """Stand-ins for backends that would wait for other ranks: the table is about which, not how."""
    for backend, place in (("shm", "shm.ShmCommunicator"), ("tcp", "tcp.communicator.TcpCommunicator")):
        stand_in = type(place, (LocalCommunicator,), {"backend": backend})
        monkeypatch.setattr(f"pycobre.comm.{place}", stand_in)


MPICH = {"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "1"}
MPI_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID", "PMIX_RANK")
MPI_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
STEP = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4"}
SCRIPT = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
TORCHRUN = {
    "RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost", "MASTER_PORT": "29400",
    "TORCHELASTIC_RUN_ID": "none",
}  # fmt: skip
OUR_TCP = {"COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "4", "COBRE_TCP_COORDINATOR": "localhost"}
OUR_SHM = {"COBRE_SHM_NAME": "n", "COBRE_SHM_RANK": "1", "COBRE_SHM_SIZE": "4"}
REFUSED = "refused"

TABLE = [
    # what is set,                                                    with mpi4py, without
    ("nothing", {}, "local", "local"),
    ("tcp, a worker", OUR_TCP, "tcp", "tcp"),
    ("tcp, rank 0", {"COBRE_TCP_RANK": "0", "COBRE_TCP_SIZE": "4"}, "tcp", "tcp"),
    *((f"{name} only", {name: value}, "tcp", "tcp") for name, value in OUR_TCP.items()),
    ("tcp, an empty coordinator", {"COBRE_TCP_COORDINATOR": " "}, "local", "local"),
    ("Kubernetes", {"JOB_COMPLETION_INDEX": "0", "COBRE_TCP_SIZE": "4"}, "tcp", "tcp"),
    ("Kubernetes, another job", {"JOB_COMPLETION_INDEX": "0"}, "local", "local"),
    ("shm", OUR_SHM, "shm", "shm"),
    *((f"{name} only", {name: value}, "shm", "shm") for name, value in OUR_SHM.items()),
    ("tcp and shm", {**OUR_SHM, **OUR_TCP}, "tcp", "tcp"),
    *((f"{name} only", {name: value}, "mpi", REFUSED) for name, value in {**MPICH, **OPEN_MPI}.items()),
    *((f"{name} of 0", {name: "0"}, "mpi", REFUSED) for name in MPI_RANKS),
    *((f"{name} of one", {name: "1"}, "mpi", "local") for name in MPI_SIZES),
    *((f"{name} that is no number", {name: "many"}, "mpi", REFUSED) for name in MPI_SIZES),
    ("MPICH", MPICH, "mpi", REFUSED),
    ("Open MPI", OPEN_MPI, "mpi", REFUSED),
    ("MPICH, one rank", {"PMI_RANK": "0", "PMI_SIZE": "1"}, "mpi", "local"),
    ("a Slurm step", STEP, "mpi", REFUSED),
    ("a Slurm step of one", {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, "mpi", "local"),
    ("a Slurm step, its count only", {"SLURM_STEP_NUM_TASKS": "4"}, "local", "local"),
    ("a Slurm batch script", SCRIPT, "local", "local"),
    ("a Slurm allocation", {"SLURM_NTASKS": "4", "SLURM_JOB_NUM_NODES": "2"}, "local", "local"),
    ("mpiexec of MPICH in a Slurm batch script", {**SCRIPT, **MPICH}, "mpi", REFUSED),
    ("mpiexec of Open MPI in a Slurm step", {**STEP, **OPEN_MPI}, "mpi", REFUSED),
    ("torchrun", TORCHRUN, "tcp", "tcp"),
    *((f"torchrun without {name}", {k: v for k, v in TORCHRUN.items() if k != name}, "local", "local")
      for name in TORCHRUN),
    ("torchrun in a Slurm batch script", {**SCRIPT, **TORCHRUN}, "tcp", "tcp"),
    ("torchrun in a Slurm step",
     {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", **TORCHRUN}, "tcp", "tcp"),
    ("torchrun in a rank of MPI", {"PMI_RANK": "1", "PMI_SIZE": "2", **TORCHRUN}, "tcp", "tcp"),
    ("Kubernetes in a rank of MPI", {**MPICH, "JOB_COMPLETION_INDEX": "0", "COBRE_TCP_SIZE": "4"},
     "tcp", "tcp"),
    ("shm in an MPICH rank", {**MPICH, **OUR_SHM}, "shm", "shm"),
    ("shm in a Slurm step", {**STEP, **OUR_SHM}, "shm", "shm"),
    ("tcp in an Open MPI rank", {**OPEN_MPI, **OUR_TCP}, "tcp", "tcp"),
    ("tcp in a Slurm step", {**STEP, **OUR_TCP}, "tcp", "tcp"),
    ("tcp in a Slurm step that gives the rank", {**STEP, "COBRE_TCP_COORDINATOR": "localhost"}, "tcp", "tcp"),
    ("shm in torchrun", {**TORCHRUN, **OUR_SHM}, "shm", "shm"),
    ("tcp in torchrun", {**TORCHRUN, **OUR_TCP}, "tcp", "tcp"),
    ("told local in an MPICH rank", {**MPICH, "COBRE_COMM_BACKEND": "local"}, "local", "local"),
    ("told tcp in an Open MPI rank", {**OPEN_MPI, "COBRE_COMM_BACKEND": "TCP"}, "tcp", "tcp"),
    ("told mpi beside ours", {**OUR_SHM, "COBRE_COMM_BACKEND": "mpi"}, "mpi", REFUSED),
    ("told auto in an MPICH rank", {**MPICH, "COBRE_COMM_BACKEND": "auto"}, "mpi", REFUSED),
]  # fmt: skip


@pytest.mark.parametrize("mpi4py", [True, False], ids=["mpi4py", "no mpi4py"])
@pytest.mark.parametrize(
    ("variables", "with_mpi4py", "without"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_what_is_set_decides(monkeypatch, installed, meeting_nobody, variables, with_mpi4py, without, mpi4py):
    installed(mpi4py)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    expected = with_mpi4py if mpi4py else without
    if expected is REFUSED:
        with pytest.raises(BackendNotAvailable, match=r"pip install 'pycobre\[mpi\]'"):
            create_communicator()
        return
    with create_communicator() as comm:
        assert comm.backend == expected


@pytest.mark.parametrize("told", ["as an argument", "by the variable"])
@pytest.mark.parametrize("kind", list(BackendKind))
def test_what_is_told_wins_over_all_that_is_set(monkeypatch, installed, meeting_nobody, kind, told):
    installed(True)
    for name, value in {**MPICH, **OPEN_MPI, **STEP, **TORCHRUN, **OUR_SHM, **OUR_TCP}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COBRE_COMM_BACKEND", kind.value.upper() if told == "by the variable" else "pvm")
    with create_communicator(kind if told == "as an argument" else None) as comm:
        assert comm.backend == ("tcp" if kind is BackendKind.AUTO else kind.value)


@pytest.mark.parametrize("variables", [MPICH, OPEN_MPI, STEP], ids=["MPICH", "Open MPI", "Slurm"])
@pytest.mark.parametrize("kind", [None, "mpi"])
def test_several_launched_ranks_are_never_silent_singletons(monkeypatch, installed, variables, kind):
    comm = installed(True, size=1)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InitializationFailed, match=r"4 ranks.*mpiexec.*--mpi=pmix.*COBRE_COMM_BACKEND=local"):
        create_communicator(kind)
    assert comm.closed


def test_without_mpi4py_several_launched_ranks_hear_their_number(monkeypatch, installed):
    installed(False)
    for name, value in STEP.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BackendNotAvailable, match=r"4 ranks.*COBRE_COMM_BACKEND=local"):
        create_communicator()


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (STEP, "4 ranks, which only mpi can join, and mpi4py finds no MPI library.*COBRE_TCP_COORDINATOR"),
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, "local"),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, "local"),
    ],
    ids=["a step", "a step of one", "MPICH, one rank"],
)
def test_mpi4py_without_a_library_is_as_no_mpi4py(variables, said):
    pytest.importorskip("mpi4py")
    code = "import pycobre.comm as c; print(c.create_communicator().backend)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables, "MPI4PY_LIBMPI": "/nowhere/libmpi.so"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert re.search(said, done.stdout + done.stderr)
    assert (done.returncode == 0) == (said == "local")


def test_choosing_and_listing_never_load_mpi():
    code = "import sys, pycobre.comm as c; c.available_backends(); c.create_communicator('local').close()"
    code += "; sys.exit('mpi4py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


@pytest.mark.parametrize("mpi4py", [True, False])
def test_what_can_be_had_is_listed(monkeypatch, installed, mpi4py):
    installed(mpi4py)
    assert available_backends() == (("mpi",) if mpi4py else ()) + ("tcp", "shm", "local")
    monkeypatch.setattr("sys.platform", "plan9")
    assert available_backends() == (("mpi",) if mpi4py else ()) + ("tcp", "local")
    with pytest.raises(BackendNotAvailable, match="use tcp"):
        create_communicator("shm")


@pytest.mark.parametrize("missing", ["COBRE_TCP_RANK", "COBRE_TCP_SIZE", "COBRE_TCP_COORDINATOR"])
def test_a_missing_coordinate_of_tcp_is_named_instead_of_running_alone(monkeypatch, missing):
    for name, value in OUR_TCP.items():
        if name != missing:
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("COBRE_TCP_INSECURE", "1")
    with pytest.raises(MissingConfiguration, match=missing) as caught:
        create_communicator()
    assert (caught.value.backend, caught.value.variable) == ("tcp", missing)
    assert str(caught.value).endswith(caught.value.purpose)
    assert "rank" in caught.value.purpose


@pytest.fixture
def alone(monkeypatch):
    monkeypatch.setenv("COBRE_SHM_NAME", f"pycobre-test-{uuid.uuid4().hex}")
    monkeypatch.setenv("COBRE_SHM_RANK", "0")
    monkeypatch.setenv("COBRE_SHM_SIZE", "1")


def test_without_any_hint_it_is_local():
    with create_communicator() as comm:
        assert type(comm) is LocalCommunicator


@pytest.mark.parametrize("name", ["local", "LOCAL", "Local", " local "])
def test_the_variable_is_read_in_any_case(monkeypatch, name):
    monkeypatch.setenv("COBRE_COMM_BACKEND", name)
    with create_communicator() as comm:
        assert comm.backend == "local"


@pytest.mark.parametrize("name", ["auto", "", "  "])
def test_auto_and_an_empty_variable_detect(monkeypatch, alone, name):
    monkeypatch.setenv("COBRE_COMM_BACKEND", name)
    with create_communicator() as comm:
        assert type(comm) is ShmCommunicator


def test_an_unknown_name_lists_those_that_exist(monkeypatch):
    monkeypatch.setenv("COBRE_COMM_BACKEND", "pvm")
    with pytest.raises(InvalidBackend, match=r"'pvm'.*mpi, tcp, shm, local"):
        create_communicator()


def test_an_argument_wins_over_the_variable(monkeypatch):
    monkeypatch.setenv("COBRE_COMM_BACKEND", "pvm")
    with create_communicator(BackendKind.LOCAL) as comm:
        assert comm.backend == "local"


def test_the_variable_wins_over_what_is_detected(monkeypatch, alone):
    monkeypatch.setenv("COBRE_COMM_BACKEND", "local")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    with create_communicator() as comm:
        assert comm.backend == "local"


def test_a_segment_name_means_shm(alone):
    with create_communicator() as comm:
        assert (comm.backend, comm.rank, comm.size) == ("shm", 0, 1)


def test_what_is_not_here_is_not_available(installed):
    installed(False)
    with pytest.raises(BackendNotAvailable, match="local") as caught:
        create_communicator(BackendKind.MPI)
    assert caught.value.requested == "mpi"
    assert caught.value.available == ("tcp", "shm", "local")


@pytest.mark.parametrize("missing", ["COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE"])
def test_a_missing_variable_is_named(monkeypatch, alone, missing):
    monkeypatch.delenv(missing)
    with pytest.raises(MissingConfiguration, match=missing) as caught:
        create_communicator(BackendKind.SHM)
    assert (caught.value.backend, caught.value.variable) == ("shm", missing)
    assert str(caught.value).endswith(caught.value.purpose)
    assert "rank" in caught.value.purpose


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("COBRE_SHM_RANK", "first"),
        ("COBRE_SHM_RANK", "1"),
        ("COBRE_SHM_RANK", "-1"),
        ("COBRE_SHM_SIZE", "0"),
        ("COBRE_SHM_SIZE", "100000"),
        ("COBRE_SHM_TIMEOUT_SECS", "-2"),
        ("COBRE_SHM_TIMEOUT_SECS", "nan"),
        ("COBRE_SHM_NAME", "../etc/passwd"),
        ("COBRE_SHM_NAME", "a/b"),
        ("COBRE_SHM_NAME", ".."),
        ("COBRE_SHM_NAME", "n" * 300),
    ],
)
def test_nonsense_in_a_variable_is_refused(monkeypatch, alone, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(InitializationFailed, match="shm"):
        create_communicator()


def test_one_time_out_serves_the_start_and_each_collective():
    environment = {"COBRE_SHM_NAME": "n", "COBRE_SHM_RANK": "0", "COBRE_SHM_SIZE": "2"}
    plain = ShmConfig.from_environment(environment)
    assert (plain.timeout_secs, plain.join_timeout_secs) == (None, 60.0)
    timed = ShmConfig.from_environment({**environment, "COBRE_SHM_TIMEOUT_SECS": "2.5"})
    assert (timed.timeout_secs, timed.join_timeout_secs) == (2.5, 2.5)
