"""The inflow recursion against closed forms and against long simulated series."""

from __future__ import annotations

import numpy as np
import pytest

from pycobre.stochastic import residual_ratio


def test_order_zero_keeps_all_variance():
    assert (residual_ratio(np.zeros((2, 3, 0)), [None] * 3) == 1.0).all()


def test_order_one_has_the_textbook_ratio():
    """AR(1): residual variance is 1 - φ²."""
    coefficients = np.array([[[0.5], [-0.8], [0.0]]])
    assert residual_ratio(coefficients, [None] * 3)[0] == pytest.approx([0.75**0.5, 0.6, 1.0])


def test_order_two_of_one_season_has_the_textbook_ratio():
    """AR(2): ρ1 = φ1/(1 - φ2), ρ2 = φ1 ρ1 + φ2, residual variance 1 - φ1 ρ1 - φ2 ρ2."""
    a, b = 0.5, 0.3
    first = a / (1 - b)
    expected = (1 - a * first - b * (a * first + b)) ** 0.5
    assert residual_ratio(np.full((1, 2, 2), [a, b]), [4, 4])[0] == pytest.approx([expected] * 2)


def test_periodic_order_two_keeps_unit_variance_in_a_long_series():
    rng = np.random.default_rng(3)
    phi = np.array([[0.6, 0.2], [0.1, -0.4], [-0.3, 0.5], [0.7, 0.0]])
    ratio = residual_ratio(phi[None], [0, 1, 2, 3])[0]
    years = 100_000
    z = np.zeros(4 * years)
    noise = rng.standard_normal(4 * years)
    for t in range(2, 4 * years):
        m = t % 4
        z[t] = phi[m, 0] * z[t - 1] + phi[m, 1] * z[t - 2] + ratio[m] * noise[t]
    assert z.reshape(years, 4)[100:].var(axis=0) == pytest.approx([1.0] * 4, abs=0.03)


def test_impossible_coefficients_are_refused():
    with pytest.raises(ValueError, match="negative residual variance"):
        residual_ratio(np.array([[[1.2]]]), [0])
