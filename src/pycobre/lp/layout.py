"""Where the parts of a hydrothermal stage problem stand among its columns and rows.

H hydros, J thermals, S sources, B buses, L lines, K blocks, D deficit segments (the most of any bus). A
position of -1 says that there is no such column or row, because it could not matter: a plant without
capacity, a limit that asks for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of columns and rows of one stage.

    Attributes
    ----------
    storage : (H,)
        Final storage, hm³.
    storage_below : (H,)
        What is missing to the minimum, hm³; at the worst end of a block, if blocks are chronological.
    block_storage : (H, K)
        Storage at the end of the block, hm³. Where blocks are parallel, this part and the four next to it,
        and the water rows, have in every block what holds for the stage as a whole.
    inflow_slack : (H, K)
        Bought inflow, m³/s.
    withdrawal_below, withdrawal_above : (H, K)
        What is withdrawn less, or more, than shall be, m³/s.
    evaporation_below, evaporation_above : (H, K)
        What evaporates less, or more, than it should, m³/s.
    in_transit : (X,)
        Water under way at the end of the stage, hm³, in the order of the state.
    diverted : (H, K)
        Flow of the channel to another plant, m³/s.
    turbined, spilled, generation, outflow_below, outflow_above, turbined_below, generation_below : (H, K)
        Flows in m³/s, generation in MW. Where production is proportional to turbined flow there is no
        generation column.
    fed_turbined, fed_generation, fed_turbined_below, fed_generation_below : (F, K)
        Of F feeds, the parts of plants with several unit groups that a bus gets: flows in m³/s, power in MW.
    thermal : (J, K)
        MW.
    committed : (A,)
        What is decided for a later stage, of A plants that are dispatched ahead, MW.
    source : (S, K)
        Of sources that may be curtailed, MW.
    deficit : (B, K, D)
    excess : (B, K)
        MW.
    contract : (C, K)
        Power of C contracts, MW.
    pumped : (P, K)
        Flow of P pumping stations, m³/s.
    generic_below, generic_above : (G, K)
        What is missing to a bound of G generic constraints, in their units. A row that holds for the stage
        as a whole has the same column in every block.
    direct, reverse : (L, K)
        Sent from source to target, and back, MW.
    water_rows : (H, K)
        Water balance.
    balance_rows : (B, K)
        Power balance.
    """

    storage: IntArray
    storage_below: IntArray
    block_storage: IntArray
    inflow_slack: IntArray
    withdrawal_below: IntArray
    withdrawal_above: IntArray
    evaporation_below: IntArray
    evaporation_above: IntArray
    in_transit: IntArray
    diverted: IntArray
    turbined: IntArray
    spilled: IntArray
    generation: IntArray
    outflow_below: IntArray
    outflow_above: IntArray
    turbined_below: IntArray
    generation_below: IntArray
    fed_turbined: IntArray
    fed_generation: IntArray
    fed_turbined_below: IntArray
    fed_generation_below: IntArray
    thermal: IntArray
    committed: IntArray
    source: IntArray
    deficit: IntArray
    excess: IntArray
    contract: IntArray
    pumped: IntArray
    generic_below: IntArray
    generic_above: IntArray
    direct: IntArray
    reverse: IntArray
    water_rows: IntArray
    balance_rows: IntArray


def summed(values: FloatArray) -> FloatArray:
    """Sum of *values* (M, ..., n) over the last axis, term by term.

    By a product of BLAS's, or NumPy's own sum, a row's last bits may depend on how many stand beside it.
    """
    total = np.zeros(values.shape[:-1])
    for k in range(values.shape[-1]):
        total += values[..., k]
    return total


def take(values: FloatArray, positions: IntArray) -> FloatArray:
    """Values at *positions* of the last axis of (M, n); zero where the position is -1.

    The result has shape (M, *positions.shape).
    """
    found = values[:, np.maximum(positions, 0).ravel()]
    found[:, (positions < 0).ravel()] = 0.0
    return found.reshape(len(values), *positions.shape)
