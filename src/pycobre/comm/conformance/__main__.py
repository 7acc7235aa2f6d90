"""One rank of a conformance run: a JSON line a promise, to the launcher or to standard output."""

import json
import sys

from pycobre.comm.conformance import PROMISES, keep
from pycobre.comm.connect import create_communicator
from pycobre.comm.launched import follow_launcher, launcher_pipe


def main(names: list[str]) -> int:
    """0 if this rank found every promise kept, 1 if not, 2 where there is no such promise."""
    if unknown := [name for name in names if name not in PROMISES]:
        sys.stderr.write(f"no promise is called {', '.join(unknown)}; there are {', '.join(PROMISES)}\n")
        return 2
    follow_launcher()
    pipe, broken = launcher_pipe(), 0
    with create_communicator() as comm:
        for name, trouble in keep(comm, names):
            line = json.dumps({"promise": name, "rank": comm.rank, "trouble": trouble})
            broken += bool(trouble)
            if pipe is not None:
                pipe.send(line.encode())
            else:
                sys.stdout.write(line + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
