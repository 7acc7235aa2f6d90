"""Non-controllable sources: what is available is made or curtailed, and random only within 0 to 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pycobre.stochastic import sample_openings, uncorrelated
from pycobre.system import Service, Source, SourceStatistics, Thermal

MONTH = [730.0]
SOURCE = Source(3, "wind", 0, 100.0, True, 0.001)
THERMALS = [Thermal(0, "T0", 0, 0.0, 30.0, 10.0), Thermal(1, "T1", 0, 0.0, 1000.0, 50.0)]


def share(mean, std=0.0, factor=((1.0,), (1.0,)), drawn=()):
    means = np.full((1, 2), mean) if np.isscalar(mean) else np.asarray(mean)
    return SourceStatistics(means, np.full((1, 2), std), np.asarray(factor)[None], drawn)


@pytest.fixture
def windy(system, stages, bus):
    def make(source, statistics, **more):
        two = stages(MONTH, MONTH)
        return system(two, [bus()], THERMALS, [], [], [80.0, 80.0], sources=(source,),
                      availability=statistics, **more)  # fmt: skip

    return make


def test_d15_generation_replaces_the_dearest_plant_and_saves_curtailment(plan, windy):
    bound, cost, operation = plan(windy(SOURCE, share(0.5)))
    assert bound == pytest.approx(2 * 730.0 * (10.0 * 30.0 - 0.001 * 50.0), rel=1e-12)
    assert cost == pytest.approx(bound)
    assert operation[0].source_mw[0, 0].tolist() == [50.0]
    assert operation[0].costs["source"][0] == pytest.approx(-0.001 * 50.0 * 730.0)


@pytest.mark.parametrize(
    ("source", "statistics", "made"),
    [
        (SOURCE, share(1.0), [80.0, 80.0]),  # 20 are curtailed
        (replace(SOURCE, may_be_curtailed=False), share(1.0), [100.0, 100.0]),  # and 20 are in excess
        (replace(SOURCE, curtailment_cost_per_mwh=7.0), share(1.0), [100.0, 100.0]),  # excess is cheaper
        (SOURCE, share(0.5, factor=((1.4,), (0.2,))), [70.0, 10.0]),
        (replace(SOURCE, service=Service(entry_stage_id=1)), share(0.5), [0.0, 50.0]),
        (replace(SOURCE, may_be_curtailed=False, service=Service(exit_stage_id=1)), share(0.5), [50.0, 0.0]),
    ],
)
def test_what_is_available_is_made_if_it_can_be_used(plan, windy, source, statistics, made):
    _, _, operation = plan(windy(source, statistics))
    assert [stage.source_mw[0, 0, 0] for stage in operation] == pytest.approx(made)
    for stage in operation:
        supply = stage.source_mw[0, 0, 0] + stage.thermal_mw[0, :, 0].sum() - stage.excess_mw[0, 0, 0]
        assert supply + stage.deficit_mw[0].sum() == pytest.approx(80.0)


def test_a_change_of_a_stage_reaches_the_source(plan, windy):
    changes = {"sources": {(3, 1, None): {"generation_max_mw": 20.0, "curtailment_cost_per_mwh": 1.0}}}
    bound, _, operation = plan(windy(SOURCE, share(1.0), changes=changes))
    assert [stage.source_mw[0, 0, 0] for stage in operation] == pytest.approx([80.0, 20.0])
    assert bound == pytest.approx(730.0 * (-0.08 - 20.0 + 300.0 + 50.0 * 30.0))


@pytest.mark.parametrize("curtailed", [True, False])
def test_random_availability_stays_between_nothing_and_the_capacity(plan, windy, curtailed):
    source = replace(SOURCE, may_be_curtailed=curtailed)
    built = windy(source, share(0.5, 0.6, drawn=(0,)))
    built = replace(built, correlation=uncorrelated(1, 2),
                    stages=tuple(replace(stage, num_openings=40) for stage in built.stages))  # fmt: skip
    drawn = [built.within_reach(t, noise) for t, noise in enumerate(sample_openings(built, 1))]
    assert min(noise.min() for noise in drawn) == pytest.approx(-0.5 / 0.6)
    assert max(noise.max() for noise in drawn) == pytest.approx(0.5 / 0.6)
    available = np.concatenate(drawn) * 60.0 + 50.0
    bound, _, operation = plan(built, scenarios=50)
    for stage in operation:
        assert stage.available_mw.min() == pytest.approx(0.0, abs=1e-9)
        assert stage.available_mw.max() == pytest.approx(100.0)
        assert (stage.source_mw <= stage.available_mw + 1e-9).all()
        assert stage.load_mw.tolist() == [[[80.0]]] * 50
    used = np.minimum(available, 80.0)
    cost = 10.0 * np.minimum(80.0 - used, 30.0) + 50.0 * np.maximum(50.0 - used, 0.0)
    cost -= 0.001 * used if curtailed else 0.0
    excess = 0.0 if curtailed else 0.01 * (available - used)
    # Both stages have 40 equally likely openings and nothing ties them.
    assert bound == pytest.approx(730.0 * 2 * np.mean(cost + excess), rel=1e-9)
