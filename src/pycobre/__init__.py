"""pycobre: hydrothermal planning under uncertainty by SDDP, the same bits on any number of ranks.

>>> import pycobre
>>> result = pycobre.train("examples/toy", num_workers=2)  # doctest: +SKIP
>>> result.lower_bound  # doctest: +SKIP
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pycobre.app.api import TrainingResult as TrainingResult
    from pycobre.app.api import train as train
    from pycobre.case import Change as Change
    from pycobre.case import StudyOptions as StudyOptions
    from pycobre.case import export_schemas as export_schemas
    from pycobre.case import load_case as load_case
    from pycobre.case import migrate as migrate
    from pycobre.case import write_case as write_case
    from pycobre.results import Results as Results
    from pycobre.study import Study as Study
    from pycobre.system import System as System

    __version__: str

# Imported when first used: `import pycobre.comm` must not pay for the case reader and the command line.
_PLACES = {
    "TrainingResult": "pycobre.app.api",
    "train": "pycobre.app.api",
    "Change": "pycobre.case",
    "StudyOptions": "pycobre.case",
    "export_schemas": "pycobre.case",
    "load_case": "pycobre.case",
    "migrate": "pycobre.case",
    "write_case": "pycobre.case",
    "Results": "pycobre.results",
    "Study": "pycobre.study",
    "System": "pycobre.system",
}
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _import_module("importlib.metadata").version("pycobre")
    if name in _PLACES:
        return getattr(_import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'pycobre' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
