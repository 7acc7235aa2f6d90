"""A case, ready to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike

from pycobre.case import Case, StudyOptions, load_case
from pycobre.comm import Backend
from pycobre.errors import CaseError, Problem, ResultsError
from pycobre.results import ResultsWriter
from pycobre.stochastic import inflow_recursion
from pycobre.study.events import RunSettings, StudyEvent
from pycobre.study.noise import replays_of
from pycobre.study.run import Run
from pycobre.system import System


class Study:
    """A case, ready to run.

    Parameters
    ----------
    case
        The case as read.
    overrides
        Settings that were changed on top of its files, for the record.

    Raises
    ------
    CaseError
        A scenario can't be replayed.
    """

    def __init__(self, case: Case, overrides: Mapping[str, object] | None = None) -> None:
        self.case = case
        self.overrides = dict(overrides or {})
        self.recursion = inflow_recursion(case.system.inflow, case.system.stages)
        try:
            self.replays = replays_of(case, self.recursion)
        except ValueError as error:
            what = f"a scenario can't be replayed: {error}"
            raise CaseError([Problem("physics", what, "config.json", field="scenario_source")]) from error

    @classmethod
    def load(cls, path: str | PathLike[str], overrides: Mapping[str, object] | None = None) -> Study:
        """Study of the case directory *path*.

        Raises
        ------
        CaseError
            The case is wrong; all problems are listed.
        """
        return cls(load_case(path, overrides), overrides)

    @property
    def system(self) -> System:
        """The power system."""
        return self.case.system

    @property
    def options(self) -> StudyOptions:
        """How the case says that it is trained and simulated."""
        return self.case.options

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is odd about the case, but honoured."""
        return self.case.warnings

    def run(self, comm: Backend, settings: RunSettings) -> Iterator[StudyEvent]:
        """Events of a whole run: train, simulate, write.

        Every rank calls it with the same study. Whatever ends a run early, the results of the finished
        iterations are written first.

        Raises
        ------
        StageProblemError
            A stage problem has no optimum.
        CommError
            Ranks can no longer work together.
        ResultsError
            The results can't be written.
        """
        if comm.rank != 0:
            yield from self._run(comm, settings, None).events()
            return
        with ResultsWriter(settings.output, force=settings.force) as writer:
            run = self._run(comm, settings, writer)
            try:
                yield from run.events()
            except BaseException as error:
                try:
                    run.write_training()  # the writer delivers it with the error
                except ResultsError as trouble:  # the error at hand matters more
                    error.add_note(str(trouble))
                raise

    def _run(self, comm: Backend, settings: RunSettings, writer: ResultsWriter | None) -> Run:
        return Run(self.case, self.recursion, self.replays, self.overrides, comm, settings, writer)
