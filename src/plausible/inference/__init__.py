"""Inference over sets of factors."""

from importlib import import_module
from typing import TYPE_CHECKING

# Functions named as their files are had at once: a file that is loaded takes its name in this module.
from plausible.inference.approximate_map import approximate_map
from plausible.inference.marginal_map import MarginalMap, marginal_map
from plausible.inference.posterior import posterior

if TYPE_CHECKING:
    from plausible.inference.approximate import ApproximateEngine, Beliefs, FactorEngine, ResumableEngine
    from plausible.inference.approximate_counts import ExpectedCounts, ImpossibleRow, expected_counts
    from plausible.inference.approximate_samples import DrawnStates, SamplingEngine
    from plausible.inference.buckets.mini_bucket_max import MiniBucketMax, MiniBucketMaxState
    from plausible.inference.buckets.mini_buckets import MarginalMapBound, MiniBuckets, MiniBucketState
    from plausible.inference.buckets.probability_bounds import ProbabilityBounds
    from plausible.inference.buckets.submodel_bound import SubmodelBound, submodel_bound
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
    from plausible.inference.estimate import Estimate
    from plausible.inference.findings import Conflict, EvidenceImpact, FindingImpact
    from plausible.inference.info import QueryInfo
    from plausible.inference.k_best import best_assignments
    from plausible.inference.map_search import SearchProgress
    from plausible.inference.markov_chains.chain_records import Absorption, CommunicatingClass
    from plausible.inference.markov_chains.markov_chain import MarkovChain
    from plausible.inference.markov_chains.page_rank import SearchEngine, pagerank
    from plausible.inference.max_elimination import max_product
    from plausible.inference.optimization.dual_decomposition import DualDecomposition, DualState
    from plausible.inference.optimization.flips import Flip, FlipProblem
    from plausible.inference.optimization.graph_cuts import GraphCut
    from plausible.inference.optimization.label_moves import AlphaBetaSwap, AlphaExpansion, LabelState
    from plausible.inference.optimization.linear_relaxation import LinearRelaxation
    from plausible.inference.optimization.map_branch_and_bound import BranchAndBound, BranchAndBoundState
    from plausible.inference.optimization.map_local_search import LocalSearch
    from plausible.inference.optimizer import Optimizer, Optimum
    from plausible.inference.plan import Plan
    from plausible.inference.polytree import Propagation, propagate, virtual_leaf
    from plausible.inference.polytree_cutset import loop_cutset
    from plausible.inference.problem import Problem
    from plausible.inference.propagation.belief_maximum import MaxProduct, MaxProductState
    from plausible.inference.propagation.belief_messages import MessageState
    from plausible.inference.propagation.belief_propagation import LoopyBP, TreeReweightedBP
    from plausible.inference.regions.convex_propagation import ConvexBP, ConvexState
    from plausible.inference.regions.counting_numbers import (
        ConvexSplit,
        CountingNumbers,
        bethe_like_counts,
        convex_split,
        covering_counts,
        tree_counts,
    )
    from plausible.inference.regions.join_graph import join_graph
    from plausible.inference.regions.region_graph import RegionGraph, bethe_regions, kikuchi_regions
    from plausible.inference.regions.region_messages import RegionState
    from plausible.inference.regions.region_propagation import ClusterBP, RegionBP
    from plausible.inference.regions.short_loops import short_loops
    from plausible.inference.relevance import Reduction, possible_states, prune, reduce_states
    from plausible.inference.sampling.annealed_importance import AnnealedImportance, AnnealingState
    from plausible.inference.sampling.chain_diagnostics import (
        ChainDiagnostics,
        bulk_effective_sample_size,
        diagnose,
        effective_sample_size,
        monte_carlo_error,
        r_hat,
        tail_effective_sample_size,
        to_arviz,
    )
    from plausible.inference.sampling.chains import ChainState
    from plausible.inference.sampling.collapsed_particles import CollapsedGibbs, CollapsedState
    from plausible.inference.sampling.directed_sampling import EvidenceNotSeen, LikelihoodWeighting, RejectionSampling
    from plausible.inference.sampling.gibbs import Gibbs
    from plausible.inference.sampling.importance_sampling import ImportanceSampling
    from plausible.inference.sampling.metropolis import Metropolis, Proposal
    from plausible.inference.sampling.partition_ratio import importance_log_partition, log_partition_ratio
    from plausible.inference.sampling.sample_sums import SampleSums
    from plausible.inference.sampling.weighted_samples import WeightedSamples, draw
    from plausible.inference.search.annealing import CoolingSchedule, ExponentialCooling, SimulatedAnnealing
    from plausible.inference.search.beam_search import BeamSearch
    from plausible.inference.search.branch_and_bound import Branches, BranchingState, branch_and_bound
    from plausible.inference.search.local_search import (
        BasinFlooding,
        FirstAscent,
        GreedyAscent,
        SearchMethod,
        SearchProblem,
        SearchState,
        StopReason,
    )
    from plausible.inference.search.restarts import PerturbationRestarts, RandomRestarts
    from plausible.inference.search.tabu_search import TabuSearch
    from plausible.inference.sensitivity import Derivatives
    from plausible.inference.sensitivity_functions import EventSensitivity, SensitivityFunction
    from plausible.inference.sensitivity_parameters import Parameter
    from plausible.inference.variational.mean_field import MeanField, MeanFieldState

__all__ = [
    "Absorption",
    "AlphaBetaSwap",
    "AlphaExpansion",
    "AnnealedImportance",
    "AnnealingState",
    "ApproximateEngine",
    "BasinFlooding",
    "BeamSearch",
    "Beliefs",
    "BranchAndBound",
    "BranchAndBoundState",
    "Branches",
    "BranchingState",
    "Budget",
    "CalibratedTree",
    "ChainDiagnostics",
    "ChainState",
    "ClusterBP",
    "Clustering",
    "CollapsedGibbs",
    "CollapsedState",
    "CommunicatingClass",
    "CompiledFactors",
    "Conflict",
    "ConvexBP",
    "ConvexSplit",
    "ConvexState",
    "CoolingSchedule",
    "CountingNumbers",
    "Derivatives",
    "DrawnStates",
    "DualDecomposition",
    "DualState",
    "Engine",
    "Enumeration",
    "Estimate",
    "EventSensitivity",
    "EvidenceImpact",
    "EvidenceNotSeen",
    "ExpectedCounts",
    "ExponentialCooling",
    "FactorEngine",
    "FindingImpact",
    "FirstAscent",
    "Flip",
    "FlipProblem",
    "Gibbs",
    "GraphCut",
    "GreedyAscent",
    "ImportanceSampling",
    "ImpossibleRow",
    "JunctionTree",
    "LabelState",
    "LikelihoodWeighting",
    "LinearRelaxation",
    "LocalSearch",
    "LoopyBP",
    "MarginalMap",
    "MarginalMapBound",
    "MarkovChain",
    "MaxProduct",
    "MaxProductState",
    "MeanField",
    "MeanFieldState",
    "MessageState",
    "Metropolis",
    "MiniBucketMax",
    "MiniBucketMaxState",
    "MiniBucketState",
    "MiniBuckets",
    "Optimizer",
    "Optimum",
    "Parameter",
    "Pearl",
    "PerturbationRestarts",
    "Plan",
    "ProbabilityBounds",
    "Problem",
    "Propagation",
    "Proposal",
    "QueryInfo",
    "RandomRestarts",
    "RecursiveConditioning",
    "Reduction",
    "RegionBP",
    "RegionGraph",
    "RegionState",
    "RejectionSampling",
    "ResumableEngine",
    "SampleSums",
    "SamplingEngine",
    "SearchEngine",
    "SearchMethod",
    "SearchProblem",
    "SearchProgress",
    "SearchState",
    "SensitivityFunction",
    "SimulatedAnnealing",
    "StopReason",
    "SubmodelBound",
    "SumProduct",
    "TabuSearch",
    "TreeReweightedBP",
    "VariableElimination",
    "WeightedSamples",
    "absorb",
    "approximate_map",
    "best_assignments",
    "bethe_like_counts",
    "bethe_regions",
    "branch_and_bound",
    "bulk_effective_sample_size",
    "calibrate",
    "cluster_variables",
    "compile_factors",
    "convex_split",
    "covering_counts",
    "diagnose",
    "draw",
    "effective_sample_size",
    "enumerate_posterior",
    "expected_counts",
    "importance_log_partition",
    "join_graph",
    "kikuchi_regions",
    "log_partition_ratio",
    "loop_cutset",
    "marginal_map",
    "max_product",
    "monte_carlo_error",
    "pagerank",
    "possible_states",
    "posterior",
    "propagate",
    "prune",
    "r_hat",
    "reduce_states",
    "short_loops",
    "smallest_contradiction",
    "submodel_bound",
    "suggest_clusters",
    "sum_product",
    "tail_effective_sample_size",
    "to_arviz",
    "tree_counts",
    "virtual_leaf",
]

#: File -> the names that it is loaded for, when one of them is first asked for.
_FILES = {
    "approximate": "ApproximateEngine Beliefs FactorEngine ResumableEngine",
    "approximate_counts": "ExpectedCounts ImpossibleRow expected_counts",
    "approximate_samples": "DrawnStates SamplingEngine",
    "buckets.mini_bucket_max": "MiniBucketMax MiniBucketMaxState",
    "buckets.mini_buckets": "MarginalMapBound MiniBucketState MiniBuckets",
    "buckets.probability_bounds": "ProbabilityBounds",
    "buckets.submodel_bound": "SubmodelBound submodel_bound",
    "budget": "Budget",
    "calibration": "CalibratedTree calibrate",
    "clustering": "Clustering cluster_variables suggest_clusters",
    "compiled": "CompiledFactors compile_factors",
    "contradiction": "smallest_contradiction",
    "elimination": "SumProduct absorb sum_product",
    "engines": "Engine Enumeration JunctionTree Pearl RecursiveConditioning VariableElimination",
    "enumeration": "enumerate_posterior",
    "estimate": "Estimate",
    "findings": "Conflict EvidenceImpact FindingImpact",
    "info": "QueryInfo",
    "k_best": "best_assignments",
    "map_search": "SearchProgress",
    "markov_chains.chain_records": "Absorption CommunicatingClass",
    "markov_chains.markov_chain": "MarkovChain",
    "markov_chains.page_rank": "SearchEngine pagerank",
    "max_elimination": "max_product",
    "optimization.dual_decomposition": "DualDecomposition DualState",
    "optimization.flips": "Flip FlipProblem",
    "optimization.graph_cuts": "GraphCut",
    "optimization.label_moves": "AlphaBetaSwap AlphaExpansion LabelState",
    "optimization.linear_relaxation": "LinearRelaxation",
    "optimization.map_branch_and_bound": "BranchAndBound BranchAndBoundState",
    "optimization.map_local_search": "LocalSearch",
    "optimizer": "Optimizer Optimum",
    "plan": "Plan",
    "polytree": "Propagation propagate virtual_leaf",
    "polytree_cutset": "loop_cutset",
    "problem": "Problem",
    "propagation.belief_maximum": "MaxProduct MaxProductState",
    "propagation.belief_messages": "MessageState",
    "propagation.belief_propagation": "LoopyBP TreeReweightedBP",
    "regions.convex_propagation": "ConvexBP ConvexState",
    "regions.counting_numbers": "ConvexSplit CountingNumbers bethe_like_counts convex_split covering_counts "
    "tree_counts",
    "regions.join_graph": "join_graph",
    "regions.region_graph": "RegionGraph bethe_regions kikuchi_regions",
    "regions.region_messages": "RegionState",
    "regions.region_propagation": "ClusterBP RegionBP",
    "regions.short_loops": "short_loops",
    "relevance": "Reduction possible_states prune reduce_states",
    "sampling.annealed_importance": "AnnealedImportance AnnealingState",
    "sampling.chain_diagnostics": "ChainDiagnostics bulk_effective_sample_size diagnose effective_sample_size "
    "monte_carlo_error r_hat tail_effective_sample_size to_arviz",
    "sampling.chains": "ChainState",
    "sampling.collapsed_particles": "CollapsedGibbs CollapsedState",
    "sampling.directed_sampling": "EvidenceNotSeen LikelihoodWeighting RejectionSampling",
    "sampling.gibbs": "Gibbs",
    "sampling.importance_sampling": "ImportanceSampling",
    "sampling.metropolis": "Metropolis Proposal",
    "sampling.partition_ratio": "importance_log_partition log_partition_ratio",
    "sampling.sample_sums": "SampleSums",
    "sampling.weighted_samples": "WeightedSamples draw",
    "search.annealing": "CoolingSchedule ExponentialCooling SimulatedAnnealing",
    "search.beam_search": "BeamSearch",
    "search.branch_and_bound": "Branches BranchingState branch_and_bound",
    "search.local_search": "BasinFlooding FirstAscent GreedyAscent SearchMethod SearchProblem SearchState StopReason",
    "search.restarts": "PerturbationRestarts RandomRestarts",
    "search.tabu_search": "TabuSearch",
    "sensitivity": "Derivatives",
    "sensitivity_functions": "EventSensitivity SensitivityFunction",
    "sensitivity_parameters": "Parameter",
    "variational.mean_field": "MeanField MeanFieldState",
}
_HOMES = {name: file for file, names in _FILES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load an engine when it is first asked for: there are many, and a question needs one."""
    if name not in _HOMES:
        raise AttributeError(f"module 'plausible.inference' has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"plausible.inference.{_HOMES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
