"""Plots of a study's stored water and prices: python plot_storage_and_price.py RESULTS IMAGE."""

from __future__ import annotations

import sys

import matplotlib as mpl
import pandas as pd

from pycobre.results import Results

mpl.use("Agg")  # draws into files, without a screen
import matplotlib.pyplot as plt

QUANTILES = (0.1, 0.5, 0.9)


def stored_share(results: Results) -> pd.DataFrame:
    """Quantiles over the scenarios of the water that all reservoirs hold, % of the most they held."""
    table = results.reservoirs.to_pandas(["scenario_id", "stage_id", "storage_final_hm3"])
    total = table.groupby(["stage_id", "scenario_id"])["storage_final_hm3"].sum()
    share = 100.0 * total / total.max()
    return share.groupby("stage_id").quantile(QUANTILES).unstack()


def prices(results: Results) -> pd.DataFrame:
    """Mean over scenarios and blocks of the price at each bus, currency/MWh, with a column a bus."""
    table = results.buses.to_pandas(["stage_id", "bus_id", "price_per_mwh"])
    return table.groupby(["stage_id", "bus_id"])["price_per_mwh"].mean().unstack()


def plot(results: Results, image: str) -> None:
    """Draw both below each other into the file *image*."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    stored = stored_share(results)
    above.fill_between(stored.index, stored[QUANTILES[0]], stored[QUANTILES[-1]], alpha=0.3, label="10-90 %")
    above.plot(stored.index, stored[0.5], label="median")
    above.set_ylabel("stored water, % of the most")
    above.legend()
    for bus, price in prices(results).items():
        below.plot(price.index, price, label=f"bus {bus}")
    below.set_ylabel("mean price, currency/MWh")
    below.set_xlabel("stage")
    below.legend()
    figure.savefig(image, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    plot(Results.open(sys.argv[1]), sys.argv[2])
