"""One rank of a launched run: ``python -m pycobre.app.worker REQUEST``. Started by the launcher, not by hand.

It tells the launcher its events, one JSON line each, then what it used, or the exception that ended it, and
ends with the exit code of that. What it says on standard error is for people.
"""

from __future__ import annotations

import sys
import traceback

from pycobre.app.execute import run_here
from pycobre.app.records import failed_line, to_line
from pycobre.app.request import RunRequest
from pycobre.comm import LauncherPipe, create_communicator, follow_launcher, launcher_pipe
from pycobre.errors import PycobreError


def main() -> int:
    """Exit code of this rank's run."""
    if not follow_launcher():
        sys.stderr.write("a worker is started by `pycobre run CASE --ranks N`, not by hand\n")
        return 2
    pipe = launcher_pipe()
    assert pipe is not None
    try:
        with create_communicator() as comm:
            for event in run_here(RunRequest.from_text(sys.argv[1]), comm):
                pipe.send(to_line(event).encode())
    except PycobreError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return _failed(pipe, error, error.exit_code)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        traceback.print_exc()
        return _failed(pipe, error, 1)
    return 0


def _failed(pipe: LauncherPipe, error: Exception, code: int) -> int:
    pipe.send(failed_line(error).encode())
    return code


if __name__ == "__main__":
    sys.exit(main())
