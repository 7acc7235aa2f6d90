"""Results are there whole or not at all, replace nothing that must stay, and survive a failure."""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pycobre.errors import ResultsError
from pycobre.results import Results, ResultsWriter, digest, read_policy
from pycobre.results import parquet as parquet_module


def files(directory: Path) -> dict[str, bytes]:
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


@pytest.fixture
def deliver(study, tmp_path):
    """Writes the convergence of a study to ``out``, then does something (fails, say), and does not finish."""

    def deliver_after(then, done=None, **options):
        with ResultsWriter(tmp_path / "out", **options) as writer:
            writer.convergence(study.policy.history[:done])
            then(writer)

    return deliver_after


def fail(error):
    def raise_it(_):
        raise error

    return raise_it


def test_everything_is_written_and_nothing_is_left_beside(write, tmp_path):
    place = write()
    assert place == tmp_path / "out"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    manifest = json.loads((place / "manifest.json").read_text())
    assert set(manifest["files"]) == set(files(place)) - {"manifest.json"}
    assert manifest["status"] == "complete"
    assert manifest["run"] == {"ranks": 1}
    assert manifest["tables"]["hydros"] == {"file": "simulation/hydros.parquet", "rows": 7 * 5 * 2}
    Results.open(place).verify()


def test_two_writes_are_the_same_bytes(write):
    assert files(write("a")) == files(write("b"))


def test_rounds_do_not_show_in_the_bytes(write, study, cut_round, monkeypatch):
    monkeypatch.setattr(parquet_module, "ROWS_A_GROUP", 13)
    whole = write("whole")
    rounds = [cut_round(study.round, *part) for part in ((0, 1), (1, 5), (5, 7))]
    parts = write("parts", rounds=rounds)
    assert files(whole) == files(parts)
    assert digest(whole) == digest(parts)
    groups = pq.ParquetFile(parts / "simulation/hydros.parquet")
    sizes = [groups.metadata.row_group(g).num_rows for g in range(groups.num_row_groups)]
    groups.close()
    assert sizes == [13, 13, 13, 13, 13, 5]


def test_tables_come_back_as_they_were(write, study):
    reservoirs = Results.open(write()).reservoirs.to_arrow().to_pandas()
    first = reservoirs[reservoirs.stage_id == 10]
    np.testing.assert_array_equal(first.storage_initial_hm3, np.tile([150.0, 60.0], 7))


def test_results_that_are_there_are_refused_before_any_work(write, tmp_path):
    before = files(write())
    with pytest.raises(ResultsError, match="already holds results"):
        ResultsWriter(tmp_path / "out")
    assert files(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_force_replaces_results_only_at_the_end(write, tmp_path, study):
    write(reason="first")
    with ResultsWriter(tmp_path / "out", force=True) as writer:
        writer.convergence(study.policy.history)
        assert Results.open(tmp_path / "out").manifest["reason"] == "first"
        writer.finish(reason="second")
    assert Results.open(tmp_path / "out").manifest["reason"] == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("manifest", [None, "{}", "not json", '{"format": "other"}'])
def test_force_never_replaces_what_is_not_ours(tmp_path, manifest):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    if manifest is not None:
        (tmp_path / "out" / "manifest.json").write_text(manifest)
    with pytest.raises(ResultsError, match="no results of pycobre"):
        ResultsWriter(tmp_path / "out", force=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "years of work"


def test_what_appears_meanwhile_is_not_replaced_and_nothing_is_lost(tmp_path, deliver):
    def intrude(writer):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis.tex").write_text("years of work")
        writer.finish()

    with pytest.raises(ResultsError, match="no results of pycobre") as caught:
        deliver(intrude, force=True)
    assert (tmp_path / "out" / "thesis.tex").exists()
    (kept,) = tmp_path.glob("out.undelivered-*")
    assert caught.value.__notes__ == [f"the results are in {kept}"]
    assert Results.open(kept).convergence.rows == 4


def test_an_empty_directory_is_taken(write, tmp_path):
    (tmp_path / "out").mkdir()
    assert Results.open(write()).status == "complete"


def test_a_file_or_a_place_without_room_for_a_sibling_is_refused(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(ResultsError, match="is a file"):
        ResultsWriter(tmp_path / "out", force=True)
    with pytest.raises(ResultsError, match="name a directory inside it"):
        ResultsWriter("/")
    with pytest.raises(ResultsError, match=r"can't create .*: Not a directory") as caught:
        ResultsWriter(tmp_path / "out" / "below" / "deep")
    assert caught.value.errno is not None


def test_a_link_stays_a_link(write, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    write()
    assert (tmp_path / "out").is_symlink()
    assert Results.open(tmp_path / "real").status == "complete"


def test_a_failure_keeps_policy_convergence_and_finished_rounds(tmp_path, study, cut_round, deliver):
    def give_up(writer):
        writer.policy(study.policy, study.system, study.recursion)
        writer.simulation_round(study.system, study.recursion, study.models, cut_round(study.round, 0, 3))
        raise RuntimeError("the solver gave up")

    with pytest.raises(RuntimeError, match="solver") as caught:
        deliver(give_up)
    assert str(tmp_path / "out") in caught.value.__notes__[0]
    results = Results.open(tmp_path / "out")
    assert (results.status, results.manifest["reason"]) == ("failed", "RuntimeError: the solver gave up")
    assert results.policy().iterations == 4
    assert results.scenarios.rows == 3
    results.verify()


def test_ctrl_c_delivers_as_interrupted(tmp_path, deliver):
    with pytest.raises(KeyboardInterrupt):
        deliver(fail(KeyboardInterrupt()))
    results = Results.open(tmp_path / "out")
    assert (results.status, results.manifest["reason"]) == ("interrupted", "KeyboardInterrupt")


def test_a_failed_run_stands_beside_a_complete_one(write, tmp_path, deliver):
    write()
    for done in (1, 2):
        with pytest.raises(RuntimeError):
            deliver(fail(RuntimeError()), done, force=True)
    assert Results.open(tmp_path / "out").status == "complete"
    assert Results.open(tmp_path / "out.failed").convergence.rows == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.failed"]


def test_a_failure_before_anything_leaves_nothing(tmp_path, study):
    def fail_early():
        with ResultsWriter(tmp_path / "out") as writer:
            writer.system(study.system)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_early()
    assert list(tmp_path.iterdir()) == []


def test_abandoning_leaves_nothing_and_ends_the_writer(tmp_path, study):
    writer = ResultsWriter(tmp_path / "out")
    writer.convergence(study.policy.history)
    writer.abandon()
    writer.abandon()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ResultsError, match="finished"):
        writer.finish()


def test_later_histories_and_policies_replace_earlier_ones(tmp_path, study):
    with ResultsWriter(tmp_path / "out") as writer:
        for done in (1, 4):
            writer.convergence(study.policy.history[:done])
            writer.policy(study.policy, study.system, study.recursion)
        place = writer.finish()
    assert Results.open(place).convergence.rows == 4
    assert {p.name for p in (place / "policy").iterdir()} == {"cuts.arrow", "policy.json"}


def test_an_unknown_status_is_refused(tmp_path):
    with pytest.raises(ValueError, match="status must be one of"), ResultsWriter(tmp_path / "out") as writer:
        writer.finish(status="fine")


def test_a_full_disk_is_named_and_what_fits_is_kept(tmp_path, study, write, monkeypatch):
    """A limit on the size of files stands for a full disk: the tables of the simulation do not fit."""
    monkeypatch.setattr(parquet_module, "ROWS_A_GROUP", 8)
    whole = write("whole")
    limit = (whole / "simulation/hydros.parquet").stat().st_size - 100
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        with pytest.raises(ResultsError, match=r"can't write .*: File too large") as caught:
            write("out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert caught.value.errno is not None
    results = Results.open(tmp_path / "out")
    assert results.status == "failed"
    assert results.policy().iterations == 4
    assert "File too large" in results.manifest["lost"]["hydros"]
    assert "hydros" not in results.tables
    assert not (tmp_path / "out" / "simulation" / "hydros.parquet").exists()
    results.verify()
    with pytest.raises(ResultsError, match="could not be written"):
        results.table("hydros")


WRITES_UNTIL_KILLED = """
import sys, time
from pycobre.lp import LADDER
from pycobre.results import ResultsWriter
from pycobre.sddp import IterationFinished
recoveries = (0,) * len(LADDER)
writer = ResultsWriter(sys.argv[1], force=True)
for iteration in range(1, 10**9):
    done = IterationFinished(0, iteration, 1.0, 1.0, 0.0, 1, 1, 1, recoveries, 0, 0.0, 0.0, 0.0, 0.0)
    writer.convergence([done])
    print(iteration, flush=True)
"""


@pytest.fixture
def writing(tmp_path):
    """A process that is in the middle of writing ``out``."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES_UNTIL_KILLED, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line == "5\n":
            break
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_kill_leaves_no_output_and_the_next_run_cleans_up(writing, tmp_path, write):
    writing.kill()
    writing.wait()
    assert not (tmp_path / "out").exists()
    assert len(list(tmp_path.glob(".out.partial-*"))) == 1
    write()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_kill_leaves_earlier_results_as_they_were(write, tmp_path):
    before = files(write())
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES_UNTIL_KILLED, str(tmp_path / "out")], stdout=subprocess.PIPE
    )
    with process:
        process.stdout.readline()
        process.kill()
    assert files(tmp_path / "out") == before


def test_a_living_run_is_not_cleaned_up(writing, tmp_path, write):
    write("other")
    write()
    assert writing.poll() is None
    assert len(list(tmp_path.glob(".out.partial-*"))) == 1
    for line in writing.stdout:  # it still writes
        if int(line) > 50:
            break


def test_a_kill_between_the_two_renames_is_healed(write, tmp_path):
    place = write()
    name = ResultsWriter(tmp_path / "x")
    host = name._staging.path.name.removeprefix(".x.partial-").rsplit("-", 2)[0]
    name.abandon()
    place.rename(tmp_path / f".out.replaced-{host}-4194999-0123abcd")
    with pytest.raises(ResultsError, match="already holds results"):
        ResultsWriter(tmp_path / "out")
    assert Results.open(tmp_path / "out").status == "complete"


def test_the_policy_of_a_results_directory_is_read_by_either_path(write):
    place = write()
    assert read_policy(place).cuts.equals(read_policy(place / "policy").cuts)
