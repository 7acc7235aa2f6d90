"""What the variables say, whose secret it is, and what is refused before any socket opens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pycobre.comm.tcp import TcpConfig
from pycobre.errors import InitializationFailed, MissingConfiguration

SECRET = "only the ranks of this job know"
PLAIN = {
    "COBRE_TCP_RANK": "1",
    "COBRE_TCP_SIZE": "3",
    "COBRE_TCP_COORDINATOR": "head",
    "COBRE_TCP_SECRET": SECRET,
}
TORCHRUN = {
    "RANK": "2",
    "WORLD_SIZE": "4",
    "MASTER_ADDR": "node0",
    "MASTER_PORT": "29400",
    "TORCHELASTIC_RUN_ID": "run",
    "COBRE_TCP_SECRET": SECRET,
}


@pytest.fixture
def secret_file(tmp_path):
    path = tmp_path / "secret"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    return path


def test_variables_become_fields():
    config = TcpConfig.from_environment(
        PLAIN
        | {
            "COBRE_TCP_PORT": "1234",
            "COBRE_TCP_BIND_ADDR": "::",
            "COBRE_TCP_TIMEOUT_SECS": "2.5",
            "COBRE_TCP_JOB": "tonight",
            "COBRE_TCP_UNIX_SOCKETS": "0",
            "COBRE_TCP_SEAL_FRAMES": "1",
            "COBRE_TCP_TLS_CERT": "c",
            "COBRE_TCP_TLS_KEY": "k",
            "COBRE_TCP_TLS_CA": "a",
        }
    )
    assert (config.rank, config.size, config.coordinator, config.port) == (1, 3, "head", 1234)
    assert (config.bind_addr, config.listening_address) == ("::", "::")
    assert (config.timeout_secs, config.join_timeout_secs) == (2.5, 2.5)
    assert (config.secret, config.job) == (SECRET.encode(), b"tonight")
    assert (config.unix_sockets, config.seal_frames, config.insecure) == (False, True, False)
    assert config.tls is not None
    assert (config.tls.certificate, config.tls.key, config.tls.ca) == (Path("c"), Path("k"), Path("a"))


def test_what_is_not_set_has_the_documented_default():
    config = TcpConfig.from_environment(PLAIN)
    assert (config.port, config.listening_address) == (29500, "127.0.0.1")
    assert (config.timeout_secs, config.join_timeout_secs) == (None, 60.0)
    assert (config.unix_sockets, config.seal_frames, config.tls, config.job) == (True, False, None, b"")


@pytest.mark.parametrize("variable", ["COBRE_TCP_RANK", "COBRE_TCP_SIZE", "COBRE_TCP_COORDINATOR"])
def test_a_missing_variable_is_named(variable):
    with pytest.raises(MissingConfiguration, match=variable) as caught:
        TcpConfig.from_environment({**PLAIN, variable: " "})
    assert (caught.value.backend, caught.value.variable) == ("tcp", variable)


def test_a_missing_file_of_tls_is_named():
    with pytest.raises(MissingConfiguration, match="COBRE_TCP_TLS_CA"):
        TcpConfig.from_environment({**PLAIN, "COBRE_TCP_TLS_CERT": "c", "COBRE_TCP_TLS_KEY": "k"})


def test_rank_0_needs_no_coordinator():
    config = TcpConfig.from_environment({**PLAIN, "COBRE_TCP_RANK": "0", "COBRE_TCP_COORDINATOR": ""})
    assert config.coordinator is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("COBRE_TCP_RANK", "first"),
        ("COBRE_TCP_RANK", "3"),
        ("COBRE_TCP_RANK", "-1"),
        ("COBRE_TCP_SIZE", "0"),
        ("COBRE_TCP_SIZE", "1025"),
        ("COBRE_TCP_PORT", "http"),
        ("COBRE_TCP_PORT", "65536"),
        ("COBRE_TCP_TIMEOUT_SECS", "0"),
        ("COBRE_TCP_TIMEOUT_SECS", "nan"),
        ("COBRE_TCP_UNIX_SOCKETS", "yes"),
        ("COBRE_TCP_SECRET", "short"),
    ],
)
def test_nonsense_in_a_variable_is_refused(variable, value):
    with pytest.raises(InitializationFailed, match="tcp"):
        TcpConfig.from_environment({**PLAIN, variable: value})


# ---- launchers of others


def test_what_torchrun_sets_is_enough():
    config = TcpConfig.from_environment(TORCHRUN)
    assert (config.rank, config.size, config.coordinator, config.job) == (2, 4, "node0", b"run")
    assert config.port == 29401  # its own store listens on MASTER_PORT


def test_our_variables_win_over_torchruns():
    ours = {"COBRE_TCP_COORDINATOR": "head", "COBRE_TCP_PORT": "1", "COBRE_TCP_JOB": "tonight"}
    config = TcpConfig.from_environment(TORCHRUN | ours)
    assert (config.rank, config.coordinator, config.port, config.job) == (2, "head", 1, b"tonight")
    assert TcpConfig.from_environment(TORCHRUN | PLAIN).port == 29500


def test_a_kubernetes_job_gives_the_rank():
    manifest = {name: value for name, value in PLAIN.items() if name != "COBRE_TCP_RANK"}
    config = TcpConfig.from_environment(manifest | {"JOB_COMPLETION_INDEX": "2"})
    assert (config.rank, config.size, config.coordinator) == (2, 3, "head")


SLURM = {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "1"}


def test_a_slurm_step_gives_rank_size_and_job():
    bare = {"COBRE_TCP_COORDINATOR": "head", "COBRE_TCP_SECRET": SECRET}
    config = TcpConfig.from_environment(bare | SLURM)
    assert (config.rank, config.size, config.coordinator, config.job) == (2, 4, "head", b"77.1")
    with pytest.raises(MissingConfiguration, match="COBRE_TCP_RANK"):  # a batch script is no rank
        TcpConfig.from_environment({**bare, **SLURM, "SLURM_STEP_NUM_TASKS": ""})


def test_the_innermost_launcher_wins_over_a_slurm_step():
    assert TcpConfig.from_environment(SLURM | PLAIN).job == b""
    assert TcpConfig.from_environment(SLURM | TORCHRUN).job == b"run"
    manifest = {name: value for name, value in PLAIN.items() if name != "COBRE_TCP_RANK"}
    assert TcpConfig.from_environment({**SLURM, **manifest, "JOB_COMPLETION_INDEX": "0"}).rank == 0


# ---- the secret


def test_without_a_secret_a_group_is_refused_unless_it_says_so_and_is_on_loopback():
    bare = {name: value for name, value in PLAIN.items() if name != "COBRE_TCP_SECRET"}
    with pytest.raises(MissingConfiguration, match="COBRE_TCP_SECRET_FILE"):
        TcpConfig.from_environment(bare)
    bare["COBRE_TCP_INSECURE"] = "1"
    assert TcpConfig.from_environment(bare).insecure
    with pytest.raises(InitializationFailed, match="loopback only, not on 0"):
        TcpConfig.from_environment({**bare, "COBRE_TCP_BIND_ADDR": "0.0.0.0"})


def test_a_secret_is_never_shown_and_leaves_the_environment(monkeypatch):
    for name, value in PLAIN.items():
        monkeypatch.setenv(name, value)
    config = TcpConfig.from_environment()
    assert config.secret == SECRET.encode()
    assert "COBRE_TCP_SECRET" not in os.environ
    assert SECRET not in repr(config)
    assert SECRET.encode() not in Path("/proc/self/cmdline").read_bytes()


def test_a_secret_file_is_read_without_the_end_of_its_line(secret_file):
    config = TcpConfig.from_environment({**PLAIN, "COBRE_TCP_SECRET_FILE": str(secret_file)})
    assert config.secret == SECRET.encode()


def test_a_secret_file_that_others_can_get_at_is_refused(secret_file, tmp_path):
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(secret_file)
    os.mkfifo(pipe, 0o600)
    short = tmp_path / "short"
    short.write_text("short")
    short.chmod(0o600)
    cases = {link: "without following links", pipe: "no regular file", tmp_path / "none": "No such file"}
    cases |= {short: "5 bytes", tmp_path: "no regular file"}
    for path, expected in cases.items():
        with pytest.raises(InitializationFailed, match=expected):
            TcpConfig.from_environment({**PLAIN, "COBRE_TCP_SECRET_FILE": str(path)})
    for mode in (0o640, 0o604, 0o620):
        secret_file.chmod(mode)
        with pytest.raises(InitializationFailed, match="others can get at it"):
            TcpConfig.from_environment({**PLAIN, "COBRE_TCP_SECRET_FILE": str(secret_file)})


def test_ranks_of_a_launch_read_one_memory_file_each_at_its_own_pace(monkeypatch):
    original = os.memfd_create("secret")
    os.write(original, b"s" * 32 + b"j" * 16)
    try:
        for rank in range(2):
            monkeypatch.setenv("_PYCOBRE_TCP_LISTENER", "77")
            monkeypatch.setenv("_PYCOBRE_TCP_SECRET", str(copy := os.dup(original)))
            for name, value in (PLAIN | {"COBRE_TCP_RANK": str(rank)}).items():
                monkeypatch.setenv(name, value)
            config = TcpConfig.from_environment()
            assert (config.secret, config.job) == (b"s" * 32, b"j" * 16)
            assert config.listener == (77 if rank == 0 else None)
            assert not {"_PYCOBRE_TCP_SECRET", "_PYCOBRE_TCP_LISTENER"} & set(os.environ)
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(copy)
    finally:
        os.close(original)


def test_a_descriptor_that_is_something_else_is_no_secret(tmp_path):
    with (tmp_path / "other").open("w") as other, pytest.raises(InitializationFailed, match="not the secret"):
        TcpConfig.from_environment({**PLAIN, "_PYCOBRE_TCP_SECRET": str(other.fileno())})
