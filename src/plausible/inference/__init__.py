"""Inference over sets of factors."""

from plausible.inference.budget import Budget
from plausible.inference.calibration import CalibratedTree, calibrate
from plausible.inference.clustering import Clustering, cluster_variables, suggest_clusters
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.inference.contradiction import smallest_contradiction
from plausible.inference.elimination import SumProduct, absorb, sum_product
from plausible.inference.engines import (
    Engine,
    Enumeration,
    JunctionTree,
    Pearl,
    RecursiveConditioning,
    VariableElimination,
)
from plausible.inference.enumeration import enumerate_posterior
from plausible.inference.findings import Conflict, EvidenceImpact, FindingImpact
from plausible.inference.info import QueryInfo
from plausible.inference.k_best import best_assignments
from plausible.inference.map_search import SearchProgress
from plausible.inference.marginal_map import MarginalMap, marginal_map
from plausible.inference.max_elimination import max_product
from plausible.inference.plan import Plan
from plausible.inference.polytree import Propagation, propagate, virtual_leaf
from plausible.inference.polytree_cutset import loop_cutset
from plausible.inference.posterior import posterior
from plausible.inference.relevance import Reduction, possible_states, prune, reduce_states
from plausible.inference.sensitivity import Derivatives
from plausible.inference.sensitivity_functions import EventSensitivity, SensitivityFunction
from plausible.inference.sensitivity_parameters import Parameter

__all__ = [
    "Budget",
    "CalibratedTree",
    "Clustering",
    "CompiledFactors",
    "Conflict",
    "Derivatives",
    "Engine",
    "Enumeration",
    "EventSensitivity",
    "EvidenceImpact",
    "FindingImpact",
    "JunctionTree",
    "MarginalMap",
    "Parameter",
    "Pearl",
    "Plan",
    "Propagation",
    "QueryInfo",
    "RecursiveConditioning",
    "Reduction",
    "SearchProgress",
    "SensitivityFunction",
    "SumProduct",
    "VariableElimination",
    "absorb",
    "best_assignments",
    "calibrate",
    "cluster_variables",
    "compile_factors",
    "enumerate_posterior",
    "loop_cutset",
    "marginal_map",
    "max_product",
    "possible_states",
    "posterior",
    "propagate",
    "prune",
    "reduce_states",
    "smallest_contradiction",
    "suggest_clusters",
    "sum_product",
    "virtual_leaf",
]
