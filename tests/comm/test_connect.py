"""Which backend is chosen: told, then found set, then local."""

from __future__ import annotations

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

LAUNCHERS = ("PMI_", "OMPI_", "MPI_", "SLURM_", "COBRE_", "_PYCOBRE_")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    import os

    for variable in list(os.environ):
        if variable.startswith(LAUNCHERS):
            monkeypatch.delenv(variable)


@pytest.fixture
def alone(monkeypatch, tmp_path):
    monkeypatch.setenv("COBRE_SHM_NAME", f"pycobre-test-{tmp_path.name}")
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


def test_our_coordinates_win_over_a_launchers_variables(monkeypatch, alone):
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    with create_communicator() as comm:
        assert comm.backend == "shm"


@pytest.mark.parametrize("kind", [BackendKind.MPI, BackendKind.TCP])
def test_what_is_not_here_is_not_available(kind):
    if kind.value in available_backends():
        pytest.skip(f"{kind.value} is part of this version")
    with pytest.raises(BackendNotAvailable, match="local") as caught:
        create_communicator(kind)
    assert caught.value.requested == kind.value
    assert set(caught.value.available) == {"shm", "local"}


@pytest.mark.parametrize(
    "variables",
    [
        {"PMI_RANK": "1", "PMI_SIZE": "3"},
        {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "3"},
        {"MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "3"},
        {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3"},
    ],
)
def test_several_launched_ranks_are_never_silent_singletons(monkeypatch, variables):
    if "mpi" in available_backends():
        pytest.skip("mpi joins them")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BackendNotAvailable, match=r"3 ranks .* COBRE_COMM_BACKEND=local"):
        create_communicator()


def test_a_plain_batch_script_is_not_a_rank(monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    with create_communicator() as comm:
        assert comm.backend == "local"


@pytest.mark.parametrize("missing", ["COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE"])
def test_a_missing_variable_is_named(monkeypatch, alone, missing):
    monkeypatch.delenv(missing)
    with pytest.raises(MissingConfiguration, match=missing) as caught:
        create_communicator(BackendKind.SHM)
    assert (caught.value.backend, caught.value.variable) == ("shm", missing)


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
