"""Inflow models estimated from published histories against those that cobre-python 0.18.0 exports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import pycobre
from pycobre.case import check_case
from pycobre.case.estimation import EstimatedInflow, estimate_inflow
from pycobre.case.files import CaseFiles
from pycobre.case.findings import Findings
from pycobre.case.load import _read
from pycobre.stochastic import par

DATA = Path(__file__).parent / "data"
D12 = "d12-par-annual"


def estimated(case: Path, overrides: dict[str, object]) -> tuple[EstimatedInflow, Findings]:
    findings = Findings()
    files: CaseFiles = _read(case, overrides, findings)
    found = estimate_inflow(files, findings)
    assert found is not None
    return found, findings


def exported(name: str) -> dict[str, list[float]]:
    return pq.read_table(DATA / f"{name}_of_cobre_0.18.0.parquet").to_pydict()


def coefficients_of(name: str, hydros: int) -> list[list[list[float]]]:
    """By hydro and season; stages 0 to 11 are the months of a year in these cases."""
    result: list[list[list[float]]] = [[[] for _ in range(12)] for _ in range(hydros)]
    table = exported(name)
    rows = zip(*(table[key] for key in ("hydro_id", "stage_id", "lag", "coefficient")), strict=True)
    for hydro, stage, _, value in sorted(rows):
        result[hydro][stage].append(value)
    return result


def test_national_coefficients_agree(shared_cases: Path) -> None:
    found, _ = estimated(shared_cases / "national" / "brazil-2025-01", {"estimation.order_selection": "pacf"})
    theirs = coefficients_of("brazil-2025-01_coefficients", 159)
    for ours, of_plant in zip(found.models, theirs, strict=True):
        for model, values in zip(ours, of_plant, strict=True):
            assert model.coefficients == pytest.approx(values, abs=1e-9)
    # Three numbers of the correlation that it exports for July.
    july = found.correlation_of_season[6]
    assert july is not None
    assert [july[3, 10], july[153, 154], july.sum()] == pytest.approx(
        [0.6625135303389524, -0.27413954479551095, 1884.6033306627137], rel=1e-10
    )


def test_annual_component_agrees(shared_cases: Path) -> None:
    found, findings = estimated(shared_cases / "cobre-0.18" / D12, {})
    assert findings.warnings == ()
    for ours, of_plant in zip(found.models, coefficients_of(f"{D12}_coefficients", 2), strict=True):
        for model, values in zip(ours, of_plant, strict=True):
            assert model.coefficients == pytest.approx(values, abs=1e-12)
    table = exported(f"{D12}_annual")
    keys = ("hydro_id", "stage_id", "annual_coefficient", "annual_mean_m3s", "annual_std_m3s")
    for hydro, stage, *values in zip(*(table[key] for key in keys), strict=True):
        model = found.models[hydro][stage]
        assert [model.annual, model.annual_mean_m3s, model.annual_std_m3s] == pytest.approx(values, rel=1e-12)


def test_national_case_with_annual_component_is_mended_with_a_warning(shared_cases: Path) -> None:
    """Cobre stops at season 5 of hydro 153: its coefficients imply a negative residual variance."""
    found, findings = estimated(shared_cases / "national" / "brazil-2025-01", {})
    assert found.residual_ratio is not None
    assert np.isfinite(found.residual_ratio).all()
    assert (found.residual_ratio > 0.0).all()
    (mended,) = [warning for warning in findings.warnings if "residual variance" in warning.message]
    assert mended.entity == "hydro 153 (JURUENA)"
    assert mended.message.startswith("in seasons 5, 6 the model implied a negative residual variance")


def test_bound_with_annual_component_agrees(shared_cases: Path, tmp_path: Path) -> None:
    """On the same opening, and with inflows of zero before the two observed months, as Cobre takes them."""
    case = tmp_path / D12
    shutil.copytree(shared_cases / "cobre-0.18" / D12, case, copy_function=shutil.copyfile)
    for folder in (case, case / "scenarios"):
        folder.chmod(0o755)
    shutil.copyfile(
        DATA / f"{D12}_openings_of_cobre_0.18.0.parquet", case / "scenarios" / "noise_openings.parquet"
    )
    initial = case / "initial_conditions.json"
    content = json.loads(initial.read_text())
    content["recent_observations"] += [
        {"hydro_id": id, "start_date": "2023-01-01", "end_date": "2023-11-01", "value_m3s": 0.0}
        for id in (0, 1)
    ]
    initial.write_text(json.dumps(content))
    overrides = {"training.scenario_source.openings": {"source": "file"}}
    result = pycobre.train(case, output=tmp_path / "results", simulation=False, overrides=overrides)
    assert result.lower_bound == pytest.approx(1.660056945753247e10, rel=1e-12)
    # What the case exports: models in m³/s, and the openings as they were given.
    lags = result.results.inflow_lags.to_pandas()
    assert sorted(lags["lag"].unique()) == list(range(1, 13))
    models = result.results.inflow_models.to_pandas()
    assert len(models) == 2 * 24
    first = models[(models["hydro_id"] == 0) & (models["stage_id"] == 0)].iloc[0]
    assert first["mean_m3s"] == pytest.approx(217.4407724616189)
    given = pq.read_table(case / "scenarios" / "noise_openings.parquet").to_pydict()["value"]
    assert result.results.openings.to_pandas()["noise"].tolist() == given


def test_unobserved_lags_are_taken_at_their_seasons_means_and_named(shared_cases: Path) -> None:
    case, problems = check_case(shared_cases / "cobre-0.18" / D12)
    assert case is not None
    assert [(p.entity, p.message) for p in problems if p.field == "recent_observations"] == [
        (f"hydro {id} (H{id})", "the inflows of lags 3-12 were not observed; their seasons' means are used")
        for id in (0, 1)
    ]
    inflow = case.system.inflow
    assert inflow.past_m3s[0, :2] == pytest.approx([50.0, 45.0])
    assert inflow.past_m3s[0, 2] == pytest.approx(inflow.mean_m3s[0, 9])  # October


def test_bound_with_lags_of_unknown_statistics_agrees_but_for_the_residual_ratio(
    shared_cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three months of twelve: Cobre takes the other nine as white noise, we the three as the whole cycle."""
    name = "d19-multi-hydro-par"
    case = tmp_path / name
    shutil.copytree(shared_cases / "cobre-0.18" / name, case, copy_function=shutil.copyfile)
    (case / "scenarios").chmod(0o755)
    shutil.copyfile(
        DATA / f"{name}_openings_of_cobre_0.18.0.parquet", case / "scenarios" / "noise_openings.parquet"
    )
    overrides = {"training.scenario_source.openings": {"source": "file"}}
    theirs = 2157596.316490625
    ours = pycobre.train(case, simulation=False, overrides=overrides).lower_bound
    assert ours == pytest.approx(theirs, rel=1e-5)

    def over_twelve_months(coefficients: np.ndarray, _: object) -> np.ndarray:
        year = [np.vstack([plant, np.zeros((9, plant.shape[1]))]) for plant in coefficients]
        return np.array([np.sqrt(par.season_variance(of_plant)[:3]) for of_plant in year])

    monkeypatch.setattr(par, "residual_ratio", over_twelve_months)
    found = pycobre.train(case, simulation=False, overrides=overrides).lower_bound
    assert found == pytest.approx(theirs, rel=1e-12)
