"""Promises about shared regions and the groups of a node."""

from __future__ import annotations

import numpy as np

from pycobre.comm.base import Communicator, SharedMemoryProvider
from pycobre.comm.conformance.exchange import gathered
from pycobre.comm.conformance.promises import promise, raised
from pycobre.errors import AllocationFailed, InvalidCommunicator


def _provider(comm: Communicator) -> SharedMemoryProvider:
    assert isinstance(comm, SharedMemoryProvider), "every backend provides shared regions"
    return comm


@promise
def what_a_leader_writes_its_node_reads(comm: Communicator) -> None:
    """A region starts as zeros; after a fence everyone of the node sees what its leader wrote."""
    with _provider(comm).create_shared_region(5_000, np.float64) as region:
        assert not region.as_slice().any()
        region.fence()
        if _provider(comm).is_leader:
            region.as_mut_slice()[:] = np.arange(5_000)
        region.fence()
        np.testing.assert_array_equal(region.as_slice(), np.arange(5_000))


@promise
def ranks_of_a_node_write_disjoint_parts(comm: Communicator) -> None:
    """Where ranks share memory, each sees what every other wrote before the fence."""
    provider = _provider(comm)
    with provider.split_local() as node, provider.create_shared_region(node.size * 100, np.int64) as region:
        for turn in range(1, 50):
            region.as_mut_slice()[node.rank * 100 : (node.rank + 1) * 100] = turn * 10 + node.rank
            region.fence()
            expected = np.repeat(turn * 10 + np.arange(node.size), 100)
            np.testing.assert_array_equal(region.as_slice(), expected)
            region.fence()


@promise
def a_node_has_one_leader(comm: Communicator) -> None:
    """Exactly one rank of each node fills what the node shares."""
    provider = _provider(comm)
    with provider.split_local() as node:
        leaders = gathered(node, np.array([provider.is_leader]))
        assert int(leaders.sum()) == 1


@promise
def read_only_views_stay_read_only(comm: Communicator) -> None:
    """Nobody can write through a slice, not even on purpose."""
    with _provider(comm).create_shared_region(3, np.float32) as region:
        view = region.as_slice()
        raised(ValueError, lambda: view.__setitem__(0, 1.0))
        raised(ValueError, lambda: view.setflags(write=True))


@promise
def views_outlive_their_region(comm: Communicator) -> None:
    """Closing a region, or the group, takes no memory from an array in use; closing twice does nothing."""
    region = _provider(comm).create_shared_region(1_000, np.float64)
    view, writable = region.as_slice(), region.as_mut_slice()
    region.fence()
    if _provider(comm).is_leader:
        writable[:] = 4.0
    region.fence()
    region.close()
    region.close()
    comm.barrier()
    comm.close()
    assert (view == 4.0).all()
    raised(InvalidCommunicator, region.as_slice)
    raised(InvalidCommunicator, region.as_mut_slice)
    raised(InvalidCommunicator, region.fence)


@promise
def an_empty_region_is_a_region(comm: Communicator) -> None:
    """Zero elements are fine, of every plain kind."""
    for dtype in (np.bool_, np.int16, np.complex128):
        with _provider(comm).create_shared_region(0, dtype) as region:
            assert region.as_slice().shape == (0,)
            assert region.as_mut_slice().dtype == dtype
            region.fence()


@promise
def too_large_a_region_fails_on_every_rank(comm: Communicator) -> None:
    """With the bytes asked for; the group works on."""
    error = raised(AllocationFailed, lambda: _provider(comm).create_shared_region(1 << 56, np.float64))
    assert error.requested_bytes == 8 << 56
    assert error.message
    comm.barrier()


@promise
def a_split_group_stands_on_its_own(comm: Communicator) -> None:
    """What happens to it does not happen to the group that it came from."""
    node = _provider(comm).split_local()
    assert 1 <= node.size <= comm.size
    node.barrier()
    node.close()
    comm.barrier()
    broken = _provider(comm).split_local()
    broken.abort("only this one")
    broken.close()
    comm.barrier()
