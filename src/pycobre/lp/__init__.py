"""Stage problems: their form, the hydrothermal one, and what solves them."""

from pycobre.lp.assembly import ABSENT as ABSENT
from pycobre.lp.assembly import Assembly as Assembly
from pycobre.lp.heads import HeadSolver as HeadSolver
from pycobre.lp.highs import HighsSolver as HighsSolver
from pycobre.lp.highs import solver_version as solver_version
from pycobre.lp.hydrothermal import StageModel as StageModel
from pycobre.lp.hydrothermal import build_stages as build_stages
from pycobre.lp.ladder import LADDER as LADDER
from pycobre.lp.layout import Layout as Layout
from pycobre.lp.planes import Planes as Planes
from pycobre.lp.recover import COST_TERMS as COST_TERMS
from pycobre.lp.recover import StageOperation as StageOperation
from pycobre.lp.recover import recover as recover
from pycobre.lp.solver import BASIC as BASIC
from pycobre.lp.solver import BasisArray as BasisArray
from pycobre.lp.solver import Dispatch as Dispatch
from pycobre.lp.solver import Expectation as Expectation
from pycobre.lp.solver import OpeningCosts as OpeningCosts
from pycobre.lp.solver import SolverCounts as SolverCounts
from pycobre.lp.solver import StageSolver as StageSolver
from pycobre.lp.solver import StageUnsolved as StageUnsolved
from pycobre.lp.solver import cost_scale_of as cost_scale_of
from pycobre.lp.sparse import Sparse as Sparse
from pycobre.lp.state import StateLayout as StateLayout
from pycobre.lp.template import StageTemplate as StageTemplate
