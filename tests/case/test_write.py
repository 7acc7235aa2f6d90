"""A system that is written as a case reads back equal, or is refused with every reason."""

from __future__ import annotations

import json
import math
import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case import exercise as e
from pycobre.case import BoundStallingOption, RowOption, Schemes, StudyOptions, load_case, write_case
from pycobre.case.columns import ENERGY
from pycobre.errors import CaseError
from pycobre.stochastic import sample_openings
from pycobre.system import (
    Ahead,
    Block,
    Bus,
    ConstantProductivity,
    ConstraintRow,
    ConstraintTerm,
    Contract,
    Correlation,
    DeficitSegment,
    Evaporation,
    Filling,
    GenericConstraint,
    Hydro,
    HydroPenalties,
    InflowStatistics,
    Line,
    LoadStatistics,
    PastFlow,
    ProductionPlane,
    ProductionPlanes,
    PumpingStation,
    Service,
    Source,
    SourceStatistics,
    Stage,
    SurfaceEvaporation,
    SurfacePoint,
    System,
    Thermal,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
SHARED = Path(os.environ.get("PYCOBRE_SHARED_CASES") or Path(__file__).parents[2].parent / "shared" / "cases")
WITH_HISTORY_OR_SCENARIOS = ("d12-par-annual", "d28-decomp-weekly-monthly")
CASES = [EXAMPLES / "toy", EXAMPLES / "brazil-4"] + [
    path for path in sorted(SHARED.glob("cobre-0.18/*")) if path.name not in WITH_HISTORY_OR_SCENARIOS
]

amounts = st.floats(0.0, 1e4, allow_subnormal=False)
shares = st.floats(0.05, 0.95)


def _prices(draw: Callable[..., float]) -> HydroPenalties:
    """Prices alike on both sides, or the usual ones on each."""
    evaporation = draw(amounts)
    both = (evaporation, evaporation) if draw(st.booleans()) else (3.0, 7.0)
    return HydroPenalties(*(draw(amounts) for _ in range(8)), 2.0, 5.0, *both, draw(amounts), draw(amounts))


@st.composite
def systems(draw: Any) -> System:
    """Systems of all kinds of entities, with ids that follow no order."""
    months = [date(2025 + month // 12, month % 12 + 1, 1) for month in range(draw(st.integers(2, 4)) + 1)]
    first, count = draw(st.integers(0, 5)), len(months) - 1
    stages = []
    for t, (start, end) in enumerate(pairwise(months)):
        hours, cut = 24.0 * (end - start).days, draw(st.sampled_from([0.25, 0.5]))
        blocks = (Block(0, "peak", hours * cut), Block(1, "rest", hours * (1.0 - cut)))
        blocks = blocks if draw(st.booleans()) else (Block(0, "all", hours),)
        sampling = draw(st.sampled_from(["saa", "lhs", "qmc_halton"]))
        tail, weight = draw(st.sampled_from([(1.0, 0.0), (0.2, 0.5)]))
        rate, chronological = draw(shares), draw(st.booleans())
        stages.append(
            Stage(first + t, start, end, t, blocks, 4, rate, sampling, tail, weight, chronological)
        )  # fmt: skip
    ids = draw(st.lists(st.integers(0, 99), min_size=4, max_size=4, unique=True))
    K, some = max(len(stage.blocks) for stage in stages), stages[-1].id
    buses = tuple(
        Bus(id, f"bus {id}", (DeficitSegment(9.5, 10.0), DeficitSegment(math.inf, 10.0 + draw(amounts))), 0.5)
        for id in sorted(ids[:2])
    )
    a, b = (bus.id for bus in buses)
    up, down = sorted(ids[2:])
    areas = sorted(draw(st.lists(amounts, min_size=2, max_size=2)))  # a reservoir widens as it fills
    surface = (SurfacePoint(0.0, 1.0, areas[0]), SurfacePoint(100.0, 9.0, areas[1]))
    hydros = []
    for id, below in ((up, down), (down, None)):
        full = draw(st.floats(60.0, 1e3))
        planes = ProductionPlanes((ProductionPlane(draw(amounts), 0.1, draw(shares), -draw(shares)),) * 2)
        models = st.sampled_from([ConstantProductivity(draw(shares)), planes])
        travel = draw(st.sampled_from([0.0, 30.5])) if below is not None else 0.0
        filling = (
            Filling(first, first + 1, draw(shares)) if below is not None and draw(st.booleans()) else None
        )
        hydros.append(
            Hydro(
                id, f"plant {id}", draw(st.sampled_from([a, b])), below, 20.0, full,
                draw(shares) * 20.0 if filling else 20.0 + draw(shares) * (full - 20.0),
                draw(shares), draw(st.sampled_from([math.inf, 2e4])), 0.0, draw(amounts), 0.0, draw(amounts),
                tuple(draw(models) for _ in stages), _prices(draw), 0.0,
                SurfaceEvaporation(surface, tuple(draw(amounts) for _ in range(12)))
                if draw(st.booleans()) else (),
                diversion_to_id=below, diversion_max_m3s=3.5 if below is not None else 0.0, filling=filling,
                travel_hours=travel,
                past_outflow=(PastFlow(date(2024, 12, 1), months[0], draw(amounts)),) if travel else (),
                service=Service(first) if filling else Service(),
            )
        )  # fmt: skip
    entries = st.sampled_from([Service(), Service(entry_stage_id=some), Service(exit_stage_id=some)])
    thermals = [
        Thermal(3, "gas", a, draw(shares), 1.0 + draw(amounts), draw(amounts), draw(entries)),
        Thermal(
            1,
            "ship",
            b,
            0.0,
            50.0,
            9.0,
            ahead=Ahead(lead_stages=1, past_mw={first: draw(st.integers(0, 50)) / 2.0}),
        ),
    ]
    lines = [Line(id, "line", a, b, draw(amounts), draw(amounts), draw(st.integers(0, 50)) / 100.0,
                  draw(amounts), draw(entries))
             for id in (8, 2)]  # fmt: skip
    order = draw(st.integers(0, 2))
    coefficients = np.zeros((2, count, order))
    coefficients[:, :, -1:] = 0.1 * draw(shares)
    past, seed = np.zeros((2, order)), random.Random(draw(st.integers(0, 999)))
    lag_mean, lag_std = np.zeros((2, 2, count, order))
    mean, std = np.array([[[seed.uniform(1.0, 90.0) for _ in stages] for _ in hydros] for _ in range(2)])
    if order:
        past[:] = [[seed.uniform(1.0, 90.0) for _ in range(order)] for _ in hydros]
        before = np.array(
            [[[seed.uniform(1.0, 90.0) for _ in range(order)] for _ in hydros] for _ in range(2)]
        )
        for t in range(count):
            reached = t - order
            for own, whole, early in ((lag_mean, mean, before[0]), (lag_std, std, before[1])):
                own[:, t, order - 1] = whole[:, reached] if reached >= 0 else early[:, -reached - 1]
    demand = np.array([[seed.uniform(1.0, 90.0) for _ in stages] for _ in buses])
    factor = np.ones((2, count, K))
    factor[0, 0, 0] = draw(shares)
    available = np.array([[draw(shares)] * count, [1.0] * count])
    deviation = np.array([[draw(shares)] * count, [0.0] * count])
    matrix = np.eye(4)
    matrix[0, 1] = matrix[1, 0] = draw(shares)
    in_blocks = draw(st.booleans())
    rows = {
        (stage.id, place): ConstraintRow(
            0.0, draw(amounts), (ConstraintTerm(draw(shares), "thermal_generation", 3),)
        )
        for stage in stages
        for place in ([block.id for block in stage.blocks] if in_blocks else [None])
    }
    return System(
        tuple(stages), buses, tuple(lines), tuple(thermals), tuple(hydros),
        InflowStatistics(mean, std, coefficients, lag_mean, lag_std, past,
                         draw(st.sampled_from(["none", "penalty"])), draw(st.booleans())),
        LoadStatistics(demand, demand * np.array([[0.1], [0.0]]), factor),
        Correlation((np.eye(4), matrix), tuple(draw(st.integers(0, 1)) for _ in stages)),
        (Source(4, "wind", a, draw(amounts), True, draw(amounts)), Source(6, "sun", b, 5.0, False, 0.0)),
        SourceStatistics(available, deviation, np.ones((2, count, K)), (0,)),
        (Contract(2, "abroad", a, draw(st.booleans()), 0.0, draw(amounts), -draw(amounts)),),
        (PumpingStation(5, "up", b, down, up, 0.0, draw(amounts), draw(shares)),),
        (GenericConstraint(7, "both", draw(st.sampled_from([math.inf, 30.0])), {
            (some, None): ConstraintRow(-math.inf, draw(amounts), (
                ConstraintTerm(draw(shares), "thermal_generation", 3),
                ConstraintTerm(-draw(shares), "hydro_turbined", up, 0)))}),
         GenericConstraint(9, "varies", 20.0, rows)),
        {"thermals": {(3, some, None): {"cost_per_mwh": draw(amounts)}},
         "hydros": {(down, some, None): {"storage_min_hm3": draw(shares), "spillage_cost_per_m3s_h": 2.5},
                    (down, some, 0): {"outflow_min_m3s": draw(shares)}}},
    )  # fmt: skip


options = st.builds(
    StudyOptions,
    forward_passes=st.integers(1, 9),
    iteration_limit=st.integers(1, 99),
    time_limit_s=st.none() | st.floats(1.0, 1e4),
    bound_stalling=st.none() | st.builds(BoundStallingOption, st.integers(1, 9), shares),
    stopping_mode=st.sampled_from(["any", "all"]),
    tree_seed=st.integers(-(2**63), 2**63 - 1),
    simulation_seed=st.integers(0, 99),
    simulation_scenarios=st.integers(0, 99),
    training_schemes=st.builds(Schemes, load=st.sampled_from(["in_sample", "out_of_sample"])),
    cost_scale_factor=st.none() | st.floats(1.0, 1e6),
    export_stochastic=st.booleans(),
    rows=st.builds(RowOption, recent_iterations=st.integers(1, 9), most_rows=st.none() | st.integers(1, 99))
    | st.builds(RowOption, st.sampled_from(["highest", "oldest_highest"]), tolerance=shares),
    openings_a_part=st.sampled_from([None, "half", 3]),
)


@settings(max_examples=25, deadline=None)
@given(systems(), options, st.booleans())
def test_any_system_reads_back_equal(system: System, options: StudyOptions, drawn: bool) -> None:
    openings = None if drawn else sample_openings(system, 1)
    with tempfile.TemporaryDirectory() as directory:
        case = load_case(write_case(system, Path(directory) / "case", options, openings))
    assert case.system.differences(system) == []
    assert case.options == options
    assert (case.openings is None) == drawn
    for one, other in zip(case.openings or (), openings or (), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("path", CASES, ids=[path.name for path in CASES])
def test_a_case_becomes_a_system_and_the_same_again(path: Path, tmp_path: Path) -> None:
    first = load_case(path)
    again = load_case(write_case(first.system, tmp_path / "again", first.options, first.openings))
    assert first.system.differences(again.system) == []
    assert first.options == again.options


@pytest.mark.parametrize("name", WITH_HISTORY_OR_SCENARIOS)
def test_estimates_and_scenarios_are_refused(name: str, tmp_path: Path) -> None:
    path = SHARED / "cobre-0.18" / name
    if not path.is_dir():
        pytest.skip("the shared cases are not here: set PYCOBRE_SHARED_CASES to their folder")
    case = load_case(path)
    with pytest.raises(CaseError, match=r"history|replays scenarios"):
        write_case(case.system, tmp_path / "case", case.options)
    assert not list(tmp_path.iterdir())


def test_what_is_written_is_as_cobre_reads_it_and_names_its_version(directory: Any, tmp_path: Path) -> None:
    e.planes(directory)
    directory.write(tmp_path / "mine")
    system = load_case(tmp_path / "mine").system
    first, *others = system.thermals
    early = {stage.id: first.generation_min_mw for stage in system.stages[:1]}
    ahead = replace(first, ahead=Ahead(lead_stages=1, past_mw=early))
    system = replace(system, thermals=(ahead, *others))
    case = write_case(system, tmp_path / "case")
    for path in case.rglob("*.parquet"):
        group = pq.ParquetFile(path).metadata.row_group(0)
        assert {group.column(k).compression for k in range(group.num_columns)} == {"ZSTD"}, path.name
    written = [path for path in case.rglob("*.json") if "schemas" not in path.parts]
    documents = {path.name: json.loads(path.read_text()) for path in written}
    for path in written:
        schema = path.parent / documents[path.name]["$schema"]
        assert json.loads(schema.read_text())["$comment"] == "Case format 0.18"
    leads = [plant.get("anticipated_config") for plant in documents["thermals.json"]["thermals"]]
    assert leads[0] == {"lead_stages": 1}
    penalties = documents["penalties.json"]
    kinds = ("line", "hydro", "non_controllable_source")
    assert all(price > 0.0 for kind in kinds for price in penalties[kind].values())
    table = pq.read_table(case / "system" / "hydro_energy_productivity.parquet").to_pylist()
    curved = {hydro.id for hydro in system.hydros if isinstance(hydro.production[0], ProductionPlanes)}
    assert curved
    assert curved == {row["hydro_id"] for row in table}
    assert all(0.0 < row["equivalent_productivity_mw_per_m3s"] < 10.0 for row in table)
    assert table[0].keys() == {column.name for column in ENERGY.columns}


def test_what_the_format_can_not_say_is_listed_in_full_and_nothing_is_left(tmp_path: Path) -> None:
    system = load_case(EXAMPLES / "brazil-4").system
    one, two, *rest = system.hydros
    one = replace(one, penalties=replace(one.penalties, storage_below_cost_per_hm3=math.inf))
    lines = (Evaporation(1.0, 0.0),) * len(system.stages)
    buses = (replace(system.buses[0], excess_cost_per_mwh=7.0), *system.buses[1:])
    hydros = (one, replace(two, evaporation=lines), *rest)
    with pytest.raises(CaseError) as caught:
        write_case(replace(system, buses=buses, hydros=hydros), tmp_path / "case")
    fields = {problem.field for problem in caught.value.problems}
    assert fields == {"penalties.storage_below_cost_per_hm3", "evaporation", "excess_cost_per_mwh"}
    assert not list(tmp_path.iterdir())


def test_what_would_be_read_otherwise_is_refused(tmp_path: Path) -> None:
    system = load_case(EXAMPLES / "toy").system
    bus, thermal = system.buses[0].id, system.thermals[0].id
    generated, short = (
        ConstraintTerm(1.0, "thermal_generation", thermal),
        ConstraintTerm(1.0, "bus_deficit", bus),
    )
    rows = {
        (stage.id, None): ConstraintRow(-math.inf, 5.0, (short if t else generated,))
        for t, stage in enumerate(system.stages)
    }
    other = replace(system, constraints=(GenericConstraint(0, "moves", 9.0, rows),))
    with pytest.raises(CaseError, match=r"read otherwise.*constraint 0.*bus_deficit.*thermal_generation"):
        write_case(other, tmp_path / "case")
    assert not list(tmp_path.iterdir())


def test_a_directory_that_holds_something_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(FileExistsError, match="not empty"):
        write_case(load_case(EXAMPLES / "toy").system, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
