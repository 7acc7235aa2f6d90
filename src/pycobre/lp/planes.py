"""Production planes: limits on single columns, many of which few are ever binding.

They stand apart from the core rows of a stage problem, so that a solver need not take them as rows: as with
cuts, one that a solution violates can join then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pycobre.lp.sparse import FloatArray, IntArray, Sparse


@dataclass(frozen=True, eq=False)
class Planes:
    """P limits ``matrix x <= upper + state s`` with n columns x and X incoming states s.

    Attributes
    ----------
    column : (P,)
        The column that each plane limits from above; the planes of one stand together.
    matrix : (P, n)
        With a coefficient of 1 at the column that is limited.
    upper : (P,)
        Limits at zero state.
    state : (P, X)
        What a unit of incoming state adds to the limit.
    """

    column: IntArray
    matrix: Sparse
    upper: FloatArray
    state: Sparse

    def __len__(self) -> int:
        return len(self.column)

    def __post_init__(self) -> None:
        count = len(self.column)
        if (len(self.upper), self.matrix.shape[0], self.state.shape[0]) != (count, count, count):
            raise ValueError(f"{count} planes have {len(self.upper)} limits or other rows than these")
        limited = self.column.tolist()
        runs = [column for k, column in enumerate(limited) if k == 0 or limited[k - 1] != column]
        if len(runs) != len(set(runs)):
            raise ValueError("the planes of a column must stand together")

    def names(self, column_names: tuple[str, ...]) -> tuple[str, ...]:
        """Names such as ``plane_3_mw[hydro 7, block 1]``, after the columns ``generation_mw[...]``."""
        numbers: Counter[int] = Counter()
        found = []
        for column in self.column.tolist():
            what, bracket, where = column_names[column].partition("[")
            unit = what.rpartition("_")[2]
            found.append(f"plane_{numbers[column]}_{unit}{bracket}{where}")
            numbers[column] += 1
        return tuple(found)
