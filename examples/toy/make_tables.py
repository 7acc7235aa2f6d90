"""Write the four Parquet tables of the toy; README.md walks through them.

Run ``python make_tables.py`` to write them beside this script, or ``python make_tables.py FOLDER`` to
write them elsewhere.
"""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

STAGES = (0, 1, 2)
HOURS = 720  # of each stage: 30 days
NOISES = (-1.0, 0.0, 1.0)  # of the three openings: inflow = 50 + 50 * noise = 0, 50 or 100 m3/s

TABLES: dict[str, list[dict[str, Any]]] = {
    "scenarios/inflow_seasonal_stats": [
        {"hydro_id": 0, "stage_id": stage, "mean_m3s": 50.0, "std_m3s": 50.0} for stage in STAGES
    ],
    "scenarios/load_seasonal_stats": [
        {"bus_id": 0, "stage_id": stage, "mean_mw": 150.0, "std_mw": 0.0} for stage in STAGES
    ],
    "scenarios/noise_openings": [
        {"stage_id": stage, "opening_index": opening, "entity_index": 0, "value": value}
        for stage in STAGES
        for opening, value in enumerate(NOISES)
    ],
    "constraints/thermal_bounds": [
        {"thermal_id": 0, "stage_id": 1, "cost_per_mwh": 100.0 / HOURS},
        {"thermal_id": 0, "stage_id": 2, "cost_per_mwh": 150.0 / HOURS},
    ],
}


def column_type(name: str) -> pa.DataType:
    """Return the type the format wants: indices and ids are integers, the rest are numbers."""
    if name.endswith("_index"):
        return pa.uint32()
    return pa.int32() if name.endswith("_id") else pa.float64()


def main() -> None:
    """Write the tables."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, rows in TABLES.items():
        schema = pa.schema([pa.field(column, column_type(column), nullable=False) for column in rows[0]])
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, compression="NONE")


if __name__ == "__main__":
    main()
