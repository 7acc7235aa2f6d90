"""Inflow models, noise by counter and the tree of openings. It knows no LP and no file."""

from pycobre.stochastic.estimate import EstimationSettings as EstimationSettings
from pycobre.stochastic.estimate import Remark as Remark
from pycobre.stochastic.estimate import SeasonModel as SeasonModel
from pycobre.stochastic.estimate import estimate as estimate
from pycobre.stochastic.moments import InflowHistory as InflowHistory
from pycobre.stochastic.moments import PlantMoments as PlantMoments
from pycobre.stochastic.moments import moments_of as moments_of
from pycobre.stochastic.noise import Purpose as Purpose
from pycobre.stochastic.noise import choose as choose
from pycobre.stochastic.noise import generator as generator
from pycobre.stochastic.noise import path_draws as path_draws
from pycobre.stochastic.openings import correlation_factor as correlation_factor
from pycobre.stochastic.openings import sample_openings as sample_openings
from pycobre.stochastic.openings import uncorrelated as uncorrelated
from pycobre.stochastic.par import YEAR as YEAR
from pycobre.stochastic.par import inflow_recursion as inflow_recursion
from pycobre.stochastic.par import raisable as raisable
from pycobre.stochastic.par import residual_ratio as residual_ratio
from pycobre.stochastic.residuals import residual_correlation as residual_correlation
from pycobre.stochastic.residuals import residuals as residuals
from pycobre.stochastic.sources import IN_SAMPLE as IN_SAMPLE
from pycobre.stochastic.sources import OUT_OF_SAMPLE as OUT_OF_SAMPLE
from pycobre.stochastic.sources import ForwardNoise as ForwardNoise
from pycobre.stochastic.sources import Replay as Replay
from pycobre.stochastic.sources import noise_that_makes as noise_that_makes
from pycobre.stochastic.sources import replay_inflows as replay_inflows
