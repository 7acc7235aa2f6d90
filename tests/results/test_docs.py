"""The page on results shows the tables as they are."""

from pathlib import Path

import pytest

from pycobre.results import TABLES
from pycobre.results.schema import FOLDERS

PAGE = Path(__file__).parents[2] / "docs" / "results.md"


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_described_as_its_schema_says(name):
    lines = [
        f"### {name}",
        "",
        f"`{FOLDERS[name]}/{name}.parquet`",
        "",
        "| column | unit | meaning |",
        "|---|---|---|",
    ]
    for field in TABLES[name]:
        unit, meaning = (field.metadata[key].decode() for key in (b"unit", b"description"))
        lines.append(f"| `{field.name}` | {unit} | {meaning} |")
    assert "\n".join(lines) in PAGE.read_text(encoding="utf-8")
