"""A cable from this box's network to a second one, which a process of it has to itself."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

HERE, THERE = "10.9.0.1", "10.9.0.2"


def command(*words: str) -> None:
    subprocess.run(words, check=True)


def lay() -> None:
    """Lay the cable, and plug its near end in."""
    command("ip", "link", "add", "here", "type", "veth", "peer", "name", "there")
    command("ip", "addr", "add", f"{HERE}/24", "dev", "here")
    command("ip", "link", "set", "here", "up")


def hand_over(pid: int) -> None:
    """Give the far end to a process, once that has a network of its own."""
    while Path(f"/proc/{pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
        time.sleep(0.01)
    command("ip", "link", "set", "there", "netns", str(pid))


def take(*addresses: str) -> str:
    """For a shell on the second network: wait for the far end, plug it in, have *addresses*."""
    up = "until ip link set there up 2> /dev/null; do sleep 0.02; done"
    return " && ".join([up, *(f"ip addr add {address}/24 dev there" for address in addresses)])
