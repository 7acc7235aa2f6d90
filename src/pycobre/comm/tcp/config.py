"""Where the ranks meet, what they know of each other, and how long they wait."""

from __future__ import annotations

import hashlib
import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pycobre.comm.tcp.secret import LAUNCHED_SECRET_BYTES, SECRET_MIN_BYTES, launched_secret, secret_of_file
from pycobre.errors import InitializationFailed, MissingConfiguration

# The private half of what a launcher of ours tells its ranks: descriptors that they inherit.
LISTENER_VARIABLE = "_PYCOBRE_TCP_LISTENER"
"""A listening socket, for rank 0 alone."""
SECRET_VARIABLE = "_PYCOBRE_TCP_SECRET"
"""A memory file of 32 secret bytes and a job id of 16, which every rank may read."""

DEFAULT_PORT = 29500
MAX_RANKS = 1024

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class TlsFiles:
    """PEM files by which ranks show each other who they are.

    Attributes
    ----------
    certificate, key
        What this rank shows.
    ca
        The authority that must have signed what the others show.
    """

    certificate: Path
    key: Path
    ca: Path


@dataclass(frozen=True)
class TcpConfig:
    """Where the group meets, by what it knows its own, and how long it waits.

    Attributes
    ----------
    rank, size
        This rank and the number of ranks.
    coordinator
        Name or address of rank 0's host; rank 0 itself needs none.
    port
        Of rank 0.
    bind_addr
        Where rank 0 listens; ``None`` is loopback. ``0.0.0.0`` and ``::`` are every address of its host.
    timeout_secs
        Limit of one collective in seconds; ``None`` is none, since a forward pass may take minutes.
    join_timeout_secs
        How long to wait for the other ranks at the start, in seconds.
    secret
        What the ranks of this job know and nobody else does, at least 16 bytes.
    job
        Tells jobs apart that share a secret, so that a rank of an old one can't slip into a new one.
    insecure
        Do without a secret; possible on loopback alone.
    unix_sockets
        Whether ranks of one machine exchange data over Unix sockets, which are faster.
    seal_frames
        Whether every frame carries a code that nobody on the way can forge. It does not hide anything.
    tls
        Encrypt everything that goes over TCP, or ``None``.
    listener
        Descriptor of a socket that listens already, for rank 0, or ``None``. A join takes and closes it.
    """

    rank: int
    size: int
    coordinator: str | None = None
    port: int = DEFAULT_PORT
    bind_addr: str | None = None
    timeout_secs: float | None = None
    join_timeout_secs: float = 60.0
    secret: bytes | None = field(default=None, repr=False)
    job: bytes = b""
    insecure: bool = False
    unix_sockets: bool = True
    seal_frames: bool = False
    tls: TlsFiles | None = None
    listener: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_RANKS:
            raise InitializationFailed("tcp", f"a group has 1 to {MAX_RANKS} ranks, not {self.size}")
        if not 0 <= self.rank < self.size:
            raise InitializationFailed("tcp", f"rank {self.rank} is not one of 0 to {self.size - 1}")
        if not 0 < self.port < 65536:
            raise InitializationFailed("tcp", f"there is no port {self.port}; choose one of 1 to 65535")
        for seconds in (self.timeout_secs, self.join_timeout_secs):
            if seconds is not None and not 0 < seconds < 1e9:
                raise InitializationFailed("tcp", f"a time-out of {seconds} s makes no sense")
        if self.rank > 0 and not self.coordinator:
            raise MissingConfiguration("tcp", "COBRE_TCP_COORDINATOR", "the host of rank 0")
        if self.size > 1:
            self._check_secret()

    def _check_secret(self) -> None:
        if self.secret is None and not self.insecure:
            raise MissingConfiguration(
                "tcp",
                "COBRE_TCP_SECRET_FILE",
                "a file of mode 0600 with what only the ranks of this job know, such as the output of"
                " 'openssl rand -hex 32'; on loopback alone COBRE_TCP_INSECURE=1 does without",
            )
        if self.secret is not None and self.insecure:
            raise InitializationFailed("tcp", "there is a secret, so this can't be insecure too; drop one")
        if self.secret is not None and len(self.secret) < SECRET_MIN_BYTES:
            raise InitializationFailed(
                "tcp",
                f"the secret has {len(self.secret)} bytes; one of fewer than {SECRET_MIN_BYTES} can be"
                " guessed",
            )
        if self.insecure and self.bind_addr is not None and not is_loopback(self.bind_addr):
            raise InitializationFailed(
                "tcp", f"without a secret rank 0 may listen on loopback only, not on {self.bind_addr}"
            )

    @property
    def job_id(self) -> bytes:
        """16 bytes that stand for the job."""
        return hashlib.sha256(self.job).digest()[:16]

    @property
    def listening_address(self) -> str:
        """Where rank 0 listens."""
        if self.bind_addr is not None:
            return self.bind_addr
        return "::1" if self.coordinator == "::1" else "127.0.0.1"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> TcpConfig:
        """The configuration in the variables ``COBRE_TCP_…``, completed by those of a foreign launcher.

        ``_RANK``, ``_SIZE``, ``_COORDINATOR``, ``_PORT`` and ``_BIND_ADDR`` say where; ``_SECRET_FILE`` or
        ``_SECRET``, ``_JOB``, ``_INSECURE``, ``_SEAL_FRAMES``, ``_TLS_CERT``, ``_TLS_KEY`` and ``_TLS_CA``
        say with whom; ``_TIMEOUT_SECS``, when set, is the limit of the start and of each collective;
        ``_UNIX_SOCKETS=0`` keeps ranks of one machine on TCP.

        Without ``COBRE_TCP_RANK`` what torchrun sets is taken where ours is missing: ``RANK``,
        ``WORLD_SIZE``, ``MASTER_ADDR``, the port after ``MASTER_PORT`` (torchrun itself listens there) and
        ``TORCHELASTIC_RUN_ID`` as the job; or, of a Kubernetes Indexed Job, ``JOB_COMPLETION_INDEX`` as rank;
        or, of a Slurm step, ``SLURM_PROCID``, ``SLURM_STEP_NUM_TASKS``, and ``SLURM_JOB_ID`` with
        ``SLURM_STEP_ID`` as the job.

        A secret is taken out of ``os.environ`` once read, so that no child inherits it.

        Raises
        ------
        MissingConfiguration
            A variable is not set.
        InitializationFailed
            A variable does not hold what it should.
        """
        source = dict(os.environ if environment is None else environment)
        if environment is None:
            for variable in ("COBRE_TCP_SECRET", SECRET_VARIABLE, LISTENER_VARIABLE):
                os.environ.pop(variable, None)
        source = _completed(source)
        rank = _number(
            _required(source, "COBRE_TCP_RANK", "the number of this rank, from 0"), "COBRE_TCP_RANK"
        )
        size = _number(_required(source, "COBRE_TCP_SIZE", "the number of ranks"), "COBRE_TCP_SIZE")
        timeout = _optional(source, "COBRE_TCP_TIMEOUT_SECS", float)
        secret, job = _secret(source)
        return cls(
            rank=rank,
            size=size,
            coordinator=_text(source, "COBRE_TCP_COORDINATOR"),
            port=_optional(source, "COBRE_TCP_PORT", int) or DEFAULT_PORT,
            bind_addr=_text(source, "COBRE_TCP_BIND_ADDR"),
            timeout_secs=timeout,
            join_timeout_secs=60.0 if timeout is None else timeout,
            secret=secret,
            job=job,
            insecure=secret is None and _switch(source, "COBRE_TCP_INSECURE", default=False),
            unix_sockets=_switch(source, "COBRE_TCP_UNIX_SOCKETS", default=True),
            seal_frames=_switch(source, "COBRE_TCP_SEAL_FRAMES", default=False),
            tls=_tls(source),
            listener=_optional(source, LISTENER_VARIABLE, int) if rank == 0 else None,
        )


def is_loopback(address: str) -> bool:
    """Whether *address*, a numeric one or ``localhost``, is reached from this machine alone."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _completed(source: dict[str, str]) -> dict[str, str]:
    """*source* with what a foreign launcher says under our names, where ours are missing."""
    if _text(source, "COBRE_TCP_RANK"):
        return source
    told = {"COBRE_TCP_RANK": source.get("JOB_COMPLETION_INDEX", "")}
    if _text(source, "RANK"):
        told = {
            "COBRE_TCP_RANK": source["RANK"],
            "COBRE_TCP_SIZE": source.get("WORLD_SIZE", ""),
            "COBRE_TCP_COORDINATOR": source.get("MASTER_ADDR", ""),
            "COBRE_TCP_JOB": source.get("TORCHELASTIC_RUN_ID", ""),
        }
        if _text(source, "MASTER_PORT"):
            # torchrun's own store listens on MASTER_PORT.
            told["COBRE_TCP_PORT"] = str(_number(source["MASTER_PORT"], "MASTER_PORT") + 1)
    elif not _text(source, "JOB_COMPLETION_INDEX") and _text(source, "SLURM_STEP_NUM_TASKS"):
        told = {
            "COBRE_TCP_RANK": source.get("SLURM_PROCID", ""),
            "COBRE_TCP_SIZE": source["SLURM_STEP_NUM_TASKS"],
            "COBRE_TCP_JOB": f"{source.get('SLURM_JOB_ID', '')}.{source.get('SLURM_STEP_ID', '')}",
        }
    return {**told, **{name: value for name, value in source.items() if value.strip() or name not in told}}


def _secret(source: Mapping[str, str]) -> tuple[bytes | None, bytes]:
    """The secret and the job: from our launcher, from a file, or as the variable itself."""
    job = (_text(source, "COBRE_TCP_JOB") or "").encode()
    descriptor = _optional(source, SECRET_VARIABLE, int)
    if descriptor is not None:
        whole = launched_secret(descriptor)
        return whole[:LAUNCHED_SECRET_BYTES], whole[LAUNCHED_SECRET_BYTES:]
    path = _text(source, "COBRE_TCP_SECRET_FILE")
    if path is not None:
        return secret_of_file(path), job
    text = _text(source, "COBRE_TCP_SECRET")
    return (None if text is None else text.encode()), job


def _tls(source: Mapping[str, str]) -> TlsFiles | None:
    meanings = {
        "COBRE_TCP_TLS_CERT": "the certificate that this rank shows (PEM)",
        "COBRE_TCP_TLS_KEY": "the key of its certificate (PEM)",
        "COBRE_TCP_TLS_CA": "the authority that has signed the certificates of all ranks (PEM)",
    }
    if not any(_text(source, variable) for variable in meanings):
        return None
    return TlsFiles(*(Path(_required(source, variable, meaning)) for variable, meaning in meanings.items()))


def _text(source: Mapping[str, str], variable: str) -> str | None:
    return source.get(variable, "").strip() or None


def _required(source: Mapping[str, str], variable: str, purpose: str) -> str:
    value = _text(source, variable)
    if value is None:
        raise MissingConfiguration("tcp", variable, purpose)
    return value


def _optional(source: Mapping[str, str], variable: str, kind: Callable[[str], Number]) -> Number | None:
    value = _text(source, variable)
    return None if value is None else _number(value, variable, kind)


def _number(text: str, variable: str, kind: Callable[[str], Number] = int) -> Number:
    try:
        return kind(text)
    except ValueError:
        raise InitializationFailed("tcp", f"{variable} is {text!r}, which is no number") from None


def _switch(source: Mapping[str, str], variable: str, *, default: bool) -> bool:
    value = _text(source, variable)
    if value is None:
        return default
    if value not in ("0", "1"):
        raise InitializationFailed("tcp", f"{variable} is {value!r}; it is 1 for yes and 0 for no")
    return value == "1"
