"""One rank of a campaign: ``python -m comm.programs.rank SEED FIRST LAST BATCH``.

It tells a digest a batch, or with a BATCH of 0 a digest a step, to its launcher if that is ours.
"""

from __future__ import annotations

import hashlib
import sys

from comm.programs.steps import program
from pycobre.comm import create_communicator, launcher_pipe


def main(seed: int, first: int, last: int, batch: int) -> None:
    pipe = launcher_pipe()

    def say(words: str) -> None:
        if pipe is not None:
            pipe.send(words.encode())
        else:
            sys.stdout.write(f"{comm.rank} {words}\n")

    with create_communicator() as comm:
        for begin in range(first, last, batch or 1):
            digest = hashlib.blake2b()
            for number in range(begin, min(last, begin + (batch or 1))):
                for place, step in enumerate(program(seed, number, comm.size)):
                    found = step.run(comm)
                    digest.update(found)
                    if not batch:
                        say(f"{number} {place} {hashlib.blake2b(found).hexdigest()}")
            if batch:
                say(f"{begin} {digest.hexdigest()}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
