"""Shortflow: keep interactive traffic fast on congested links.

Load a scenario and a policy, simulate every packet, and take the results as tables:

>>> import shortflow as sf
>>> results = sf.simulate("office", "fq-codel", replicas=2, set={"duration": "20 s"})
>>> transfers = results.transfers.to_pandas()
"""

from ._core import VERSION as __version__
from ._advise import Advice, advise
from ._design import Design
from ._errors import Error, Finding, InputError, Interrupted, MachineError, PolicyError, ScenarioError
from ._open import open
from ._plot import style
from ._results import Results
from ._run import check, compare, predict, simulate
from ._search import Ledger, Tuned, reproduce, tune
from ._sweep import Sweep, verify
from ._sweep_results import SweepResults
from ._table import Table
from ._text import Checked, Policy, Scenario
from ._verify import Verified

__all__ = [
    "Advice",
    "Checked",
    "Design",
    "Error",
    "Finding",
    "InputError",
    "Interrupted",
    "Ledger",
    "MachineError",
    "Policy",
    "PolicyError",
    "Results",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepResults",
    "Table",
    "Tuned",
    "Verified",
    "__version__",
    "advise",
    "check",
    "compare",
    "open",
    "predict",
    "reproduce",
    "simulate",
    "style",
    "tune",
    "verify",
]
