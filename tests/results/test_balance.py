"""Power and water balance from the written tables alone: whoever has the files can check them."""

import numpy as np
import pandas as pd
import pytest

from pycobre.results import Results


@pytest.fixture
def frames(write):
    results = Results.open(write())
    return {name: results.table(name).to_pandas() for name in results.tables}


def test_power_balances_at_every_bus(frames):
    entities = frames["entities"].set_index(["kind", "id"])
    at = ["scenario_id", "stage_id", "block_id", "bus_id"]

    def by_bus(table, key, kind, column, bus="bus_id"):
        frame = frames[table].merge(
            entities.loc[kind][[bus]].rename(columns={bus: "at"}), left_on=key, right_index=True
        )
        frame["bus_id"] = frame["at"].astype(int)
        return frame.groupby(at)[column].sum()

    lines = frames["exchanges"].merge(entities.loc["line"], left_on="line_id", right_index=True)
    lines["to_target"] = lines.direct_mw * (1 - lines.losses_fraction) - lines.reverse_mw
    lines["to_source"] = lines.reverse_mw * (1 - lines.losses_fraction) - lines.direct_mw
    np.testing.assert_allclose(lines.to_target + lines.to_source, -lines.losses_mw, atol=1e-9)
    frames["exchanges"] = lines.drop(columns=["bus_id", "target_bus_id"])
    buses = frames["buses"].set_index(at)
    parts = [
        by_bus("hydros", "hydro_id", "hydro", "generation_mw"),
        by_bus("thermals", "thermal_id", "thermal", "generation_mw"),
        by_bus("sources", "source_id", "source", "generation_mw"),
        -by_bus("contracts", "contract_id", "export", "power_mw"),
        -by_bus("pumping", "pumping_station_id", "pumping", "consumption_mw"),
        by_bus("exchanges", "line_id", "line", "to_source"),
        by_bus("exchanges", "line_id", "line", "to_target", "target_bus_id"),
        buses.deficit_mw,
        -buses.excess_mw,
    ]
    supply = pd.concat([part.reindex(buses.index, fill_value=0.0) for part in parts], axis=1).sum(axis=1)
    np.testing.assert_allclose(supply, buses.load_mw, atol=1e-6)


def test_water_balances_in_every_reservoir(frames):
    hours = frames["stages"].set_index(["stage_id", "block_id"]).hours
    entities = frames["entities"].set_index(["kind", "id"])
    below = entities.loc["hydro"].downstream_id.dropna()
    hydros = frames["hydros"].join(hours, on=["stage_id", "block_id"])
    hydros["diverted_hm3"] = hydros.diverted_m3s * hydros.hours * 3600 / 1e6
    hydros["outflow_hm3"] = hydros.outflow_m3s * hydros.hours * 3600 / 1e6
    at = ["scenario_id", "stage_id", "hydro_id"]
    released = hydros.groupby(at).outflow_hm3.sum()
    slow = frames["transits"].hydro_id.unique()
    arriving = released.drop(slow, level="hydro_id").reset_index()
    arriving["hydro_id"] = arriving.hydro_id.map(below)
    arriving = arriving.dropna().groupby(at).outflow_hm3.sum()
    late = frames["transits"].assign(hydro_id=frames["transits"].hydro_id.map(below))
    arriving = arriving.add(late.groupby(at).arrived_hm3.sum(), fill_value=0.0)
    pumped = frames["pumping"].join(hours, on=["stage_id", "block_id"])
    pumped = pumped.merge(entities.loc["pumping"], left_on="pumping_station_id", right_index=True)
    pumped["hm3"] = pumped.pumped_m3s * pumped.hours * 3600 / 1e6
    taken, brought = (
        pumped.rename(columns={end: "hydro_id"}).groupby(at).hm3.sum()
        for end in ("upstream_id", "downstream_id")
    )
    diverted = hydros.groupby(at).diverted_hm3.sum()
    channel = diverted.reset_index()
    channel["hydro_id"] = channel.hydro_id.map(entities.loc["hydro"].diversion_id.dropna())
    channel = channel.dropna().groupby(at).diverted_hm3.sum()
    reservoirs = frames["reservoirs"].join(hours.groupby("stage_id").sum(), on="stage_id").set_index(at)
    inflow = reservoirs.inflow_m3s + reservoirs.bought_inflow_m3s - reservoirs.withdrawn_m3s
    inflow -= reservoirs.evaporated_m3s
    inflow *= reservoirs.hours * 3600 / 1e6
    moved = [
        part.reindex(reservoirs.index, fill_value=0.0)
        for part in (arriving, brought, taken, channel, diverted)
    ]
    gained = inflow + moved[0] + moved[1] - moved[2] + moved[3] - moved[4] - released
    np.testing.assert_allclose(
        reservoirs.storage_final_hm3, reservoirs.storage_initial_hm3 + gained, atol=1e-6
    )


def test_storage_goes_on_where_the_stage_before_ended(frames):
    storage = frames["reservoirs"].set_index(["scenario_id", "hydro_id", "stage_id"]).sort_index()
    final = storage.storage_final_hm3.to_numpy().reshape(-1, 3)
    initial = storage.storage_initial_hm3.to_numpy().reshape(-1, 3)
    np.testing.assert_array_equal(initial[:, 1:], final[:, :-1])


def test_what_leaves_a_plant_is_under_way_until_it_arrives(frames):
    hours = frames["stages"].set_index(["stage_id", "block_id"]).hours
    hydros = frames["hydros"].join(hours, on=["stage_id", "block_id"])
    hydros["hm3"] = hydros.outflow_m3s * hydros.hours * 3600 / 1e6
    at = ["scenario_id", "stage_id", "hydro_id"]
    way = frames["transits"].set_index(at)
    np.testing.assert_allclose(way.released_hm3, hydros.groupby(at).hm3.sum().loc[way.index], atol=1e-9)
    kept = way.in_transit_initial_hm3 + way.released_hm3 - way.arrived_hm3
    np.testing.assert_allclose(way.in_transit_final_hm3, kept, atol=1e-6)
    volumes = way.sort_index().in_transit_final_hm3.to_numpy().reshape(-1, 3)
    begun = way.sort_index().in_transit_initial_hm3.to_numpy().reshape(-1, 3)
    np.testing.assert_allclose(begun[:, 0], 100.0 * 3600 / 1e6 * 70.0)
    np.testing.assert_allclose(begun[:, 1:], volumes[:, :-1], atol=1e-9)
    assert volumes.min() > 0.0


def test_what_was_committed_is_delivered_at_its_date(frames):
    starts = frames["stages"].groupby("stage_id").start_date.first()
    table = frames["commitments"].set_index(["scenario_id", "stage_id"]).sort_index()
    committed = table.committed_mw.to_numpy().reshape(-1, 3)
    delivered = table.delivered_mw.to_numpy().reshape(-1, 3)
    np.testing.assert_allclose(delivered[:, 0], 4.0)
    np.testing.assert_allclose(delivered[:, 1:], committed[:, :-1], atol=1e-9)
    assert committed[:, :-1].max() > 0.0
    assert table.delivery.iloc[:2].tolist() == starts.iloc[1:].tolist()
    assert table.delivery.isna().sum() == len(table) // 3
    costs = frames["costs"].set_index(["scenario_id", "stage_id"]).commitment_cost
    np.testing.assert_allclose(table.commitment_cost, costs)
    thermals = frames["thermals"].query("thermal_id == 6")
    assert thermals.generation_cost.abs().max() == 0.0
