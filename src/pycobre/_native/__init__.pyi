"""What the native module offers; the C++ is in native/, a file per subject."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycobre._native import shm as shm
from pycobre._native import tcp as tcp

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int32]
_Bytes = NDArray[np.int8]
_Flags = NDArray[np.uint8]
_Triplets = tuple[_Ints, _Ints, _Floats]
_Planes = tuple[_Ints, _Ints, _Ints, _Floats, _Floats, _Triplets]
_Options = Sequence[tuple[str, str]]

def highs_version() -> str: ...
def add_to_cuts(
    weight: float,
    values: _Floats,
    slopes: _Floats,
    trial: _Floats,
    intercepts: _Floats,
    cut_slopes: _Floats,
    /,
) -> None: ...

class Remembered:
    repeat: Callable[[], None]
    def __init__(
        self, repeat: Callable[[], None], send: NDArray[Any], recv: NDArray[Any], /, *details: object
    ) -> None: ...
    def fits(self, send: NDArray[Any], recv: NDArray[Any], /, *details: object) -> bool: ...

class StageData:
    def __init__(
        self,
        cost: _Floats,
        column_lower: _Floats,
        column_upper: _Floats,
        row_lower: _Floats,
        row_upper: _Floats,
        start: _Ints,
        index: _Ints,
        value: _Floats,
        row_state: _Triplets,
        row_noise: _Triplets,
        planes: _Planes,
        state_columns: _Ints,
        carried_constant: _Floats,
        carried_state: _Triplets,
        carried_noise: _Triplets,
        noise_weights: _Floats,
        states_in: int,
        future_column: int,
        cost_scale: float,
    ) -> None: ...

GOOD_GAP: float

class StageProblem:
    def __init__(
        self,
        data: StageData,
        threads: int,
        keep: bool,
        options: _Options,
        ladder: Sequence[tuple[_Options, bool, float]],
    ) -> None: ...
    def add_cuts(self, intercepts: _Floats, slopes: _Floats) -> None: ...
    def choose_rows(self, cuts: _Ints) -> None: ...
    def expectation(
        self,
        states: _Floats,
        first: _Ints,
        last: _Ints,
        noises: _Floats,
        probabilities: _Floats,
        bases: _Bytes,
        start_noises: _Floats,
        values: _Floats,
        slopes: _Floats,
        bases_out: _Bytes,
    ) -> tuple[int, int, int]: ...
    def by_opening(
        self,
        states: _Floats,
        first: _Ints,
        last: _Ints,
        noises: _Floats,
        bases: _Bytes,
        start_noises: _Floats,
        values: _Floats,
        slopes: _Floats,
        bases_out: _Bytes,
    ) -> tuple[int, int, int]: ...
    def dispatch(
        self,
        states: _Floats,
        noises: _Floats,
        bases: _Bytes,
        objectives: _Floats,
        futures: _Floats,
        next_states: _Floats,
        bases_out: _Bytes,
        primal: _Floats,
        row_dual: _Floats,
    ) -> tuple[int, int, int]: ...
    def explain(
        self,
        state: _Floats,
        noise: _Floats,
        row_names: Sequence[str],
        column_names: Sequence[str],
        path: str,
    ) -> tuple[str, list[int], list[int]]: ...
    @property
    def basis_length(self) -> int: ...
    @property
    def cuts(self) -> int: ...
    @property
    def solves(self) -> int: ...
    @property
    def pivots(self) -> int: ...
    @property
    def recoveries(self) -> list[int]: ...

class DenseProblem:
    def __init__(self, data: StageData, threads: int) -> None: ...
    def add_cuts(self, intercepts: _Floats, slopes: _Floats) -> None: ...
    def cuts_from(self, first: int, intercepts: _Floats, slopes: _Floats) -> None: ...
    def keep_starts(self, bases: _Bytes, most: int) -> None: ...
    def forget_starts(self) -> None: ...
    def write_starts(self, bases_out: _Bytes) -> None: ...
    @property
    def starts(self) -> int: ...
    @property
    def takes_turns(self) -> bool: ...
    def expectation(
        self,
        states: _Floats,
        first: _Ints,
        last: _Ints,
        noises: _Floats,
        probabilities: _Floats,
        values: _Floats,
        slopes: _Floats,
        bases_out: _Bytes,
        failed: _Flags,
    ) -> bool: ...
    def by_opening(
        self,
        states: _Floats,
        first: _Ints,
        last: _Ints,
        noises: _Floats,
        values: _Floats,
        slopes: _Floats,
        bases_out: _Bytes,
        failed: _Flags,
    ) -> bool: ...
    def dispatch(
        self,
        states: _Floats,
        noises: _Floats,
        bases: _Bytes,
        objectives: _Floats,
        futures: _Floats,
        next_states: _Floats,
        bases_out: _Bytes,
        primal: _Floats,
        row_dual: _Floats,
        failed: _Flags,
    ) -> bool: ...
    @property
    def basis_length(self) -> int: ...
    @property
    def cuts(self) -> int: ...
    @property
    def solves(self) -> int: ...
    @property
    def pivots(self) -> int: ...
