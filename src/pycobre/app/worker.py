"""One rank of a launched run: ``python -m pycobre.app.worker REQUEST``. Started by the launcher, not by hand.

It tells the launcher its events, one JSON line each, and ends with the exit code of its error. Its own
standard error is where the launcher finds the reason.
"""

from __future__ import annotations

import sys
import traceback

from pycobre.app.execute import run_here
from pycobre.app.records import to_line
from pycobre.app.request import RunRequest
from pycobre.comm import follow_launcher, launcher_pipe
from pycobre.errors import PycobreError


def main() -> int:
    """Exit code of this rank's run."""
    if not follow_launcher():
        sys.stderr.write("a worker is started by `pycobre run CASE --ranks N`, not by hand\n")
        return 2
    pipe = launcher_pipe()
    assert pipe is not None
    try:
        for event in run_here(RunRequest.from_text(sys.argv[1]), "shm"):
            pipe.send(to_line(event).encode())
    except PycobreError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
