"""Bases of stage problems, and what that of one problem says about another one."""

from __future__ import annotations

from itertools import chain

import numpy as np
from numpy.typing import NDArray

BasisArray = NDArray[np.int8]
BasisNames = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of the columns, and of the core rows and planes, that a basis has before those of cuts."""

BASIC = 1
"""Status of a column or row that is in the basis; of a plane or cut: that it is not binding."""
USED_LATER = 5
"""Status of a plane or cut that is basic in the basis, but was binding in another opening of its unit."""
_AT_LOWER = 0
"""Status of a column that is at its lower bound, or at another one if that is infinite."""


def basis_by_name(bases: BasisArray, names: BasisNames, wanted: BasisNames) -> BasisArray:
    """*bases* (M, L) of a problem with *names*, read as ones of a problem with the *wanted* names.

    What both know by the same name keeps its status. Of what is new, columns are at a bound, rows and planes
    in the basis. The result need not have as many basic entries as there are rows: the solver mends it.
    """
    place = {name: position for position, name in enumerate(chain(*names))}
    found = np.array([place.get(name, -1) for name in chain(*wanted)], dtype=np.int64)
    read = np.full((len(bases), len(found)), BASIC, dtype=np.int8)
    read[:, : len(wanted[0])] = _AT_LOWER
    read[:, found >= 0] = bases[:, found[found >= 0]]
    return read
