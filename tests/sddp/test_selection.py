"""Which cuts are rows: as each method says, and without any effect on bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pycobre
from pycobre.lp import BASIC
from pycobre.sddp import NodeCuts, RowSelection
from pycobre.sddp.selection import NodeRows

TOY = Path(__file__).parents[2] / "examples" / "toy"
LOWER = 0
METHODS = {
    "level1": {"method": "level1", "check_frequency": 2},
    "lml1": {"method": "lml1", "check_frequency": 1},
    "domination": {"method": "domination", "domination_tolerance": 1.0},
    "dynamic": {"method": "dynamic", "seed_window": 0, "start_iteration": 4},
}


def cuts_of(rng, count, states=3):
    return NodeCuts(np.ones(count), rng.normal(size=count), *(rng.normal(size=(count, states)) for _ in "ab"))


def first(cuts, count):
    return NodeCuts(cuts.filled[:count], cuts.intercept[:count], cuts.slope[:count], cuts.state[:count])


def bases(binding, count):
    fresh = np.full((1, 1, 4 + count), BASIC, dtype=np.int8)
    fresh[0, 0, [4 + cut for cut in binding]] = LOWER
    return fresh


def rows_after(selection, cuts, iterations, passes, binding=lambda iteration: ()):
    rows = NodeRows(selection)
    for iteration in range(1, iterations + 1):
        count = iteration * passes
        chosen = rows.choose(first(cuts, count - passes), count, bases(binding(iteration), count), iteration)
    return chosen.tolist()


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
@pytest.mark.parametrize("method", ["highest", "oldest_highest"])
def test_the_highest_cuts_are_those_that_a_search_at_every_state_finds(method, tolerance):
    cuts = cuts_of(np.random.default_rng(1), 60)
    done = first(cuts, 57)
    heights = done.intercept + done.state @ done.slope.T
    best = heights.max(axis=1)
    near = heights >= (best - tolerance * np.maximum(1.0, np.abs(best)))[:, None]
    found = set(near.argmax(axis=1)) if method == "oldest_highest" else set(np.nonzero(near.any(axis=0))[0])
    expected = sorted(found | {57, 58, 59})
    assert rows_after(RowSelection(method, tolerance=tolerance), cuts, 20, 3) == expected


def test_cuts_made_since_the_last_choice_are_rows():
    cuts = cuts_of(np.random.default_rng(2), 40)
    at_ten = rows_after(RowSelection("highest", every=5), cuts, 10, 4)
    assert rows_after(RowSelection("highest", every=5), first(cuts, 36), 9, 4)[-16:] == list(range(20, 36))
    assert len(at_ten) < 40


def test_a_cut_that_was_binding_lately_is_a_row():
    cuts = cuts_of(np.random.default_rng(3), 12)
    selection = RowSelection("binding", recent_iterations=2)
    assert rows_after(selection, cuts, 12, 1, lambda k: (3,) if k == 11 else ()) == [3, 10, 11]


def test_before_the_first_iteration_every_cut_is_a_row():
    cuts = cuts_of(np.random.default_rng(4), 12)
    assert rows_after(RowSelection("binding", 1, first_iteration=13), cuts, 12, 1) == list(range(12))


def test_of_too_many_rows_those_go_that_were_binding_longest_ago_then_least_often():
    cuts = cuts_of(np.random.default_rng(5), 8)
    use = {3: (0, 1), 5: (1,), 7: (0, 1, 4), 8: (2,)}
    limited = RowSelection("all", most_rows=4)
    assert rows_after(limited, cuts, 8, 1, lambda k: use.get(k, ())) == [0, 1, 2, 7]


@pytest.mark.parametrize("most_rows", [None, 2])
@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_selection_changes_what_the_training_converges_to(name, most_rows, tmp_path):
    chosen = {"selection": METHODS[name]} | ({"max_active_per_stage": most_rows} if most_rows else {})
    plain = {"training.iterations": 60, "simulation.enabled": False}
    expected = pycobre.train(TOY, output=tmp_path / "plain", overrides=plain)
    found = pycobre.train(
        TOY, output=tmp_path / "chosen", overrides=plain | {"training.cut_selection": chosen}
    )
    assert found.lower_bound == pytest.approx(expected.lower_bound, rel=1e-9)


@pytest.mark.parametrize("scheduler", [{"method": "by_node"}, {"method": "by_node", "block_size": 1}])
def test_parts_of_any_size_converge_to_the_same_bound(scheduler, tmp_path):
    plain = {"training.iterations": 60, "simulation.enabled": False}
    expected = pycobre.train(TOY, output=tmp_path / "plain", overrides=plain)
    ours = plain | {"training.parallelism.backward_scheduler": scheduler}
    assert pycobre.train(TOY, output=tmp_path / "parts", overrides=ours).lower_bound == pytest.approx(
        expected.lower_bound, rel=1e-9
    )
