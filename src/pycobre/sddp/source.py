"""Where the noise of forward passes comes from, when not from the openings alone."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class NoiseSource(Protocol):
    """Gives a forward pass noise in the place of an opening's."""

    def noise(self, node: int, number: int, stream: np.random.Generator, opening: FloatArray) -> FloatArray:
        """Noise (D,) of a scenario at *node*.

        Parameters
        ----------
        number
            Running number of the scenario, from 0: over all iterations of a training, or within a simulation.
        stream
            The scenario's random numbers at this step.
        opening : (D,)
            Noise of the opening that was drawn for it.
        """
