"""The checks of a collective's arguments, one for all backends: the same mistake gives the same error.

Each check returns the arguments as a backend wants them: *send* contiguous and aligned (copied if it must
be), counts and displacements as tuples of int, *recv* as it was given.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from pycobre.comm.base import PLAIN_DTYPES, Counts, ReduceOp
from pycobre.errors import InvalidBufferSize, InvalidRoot

Array = npt.NDArray[Any]


def plain_dtype(operation: str, name: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    """*dtype* as a NumPy dtype, if buffers may hold it."""
    try:
        found = None if dtype is None else np.dtype(dtype)  # NumPy takes None for float64
    except TypeError:
        found = None
    if found is None or found not in PLAIN_DTYPES:
        raise InvalidBufferSize(
            operation,
            f"{name} of booleans, integers, floats (16 to 64 bits) or complex numbers, in native byte order",
            str(dtype if found is None else found),
        )
    return found


def _array(operation: str, name: str, array: object) -> Array:
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise InvalidBufferSize(operation, f"{name} to be a NumPy array", type(array).__name__)
    if array.dtype not in PLAIN_DTYPES:
        plain_dtype(operation, name, array.dtype)
    return np.asarray(array)


def _readable(operation: str, name: str, array: object) -> Array:
    found = _array(operation, name, array)
    flags = found.flags
    if flags.c_contiguous and flags.aligned:
        return found
    return np.require(found, requirements=["C_CONTIGUOUS", "ALIGNED"])


def _writable(operation: str, name: str, array: object) -> Array:
    found = _array(operation, name, array)
    flags = found.flags
    if flags.carray:
        return found
    for kept, wanted in (
        (flags.c_contiguous, "contiguous in C order"),
        (flags.aligned, "aligned"),
        (flags.writeable, "writeable"),
    ):
        if not kept:
            raise InvalidBufferSize(operation, f"{name} to be {wanted}", f"an array that is not {wanted}")
    return found


def _same_dtype(operation: str, send: Array, recv: Array) -> None:
    if send.dtype != recv.dtype:
        raise InvalidBufferSize(operation, f"recv of {send.dtype}, as send is", str(recv.dtype))


def _no_overlap(operation: str, given: object, recv: Array, allowed: Array, place: str) -> None:
    # *given* is the caller's own send: a copy of it would overlap nothing, and hide that another backend
    # (or a contiguous send) would read what it has just overwritten.
    if not isinstance(given, np.ndarray) or not np.shares_memory(given, recv):
        return
    if given.flags.c_contiguous and given.nbytes == allowed.nbytes and _address(given) == _address(allowed):
        return
    raise InvalidBufferSize(operation, f"send apart from recv, or {place}", "arrays that overlap otherwise")


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _integers(operation: str, name: str, values: object, size: int) -> tuple[int, ...]:
    try:
        found = tuple(map(operator.index, values))  # type: ignore[call-overload]
    except TypeError:
        raise InvalidBufferSize(operation, f"{name} to be {size} integers", repr(values)) from None
    if len(found) != size:
        raise InvalidBufferSize(operation, f"{name} to be {size} integers, one a rank", f"{len(found)}")
    if found and min(found) < 0:
        raise InvalidBufferSize(operation, f"{name} of at least 0", repr(list(found)))
    return found


def check_allgatherv(
    send: object, recv: object, counts: Counts, displs: Counts, rank: int, size: int
) -> tuple[Array, Array, tuple[int, ...], tuple[int, ...]]:
    """The arguments of an allgatherv on rank *rank* of *size*, ready to use."""
    operation = "allgatherv"
    source, target = _readable(operation, "send", send), _writable(operation, "recv", recv)
    _same_dtype(operation, source, target)
    lengths = _integers(operation, "counts", counts, size)
    starts = _integers(operation, "displs", displs, size)
    if source.size != lengths[rank]:
        raise InvalidBufferSize(
            operation, f"send of {lengths[rank]} elements, counts[{rank}]", f"{source.size}"
        )
    filled_to, before = 0, -1
    for start, length, owner in sorted(zip(starts, lengths, range(size), strict=True)):
        if length == 0:
            if start > target.size:
                raise InvalidBufferSize(
                    operation, f"recv of at least {start} elements, displs[{owner}]", f"{target.size}"
                )
            continue
        if start < filled_to:
            raise InvalidBufferSize(
                operation, "places in recv that do not overlap", f"those of ranks {before} and {owner} do"
            )
        filled_to, before = start + length, owner
    if filled_to > target.size:
        raise InvalidBufferSize(operation, f"recv of at least {filled_to} elements", f"{target.size}")
    own = target.reshape(-1)[starts[rank] : starts[rank] + lengths[rank]]
    _no_overlap(operation, send, target, own, "exactly this rank's place in it")
    return source, target, lengths, starts


def check_allreduce(send: object, recv: object, op: object) -> tuple[Array, Array, ReduceOp]:
    """The arguments of an allreduce, ready to use."""
    operation = "allreduce"
    source, target = _readable(operation, "send", send), _writable(operation, "recv", recv)
    _same_dtype(operation, source, target)
    if source.size != target.size:
        raise InvalidBufferSize(operation, f"recv of {source.size} elements, as send has", f"{target.size}")
    try:
        reduction = op if isinstance(op, ReduceOp) else ReduceOp(op)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidBufferSize(operation, "op to be SUM, MIN or MAX", repr(op)) from None
    if reduction is not ReduceOp.SUM and source.dtype.kind == "c":
        raise InvalidBufferSize(operation, f"numbers with an order for {reduction.name}", str(source.dtype))
    _no_overlap(operation, send, target, target, "the same array")
    return source, target, reduction


def check_broadcast(buf: object, root: object, size: int) -> tuple[Array, int]:
    """The arguments of a broadcast, ready to use."""
    target = _writable("broadcast", "buf", buf)
    try:
        number = operator.index(root)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidBufferSize("broadcast", "root to be an integer", repr(root)) from None
    if not 0 <= number < size:
        raise InvalidRoot(number, size)
    return target, number


def check_region(count: object, dtype: npt.DTypeLike) -> tuple[int, np.dtype[Any]]:
    """The length and dtype of a shared region, ready to use."""
    operation = "create_shared_region"
    found = plain_dtype(operation, "dtype", dtype)
    try:
        number = operator.index(count)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidBufferSize(operation, "count to be an integer", repr(count)) from None
    if number < 0:
        raise InvalidBufferSize(operation, "count of at least 0", str(number))
    return number, found
