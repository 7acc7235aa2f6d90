"""A start that may take as long as a busy machine needs, whatever the limit of a collective is."""

from __future__ import annotations

import os
from dataclasses import replace

from pycobre.comm import Backend, ShmCommunicator, ShmConfig, create_communicator
from pycobre.comm.tcp import TcpConfig
from pycobre.comm.tcp.communicator import TcpCommunicator

_JOIN_SECS = 30.0


def patiently_joined() -> Backend:
    """The communicator that the environment describes; its time-out is that of its collectives alone."""
    backend = os.environ["COBRE_COMM_BACKEND"]
    if backend == "shm":
        return ShmCommunicator(replace(ShmConfig.from_environment(), join_timeout_secs=_JOIN_SECS))
    if backend == "tcp":
        return TcpCommunicator(replace(TcpConfig.from_environment(), join_timeout_secs=_JOIN_SECS))
    return create_communicator()
