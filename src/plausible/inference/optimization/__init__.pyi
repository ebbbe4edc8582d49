# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.inference.optimization.graph_cuts import AlphaBetaSwap as AlphaBetaSwap
from plausible.inference.optimization.graph_cuts import AlphaExpansion as AlphaExpansion
from plausible.inference.optimization.graph_cuts import GraphCut as GraphCut
from plausible.inference.optimization.map_branch_and_bound import BranchAndBound as BranchAndBound
from plausible.inference.optimization.map_local_search import Flip as Flip
from plausible.inference.optimization.map_local_search import FlipProblem as FlipProblem
from plausible.inference.optimization.map_local_search import LocalSearch as LocalSearch
from plausible.inference.optimization.relaxations import DualDecomposition as DualDecomposition
from plausible.inference.optimization.relaxations import LinearRelaxation as LinearRelaxation
