"""The command line: what it prints, what it ends with."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from pycobre.app.request import RunRequest
from pycobre.app.runs import _fail
from pycobre.errors import StageProblemError
from pycobre.results import Results, read_policy

RESULT_KEYS = {
    "status", "reason", "iterations", "lower_bound", "simulated_mean", "simulated_ci95", "lp_solves",
    "train_s", "simulate_s", "cpu_s", "output",
}  # fmt: skip


@pytest.mark.parametrize("how", [(), ("--ranks", 1), ("--ranks", 2), ("--ranks", 3, "--backend", "tcp")])
def test_json_has_one_object_a_line_and_a_result_last(pycobre_run, last_record, toy, tmp_path, how):
    ran = pycobre_run("run", toy, "--out", tmp_path / "out", "--json", *how)
    assert ran.returncode == 0, ran.stderr
    result = last_record(ran.stdout)
    assert result["type"] == "result"
    assert set(result) >= RESULT_KEYS
    assert result["status"] == "done"
    assert result["lower_bound"] == pytest.approx(25000 / 3, abs=1e-4)
    assert result["bound_holds"] is True
    kinds = [json.loads(line)["type"] for line in ran.stdout.splitlines()]
    assert kinds[0] == "started"
    assert kinds.count("iteration") == result["iterations"]
    assert {json.loads(line)["rank"] for line in ran.stdout.splitlines()} == {0}
    assert kinds[-1] == "result"
    assert "lower bound" in ran.stderr  # prose, apart from the objects
    assert Results.open(tmp_path / "out").status == "complete"


@pytest.mark.parametrize("how", [(), ("--ranks", "2")])
def test_a_reader_that_leaves_ends_the_run_as_it_ends_any_command(toy, tmp_path, how):
    """As with ``| head``: no traceback, and no talk of bugs."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pycobre.app.cli", "run", str(toy), "--out", str(out), "--json", *how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        assert ran.stdout is not None
        assert ran.stdout.readline().startswith(b"{")
        ran.stdout.close()
        assert ran.stderr is not None
        told = ran.stderr.read().decode()
        assert ran.wait(60) != 0
    assert "bug" not in told
    assert "Traceback" not in told


def test_a_risk_averse_bound_is_labelled_and_not_compared(pycobre_run, last_record, toy, tmp_path):
    """With the dearest third alone it never rains: 150 MW at 50, then 100 at 100, and the water at last."""
    case = tmp_path / "toy"
    shutil.copytree(toy, case)
    stages = json.loads((case / "stages.json").read_text())
    for stage in stages["stages"]:
        stage["risk_measure"] = {"cvar": {"alpha": 1.0 / 3.0, "lambda": 1.0}}
    (case / "stages.json").write_text(json.dumps(stages))
    ran = pycobre_run("run", case, "--out", tmp_path / "out", "--json")
    assert ran.returncode == 0, ran.stderr
    result = last_record(ran.stdout)
    assert result["lower_bound"] == pytest.approx(17500.0)
    assert result["simulated_mean"] < 17500.0
    assert (result["risk_averse"], result["bound_holds"]) == (True, None)
    costs = Results.open(tmp_path / "out").scenarios.to_pandas()["cost"].sort_values(ascending=False)
    share = np.clip(len(costs) / 3.0 - np.arange(len(costs)), 0.0, 1.0)
    assert result["simulated_risk_adjusted"] == pytest.approx(costs @ share / share.sum())
    assert "risk-averse" in ran.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["run"]["risk_averse"] is True
    stages["stages"][0]["risk_measure"] = "expectation"
    (case / "stages.json").write_text(json.dumps(stages))
    mixed = pycobre_run("run", case, "--out", tmp_path / "mixed", "--json")
    assert last_record(mixed.stdout)["simulated_risk_adjusted"] is None  # no one measure of all stages


def test_pipe_gets_a_table_of_fixed_width(pycobre_run, toy, tmp_path):
    ran = pycobre_run("run", toy, "--out", tmp_path / "out", "--set", "training.iterations=3")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    header = next(k for k, line in enumerate(lines) if "lower bound" in line)
    rows = lines[header + 1 : header + 4]
    assert [int(row.split()[0]) for row in rows] == [1, 2, 3]
    assert {len(row) for row in rows} == {len(lines[header])}
    assert "\x1b" not in ran.stdout


def test_results_are_not_replaced_without_force(pycobre_run, last_record, toy, tmp_path):
    out = tmp_path / "out"
    assert pycobre_run("run", toy, "--out", out).returncode == 0
    for ranks in (1, 2):
        again = pycobre_run("run", toy, "--out", out, "--ranks", ranks, "--json")
        assert again.returncode == 7
        assert "force" in again.stderr
        assert last_record(again.stdout)["status"] == "failed"
    assert pycobre_run("run", toy, "--out", out, "--force").returncode == 0


def test_no_simulation_trains_only(pycobre_run, last_record, toy, tmp_path):
    ran = pycobre_run("run", toy, "--out", tmp_path / "out", "--no-simulation", "--json")
    result = last_record(ran.stdout)
    assert result["simulated_mean"] is None
    assert "costs" not in Results.open(tmp_path / "out").tables


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--ranks", 0), 2, "--ranks"),
        (("--set", "nonsense"), 2, "KEY=VALUE"),
        (("--solver", "simplex"), 2, "dense, highs"),
        (("--backend", "smoke"), 5, "smoke"),
        (("--backend", "tcp"), 5, "COBRE_TCP_RANK"),
        (("--backend", "mpi", "--ranks", 2), 5, "mpiexec -n 2 pycobre run"),
        (("--backend", "local", "--ranks", 2), 5, "shm"),
        (("--set", "training.forward_passes=0"), 3, "forward_passes"),
        (("--set", "training.forward_pases=4"), 3, "forward_pases"),
        (("--ranks", 2, "--set", "training.forward_passes=0"), 3, "forward_passes"),
    ],
)
def test_mistake_ends_with_its_code_and_says_so(pycobre_run, toy, tmp_path, arguments, code, words):
    ran = pycobre_run("run", toy, "--out", tmp_path / "out", *arguments)
    assert ran.returncode == code, ran.stderr
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not list(tmp_path.iterdir())


def test_validate_lists_every_problem_by_file(pycobre_run, last_record, toy, tmp_path):
    case = tmp_path / "case"
    shutil.copytree(toy, case)
    hydros = json.loads((case / "system" / "hydros.json").read_text())
    hydros["hydros"][0]["reservoir"]["max_storage_hm3"] = 1.0
    (case / "system" / "hydros.json").write_text(json.dumps(hydros))
    (case / "scenarios" / "load_seasonal_stats.parquet").write_bytes(b"not parquet")
    ran = pycobre_run("validate", case)
    assert ran.returncode == 3
    for word in ("initial_conditions.json", "load_seasonal_stats.parquet", "hydro 0", "problems"):
        assert word in ran.stdout
    told = pycobre_run("validate", case, "--json")
    assert told.returncode == 3
    assert last_record(told.stdout)["status"] == "failed"
    assert pycobre_run("validate", toy).returncode == 0


def test_validate_finds_scenarios_that_a_run_would_refuse(pycobre_run, toy, tmp_path):
    case = tmp_path / "case"
    shutil.copytree(toy, case)
    place = case / "scenarios" / "inflow_seasonal_stats.parquet"
    stats = pq.read_table(place)
    column = stats.schema.get_field_index("std_m3s")
    certain = stats.set_column(column, stats.schema.field(column), pa.array([0.0] * stats.num_rows))
    pq.write_table(certain, place)
    given = [{"scenario_id": 0, **row, "value_m3s": 1.0} for row in stats.to_pylist()]
    names = {
        "scenario_id": pa.int32(),
        "stage_id": pa.int32(),
        "hydro_id": pa.int32(),
        "value_m3s": pa.float64(),
    }
    table = pa.table({name: pa.array([row[name] for row in given], type) for name, type in names.items()})
    pq.write_table(table, place.with_name("external_inflow_scenarios.parquet"))
    external = "simulation.scenario_source.inflow.scheme=external"
    told = pycobre_run("validate", case, "--set", external)
    assert told.returncode == 3
    assert "can't be replayed: hydro 0 is certain in stage 0" in told.stdout
    assert pycobre_run("run", case, "--out", tmp_path / "out", "--set", external).returncode == 3


def test_validate_says_what_to_do_with_a_case_of_the_old_format(pycobre_run, toy, tmp_path):
    case = tmp_path / "case"
    shutil.copytree(toy, case)
    stages = json.loads((case / "stages.json").read_text())
    for stage in stages["stages"]:
        stage["num_scenarios"] = stage.pop("num_openings")
    (case / "stages.json").write_text(json.dumps(stages))
    assert "pycobre migrate OLD NEW" in pycobre_run("validate", case).stdout


def test_check_tells_of_results_that_were_changed_or_are_none(pycobre_run, toy, tmp_path):
    out = tmp_path / "out"
    assert pycobre_run("run", toy, "--out", out).returncode == 0
    table = out / "simulation" / "buses.parquet"
    table.write_bytes(table.read_bytes()[:-1])
    for results, words in ((out, "buses.parquet was changed"), (tmp_path, "no results")):
        ran = pycobre_run("check", results)
        assert ran.returncode == 7
        assert words in ran.stderr


def test_init_writes_a_case_that_runs(pycobre_run, tmp_path):
    case = tmp_path / "mine"
    assert pycobre_run("init", case).returncode == 0
    assert pycobre_run("run", case).returncode == 0
    assert Results.open(case / "output").status == "complete"
    checked = pycobre_run("check", case / "output")
    assert checked.returncode == 0, checked.stderr
    assert "water" in checked.stdout
    again = pycobre_run("init", case)
    assert again.returncode == 2
    assert "not empty" in again.stderr
    assert pycobre_run("init", tmp_path / "other", "--template", "nothing").returncode == 2


def test_version_names_what_results_depend_on(pycobre_run):
    assert "highs" in pycobre_run("version").stdout
    assert json.loads(pycobre_run("version", "--json").stdout)["backends"][-1] == "local"


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_keeps_the_policy_of_finished_iterations(toy, tmp_path, ranks, number):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pycobre.app.cli", "run", str(toy), "--out", str(out), "--json"]
    command += ["--ranks", str(ranks), "--set", "training.iterations=1000000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        while json.loads(process.stdout.readline()).get("iteration", 0) < 20:
            pass
        asked = time.monotonic()
        process.send_signal(number)
        told, errors = process.communicate(timeout=60)
        assert time.monotonic() - asked < 20
    finally:
        process.kill()
        process.wait()
    assert process.returncode in (130, -number, 128 + number), errors
    result = json.loads(told.splitlines()[-1])
    assert result["status"] == "interrupted"
    policy = read_policy(out)
    assert policy.iterations >= 20
    assert Results.open(out).status == "interrupted"


@pytest.mark.parametrize("ranks", [1, 2])
def test_infeasible_stage_names_its_place_and_rows(pycobre_run, last_record, infeasible, tmp_path, ranks):
    ran = pycobre_run("run", infeasible, "--out", tmp_path / "out", "--ranks", ranks, "--json")
    assert ran.returncode == 4
    assert "infeasible" in ran.stderr
    assert "water balance of hydro 0" in ran.stderr
    assert "stage 0, iteration 1" in ran.stderr
    record = last_record(ran.stdout)
    assert record["status"] == "failed"
    if ranks == 2:
        assert record["error"] == "WorkerError"
        assert record["cause"].startswith("StageProblemError: the problem of stage 0")
    dumps = list((tmp_path / "out.dump").iterdir())
    assert "water_hm3[hydro_0]" in dumps[0].read_text()
    assert not (tmp_path / "out").exists()  # not one iteration was finished


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_simulation_that_fails_names_its_scenario_and_where_the_policy_is(
    pycobre_run, last_record, toy, tmp_path, ranks
):
    arguments = ["run", toy, "--out", tmp_path / "out", "--ranks", ranks, "--json"]
    # Noise of a normal distribution makes inflows negative, which the openings of the toy never do.
    ran = pycobre_run(*arguments, "--set", "simulation.scenario_source.inflow.scheme=out_of_sample")
    assert ran.returncode == 4
    assert re.search(r"the problem of stage \d, simulated scenario \d+(, rank \d)? is infeasible", ran.stderr)
    assert f"the policy of 20 finished iterations is in {tmp_path / 'out'}" in ran.stderr
    assert read_policy(tmp_path / "out").iterations == 20
    dumps = [path.name for path in (tmp_path / "out.dump").iterdir()]
    assert all(re.fullmatch(r"stage\d_scenario\d+\.mps", name) for name in dumps), dumps


def test_failing_rank_is_named_with_its_reason(toy, tmp_path):
    """A rank is killed from outside: the launcher names it, and the others leave nothing running."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pycobre.app.cli", "run", str(toy), "--out", str(out), "--json"]
    command += ["--ranks", "3", "--set", "training.iterations=1000000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        while json.loads(process.stdout.readline()).get("iteration", 0) < 20:
            pass
        ranks = children_of(process.pid)
        assert len(ranks) == 3
        victim = ranks[1]
        os.kill(victim, signal.SIGKILL)
        told, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + signal.SIGKILL
    assert "rank 1 was killed by signal 9" in errors
    result = json.loads(told.splitlines()[-1])
    assert (result["status"], result["rank"]) == ("failed", 1)
    assert not [pid for pid in ranks if Path(f"/proc/{pid}").exists()]
    assert read_policy(out).iterations >= 20  # rank 0 wrote down what there was
    assert Results.open(out).status == "failed"


def children_of(pid: int) -> list[int]:
    """Direct child processes of *pid*, in the order in which they were started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("launcher", ["shm", "torchrun", "srun"])
def test_one_rank_of_another_launcher_speaks(ranks_by_hand, toy, tmp_path, launcher):
    told, codes = ranks_by_hand(launcher, "run", toy, "--out", tmp_path / "out", "--json")
    assert codes == [0, 0], told
    assert json.loads(told[0][0].splitlines()[-1])["status"] == "done"
    assert told[1] == ("", "")


@pytest.mark.parametrize("launcher", ["shm", "torchrun"])
def test_ranks_of_another_launcher_fail_together_and_rank_0_says_why(ranks_by_hand, toy, tmp_path, launcher):
    arguments = ["run", toy, "--out", tmp_path / "out", "--json", "--set", "training.forward_passes=0"]
    told, codes = ranks_by_hand(launcher, *arguments)
    assert (codes[0], codes[1] in (3, 5)) == (3, True), told
    assert "forward_passes" in told[0][1]
    assert json.loads(told[0][0])["status"] == "failed"
    assert told[1] == ("", "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            StageProblemError(stage=3, status="infeasible", rank=1),
            "the problem of stage 3, rank 1 is infeasible",
        ),
        (StageProblemError(stage=3, status="infeasible"), "rank 1: the problem of stage 3 is infeasible"),
    ],
    ids=["named", "unnamed"],
)
def test_the_rank_of_an_error_is_told_once(capsys, tmp_path, error, said):
    with pytest.raises(typer.Exit):
        _fail(error, 1, RunRequest.of(tmp_path, None), False)
    assert capsys.readouterr().err == f"pycobre: {said}\n"


@pytest.mark.parametrize(("broken", "code"), [(False, 0), (True, 4)], ids=["well", "failing"])
def test_mpiexec_runs_one_rank_a_process_and_ends_with_the_code(mpi, toy, infeasible, tmp_path, broken, code):
    case = infeasible if broken else toy
    arguments = ["-m", "pycobre.app.cli", "run", case, "--out", tmp_path / "out", "--json"]
    job = mpi.run(2, arguments, limit_secs=90)
    assert job.returncode == code, job.stderr
    records = [json.loads(line) for line in job.stdout.splitlines() if line.startswith("{")]
    assert (records[0]["type"], records[0]["backend"], records[0]["ranks"]) == ("started", "mpi", 2)
    assert {record["rank"] for record in records if "rank" in record} <= {0, None}
    told = [line for line in job.stderr.splitlines() if "is infeasible" in line]
    if broken:  # perhaps on both ranks, of problems of their own
        assert 1 <= len(told) == len({line.partition("is infeasible")[0][-45:] for line in told}), job.stderr
    else:
        assert (records[-1]["status"], told) == ("done", [])


def test_mpiexec_writes_the_table_to_a_file_whatever_it_gives_its_ranks(mpi, toy, tmp_path):
    job = mpi.run(2, ["-m", "pycobre.app.cli", "run", toy, "--out", tmp_path / "results"], limit_secs=90)
    assert job.returncode == 0, job.stderr
    assert re.search("^iteration +lower bound", job.stdout, re.MULTILINE)
    assert "\x1b" not in job.stdout
