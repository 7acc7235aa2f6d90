"""Fields of what reaches from one stage into later ones: dispatch ahead, water under way, blocks in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from case import exercise as e
from case.row import Row, changes, fields, key

LATER = "post_study_stages.json"
COMMITMENTS, RELEASES = "past_anticipated_commitments", "past_defluences"


def ahead(directory: Any) -> None:
    """The small case whose gas plant is dispatched a month ahead, and on into April and May."""
    e.train(directory)
    directory.put(e.THERMALS, "thermals.0.anticipated_config", {"lead_stages": 2})
    windows = [("2024-01-01", "2024-01-11", 10.0), ("2024-01-11", "2024-02-01", 41.0),
               ("2024-02-01", "2024-03-01", 30.0)]  # fmt: skip
    directory.put(
        e.INITIAL,
        COMMITMENTS,
        [
            {"thermal_id": 4, "start_date": start, "end_date": end, "value_mw": value}
            for start, end, value in windows
        ],
    )
    limits = {"thermal_id": 4, "cost_per_mwh": 70.0, "min_mw": 5.0, "max_mw": 9.0}
    directory.documents[LATER] = {
        "stages": [
            {"start_date": "2024-04-01", "duration_hours": 720.0},
            {"start_date": "2024-05-01", "duration_hours": 744.0},
        ],
        "thermal_bounds": [{**limits, "post_study_stage_index": 0}, {**limits, "post_study_stage_index": 1}],
    }


def river(directory: Any) -> None:
    """The small case in which water takes 30 h to the lower plant."""
    e.train(directory)
    directory.put(e.HYDROS, "hydros.0.travel_time_hours", 30.0)
    release = {"hydro_id": 3, "start_date": "2023-12-30", "end_date": "2024-01-01", "value_m3s": 20.0}
    directory.put(e.INITIAL, RELEASES, [release])


def delays() -> Iterator[Row]:
    """Rows of these fields."""
    # Water of the long block of light load can serve the short one before it, unless blocks are in order.
    yield changes(
        e.scarce,
        e.STAGES,
        "stages.0.block_mode",
        "chronological",
        (e.LOADS, "mean_mw.0", 150.0),
        (e.INITIAL, "storage.0.value_hm3", 10.0),
        (e.INITIAL, "storage.1.value_hm3", 10.0),
    )
    yield changes(river, e.HYDROS, "hydros.0.travel_time_hours", 40.0)
    yield from fields(key, river, e.INITIAL, f"{RELEASES}.0", hydro_id=5)
    yield from fields(key, river, e.INITIAL, f"{RELEASES}.0", start_date="2023-12-31", end_date="2023-12-31")
    yield from fields(changes, river, e.INITIAL, f"{RELEASES}.0", value_m3s=60.0)
    yield from fields(key, ahead, e.THERMALS, "thermals.0.anticipated_config", lead_stages=1)
    yield key(ahead, e.THERMALS, "thermals.0.anticipated_config", {"lead_time_hours": 1440.0},
              leaf="thermals[].anticipated_config.lead_time_hours")  # fmt: skip
    commitment = f"{COMMITMENTS}.0"
    yield from fields(
        key, ahead, e.INITIAL, commitment, thermal_id=5, start_date="2024-01-02", end_date="2024-01-10"
    )
    yield from fields(changes, ahead, e.INITIAL, commitment, value_mw=12.0)
    yield from fields(key, ahead, LATER, "stages.0", start_date="2024-03-31", duration_hours=700.0)
    yield from fields(key, ahead, LATER, "thermal_bounds.0", thermal_id=5, post_study_stage_index=1)
    yield from fields(changes, ahead, LATER, "thermal_bounds.0", cost_per_mwh=71.0, min_mw=6.0)
