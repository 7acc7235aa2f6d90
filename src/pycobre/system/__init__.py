"""The power system that is planned: frozen entities, stages, statistics. It knows no file and no LP."""

from pycobre.system.calendar import Block as Block
from pycobre.system.calendar import Stage as Stage
from pycobre.system.changes import ALWAYS as ALWAYS
from pycobre.system.changes import Changes as Changes
from pycobre.system.changes import Service as Service
from pycobre.system.entities import Bus as Bus
from pycobre.system.entities import ConstantProductivity as ConstantProductivity
from pycobre.system.entities import DeficitSegment as DeficitSegment
from pycobre.system.entities import Hydro as Hydro
from pycobre.system.entities import HydroPenalties as HydroPenalties
from pycobre.system.entities import Line as Line
from pycobre.system.entities import ProductionModel as ProductionModel
from pycobre.system.entities import ProductionPlane as ProductionPlane
from pycobre.system.entities import ProductionPlanes as ProductionPlanes
from pycobre.system.entities import Source as Source
from pycobre.system.entities import Thermal as Thermal
from pycobre.system.network import System as System
from pycobre.system.network import hm3_per_m3s as hm3_per_m3s
from pycobre.system.uncertainty import Correlation as Correlation
from pycobre.system.uncertainty import InflowRecursion as InflowRecursion
from pycobre.system.uncertainty import InflowStatistics as InflowStatistics
from pycobre.system.uncertainty import LoadStatistics as LoadStatistics
from pycobre.system.uncertainty import SourceStatistics as SourceStatistics
