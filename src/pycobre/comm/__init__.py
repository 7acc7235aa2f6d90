"""Ranks that work together: a small contract, a backend for every place, and the proof that they keep it."""

from pycobre.comm.base import Backend as Backend
from pycobre.comm.base import BackendKind as BackendKind
from pycobre.comm.base import Communicator as Communicator
from pycobre.comm.base import ReduceOp as ReduceOp
from pycobre.comm.base import SharedMemoryProvider as SharedMemoryProvider
from pycobre.comm.base import SharedRegion as SharedRegion
from pycobre.comm.connect import available_backends as available_backends
from pycobre.comm.connect import create_communicator as create_communicator
from pycobre.comm.heap import HeapRegion as HeapRegion
from pycobre.comm.launch import Launch as Launch
from pycobre.comm.launch import launch as launch
from pycobre.comm.launched import LauncherPipe as LauncherPipe
from pycobre.comm.launched import follow_launcher as follow_launcher
from pycobre.comm.launched import launcher_pipe as launcher_pipe
from pycobre.comm.local import LocalCommunicator as LocalCommunicator
from pycobre.comm.machine import ranks_here as ranks_here
from pycobre.comm.segment import usable_cpus as usable_cpus
from pycobre.comm.shm import ShmCommunicator as ShmCommunicator
from pycobre.comm.shm import ShmConfig as ShmConfig
