"""pycobre: hydrothermal planning under uncertainty by SDDP, the same bits on every number of ranks."""

from importlib.metadata import version as _version

__version__ = _version("pycobre")
