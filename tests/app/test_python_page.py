"""The page on Python holds a program that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pycobre
from pycobre.results import Results, digest
from pycobre.system import System

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture
def names(tmp_path, monkeypatch, capsys):
    """Everything that the page's program leaves behind, and what it printed."""
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(program, str(PAGE), "exec"), names)
    return {**names, "printed": capsys.readouterr().out}


def test_the_program_trains_and_writes_what_it_says(names, tmp_path):
    lines = names["printed"].splitlines()
    assert lines[0] == "System(3 stages from 2025-01-01 to 2025-04-01, 1 bus, 2 thermals, 1 hydro)"
    assert lines[1] == "['hydro 0, storage_max_hm3: 160.0, not 600.0']"
    (low, _, _), (high, _, _) = (map(float, line.split()) for line in lines[2:])
    assert 0.0 < high < low
    system = names["higher"]
    assert isinstance(system, System)
    case = pycobre.load_case(tmp_path / "higher")
    assert case.system.differences(system) == []
    assert case.options == names["options"]
    # The same study from files, on two workers, has the same bits.
    started = []
    pycobre.train(
        system, names["options"], num_workers=2, simulation=True, output="two", on_event=started.append
    )
    assert digest("two") == digest("study-600")
    # Where the workers found it is of no use to anybody afterwards.
    assert started[0].case == str(system)
    for output in ("study-600", "two"):
        run = Results.open(output).manifest["run"]
        assert (run["case"], run["system"], run["warnings"]) == (None, str(system), [])


def test_a_directory_has_no_options_and_a_system_no_overrides(names):
    with pytest.raises(TypeError, match="a case directory has its own"):
        pycobre.train("higher", names["options"])
    with pytest.raises(TypeError, match="give a system other options"):
        pycobre.train(names["system"], overrides={"training.iterations": 1})
