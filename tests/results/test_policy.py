"""A policy comes back from disk as it was, and a damaged one is refused."""

import json

import numpy as np
import pytest

from pycobre.comm import LocalCommunicator
from pycobre.errors import PolicyError, ResultsError
from pycobre.lp import HighsSolver, StateLayout, cost_scale_of
from pycobre.results import read_policy, write_policy
from pycobre.results.policy_store import CUTS_FILE, DOCUMENT_FILE, seal
from pycobre.sddp import simulate


def count(policy):
    """Number of cuts of all nodes."""
    return sum(int(policy.pool.of(node).filled.sum()) for node in range(len(policy.graph.nodes)))


@pytest.fixture
def save(study, tmp_path):
    def save_to(name="policy", policy=None):
        names = StateLayout.of(study.recursion, study.system).names(study.system)
        ids = [stage.id for stage in study.system.stages]
        write_policy(
            tmp_path / name, policy or study.policy, stage_ids=ids, state_names=names, study={"seed": 11}
        )
        return tmp_path / name

    return save_to


def test_round_trip_keeps_every_bit(study, save):
    stored = read_policy(save())
    assert stored.iterations == 4
    assert stored.forward_passes == 2
    assert stored.lower_bound == study.policy.lower_bound
    assert stored.document["study"] == {"seed": 11}
    assert stored.cuts.num_rows == count(study.policy) > 0
    rng = np.random.default_rng(1)
    for node in range(3):
        cuts, kept = study.policy.pool.of(node), stored.nodes[node]
        filled = np.flatnonzero(cuts.filled)
        np.testing.assert_array_equal(kept.slot, filled)
        for name in ("intercept", "slope", "state"):
            np.testing.assert_array_equal(getattr(kept, name), getattr(cuts, name)[filled].reshape(
                getattr(kept, name).shape))  # fmt: skip
        for state in rng.uniform(0.0, 300.0, (20, 6)) if node < 2 else ():  # the last stage has no future
            assert stored.evaluate(node, state) == study.policy.evaluate(node, state)


def test_states_have_names_and_units(save):
    states = read_policy(save()).document["states"]
    assert states[0] == {"name": "storage_hm3[7]", "unit": "hm³"}
    assert states[-1] == {"name": "inflow_m3s[9, lag 1]", "unit": "m³/s"}


def test_loaded_cuts_stand_in_the_slots_they_had(study, save):
    fresh = study.fresh_policy()
    read_policy(save()).load_into(fresh)
    for node in range(3):
        for old, new in zip(
            vars(study.policy.pool.of(node)).values(), vars(fresh.pool.of(node)).values(), strict=True
        ):
            np.testing.assert_array_equal(old, new)
    assert read_policy(save("again", fresh)).cuts.equals(read_policy(save()).cuts)


def test_a_policy_that_was_read_costs_the_same_in_simulation(study, save):
    fresh = study.fresh_policy()
    read_policy(save()).load_into(fresh)
    lower = study.policy.graph.future_cost_lower()
    scale = cost_scale_of([model.template for model in study.models])
    solvers = [
        HighsSolver(model.template, future_lower=bound, cost_scale=scale)
        for model, bound in zip(study.models, lower, strict=True)
    ]
    fresh.give_cuts(solvers)
    (again,) = simulate(fresh, solvers, 7, 5, LocalCommunicator())
    # Start bases are not kept: where optima are not unique, another of them may be found.
    assert again.walk.steps[0][0].dispatch.objective == pytest.approx(
        study.round.walk.steps[0][0].dispatch.objective, rel=1e-9
    )


def test_a_policy_without_iterations_is_a_policy(study, save):
    stored = read_policy(save(policy=study.fresh_policy()))
    assert stored.lower_bound == -np.inf
    assert stored.evaluate(0, np.zeros(6)) == -np.inf
    fresh = study.fresh_policy()
    stored.load_into(fresh)
    assert count(fresh) == 0


def test_two_writes_are_the_same_bytes(save):
    first, second = save("a"), save("b")
    for name in (CUTS_FILE, DOCUMENT_FILE):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_writing_again_replaces_the_policy(study, save, tmp_path):
    save(policy=study.fresh_policy())
    assert read_policy(save()).iterations == 4
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]


def test_a_directory_of_something_else_is_left_alone(save, tmp_path):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "thesis.tex").write_text("years of work")
    with pytest.raises(ResultsError, match="holds more than a policy"):
        save()
    assert (tmp_path / "policy" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("name", [CUTS_FILE, DOCUMENT_FILE])
def test_any_flipped_byte_is_found(save, name):
    path = save() / name
    content = path.read_bytes()
    for place in range(0, len(content), max(len(content) // 60, 1)):
        damaged = bytearray(content)
        damaged[place] ^= 0x01
        if bytes(damaged).split() == content.split():
            continue  # white space of the document says nothing
        path.write_bytes(damaged)
        with pytest.raises(PolicyError):
            read_policy(path.parent)


def test_a_cut_off_file_is_found(save):
    path = save() / CUTS_FILE
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(PolicyError, match=r"cuts\.arrow is damaged"):
        read_policy(path.parent)


def test_a_missing_policy_or_file_is_named(save, tmp_path):
    with pytest.raises(PolicyError, match=r"no policy in .*nowhere"):
        read_policy(tmp_path / "nowhere")
    folder = save()
    (folder / CUTS_FILE).unlink()
    with pytest.raises(PolicyError, match=r"cuts\.arrow can't be read"):
        read_policy(folder)


def test_a_later_format_is_named(save):
    path = save() / DOCUMENT_FILE
    document = json.loads(path.read_text()) | {"format_version": 9, "pycobre_version": "7.3"}
    path.write_text(json.dumps(document | {"sha256": seal(document)}))
    with pytest.raises(PolicyError, match=r"format 9, written by pycobre 7\.3"):
        read_policy(path.parent)


def test_a_policy_that_does_not_fit_is_refused(study, save):
    stored = read_policy(save())
    with pytest.raises(PolicyError, match="2 forward passes an iteration, the study has 3"):
        stored.load_into(study.fresh_policy(3))
    with pytest.raises(PolicyError, match="a state has 6 numbers"):
        stored.evaluate(0, np.zeros(3))
