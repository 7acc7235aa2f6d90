"""Shapiro, Tekaya, da Costa and Soares (2013): the Brazilian four-subsystem system over three months.

The published extensive form of all 82 inflow years has the value 782309.19 (recomputed: 782309.0582).
Stored energy and inflow are in MWmonth, so the problem is built by hand, not from the bundled case.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from pycobre.lp import Assembly
from pycobre.sddp import Cvar, Node, PolicyGraph

SOURCE = Path(__file__).parents[2] / "examples" / "brazil-4" / "source"
SUBSYSTEMS = ("SOUTHEAST", "SOUTH", "NORTHEAST", "NORTH")
MONTHS = ("jan", "feb", "mar")
DISCOUNT = 0.9906
SPILL_COST = 0.001


def table(name):
    with (SOURCE / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def inflow_years(month):
    """Inflow of *month* in the 82 complete years, shape (82, 4)."""
    by_year = {}
    for row in table("inflow"):
        by_year.setdefault(row["year"], {})[row["subsystem"]] = row[f"{month}_mwmed"]
    complete = [
        year for year in by_year.values() if all(year.get(s, "NA") not in ("", "NA") for s in SUBSYSTEMS)
    ]
    return np.array([[float(year[s]) for s in SUBSYSTEMS] for year in complete])


def stage(month):
    lp = Assembly(month)
    plants = table("subsystems")
    demand = next(row for row in table("demand") if row["month"] == month)
    places = {
        name: lp.row(f"balance {name}", *[float(demand[f"{name.lower()}_mw"])] * 2) for name in SUBSYSTEMS
    }
    storages = []
    for s, plant in enumerate(plants):
        balance = places[plant["subsystem"]]
        stored = lp.column(f"stored {s}", upper=float(plant["stored_energy_max_mwmonth"]))
        made = lp.column(f"hydro {s}", upper=float(plant["hydro_generation_max_mw"]))
        spilled = lp.column(f"spilled {s}", cost=SPILL_COST)
        lp.add(balance, made, 1.0)
        water = lp.row(f"water {s}", 0.0, 0.0)
        for column in (stored, made, spilled):
            lp.add(water, column, 1.0)
        lp.move_by_state(water, s, 1.0)
        lp.move_by_noise(water, s, 1.0)
        storages.append(stored)
        for k, segment in enumerate(table("deficit")):
            depth = float(segment["depth_fraction"]) * float(demand[f"{plant['subsystem'].lower()}_mw"])
            lp.add(
                balance, lp.column(f"deficit {s} {k}", cost=float(segment["cost_per_mwh"]), upper=depth), 1.0
            )
    for j, thermal in enumerate(table("thermals")):
        column = lp.column(
            f"thermal {j}",
            cost=float(thermal["cost_per_mwh"]),
            lower=float(thermal["generation_min_mw"]),
            upper=float(thermal["generation_max_mw"]),
        )
        lp.add(places[thermal["subsystem"]], column, 1.0)
    for link in table("exchange"):
        column = lp.column(
            f"{link['from']} to {link['to']}", cost=float(link["cost_per_mwh"]), upper=float(link["limit_mw"])
        )
        for name, sign in ((link["from"], -1.0), (link["to"], 1.0)):
            if name not in places:
                places[name] = lp.row(f"balance {name}", 0.0, 0.0)
            lp.add(places[name], column, sign)
    return lp.template(states_in=4, noises=4, state_columns=storages,
                       carried_constant=[], carried_state=[], carried_noise=[])  # fmt: skip


def test_training_reaches_the_extensive_value_of_three_months(train_graph):
    plants = table("subsystems")
    first = np.array([[float(plant["inflow_initial_mwmed"]) for plant in plants]])
    nodes = [Node(stage("jan"), first)]
    nodes += [Node(stage(month), inflow_years(month)) for month in MONTHS[1:]]
    assert [len(node.openings) for node in nodes] == [1, 82, 82]
    initial = np.array([float(plant["stored_energy_initial_mwmonth"]) for plant in plants])
    graph = PolicyGraph.line(nodes, initial, [DISCOUNT, DISCOUNT])
    policy, _ = train_graph(graph, iterations=150, forward_passes=4)
    assert math.isclose(policy.lower_bound, 782309.0582, abs_tol=0.5), policy.lower_bound


@pytest.mark.parametrize(
    ("risk", "value"), [(None, 866292.0822), (Cvar(tail=0.2, weight=0.5), 990349.8805)], ids=["mean", "cvar"]
)
def test_training_reaches_the_risk_averse_value_over_five_years(train_graph, risk, value):
    """Computed independently over the whole tree: half expectation, half mean of the worst 20 %."""
    plants = table("subsystems")
    first = np.array([[float(plant["inflow_initial_mwmed"]) for plant in plants]])
    nodes = [Node(stage("jan"), first)]
    nodes += [Node(stage(month), inflow_years(month)[:5], risk=risk) for month in MONTHS[1:]]
    initial = np.array([float(plant["stored_energy_initial_mwmonth"]) for plant in plants])
    policy, _ = train_graph(PolicyGraph.line(nodes, initial, [DISCOUNT, DISCOUNT]), iterations=80)
    assert math.isclose(policy.lower_bound, value, abs_tol=0.1), policy.lower_bound
