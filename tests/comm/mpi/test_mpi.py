"""What MPI alone has: its library, its 32-bit counts, its windows."""

from __future__ import annotations

import subprocess
import sys

MISSING = """
import sys
{prepare}
from pycobre.errors import BackendNotAvailable
try:
    import pycobre.comm.mpi
except BackendNotAvailable as error:
    print(error.requested, 'mpi' in error.available, error.reason)
"""


def told_without(prepare: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", MISSING.format(prepare=prepare)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout


def test_without_mpi4py_the_extra_is_named():
    told = told_without("sys.modules['mpi4py'] = None")
    assert told.startswith("mpi False")
    assert "pip install 'pycobre[mpi]'" in told


def test_without_a_library_that_is_said():
    told = told_without("import os; os.environ['MPI4PY_LIBMPI'] = '/nowhere/libmpi.so'")
    assert "mpi4py finds no MPI library" in told
    assert "MPI4PY_LIBMPI" in told


def test_importing_the_backend_does_not_begin_mpi(run_ranks):
    job = run_ranks(1, "from mpi4py import MPI\nprint(MPI.Is_initialized())\n")
    assert (job.returncode, job.stdout) == (0, "False\n"), job.stderr


def test_places_past_two_gibibytes_are_reached(run_ranks):
    job = run_ranks(
        2,
        "import numpy as np\n"
        "with MpiCommunicator() as comm:\n"
        "    far = (1 << 31) + 5\n"
        "    whole = np.empty(far + 1_000, np.uint8)  # pages that nobody touches cost nothing\n"
        "    mine = np.full(1_000, comm.rank + 1, np.uint8)\n"
        "    comm.allgatherv(mine, whole, [1_000] * 2, [0, far])\n"
        "    assert (whole[:1_000] == 1).all() and (whole[far:] == 2).all()\n",
    )
    assert job.returncode == 0, job.stderr


def test_messages_past_the_limit_of_one_go_in_several(run_ranks):
    job = run_ranks(
        3,
        "import numpy as np\n"
        "from pycobre.comm.mpi import exchange\n"
        "with MpiCommunicator() as comm:\n"
        "    group, rank = comm._group, comm.rank\n"
        "    for most in (1, 7, 64, 10_000):\n"
        "        counts, displs = [3, 0, 11], [20, 5, 2]\n"
        "        whole = np.full(25, -1, np.int16)\n"
        "        mine = np.full(counts[rank], rank, np.int16)\n"
        "        exchange.gathering(group.comm, group.finish, mine, whole, counts, displs, most)()\n"
        "        expected = np.full(25, -1, np.int16)\n"
        "        expected[20:23], expected[2:13] = 0, 2\n"
        "        np.testing.assert_array_equal(whole, expected)\n"
        "        data = np.arange(50.0) if rank == 1 else np.zeros(50)\n"
        "        exchange.broadcast(group.comm, group.finish, data, 1, most)\n"
        "        np.testing.assert_array_equal(data, np.arange(50.0))\n",
    )
    assert job.returncode == 0, job.stderr


def test_what_mpi_complains_of_reaches_every_rank_with_its_code_and_text(run_ranks):
    job = run_ranks(
        3,
        "import numpy as np\n"
        "from mpi4py import MPI\n"
        "from pycobre.comm.mpi import exchange\n"
        "from pycobre.errors import CollectiveFailed\n"
        "def refused(comm, finish, buf, root):\n"
        "    finish(comm.Ibcast([buf, MPI.BYTE], 99 if comm.Get_rank() == 1 else root), buf)\n"
        "exchange.broadcast = refused\n"
        "with MpiCommunicator() as comm:\n"
        "    with comm.duplicate() as other:\n"
        "        try:\n"
        "            other.broadcast(np.zeros(1_000), 0)\n"
        "            other.barrier()  # rank 0 may have sent all before it hears of it\n"
        "        except CollectiveFailed as error:\n"
        "            assert (error.reason, error.ranks) == ('aborted', (1,)), error\n"
        "            assert MPI.Get_error_class(error.mpi_error_code) == MPI.ERR_ROOT, error\n"
        "            assert error.message.startswith('MPI failed on rank 1: '), error\n"
        "            assert 'root' in error.message.lower(), error\n"
        "        else:\n"
        "            raise AssertionError('nobody heard of it')\n",
    )
    assert (job.returncode, job.stderr) == (0, "")


def test_a_window_is_freed_when_no_rank_uses_it_any_more(run_ranks):
    job = run_ranks(
        2,
        "import numpy as np\n"
        "with MpiCommunicator() as comm:\n"
        "    held = comm.create_shared_region(1_000, np.float64)\n"
        "    kept = held.as_slice() if comm.rank == 1 else None\n"
        "    held.close()\n"
        "    for _ in range(20):\n"
        "        with comm.create_shared_region(1_000, np.float64) as region:\n"
        "            region.fence()\n"
        "        del region\n"
        "    assert len(comm._windows._made) == 2  # the last one, and that of which rank 1 has an array\n"
        "    assert comm.rank == 0 or not kept.any()\n",
    )
    assert job.returncode == 0, job.stderr


def test_groups_that_are_over_are_given_back(run_ranks):
    # MPICH has 2,048 communicators in all, and a group takes two.
    job = run_ranks(
        2,
        "from pycobre.comm.mpi import group\n"
        "from pycobre.errors import CollectiveFailed\n"
        "with MpiCommunicator() as comm:\n"
        "    for turn in range(1_100):\n"
        "        with comm.duplicate() as other:\n"
        "            other.barrier()\n"
        "        if turn % 100 == 0:\n"
        "            broken = comm.duplicate()\n"
        "            try:\n"
        "                if comm.rank == 1: broken.abort('on purpose')\n"
        "                broken.barrier()\n"
        "            except CollectiveFailed:\n"
        "                broken.close()\n"
        "    comm.barrier()\n"
        "    group.sweep()\n"
        "    assert len(group._kept) < 5, len(group._kept)\n",
    )
    assert job.returncode == 0, job.stderr


def test_threads_work_side_by_side_each_in_its_own_group(run_ranks):
    job = run_ranks(
        2,
        "import threading\n"
        "import numpy as np\n"
        "from pycobre.comm import ReduceOp\n"
        "def work(group, length):\n"
        "    for turn in range(100):\n"
        "        total = np.empty(length)\n"
        "        group.allreduce(np.full(length, float(turn + group.rank)), total, ReduceOp.SUM)\n"
        "        assert (total == 2 * turn + 1).all()\n"
        "    done.append(length)\n"
        "done = []\n"
        "with MpiCommunicator() as comm:\n"
        "    with comm.duplicate() as other:\n"
        "        thread = threading.Thread(target=work, args=(other, 2_000))\n"
        "        thread.start()\n"
        "        work(comm, 3)\n"
        "        thread.join()\n"
        "assert sorted(done) == [3, 2_000]\n",
    )
    assert job.returncode == 0, job.stderr


def test_a_process_forked_from_a_rank_is_refused(run_ranks):
    job = run_ranks(
        2,
        "import os\n"
        "from pycobre.errors import InvalidCommunicator\n"
        "with MpiCommunicator() as comm:\n"
        "    if comm.rank == 0 and (child := os.fork()) == 0:\n"
        "        try:\n"
        "            comm.barrier()\n"
        "        except InvalidCommunicator as error:\n"
        "            os._exit(7 if 'forked' in str(error) else 8)\n"
        "        os._exit(9)\n"
        "    if comm.rank == 0:\n"
        "        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "    comm.barrier()\n",
    )
    assert job.returncode == 0, job.stderr
