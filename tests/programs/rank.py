"""One rank of a campaign: ``python -m programs.rank SOCKET`` runs the steps that it is sent there."""

from __future__ import annotations

import contextlib
import socket
import sys

from programs.group import digest, receive, send
from programs.steps import RECORD_BYTES, read
from pycobre.comm import create_communicator


def main(place: str) -> None:
    with create_communicator() as comm, socket.socket(socket.AF_UNIX) as campaign:
        campaign.connect(place)
        send(campaign, bytes([comm.rank]))
        with contextlib.suppress(EOFError):
            while True:
                asked = receive(campaign)
                records = [asked[at : at + RECORD_BYTES] for at in range(0, len(asked), RECORD_BYTES)]
                send(campaign, b"".join(digest(read(record, comm.size).run(comm)) for record in records))


if __name__ == "__main__":
    main(sys.argv[1])
