"""The SDDP engine: graph, cuts, training, simulation. It knows no hydro plant and no file."""

from pycobre.sddp.cuts import CutPool as CutPool
from pycobre.sddp.cuts import NodeCuts as NodeCuts
from pycobre.sddp.events import IterationFinished as IterationFinished
from pycobre.sddp.events import TrainingEvent as TrainingEvent
from pycobre.sddp.events import TrainingFinished as TrainingFinished
from pycobre.sddp.events import TrainingStarted as TrainingStarted
from pycobre.sddp.floor import NoiseFloor as NoiseFloor
from pycobre.sddp.graph import ROOT as ROOT
from pycobre.sddp.graph import Arc as Arc
from pycobre.sddp.graph import Node as Node
from pycobre.sddp.graph import PolicyGraph as PolicyGraph
from pycobre.sddp.policy import Policy as Policy
from pycobre.sddp.risk import Cvar as Cvar
from pycobre.sddp.selection import RowSelection as RowSelection
from pycobre.sddp.simulate import SimulatedRound as SimulatedRound
from pycobre.sddp.simulate import SimulationSummary as SimulationSummary
from pycobre.sddp.simulate import simulate as simulate
from pycobre.sddp.source import NoiseSource as NoiseSource
from pycobre.sddp.stopping import BoundStalling as BoundStalling
from pycobre.sddp.stopping import IterationLimit as IterationLimit
from pycobre.sddp.stopping import Stopping as Stopping
from pycobre.sddp.stopping import TimeLimit as TimeLimit
from pycobre.sddp.train import TrainingSettings as TrainingSettings
from pycobre.sddp.train import train as train
from pycobre.sddp.work import gather as gather
