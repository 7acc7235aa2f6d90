"""Units of work: how a trial point's openings are parted."""

import pytest

from pycobre.sddp.work import openings_a_part


@pytest.mark.parametrize(
    ("openings", "points", "most"),
    [(20, 8, 20), (20, 100, 20), (20, 4, 10), (20, 1, 5), (3, 1, 3), (50, 1, 7), (50, 3, 17), (1, 1, 1)],
)
def test_openings_are_parted_only_where_there_are_few_points(openings: int, points: int, most: int) -> None:
    assert openings_a_part(openings, points) == most
