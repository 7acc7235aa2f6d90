"""Inflow models, noise by counter and the tree of openings. It knows no LP and no file."""

from pycobre.stochastic.noise import Purpose as Purpose
from pycobre.stochastic.noise import choose as choose
from pycobre.stochastic.noise import generator as generator
from pycobre.stochastic.openings import correlation_factor as correlation_factor
from pycobre.stochastic.openings import sample_openings as sample_openings
from pycobre.stochastic.openings import uncorrelated as uncorrelated
from pycobre.stochastic.par import inflow_recursion as inflow_recursion
from pycobre.stochastic.par import residual_ratio as residual_ratio
