"""Folds of more ranks than native code takes at once."""

from __future__ import annotations

import numpy as np
import pytest

from pycobre._native.shm import MAX_RANKS
from pycobre.comm import ReduceOp
from pycobre.comm.arrays import fold, folding


@pytest.mark.parametrize("ranks", [1, MAX_RANKS, MAX_RANKS + 1, 3 * MAX_RANKS])
def test_any_number_of_ranks_folds_in_rank_order(ranks):
    random = np.random.default_rng(1)
    parts = list(random.standard_normal((ranks, 4)) * 10.0 ** random.integers(-9, 9, (ranks, 1)))
    expected, found, repeated = parts[0].copy(), np.empty(4), np.empty(4)
    for part in parts[1:]:
        expected += part
    fold(ReduceOp.SUM, parts, found)
    folding(ReduceOp.SUM, parts, repeated)()
    assert found.tobytes() == repeated.tobytes() == expected.tobytes()
