"""One rank that runs mpi4py's tests: ``python -m mpi4py_suite.rank FOLDER`` tells how they ended."""

from __future__ import annotations

import json
import sys
import unittest

from mpi4py_suite.adapter import Adapter

from pycobre.comm import create_communicator, launcher_pipe

TESTS = (
    "testBarrier",
    "testBcast",
    "testAllgather",
    "testAllreduce",
    "testAllgatherv",
    "testAllgatherv2",
    "testAllgatherv3",
)


def main(folder: str) -> int:
    sys.path.insert(0, folder)
    import arrayimpl
    import test_cco_buf
    import test_cco_vec

    # Not ours: memory of accelerators, and long doubles, whose size and meaning differ between machines.
    arrayimpl.ArrayBackends[:] = [arrayimpl.ArrayArray, arrayimpl.ArrayNumPy]
    for letter in "gG":
        del arrayimpl.ArrayNumPy.TypeMap[letter]
    pipe = launcher_pipe()
    assert pipe is not None
    with create_communicator() as comm:
        suite = unittest.TestSuite()
        for base in (
            test_cco_buf.BaseTestCCOBuf,
            test_cco_buf.BaseTestCCOBufInplace,
            test_cco_vec.BaseTestCCOVec,
        ):
            case = type(base.__name__, (base, unittest.TestCase), {"COMM": Adapter(comm)})
            suite.addTests(case(name) for name in TESTS if hasattr(case, name))
        result = unittest.TestResult()
        suite.run(result)
    trouble = [text for _, text in result.failures + result.errors]
    pipe.send(json.dumps({"ran": result.testsRun, "skipped": len(result.skipped), "bad": trouble}).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
