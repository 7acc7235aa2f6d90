"""The script that docs/national.md draws its plots with, on a bundled case."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import pycobre
from pycobre.results import Results

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = EXAMPLES / "plot_storage_and_price.py"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    output = tmp_path_factory.mktemp("plots") / "results"
    overrides = {"simulation.enabled": True, "simulation.num_scenarios": 9}
    pycobre.train(EXAMPLES / "toy", output=output, simulation=True, overrides=overrides)
    return output


def test_the_script_draws_an_image(results, tmp_path):
    image = tmp_path / "study.png"
    subprocess.run([sys.executable, str(SCRIPT), str(results), str(image)], check=True, timeout=60)
    assert image.read_bytes().startswith(b"\x89PNG")


def test_what_it_draws_is_what_the_tables_say(results):
    script, opened = runpy.run_path(str(SCRIPT)), Results.open(results)
    stored = script["stored_share"](opened)
    assert (stored[0.1] <= stored[0.5]).all()
    assert (stored[0.5] <= stored[0.9]).all()
    assert stored.to_numpy().max() <= 100.0
    buses = opened.buses.to_pandas()
    first = buses[(buses["stage_id"] == 0) & (buses["bus_id"] == 0)]["price_per_mwh"].mean()
    assert script["prices"](opened).loc[0, 0] == pytest.approx(first)
