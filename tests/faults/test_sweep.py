"""A rank struck at each single system call of a small program, by a tracer of our own: no call is forgotten.

It is killed as it enters the call, or the call is interrupted as by a signal. The first is what happens to a
rank at the worst of moments, the second what a profiler's or a scheduler's signals do all the time.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from faults.box import in_a_box

both = pytest.mark.parametrize("backend", ["shm", "tcp"])


def swept(backend: str, action: str) -> list[dict[str, Any]]:
    return list(map(json.loads, in_a_box("1m", sys.executable, "-m", "faults.sweep", backend, action)))


@both
def test_a_rank_killed_at_any_system_call_is_lost_to_the_other_and_leaves_nothing(backend: str):
    records = swept(backend, "kill")
    assert len(records) >= 10
    for record in records:
        assert record["told"] == {"0": {"error": ["lost", [1]]}, "1": {"code": 137}}, record
        assert not any(record["left"].values()), record


@both
def test_a_system_call_that_is_interrupted_changes_nothing(backend: str):
    records = swept(backend, "interrupt")
    assert len(records) >= 2
    for record in records:
        assert record["told"] == {"0": {}, "1": {"happened": True}}, record
        assert not any(record["left"].values()), record
