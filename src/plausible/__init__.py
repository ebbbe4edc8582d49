"""Probabilistic graphical models: represent, infer, learn, reason about causes, decide.

>>> import plausible as pb
>>> net = pb.examples.load("asia")
>>> print(net.query("lung", evidence={"xray": "yes"}))
lung | value
-----+---------
yes  | 0.488711
no   | 0.511289
"""

from plausible import cpds, data, errors, examples, factors, graphs, inference, io, models, variables
from plausible.cpds import (
    CPD,
    ConditionalGaussianCPD,
    DeterministicCPD,
    LinearGaussianCPD,
    LogisticCPD,
    Multiplexer,
    NoisyMax,
    NoisyOr,
    Rule,
    RuleCPD,
    Split,
    TableCPD,
    TreeCPD,
)
from plausible.errors import PlausibleError, PlausibleWarning
from plausible.factors import Factor, GaussianFactor
from plausible.graphs import DAG, MAG, PAG, PDAG, CausalGraph, MixedGraph, UndirectedGraph
from plausible.io import load, save
from plausible.models import (
    BayesianNetwork,
    ConditionalRandomField,
    FactorGraph,
    MarkovNetwork,
    Notes,
    VariableNotes,
)
from plausible.variables import Assignment, Variable, jeffrey, likelihood

__version__ = "0.1.0"

__all__ = [
    "CPD",
    "DAG",
    "MAG",
    "PAG",
    "PDAG",
    "Assignment",
    "BayesianNetwork",
    "CausalGraph",
    "ConditionalGaussianCPD",
    "ConditionalRandomField",
    "DeterministicCPD",
    "Factor",
    "FactorGraph",
    "GaussianFactor",
    "LinearGaussianCPD",
    "LogisticCPD",
    "MarkovNetwork",
    "MixedGraph",
    "Multiplexer",
    "NoisyMax",
    "NoisyOr",
    "Notes",
    "PlausibleError",
    "PlausibleWarning",
    "Rule",
    "RuleCPD",
    "Split",
    "TableCPD",
    "TreeCPD",
    "UndirectedGraph",
    "Variable",
    "VariableNotes",
    "__version__",
    "cpds",
    "data",
    "errors",
    "examples",
    "factors",
    "graphs",
    "inference",
    "io",
    "jeffrey",
    "likelihood",
    "load",
    "models",
    "save",
    "variables",
]
