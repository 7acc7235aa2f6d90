"""Inflows from a history, with an annual component, and openings in a file."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from case.exercise.paths import ANNUAL, CONFIG, CORRELATION, HISTORY, INFLOW_STATS, INITIAL, LAGS, OPENINGS
from case.exercise.short import train


def history(directory: Any) -> None:
    """The small case with inflow models that are estimated from a history."""
    train(directory)
    directory.drop(INFLOW_STATS)
    directory.drop(LAGS)
    directory.drop(CORRELATION)
    months = [date(1980 + k // 12, k % 12 + 1, 1) for k in range(44 * 12 + 1)]
    rng = np.random.default_rng(7)
    noise, values = rng.standard_normal((2, len(months) - 1)), []
    for _, row in enumerate(noise):
        level, series = 0.0, []
        for k, shock in enumerate(row):
            level = 0.7 * level + 0.6 * shock
            series.append(9.0 + 3.0 * np.cos(k % 12 / 2.0) + 2.0 * level)
        values += [float(value) for value in series]
    directory.tables[HISTORY] = {
        "hydro_id": [id for id in (3, 5) for _ in months[1:]],
        "start_date": [day for _ in (3, 5) for day in months[:-1]],
        "end_date": [day for _ in (3, 5) for day in months[1:]],
        "value_m3s": values,
    }


def gappy(directory: Any) -> None:
    """The case of :func:`history` whose lower plant was never observed in January."""
    history(directory)
    directory.keep_rows(HISTORY, lambda row: row["hydro_id"] == 3 or row["start_date"].month != 1)


def quarterly(directory: Any) -> None:
    """The case of :func:`history` observed by quarters."""
    history(directory)
    directory.keep_rows(HISTORY, lambda row: row["start_date"].month % 3 == 1)
    table = directory.tables[HISTORY]
    table["end_date"] = [
        date(day.year + (day.month == 10), (day.month + 2) % 12 + 1, 1) for day in table["start_date"]
    ]


def annual(directory: Any) -> None:
    """The small case with an annual component that is given."""
    train(directory)
    study = [(id, t) for id in (3, 5) for t in range(3)]
    directory.tables[ANNUAL] = {
        "hydro_id": [id for id, _ in study], "stage_id": [t for _, t in study],
        "annual_coefficient": [0.1] * 6, "annual_mean_m3s": [30.0] * 6, "annual_std_m3s": [4.0] * 6,
    }  # fmt: skip
    stats = directory.tables[INFLOW_STATS]
    for id in (3, 5):
        for month in range(2, 13):
            row = {"hydro_id": id, "stage_id": -month, "mean_m3s": 30.0 + month, "std_m3s": 3.0}
            for column, item in row.items():
                stats[column].append(item)
    windows = directory.documents[INITIAL]["recent_observations"]
    windows.clear()
    for id in (3, 5):
        for month in range(1, 13):
            end = f"2023-{month + 1:02}-01" if month < 12 else "2024-01-01"
            windows.append(
                {"hydro_id": id, "start_date": f"2023-{month:02}-01", "end_date": end,
                 "value_m3s": 20.0 + month}
            )  # fmt: skip


def openings(directory: Any) -> None:
    """The small case with its openings in a file."""
    train(directory)
    terms = [(t, o, e) for t in range(3) for o in range(2) for e in range(3)]
    directory.tables[OPENINGS] = {
        "stage_id": [t for t, _, _ in terms],
        "opening_index": [o for _, o, _ in terms],
        "entity_index": [e for _, _, e in terms],
        "value": [np.sin(1.0 + k) for k in range(len(terms))],
    }
    directory.put(CONFIG, "training.scenario_source", {"openings": {"source": "file"}})
