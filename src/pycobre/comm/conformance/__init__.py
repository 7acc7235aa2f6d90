"""What every backend promises, each promise a function that all ranks of a group run.

``python -m pycobre.comm.conformance [PROMISE ...]`` runs them on the group that the environment describes;
:func:`keep` runs them on any communicator, one written elsewhere too.
"""

from pycobre.comm.conformance import arguments as arguments
from pycobre.comm.conformance import exchange as exchange
from pycobre.comm.conformance import failures as failures
from pycobre.comm.conformance import reductions as reductions
from pycobre.comm.conformance import regions as regions
from pycobre.comm.conformance.promises import PROMISES as PROMISES
from pycobre.comm.conformance.promises import keep as keep
