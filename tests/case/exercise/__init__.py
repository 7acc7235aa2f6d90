"""Small cases in which every field of the format matters, and what running one of them comes to.

Each base is made from the small case of the tests; one that exercises one more thing gets it in the module of
its subject.
"""

from case.exercise.grid import START as START
from case.exercise.grid import changed as changed
from case.exercise.grid import constraints as constraints
from case.exercise.grid import external as external
from case.exercise.grid import network as network
from case.exercise.grid import rated as rated
from case.exercise.inflow import annual as annual
from case.exercise.inflow import gappy as gappy
from case.exercise.inflow import history as history
from case.exercise.inflow import openings as openings
from case.exercise.inflow import quarterly as quarterly
from case.exercise.paths import ANNUAL as ANNUAL
from case.exercise.paths import BOUNDS as BOUNDS
from case.exercise.paths import BUSES as BUSES
from case.exercise.paths import CONFIG as CONFIG
from case.exercise.paths import CONSTRAINT_BOUNDS as CONSTRAINT_BOUNDS
from case.exercise.paths import CONSTRAINTS as CONSTRAINTS
from case.exercise.paths import CONTRACTS as CONTRACTS
from case.exercise.paths import CORRELATION as CORRELATION
from case.exercise.paths import ENERGY as ENERGY
from case.exercise.paths import EXTERNAL as EXTERNAL
from case.exercise.paths import GEOMETRY as GEOMETRY
from case.exercise.paths import HISTORY as HISTORY
from case.exercise.paths import HYDROS as HYDROS
from case.exercise.paths import INFLOW_STATS as INFLOW_STATS
from case.exercise.paths import INITIAL as INITIAL
from case.exercise.paths import LAGS as LAGS
from case.exercise.paths import LINES as LINES
from case.exercise.paths import LOAD_FACTORS as LOAD_FACTORS
from case.exercise.paths import LOADS as LOADS
from case.exercise.paths import OPENINGS as OPENINGS
from case.exercise.paths import OVERRIDES as OVERRIDES
from case.exercise.paths import PARAMETERS as PARAMETERS
from case.exercise.paths import PENALTIES as PENALTIES
from case.exercise.paths import PLANES as PLANES
from case.exercise.paths import PRODUCTION as PRODUCTION
from case.exercise.paths import PUMPING as PUMPING
from case.exercise.paths import SOURCE_FACTORS as SOURCE_FACTORS
from case.exercise.paths import SOURCE_STATS as SOURCE_STATS
from case.exercise.paths import SOURCES as SOURCES
from case.exercise.paths import STAGES as STAGES
from case.exercise.paths import TAILRACES as TAILRACES
from case.exercise.paths import THERMALS as THERMALS
from case.exercise.plants import HYDRO_LIMITS as HYDRO_LIMITS
from case.exercise.plants import limits as limits
from case.exercise.plants import own_prices as own_prices
from case.exercise.plants import split as split
from case.exercise.plants import stage_prices as stage_prices
from case.exercise.plants import water as water
from case.exercise.power import bare as bare
from case.exercise.power import curves as curves
from case.exercise.power import planes as planes
from case.exercise.power import steep as steep
from case.exercise.result import Result as Result
from case.exercise.result import result_of as result_of
from case.exercise.short import Base as Base
from case.exercise.short import long as long
from case.exercise.short import scarce as scarce
from case.exercise.short import small as small
from case.exercise.short import train as train
