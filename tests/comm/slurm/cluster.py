"""A Slurm cluster of two machines in a box, and a script on one: ``python -m comm.slurm.cluster SCRIPT``.

Machines ``a`` and ``b`` have two processors each, and names, networks and shared memory of their own. They
have their files in common, as a cluster's do. Nothing is left when the box ends.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from faults import cable
from faults.cable import HERE, THERE, command

ADDRESSES = {"a": HERE, "b": THERE}
DAEMONS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
START_SECS = 20

# A step's processes are found by their parents, since a box has no control groups.
_CONFIGURATION = """\
ClusterName=box
SlurmctldHost=a({address})
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
KillWait=5
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def start_slurm(place: Path) -> None:
    """Start its daemons, on a second machine, too."""
    nodes = "\n".join(f"NodeName={name} NodeAddr={address} CPUs=2" for name, address in ADDRESSES.items())
    text = _CONFIGURATION.format(place=place, address=ADDRESSES["a"], nodes=nodes)
    for name in ADDRESSES:
        own = place / name
        (own / "scratch").mkdir(parents=True)
        (own / "slurm.conf").write_text(text)
        (own / "mpi.conf").write_text(f"PMIxCliTmpDirBase={own / 'scratch'}\n")
        (place / f"spool-{name}").mkdir()
    (place / "state").mkdir()
    key = place / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    files = [f"--{kind}-file={place / f'munge.{kind}'}" for kind in ("key", "pid", "log", "seed")]
    cable.lay()
    command("munged", "--force", f"--socket={place / 'munge.socket'}", *files)
    command("slurmctld")
    command("slurmd", "-N", "a")
    memory = "mount -t tmpfs -o size=1g,mode=1777 tmpfs /dev/shm"
    start = f"hostname b && ip link set lo up && {memory} && {cable.take(THERE)}"
    start += f" && SLURM_CONF={place / 'b' / 'slurm.conf'} slurmd -N b && exec sleep infinity"
    # It ends with the box.
    cable.hand_over(subprocess.Popen(["unshare", "-n", "-u", "-m", "bash", "-ec", start]).pid)
    until = time.monotonic() + START_SECS
    while _idle() < len(ADDRESSES):
        if time.monotonic() > until:
            logs = "\n".join(log.read_text() for log in place.glob("slurm*.log"))
            raise TimeoutError(f"the cluster does not come up:\n{logs}")
        time.sleep(0.05)


def _idle() -> int:
    asked = ["sinfo", "-h", "-t", "idle", "-o", "%D"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    return int(told.stdout.strip() or 0)


def main(script: str) -> int:
    """Exit code of *script*, which finds its machine's Slurm."""
    if os.getpid() != 1:
        raise RuntimeError("only as the first process of a box, whose network, names and mounts it changes")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        hosts = place / "hosts"
        hosts.write_text(
            "127.0.0.1 localhost\n" + "".join(f"{ip} {name}\n" for name, ip in ADDRESSES.items())
        )
        command("mount", "--bind", str(hosts), "/etc/hosts")
        command("hostname", "a")
        os.environ["SLURM_CONF"] = str(place / "a" / "slurm.conf")
        start_slurm(place)
        done = subprocess.run(["bash", "-eu", "-c", script], check=False)
        os.kill(-1, signal.SIGKILL)  # all else in the box, or daemons would write where files are removed
        command("umount", "/etc/hosts")
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
