"""A case that comes from Python instead of a directory."""

from __future__ import annotations

from collections.abc import Sequence

from pycobre.case import files
from pycobre.case.findings import Findings
from pycobre.case.load import Case
from pycobre.case.options import Schemes, StudyOptions
from pycobre.case.tables import FloatArray
from pycobre.case.unsupported import UNSUPPORTED
from pycobre.errors import CaseError
from pycobre.system import System


def given_case(
    system: System, options: StudyOptions | None = None, openings: Sequence[FloatArray] | None = None
) -> Case:
    """Case without a directory: *system*, trained and simulated by *options*, or their defaults.

    Parameters
    ----------
    openings
        Given noise, one (openings, noise dimension) array a stage; drawn if left out.

    Raises
    ------
    CaseError
        The options ask for scenarios, or the openings do not fit.
    """
    chosen, findings = options or StudyOptions(), Findings()
    for field in ("training_schemes", "simulation_schemes"):
        if not {"external", "historical"}.isdisjoint(vars(getattr(chosen, field)).values()):
            message = "replays scenarios, which are no part of a system"
            findings.add(UNSUPPORTED, files.CONFIG, message, field=field, hint=f"such as {Schemes()}")
    shapes = [(stage.num_openings, system.noise_dimension) for stage in system.stages]
    if openings is not None and [noise.shape for noise in openings] != shapes:
        message = f"must have the shapes {shapes}, got {[noise.shape for noise in openings]}"
        findings.add("dimension", files.NOISE_OPENINGS, message, field="openings")
    if findings.errors:
        raise CaseError(findings.errors)
    return Case(
        path=None,
        system=system,
        options=chosen,
        openings=None if openings is None else tuple(openings),
        scenarios={},
        warnings=(),
    )
