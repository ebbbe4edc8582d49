# Which folder or file has which name of this room: see plausible.base.lazy_names.
from plausible.base.query_info import QueryInfo as QueryInfo
from plausible.inference import buckets as buckets
from plausible.inference import exact_map as exact_map
from plausible.inference import markov_chains as markov_chains
from plausible.inference import optimization as optimization
from plausible.inference import polytree as polytree
from plausible.inference import propagation as propagation
from plausible.inference import regions as regions
from plausible.inference import sampling as sampling
from plausible.inference import sensitivity as sensitivity
from plausible.inference import variational as variational
from plausible.inference.approximate import ApproximateEngine as ApproximateEngine
from plausible.inference.approximate import Beliefs as Beliefs
from plausible.inference.approximate import FactorEngine as FactorEngine
from plausible.inference.approximate import ResumableEngine as ResumableEngine
from plausible.inference.approximate_counts import ExpectedCounts as ExpectedCounts
from plausible.inference.approximate_counts import ImpossibleRow as ImpossibleRow
from plausible.inference.approximate_counts import expected_counts as expected_counts
from plausible.inference.approximate_map import approximate_map as approximate_map
from plausible.inference.approximate_samples import DrawnStates as DrawnStates
from plausible.inference.approximate_samples import EvidenceNotSeen as EvidenceNotSeen
from plausible.inference.approximate_samples import SamplingEngine as SamplingEngine
from plausible.inference.buckets import *
from plausible.inference.budget import Budget as Budget
from plausible.inference.calibration import CalibratedTree as CalibratedTree
from plausible.inference.calibration import calibrate as calibrate
from plausible.inference.compiled import CompiledFactors as CompiledFactors
from plausible.inference.compiled import compile_factors as compile_factors
from plausible.inference.elimination import SumProduct as SumProduct
from plausible.inference.elimination import absorb as absorb
from plausible.inference.elimination import enumerate_posterior as enumerate_posterior
from plausible.inference.elimination import sum_product as sum_product
from plausible.inference.engine_bases import Optimizer as Optimizer
from plausible.inference.engine_bases import Optimum as Optimum
from plausible.inference.engines import Engine as Engine
from plausible.inference.engines import Enumeration as Enumeration
from plausible.inference.engines import JunctionTree as JunctionTree
from plausible.inference.engines import Pearl as Pearl
from plausible.inference.engines import RecursiveConditioning as RecursiveConditioning
from plausible.inference.engines import VariableElimination as VariableElimination
from plausible.inference.estimates import Estimate as Estimate
from plausible.inference.exact_map import *
from plausible.inference.findings import Conflict as Conflict
from plausible.inference.findings import EvidenceImpact as EvidenceImpact
from plausible.inference.findings import FindingImpact as FindingImpact
from plausible.inference.findings import smallest_contradiction as smallest_contradiction
from plausible.inference.markov_chains import *
from plausible.inference.optimization import *
from plausible.inference.plan import Plan as Plan
from plausible.inference.polytree import *
from plausible.inference.posterior import posterior as posterior
from plausible.inference.problem import Problem as Problem
from plausible.inference.propagation import *
from plausible.inference.regions import *
from plausible.inference.relevance import Reduction as Reduction
from plausible.inference.relevance import possible_states as possible_states
from plausible.inference.relevance import prune as prune
from plausible.inference.relevance import reduce_states as reduce_states
from plausible.inference.sampling import *
from plausible.inference.sensitivity import *
from plausible.inference.variational import *
