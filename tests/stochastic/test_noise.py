"""Random numbers are a function of what they are for."""

from __future__ import annotations

import itertools
import math

import numpy as np

from pycobre.stochastic import Purpose, choose, correlation_factor, generator, path_draws


def test_same_counter_gives_same_numbers_and_others_differ():
    keys = list(itertools.product((0, 1, 2**63), Purpose, (1, 2), (0, 5), (0, 3)))
    first = {key: generator(*key).standard_normal(8).tobytes() for key in keys}
    again = {key: generator(*key).standard_normal(8).tobytes() for key in reversed(keys)}
    assert first == again
    assert len(set(first.values())) == len(keys)


def test_streams_do_not_overlap():
    """Neighbouring stages share no numbers, however many are drawn."""
    near = generator(1, Purpose.OPENINGS, 0, 0, 0).random(10_000)
    next_ = generator(1, Purpose.OPENINGS, 0, 0, 1).random(10_000)
    assert not set(near) & set(next_)


def test_numbers_of_a_stream_are_pinned():
    """Results of published studies must not change with a release: these numbers are for ever."""
    drawn = generator(42, Purpose.FORWARD, 3, 2, 1).standard_normal(3)
    assert [float(x).hex() for x in drawn] == [
        "-0x1.0608d5dbfca41p-1",
        "0x1.e2dcac43e1caep-1",
        "-0x1.57c76f713d109p+0",
    ]


def test_numbers_of_a_path_are_pinned():
    drawn = path_draws(42, Purpose.FORWARD, 3, range(2, 3), 2)
    assert [float(x).hex() for x in drawn.ravel()] == [
        "0x1.d87da4c6c3cd0p-5",
        "0x1.e33b2b13ef998p-1",
        "0x1.b6460055b149dp-1",
        "0x1.6859d562771c0p-3",
    ]


def test_numbers_of_a_path_are_those_of_its_scenario_whoever_else_is_asked_for():
    all_of_them = path_draws(7, Purpose.SIMULATION, 0, range(5), 9)
    few = path_draws(7, Purpose.SIMULATION, 0, range(2, 4), 3)
    assert all_of_them.shape == (5, 9, 2)
    assert few.tobytes() == all_of_them[2:4, :3].tobytes()
    assert len(np.unique(all_of_them)) == all_of_them.size


def test_choice_follows_its_probabilities():
    draws = path_draws(7, Purpose.FORWARD, 1, range(4000), 1)[:, 0, 0]
    counts = np.bincount(choose(np.cumsum([0.2, 0.5, 0.3]), draws), minlength=3)
    assert np.abs(counts / 4000 - [0.2, 0.5, 0.3]).max() < 0.03


def test_choice_takes_the_last_where_probabilities_sum_to_less_than_one_by_rounding():
    sums = np.array([0.25, 0.75, 1.0 - 1e-9])
    assert choose(sums, np.array([0.0, 0.25, 1.0 - 1e-12])).tolist() == [0, 1, 2]


def test_correlation_factor_reproduces_the_matrix():
    matrix = np.array([[1.0, 0.6, -0.2], [0.6, 1.0, 0.1], [-0.2, 0.1, 1.0]])
    factor = correlation_factor(matrix)
    assert np.abs(factor @ factor.T - matrix).max() < 1e-12
    assert correlation_factor(np.eye(4)).tobytes() == np.eye(4).tobytes()
    singular = np.ones((2, 2))
    assert math.isclose(float((correlation_factor(singular) @ correlation_factor(singular).T)[0, 1]), 1.0)
