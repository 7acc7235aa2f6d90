"""Cases of Cobre 0.5.1 turned into the 0.18 format."""

from pycobre.case.migration.draft import Change as Change
from pycobre.case.migration.migrate import migrate as migrate
