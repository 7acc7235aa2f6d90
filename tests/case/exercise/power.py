"""Plants whose power depends on more than the turbined flow."""

from __future__ import annotations

from typing import Any

from case.exercise.paths import ENERGY, GEOMETRY, HYDROS, PLANES, PRODUCTION, TAILRACES
from case.exercise.short import train


def planes(directory: Any) -> None:
    """A plant with given planes above one whose planes are computed, with a tailrace under water."""
    train(directory)
    hydros, models = (
        directory.documents[HYDROS]["hydros"],
        directory.documents[PRODUCTION]["production_models"],
    )
    given = {"start_stage_id": 0, "model": "fpha", "fpha_config": {"source": "precomputed"}}
    computed = {"start_stage_id": 0, "model": "fpha", "fpha_config": {"source": "computed"}}
    hydros[0]["generation"]["model"] = hydros[1]["generation"]["model"] = "fpha"
    models[0]["stage_ranges"], models[1]["stage_ranges"] = [given], [computed]
    directory.tables[PLANES] = {
        "hydro_id": [3, 3], "stage_id": [None, None], "plane_id": [0, 1], "gamma_0": [2.0, 1.0],
        "gamma_v": [0.01, 0.02], "gamma_q": [0.7, 0.72], "gamma_s": [-0.01, 0.0], "kappa": [0.9, 1.0],
    }  # fmt: skip
    directory.tables[GEOMETRY] = {
        "hydro_id": [5] * 4, "volume_hm3": [0.0, 60.0, 120.0, 200.0],
        "height_m": [350.0, 380.0, 395.0, 405.0], "area_km2": [1.0, 2.0, 2.5, 2.6],
    }  # fmt: skip
    hydros[1] |= {
        "efficiency": {"type": "constant", "value": 0.92},
        "hydraulic_losses": {"type": "factor", "value": 0.03},
        "tailrace": {"type": "polynomial", "coefficients": [300.0, 0.05]},
    }
    directory.put(HYDROS, "hydros.1.reservoir.min_storage_hm3", 10.0)


def curves(directory: Any) -> None:
    """The computed plant of :func:`planes` above another reservoir, whose level its tailrace depends on."""
    planes(directory)
    hydros, models = (
        directory.documents[HYDROS]["hydros"],
        directory.documents[PRODUCTION]["production_models"],
    )
    hydros[1]["downstream_id"], hydros[0]["downstream_id"] = 3, None
    hydros[0]["generation"]["model"] = "constant_productivity"
    constant = {"start_stage_id": 0, "model": "constant_productivity", "productivity_mw_per_m3s": 0.9}
    models[0]["stage_ranges"] = [{**constant, "reference_volume": {"volume_hm3": 100.0}}]
    directory.drop(PLANES)
    table = directory.tables[GEOMETRY]
    for column, values in (
        ("hydro_id", [3, 3]), ("volume_hm3", [0.0, 200.0]), ("height_m", [280.0, 320.0]), ("area_km2", [1.0,
                                                                                                        3.0])
    ):  # fmt: skip
        table[column] += values
    rows = 2
    directory.tables[TAILRACES] = {
        "hydro_id": [5] * rows, "family_id": [1, 2], "downstream_reference_level_m": [280.0, 320.0],
        "segment_id": [1, 1], "outflow_min_m3s": [0.0, 0.0], "outflow_max_m3s": [5000.0, 5000.0],
        "coefficient_0": [300.0, 310.0], "coefficient_1": [0.05, 0.04], "coefficient_2": [1e-4, 0.0],
        "coefficient_3": [1e-6, 0.0], "coefficient_4": [1e-9, 0.0],
    }  # fmt: skip
    directory.tables[ENERGY] = {
        "hydro_id": [5], "stage_id": [None], "equivalent_productivity_mw_per_m3s": [None],
        "reference_outflow_m3s": [None], "specific_productivity_mw_per_m3s_per_m": [0.008],
    }  # fmt: skip


def bare(directory: Any) -> None:
    """The small case whose upper plant has its productivity in the table of energies."""
    train(directory)
    directory.put(PRODUCTION, "production_models.0.stage_ranges.0.productivity_mw_per_m3s", None)
    directory.tables[ENERGY] = {
        "hydro_id": [3], "stage_id": [None], "equivalent_productivity_mw_per_m3s": [0.9],
        "reference_outflow_m3s": [None], "specific_productivity_mw_per_m3s_per_m": [None],
    }  # fmt: skip


def steep(directory: Any) -> None:
    """The small case with a reservoir whose level is known, and a productivity for every stage."""
    train(directory)
    directory.tables[GEOMETRY] = {
        "hydro_id": [3] * 2, "volume_hm3": [0.0, 200.0], "height_m": [20.0, 60.0], "area_km2": [1.0, 2.0],
    }  # fmt: skip
    directory.tables[ENERGY] = {
        "hydro_id": [3], "stage_id": [None], "equivalent_productivity_mw_per_m3s": [0.8],
        "reference_outflow_m3s": [None], "specific_productivity_mw_per_m3s_per_m": [None],
    }  # fmt: skip
