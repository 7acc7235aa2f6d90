"""Case directories in Cobre's 0.18 format: read, checked in full, turned into a power system, and written."""

from pycobre.case.fitting import Fit as Fit
from pycobre.case.given import given_case as given_case
from pycobre.case.load import Case as Case
from pycobre.case.load import check_case as check_case
from pycobre.case.load import load_case as load_case
from pycobre.case.migration import Change as Change
from pycobre.case.migration import migrate as migrate
from pycobre.case.options import BoundStallingOption as BoundStallingOption
from pycobre.case.options import RowOption as RowOption
from pycobre.case.options import Schemes as Schemes
from pycobre.case.options import StudyOptions as StudyOptions
from pycobre.case.renames import seem_old as seem_old
from pycobre.case.schema import export_schemas as export_schemas
from pycobre.case.write import write_case as write_case
