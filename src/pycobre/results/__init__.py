"""Results on disk: tables with units, the policy, the manifest; whole or not at all, and read back lazily."""

from pycobre.results.check import Balance as Balance
from pycobre.results.digest import digest as digest
from pycobre.results.memory import give_memory_back as give_memory_back
from pycobre.results.open import Results as Results
from pycobre.results.policy_store import write_policy as write_policy
from pycobre.results.schema import FORMAT_VERSION as FORMAT_VERSION
from pycobre.results.schema import TABLES as TABLES
from pycobre.results.stored_policy import StoredCuts as StoredCuts
from pycobre.results.stored_policy import StoredPolicy as StoredPolicy
from pycobre.results.stored_policy import read_policy as read_policy
from pycobre.results.table import Table as Table
from pycobre.results.tabulate import operate as operate
from pycobre.results.tabulate import simulation_tables as simulation_tables
from pycobre.results.tabulate import training_tables as training_tables
from pycobre.results.writer import ResultsWriter as ResultsWriter
