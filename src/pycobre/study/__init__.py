"""The one place where the rooms meet: a case becomes a policy graph, is trained, simulated, written down.

Every rank runs the same :meth:`Study.run` with its own communicator and sees the same events; rank 0
writes the results.
"""

from pycobre.study.events import RunFinished as RunFinished
from pycobre.study.events import RunSettings as RunSettings
from pycobre.study.events import SimulationProgress as SimulationProgress
from pycobre.study.events import StudyEvent as StudyEvent
from pycobre.study.events import StudyStarted as StudyStarted
from pycobre.study.study import Study as Study
