"""What went wrong for others, by number: public reports of failing collectives, and the tests that have them.

======  =================================================  ==================================================
number  report                                             tested in
======  =================================================  ==================================================
1       an exception on one rank hangs the rest            test_cells: exception
2       ... unless started by the right entry point        test_one_failing_rank; mpi/test_ending: however
3       a barrier without a time-out                       test_waiting: a_late_rank_is_named_by_all
4       the coordinator's network goes down                here, 4
5       different counts return success                    conformance: different_counts
6       different lengths, the same bytes                  conformance: different_lengths, different_dtypes
7       only one rank's call is shown                      conformance: different_roots, _reductions
8       ranks that wait in another operation are blamed    here, 8
10      pending operations can't be aborted                conformance: abort; test_waiting: another_thread
11      a time-out is ignored by some operations           here, 11
12      a busy solver is taken for dead                    test_waiting: holds_its_interpreter
13      the kernel kills a rank for its memory             here, 13
14      the parent joins ranks in order                    test_cells: SIGKILL of each rank
16      minimum and maximum of unsigned 64 bit             here, 16
17      a sum differs between ranks                        here, 17; test_programs
18      nothing to reduce                                  here, 18
19      no part from some ranks                            conformance: every_subset_of_empty_parts
20      a group of one behaves otherwise                   test_conformance: local-1, shm-1; test_programs
21      arrays that are not contiguous                     conformance: any_strides; test_programs
22      byte order and dtypes that can't be sent           here, 22
23      32-bit counts and displacements                    here, 23
25      send within recv                                   conformance: in_place, wrong_sizes
26      arrays that can't be written                       conformance: can_not_be_written
27      the same bytes as another dtype                    test_programs: Disagreement (dtype)
28      a small /dev/shm kills by SIGBUS                   here, 28
29      segments of crashed jobs fill /dev/shm             test_cells: eight crashes in one box, nothing left
30      somebody else's file has our name                  test_segment: other_files, stale, another_user
33      warnings of a resource tracker                     here, 33
34      a rank dies with a lock                            test_shm_model: whatever_befalls; test_sweep
35      clean-up fails at the end                          test_segment: the name goes once all have joined
36      unpickling what came over a transport              here, 36
37      a slow reader sees the next operation's bytes      here, 37; test_shm_model
38-50   what comes to a port                               tests/comm/tcp
52      a child that can't be killed                       test_launch_failures: cannot_be_killed
53      exit codes are lost                                test_launch_failures: first_failure
55      Ctrl-C is lost                                     test_launch_signals: ctrl_c, second_signal
57      waiting ranks keep processors busy                 test_waiting: next_to_no_processor_time
58      affinity is changed                                test_launch_handout: affinity
60      an end without close hangs or complains            test_waiting: without_close, forgotten, daemon
62      two threads at once                                conformance: two_threads_at_once
======  =================================================  ==================================================

24 (gigabytes) is of a machine that has them.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.box import in_a_box
from pycobre.comm import launch
from pycobre.errors import WorkerError

BACKENDS = ("shm", "tcp")
LIMIT_SECS = 180  # of a group on a very busy machine
TESTS = Path(__file__).parents[1]
PRELUDE = """
import sys
import time
import numpy as np
from faults.patient import patiently_joined
from pycobre.comm import ReduceOp, create_communicator, launcher_pipe
from pycobre.errors import CollectiveFailed, InvalidBufferSize
"""

both = pytest.mark.parametrize("backend", BACKENDS)


def on_ranks(
    backend: str,
    ranks: int,
    body: str,
    *,
    timeout_secs: float = 20.0,
    jitter_secs: float = 0.0,
    told: list[str] | None = None,
) -> list[str]:
    """Lines that ranks tell; a rank that fails fails the test, and so does a word on standard error.

    With *jitter_secs* ranks are stopped at any time for as long as that. *told* takes the lines of a group in
    which a rank shall fail.
    """
    complaints: list[bytes] = []
    lines: list[str] = [] if told is None else told
    with launch(
        [sys.executable, "-W", "error", "-c", PRELUDE + body],
        ranks,
        backend=backend,
        environment={**os.environ, "PYTHONPATH": str(TESTS)},
        timeout_secs=timeout_secs,
        on_stderr=lambda rank, line: complaints.append(line),
    ) as job:
        watchdog = threading.Timer(LIMIT_SECS, lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids])
        watchdog.start()
        over = threading.Event()
        trembling = threading.Thread(target=tremble, args=(job.pids, jitter_secs, over))
        if jitter_secs:
            trembling.start()
        try:
            for _, line in job:
                lines.append(line.decode())
                if line == b"done":
                    over.set()
        finally:
            over.set()
            watchdog.cancel()
            if jitter_secs:
                trembling.join()
    assert complaints == []
    return lines


def tremble(pids: tuple[int, ...], longest_secs: float, over: threading.Event) -> None:
    draw = random.Random(1)
    while not over.wait(draw.random() * longest_secs):
        pid = draw.choice(pids)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(draw.random() * longest_secs)
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(
    ("far", "how"), [(2, "down"), (2, "deaf"), (2, "mute"), (0, "dead"), (0, "mute"), (0, "apart")]
)
def test_4_a_rank_that_is_cut_off_is_lost_to_the_others_and_they_to_it(far, how):
    """Packets are dropped in silence by a wrong entry for the neighbour, so no firewall has to be there."""
    lines = in_a_box("1m", sys.executable, "-m", "faults.network", str(far), how)
    told = dict(line.split(maxsplit=1) for line in lines)
    if far == 0:
        assert told == {"0": "lost (1, 2)", "1": "lost (0,)", "2": "lost (0,)"}
    else:
        assert told == {"0": "lost (2,)", "1": "lost (2,)", "2": "lost (0,)"}


@both
def test_8_ranks_in_two_operations_are_told_apart_and_none_is_called_missing(backend):
    told = on_ranks(
        backend,
        4,
        """
comm = create_communicator()
try:
    if comm.rank < 2:
        comm.allgatherv(np.zeros(1), np.zeros(4), [1] * 4, range(4))
    else:
        comm.barrier()
except CollectiveFailed as error:
    launcher_pipe().send(f"{error.reason} {error.ranks} {error.message}".encode())
""",
    )
    assert len(told) == 4
    assert len(set(told)) == 1
    assert told[0].startswith("mismatch (0, 1, 2, 3)")
    for words in ("ranks 0, 1", "allgatherv", "ranks 2, 3", "barrier"):
        assert words in told[0]


@pytest.mark.parametrize("first", ["barrier()", "create_shared_region(10, 'f8')", "duplicate()"])
@both
def test_11_a_time_out_holds_for_the_first_call_whatever_it_is(backend, first):
    told = on_ranks(
        backend,
        3,
        f"""
comm = patiently_joined()
if comm.rank == 1:
    time.sleep(1.8)
began = time.monotonic()
try:
    comm.{first}
except CollectiveFailed as error:
    assert comm.rank == 1 or time.monotonic() - began <= 1.0 + 1.0, "late"
    launcher_pipe().send(f"{{error.reason}} {{error.ranks}}".encode())
""",
        timeout_secs=1.0,
    )
    assert told == ["timeout (1,)"] * 3


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """The file that takes the processes of a group which the kernel lets have 64 MiB."""
    root, limits = Path("/sys/fs/cgroup"), ("memory.max", "memory.swap.max")
    if (root / "memory").is_dir():  # the first version of control groups
        root, limits = root / "memory", ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    group = root / f"pycobre-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"needs a control group of its own, as root on a writable {root}: {error.strerror}")
    try:
        if not (group / limits[0]).exists():
            pytest.skip(f"needs control groups that limit memory: enable `memory` in {root}")
        for limit in limits:
            if (group / limit).exists():  # without swap there is no limit of it
                (group / limit).write_text("0" if "swap" in limit else str(64 << 20))
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


@both
def test_13_a_rank_that_the_kernel_kills_for_its_memory_is_lost_and_told_so(backend, small_memory):
    told: list[str] = []
    with pytest.raises(WorkerError, match=r"signal 9 .*as the kernel does when memory runs out") as caught:
        on_ranks(
            backend,
            3,
            f"""
comm = create_communicator()
comm.barrier()
if comm.rank == 1:
    open({str(small_memory)!r}, "w").write("0")
    hoard = [np.ones(1 << 20) for _ in range(1000)]
try:
    comm.barrier()
except CollectiveFailed as error:
    launcher_pipe().send(f"{{error.reason}} {{error.ranks}}".encode())
""",
            told=told,
        )
    assert (caught.value.rank, caught.value.exit_code) == (1, 128 + signal.SIGKILL)
    assert told == ["lost (1,)"] * 2


@both
def test_16_minimum_and_maximum_of_unsigned_64_bit(backend):
    on_ranks(
        backend,
        3,
        """
with create_communicator() as comm:
    for code in "BHILQbhilq":
        info = np.iinfo(code)
        values = np.array([info.min, info.max, info.max // 2 + 1, info.max - 1, 0, 1, 7], code)
        send, recv = np.roll(values, comm.rank), np.empty(7, code)
        everyone = [np.roll(values, rank) for rank in range(comm.size)]
        comm.allreduce(send, recv, ReduceOp.MIN)
        assert recv.tolist() == [min(each) for each in zip(*(part.tolist() for part in everyone))], code
        comm.allreduce(send, recv, ReduceOp.MAX)
        assert recv.tolist() == [max(each) for each in zip(*(part.tolist() for part in everyone))], code
""",
    )


@pytest.mark.parametrize("ranks", [2, 5, 8])
@both
def test_17_a_sum_has_the_same_bits_on_all_ranks(backend, ranks):
    on_ranks(
        backend,
        ranks,
        """
with create_communicator() as comm:
    draw = np.random.default_rng(17)
    for length in (1, 100, 10_000):
        everyone = draw.choice([1e16, 1.0, -1e16, 1e-16, 3.0, -1 / 3], (comm.size, length))
        out = np.empty(length)
        comm.allreduce(everyone[comm.rank], out, ReduceOp.SUM)
        total = everyone[0].copy()
        for part in everyone[1:]:
            total += part
        assert out.tobytes() == total.tobytes()
""",
    )


@both
def test_18_nothing_to_reduce_is_a_meeting_all_the_same(backend):
    told = on_ranks(
        backend,
        2,
        """
with create_communicator() as comm:
    for shape in ((0,), (3, 0, 2)):
        for call in ("reduce", "broadcast", "gather"):
            empty = np.empty(shape)
            comm.barrier()
            if comm.rank == 1:
                time.sleep(0.05)
                came = time.monotonic_ns()
            if call == "reduce":
                comm.allreduce(empty, np.empty(shape), ReduceOp.MAX)
            elif call == "broadcast":
                comm.broadcast(empty, 1)
            else:
                comm.allgatherv(empty, np.empty(shape), [0, 0], [0, 0])
            went = time.monotonic_ns()
            times = np.array([went if comm.rank == 0 else came])
            both = np.empty(2, times.dtype)
            comm.allgatherv(times, both, [1, 1], [0, 1])
            assert both[0] >= both[1], (shape, call)
    launcher_pipe().send(b"met")
""",
    )
    assert told == ["met"] * 2


@both
def test_22_no_byte_swapped_long_or_structured_number_is_sent(backend):
    on_ranks(
        backend,
        2,
        """
with create_communicator() as comm:
    for dtype in (">f8", ">i4", ">c16", "longdouble", "M8[s]", "m8[s]", [("a", "i4")], object, "S3", "U3"):
        array = np.zeros(4, dtype)
        for call in (
            lambda: comm.broadcast(array, 0),
            lambda: comm.allreduce(array, array, ReduceOp.SUM),
            lambda: comm.allgatherv(array[:2], array.copy(), [2, 2], [0, 2]),
        ):
            try:
                call()
            except InvalidBufferSize:
                continue
            raise AssertionError(f"{dtype} was taken")
    comm.barrier()  # nothing was sent, so nothing is wrong
    little = np.array([1.5, comm.rank], "<f8")
    comm.broadcast(little, 1)
    assert little.tolist() == [1.5, 1.0]
""",
    )


@both
def test_23_displacements_beyond_32_bits(backend):
    on_ranks(
        backend,
        2,
        """
with create_communicator() as comm:
    recv = np.zeros(2**29 + 32)  # beyond 2**32 bytes; what nobody touches takes no memory
    places = [2**28 + 5, 2**29 + 16]
    comm.allgatherv(np.full(8, 1.0 + comm.rank), recv, [8, 8], places)
    for rank, at in enumerate(places):
        assert (recv[at : at + 8] == 1.0 + rank).all()
        assert recv[at - 4 : at].sum() == recv[at + 8 : at + 12].sum() == 0
    recv = np.zeros(2**32 + 64, "u1")
    places = [2**31 + 7, 2**32 + 9]
    comm.allgatherv(np.full(5, 1 + comm.rank, "u1"), recv, [5, 5], places)
    assert [recv[at : at + 5].sum() for at in places] == [5, 10]
""",
    )


def test_28_a_tiny_dev_shm_is_no_obstacle_for_launched_ranks_and_an_error_for_named_ones():
    program = """
import os, sys
from pycobre.comm import ShmCommunicator, ShmConfig, launch
from pycobre.errors import InitializationFailed
body = '''
from pycobre.comm import create_communicator
with create_communicator() as comm, comm.create_shared_region(1 << 20, "f8") as region:
    region.as_mut_slice()[comm.rank :: comm.size] = 1
    region.fence()
    assert region.as_slice().sum() == 1 << 20
'''
with launch([sys.executable, "-c", body], 3) as job:
    list(job)
print(job.exit_codes)
try:
    ShmCommunicator(ShmConfig(0, 1, name="small", join_timeout_secs=1))
except InitializationFailed as error:
    print(error)
print(os.listdir("/dev/shm"))
"""
    codes, error, files = in_a_box("64k", sys.executable, "-c", program)
    assert codes == "(0, 0, 0)"
    assert "No space left on device" in error
    assert files == "[]"


@both
def test_33_nothing_warns_and_no_resource_tracker_is_started(backend):
    on_ranks(
        backend,
        2,
        """
with create_communicator() as comm, comm.create_shared_region(100, "f8") as region:
    region.as_mut_slice()[comm.rank] = 1
    region.fence()
    with comm.duplicate() as other:
        other.barrier()
assert "multiprocessing.resource_tracker" not in sys.modules
""",
    )


@both
def test_36_no_transport_unpickles_anything(backend):
    told = on_ranks(backend, 2, "from faults.audited import main\nsys.exit(main())")
    assert told == ["nothing was unpickled"] * 2


@both
def test_37_a_rank_that_is_stopped_again_and_again_never_sees_another_turns_bytes(backend):
    on_ranks(
        backend,
        2,
        """
with create_communicator() as comm:
    turns = {"shm": 10_000, "tcp": 4_000}[comm.backend]
    for turn in range(turns):
        length = 1 + turn % 37 if turn % 200 else 20_000
        mine, recv = np.full(length, 2 * turn + comm.rank), np.empty(2 * length, int)
        comm.allgatherv(mine, recv, [length] * 2, [0, length])
        assert (recv[:length] == 2 * turn).all() and (recv[length:] == 2 * turn + 1).all(), turn
    launcher_pipe().send(b"done")
    time.sleep(0.05)
""",
        jitter_secs=0.02,
    )
