"""Parameters that a plant's heads make, against values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from case import exercise as e

K = 0.009


@pytest.fixture
def river(directory: Any) -> Any:
    """A plant with a level, its productivity written down, above one whose planes are computed."""
    e.constraints(directory)
    directory.tables[e.GEOMETRY] = {
        "hydro_id": [3, 3, 3, 5, 5], "volume_hm3": [0.0, 110.0, 210.0, 0.0, 200.0],
        "height_m": [30.0, 85.0, 95.0, 20.0, 60.0], "area_km2": [1.0] * 5,
    }  # fmt: skip
    hydros = directory.documents[e.HYDROS]["hydros"]
    hydros[0] |= {"specific_productivity_mw_per_m3s_per_m": K}
    hydros[1] |= {"specific_productivity_mw_per_m3s_per_m": K, "hydraulic_losses":
                  {"type": "constant", "value_m": 4.0}}  # fmt: skip
    hydros[1]["generation"]["model"] = "fpha"
    directory.documents[e.PRODUCTION]["production_models"][1]["stage_ranges"] = [
        {"start_stage_id": 0, "model": "fpha", "fpha_config": {"source": "computed"}}
    ]
    directory.put(e.PRODUCTION, "production_models.0.stage_ranges.0.reference_volume", {"percentile": 0.0})
    return directory


# Alta from 10 to 200 hm³: 35 m, 85 m at 110 hm³, 94 m. Baixa from 10 to 200 hm³ (22 to 60 m), less 4 m.
ALTA = (100.0 * (35.0 + 85.0) / 2.0 + 90.0 * (85.0 + 94.0) / 2.0) / 190.0
BAIXA = (22.0 + 60.0) / 2.0 - 4.0
AT_65 = 20.0 + 0.2 * (10.0 + 0.65 * 190.0) - 4.0
# Cobre 0.18.0 echoes the same values.
VALUES = {
    ("reference_volume", 3): 10.0,
    ("reference_volume", 5): 133.5,
    ("reference_turbine", 3): 50.0,
    ("specific_productivity", 5): K,
    ("equivalent_productivity", 3): 0.9,
    ("equivalent_productivity", 5): K * AT_65,
    ("accumulated_productivity", 3): 0.9 + K * AT_65,
    ("integrated_equivalent_productivity", 3): K * ALTA,
    ("integrated_equivalent_productivity", 5): K * BAIXA,
    ("integrated_accumulated_productivity", 3): K * (ALTA + BAIXA),
    ("max_stored_energy", 3): K * (ALTA + BAIXA) * 190.0,
    ("min_storage", 3): 10.0,
    ("max_storage", 5): 200.0,
}


def value(directory: Any, reload: Callable[..., Any], tag: str, hydro: int) -> Any:
    """Factor of the second constraint's term, by stage."""
    directory.put(e.PARAMETERS, "scalar_parameters.2.computed_spec", {"tag": tag, "hydro_id": hydro})
    directory.put(e.CONSTRAINTS, "constraints.1.expression", "@energy*thermal_generation(4) >= @least")
    case, problems = reload()
    assert case is not None, problems
    return next(iter(case.system.constraints[1].rows.values())).terms[0].factor


@pytest.mark.parametrize(("tag", "hydro"), VALUES, ids=[f"{tag}-{hydro}" for tag, hydro in VALUES])
def test_a_parameter_is_what_its_tag_says(river: Any, reload: Any, tag: str, hydro: int) -> None:
    assert value(river, reload, tag, hydro) == pytest.approx(VALUES[tag, hydro])


def test_a_table_stands_above_the_heads(river: Any, reload: Any) -> None:
    river.tables[e.ENERGY] = {
        "hydro_id": [5, 5], "stage_id": [None, 1], "equivalent_productivity_mw_per_m3s": [0.4, 0.3],
        "reference_outflow_m3s": [33.0, None], "specific_productivity_mw_per_m3s_per_m": [None, 0.01],
    }  # fmt: skip
    for tag, expected in (
        ("equivalent_productivity", 0.3),
        ("integrated_equivalent_productivity", 0.3),
        ("accumulated_productivity", 0.9 + 0.3),
        ("reference_turbine", 33.0),
        ("specific_productivity", 0.01),
    ):
        assert value(river, reload, tag, 3 if tag.startswith("acc") else 5) == pytest.approx(expected), tag


def test_without_heads_the_mean_is_that_of_the_reference(river: Any, reload: Any) -> None:
    river.keep_rows(e.GEOMETRY, lambda row: row["hydro_id"] == 5)
    assert value(river, reload, "integrated_equivalent_productivity", 3) == pytest.approx(0.9)


def test_nothing_is_warned_of_that_a_parameter_asks_for(river: Any, reload: Any) -> None:
    river.put(e.PARAMETERS, "scalar_parameters.2.computed_spec", {"tag": "max_stored_energy", "hydro_id": 3})
    case, problems = reload()
    assert case is not None
    assert [problem.field for problem in problems] == ["stage_ranges[0].fpha_config"]  # of its deviation


def test_planes_without_heads_have_no_productivity(directory: Any, reload: Any) -> None:
    e.planes(directory)
    given = directory.documents
    e.constraints(directory)
    directory.put(e.PARAMETERS, "scalar_parameters.2.computed_spec.hydro_id", 3)
    assert given is directory.documents
    case, problems = reload()
    assert case is None
    assert [(p.kind, p.file, p.field) for p in problems] == [("dimension", e.PARAMETERS, "computed_spec")]
