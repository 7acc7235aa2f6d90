"""What every table's schema must say."""

import pytest

from pycobre.lp import COST_TERMS, LADDER
from pycobre.results import FORMAT_VERSION, TABLES
from pycobre.results.policy_store import CUTS
from pycobre.results.schema import FOLDERS, index_of

SUFFIX_UNITS = {
    "_m3s": "m³/s", "_hm3": "hm³", "_mw": "MW", "_per_mwh": "currency/MWh", "_per_hm3": "currency/hm³",
    "_cost": "currency", "_s": "s", "_id": "1", "_fraction": "1", "_factor": "1",
}  # fmt: skip


@pytest.mark.parametrize("name", [*TABLES, "cuts"])
def test_every_column_says_unit_and_meaning(name):
    schema = TABLES.get(name, CUTS)
    for field in schema:
        assert field.metadata[b"unit"].decode(), field.name
        assert field.metadata[b"description"].decode().endswith("."), field.name


@pytest.mark.parametrize("name", TABLES)
def test_names_carry_the_unit_that_the_metadata_say(name):
    for field in TABLES[name]:
        suffix = max((s for s in SUFFIX_UNITS if field.name.endswith(s)), key=len, default=None)
        if suffix is not None:
            assert field.metadata[b"unit"].decode() == SUFFIX_UNITS[suffix], field.name


@pytest.mark.parametrize("name", TABLES)
def test_every_table_says_its_name_version_index_and_folder(name):
    metadata = TABLES[name].metadata
    assert metadata[b"pycobre.table"].decode() == name
    assert metadata[b"pycobre.format_version"].decode() == str(FORMAT_VERSION)
    index = index_of(TABLES[name])
    assert tuple(TABLES[name].names[: len(index)]) == index
    assert FOLDERS[name] in ("training", "system", "stochastic", "production", "simulation")


def test_every_cost_term_and_recovery_step_has_a_column():
    assert {f"{term}_cost" for term in COST_TERMS} <= set(TABLES["costs"].names)
    assert sum(name.startswith("recoveries_") for name in TABLES["convergence"].names) == len(LADDER)


def test_times_stand_in_timing_alone():
    timed = {name for name, schema in TABLES.items() for f in schema if f.metadata[b"unit"] == b"s"}
    assert timed == {"timing"}
