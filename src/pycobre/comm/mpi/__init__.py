"""Ranks that an MPI launcher has started, over mpi4py; importing this loads MPI, but does not initialise it.

=============  ====================================================================================
module         holds
=============  ====================================================================================
library        mpi4py itself, and what to do where it can't be had
joining        the first meeting of a job's ranks, which has a limit
waiting        the loop that completes a request: busy for a moment, then asleep for longer and longer
meeting        every collective's first exchange: all calls and small payloads to all ranks
exchange       large payloads, straight between the arrays
notices        a second communicator for bad news; the verdict that all ranks share
window         shared regions
ending         how a process ends that did not leave its group in order
communicator   the backend
=============  ====================================================================================
"""

from pycobre.comm.mpi.communicator import MpiCommunicator as MpiCommunicator
