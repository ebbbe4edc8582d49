"""Probabilistic graphical models: represent, infer, learn, reason about causes, decide.

>>> import plausible as pb
>>> net = pb.examples.load("asia")
>>> print(net.query("lung", evidence={"xray": "yes"}))
lung |    value
-----+---------
yes  | 0.488711
no   | 0.511289
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plausible import (
        causal,
        cpds,
        data,
        decisions,
        errors,
        examples,
        factors,
        graphs,
        inference,
        io,
        learn,
        models,
        variables,
    )
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
    from plausible.data import Discretizer, Table
    from plausible.decisions import Decision, InfluenceDiagram, Strategy, Utility
    from plausible.errors import PlausibleError, PlausibleWarning
    from plausible.factors import Factor, GaussianFactor, GaussianMixture, MomentGaussian
    from plausible.graphs import DAG, MAG, PAG, PDAG, CausalGraph, MixedGraph, UndirectedGraph
    from plausible.inference import (
        AlphaBetaSwap,
        AlphaExpansion,
        AnnealedImportance,
        BranchAndBound,
        Budget,
        ClusterBP,
        CollapsedGibbs,
        ConvexBP,
        DualDecomposition,
        Enumeration,
        Estimate,
        Gibbs,
        GraphCut,
        ImportanceSampling,
        JunctionTree,
        LikelihoodWeighting,
        LinearRelaxation,
        LocalSearch,
        LoopyBP,
        MarkovChain,
        MaxProduct,
        MeanField,
        Metropolis,
        MiniBucketMax,
        MiniBuckets,
        Pearl,
        RecursiveConditioning,
        RegionBP,
        RejectionSampling,
        SimulatedAnnealing,
        TabuSearch,
        TreeReweightedBP,
        VariableElimination,
        pagerank,
    )
    from plausible.io import load, save
    from plausible.learn import K2, BDe, BDeu, Dirichlet, Knowledge
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
    "K2",
    "MAG",
    "PAG",
    "PDAG",
    "AlphaBetaSwap",
    "AlphaExpansion",
    "AnnealedImportance",
    "Assignment",
    "BDe",
    "BDeu",
    "BayesianNetwork",
    "BranchAndBound",
    "Budget",
    "CausalGraph",
    "ClusterBP",
    "CollapsedGibbs",
    "ConditionalGaussianCPD",
    "ConditionalRandomField",
    "ConvexBP",
    "Decision",
    "DeterministicCPD",
    "Dirichlet",
    "Discretizer",
    "DualDecomposition",
    "Enumeration",
    "Estimate",
    "Factor",
    "FactorGraph",
    "GaussianFactor",
    "GaussianMixture",
    "Gibbs",
    "GraphCut",
    "ImportanceSampling",
    "InfluenceDiagram",
    "JunctionTree",
    "Knowledge",
    "LikelihoodWeighting",
    "LinearGaussianCPD",
    "LinearRelaxation",
    "LocalSearch",
    "LogisticCPD",
    "LoopyBP",
    "MarkovChain",
    "MarkovNetwork",
    "MaxProduct",
    "MeanField",
    "Metropolis",
    "MiniBucketMax",
    "MiniBuckets",
    "MixedGraph",
    "MomentGaussian",
    "Multiplexer",
    "NoisyMax",
    "NoisyOr",
    "Notes",
    "Pearl",
    "PlausibleError",
    "PlausibleWarning",
    "RecursiveConditioning",
    "RegionBP",
    "RejectionSampling",
    "Rule",
    "RuleCPD",
    "SimulatedAnnealing",
    "Split",
    "Strategy",
    "Table",
    "TableCPD",
    "TabuSearch",
    "TreeCPD",
    "TreeReweightedBP",
    "UndirectedGraph",
    "Utility",
    "Variable",
    "VariableElimination",
    "VariableNotes",
    "__version__",
    "causal",
    "cpds",
    "data",
    "decisions",
    "errors",
    "examples",
    "factors",
    "graphs",
    "inference",
    "io",
    "jeffrey",
    "learn",
    "likelihood",
    "load",
    "models",
    "pagerank",
    "save",
    "variables",
]

_ROOMS = (
    "causal",
    "cpds",
    "data",
    "decisions",
    "errors",
    "examples",
    "factors",
    "graphs",
    "inference",
    "io",
    "learn",
    "models",
    "variables",
)
#: The rooms whose names are also names of this module.
_OPEN_ROOMS = (
    "errors",
    "variables",
    "graphs",
    "factors",
    "cpds",
    "data",
    "inference",
    "models",
    "learn",
    "decisions",
    "io",
)


def __getattr__(name: str) -> object:
    """Load a room when it is first asked for, so that `import plausible` itself costs next to nothing."""
    if name in _ROOMS:
        return import_module(f"plausible.{name}")
    if name in __all__:
        for room in _OPEN_ROOMS:
            module = import_module(f"plausible.{room}")
            if name in module.__all__:
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module 'plausible' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
