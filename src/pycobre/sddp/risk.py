"""Aversion to risk: openings that turn out dear weigh more than their probability says."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Cvar:
    """(1 - λ) · expectation + λ · conditional value at risk of a node's openings.

    The conditional value at risk is the mean of the dearest *tail* (α) of the probability. The measure is
    nested: the cost of an opening includes the risk-adjusted cost of what follows.

    Attributes
    ----------
    tail
        α, above 0 and at most 1; with 1 it is the expectation.
    weight
        λ, from 0 to 1.
    """

    tail: float
    weight: float

    def weights(self, values: FloatArray, probability: FloatArray) -> FloatArray:
        """Weights (M, W) whose sum over openings of *values* (M, W), times them, is the measure of each row.

        Of openings that cost the same the first is dearer, so that the weights follow from the values alone.
        """
        order = np.argsort(-values, axis=1, kind="stable")
        share = probability / self.tail
        worst = np.zeros(values.shape)
        rows, left = np.arange(len(values)), np.ones(len(values))
        for rank in range(values.shape[1]):
            opening = order[:, rank]
            taken = np.minimum(share[opening], left)
            worst[rows, opening] = taken
            left = left - taken
        return (1.0 - self.weight) * probability + self.weight * worst

    def of(self, costs: FloatArray) -> float:
        """The measure of *costs* (S,) that are equally likely."""
        weights = self.weights(costs[None], np.full(len(costs), 1.0 / len(costs)))[0]
        return math.fsum((weights * costs).tolist())
